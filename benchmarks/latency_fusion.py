"""Fused groups by latency beside those of least traffic, and the floor of each problem.

    python benchmarks/latency_fusion.py [NETWORK:BUDGET ...] [--limit 60] [--catalogue]

For each problem on `npu_small`, weights counted: milliseconds of the plan of least traffic, of the
online rules, and by latency, the floor that no plan is below, what is open beside the bound, and
processor seconds. At the end the geometric mean of latency against least traffic, and the share of
problems within 5 % of the floor. `--catalogue` takes some thirty networks at MR, MH, MP and
256 KiB in place of the few.
"""

from __future__ import annotations

import argparse
import time
from math import exp, log

import planners as sp
from planners.core.errors import BudgetTooSmall
from planners.core.floors import ProblemFloors
from planners.core.weights import COUNTED

FEW = (
    "mobilenet_v2:128KiB",
    "mobilenet_v2:256KiB",
    "mobilenet_v2:512KiB",
    "resnet18:256KiB",
    "googlenet:512KiB",
    "efficientnet_b0:256KiB",
    "densenet121:512KiB",
)
NETWORKS = (
    *(
        "alexnet",
        "vgg11",
        "vgg16",
        "resnet18",
        "resnet34",
        "resnet50",
        "resnet101",
        "resnext50_32x4d",
    ),
    *("wide_resnet50_2", "googlenet", "inception_v3", "densenet121", "densenet169", "densenet201"),
    *("squeezenet1_0", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"),
    *("mnasnet0_5", "mnasnet1_0", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "efficientnet_b0"),
    *("efficientnet_b1", "efficientnet_b4", "regnet_y_400mf", "regnet_x_400mf", "convnext_tiny"),
)
NEAR = 1.05


def milliseconds(graph: sp.Graph, budget: int, limit: float, **options: object) -> float:
    """Latency of a plan of fused groups."""
    plan = sp.plan(graph, "fusion", budget, time_limit=limit, **options)
    return sp.simulate(plan).makespan_s * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--catalogue", action="store_true")
    asked = parser.parse_args()
    every = [f"{name}:{budget}" for name in NETWORKS for budget in ("MR", "MH", "MP", "256KiB")]
    problems = asked.problems or (every if asked.catalogue else FEW)
    print(
        f"{'':28} {'traffic':>9} {'online':>9} {'latency':>9} {'floor':>9} {'gap':>6} {'CPU s':>6}"
    )
    ratios, near = [], 0
    for problem in problems:
        name, _, words = problem.partition(":")
        graph = sp.load(name)
        try:
            budget = sp.plan(graph, "fusion", words, baseline="no_fusion").budget_bytes
            least = milliseconds(graph, budget, asked.limit)
            online = milliseconds(graph, budget, asked.limit, online=True)
            began = time.process_time()
            plan = sp.plan(graph, "fusion", budget, time_limit=asked.limit, objective="latency")
            spent = time.process_time() - began
        except BudgetTooSmall as error:
            print(f"{problem:28} {error}", flush=True)
            continue
        claim = plan.details.latency
        assert claim is not None
        quick = sp.simulate(plan).makespan_s * 1e3
        floor = ProblemFloors(graph, plan.machine, COUNTED).latency_s * 1e3
        ratios.append(quick / least)
        near += quick <= NEAR * floor
        times = f"{least:9.4g} {online:9.4g} {quick:9.4g} {floor:9.4g}"
        print(f"{problem:28} {times} {claim.gap:6.1%} {spent:6.1f}", flush=True)
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"{len(ratios)} problems: latency is {mean:.3f} of least traffic's (geometric mean)")
        print(f"within 5 % of the floor: {near / len(ratios):.0%}")


if __name__ == "__main__":
    main()
