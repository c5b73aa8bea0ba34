"""Plans by latency beside those of least traffic, and the floor of each problem.

    python benchmarks/latency.py [NETWORK:BUDGET ...] [--planner fusion] [--limit 60] [--catalogue]

For each problem on a machine, weights counted: milliseconds of the plan of least traffic, of the
planner's other way (online rules; the quickest of least traffic), and by latency, the floor that no
plan is below, what is open beside the bound, and processor seconds. At the end the geometric mean
of latency against least traffic, and the share of problems within 5 % of the floor. `--catalogue`
takes some thirty networks at MR, MH, MP and 256 KiB in place of the few.
"""

from __future__ import annotations

import argparse
import time
from math import exp, log
from typing import Any

import planners as sp
from planners.core.bounds.floors import floors_of
from planners.core.errors import BudgetTooSmall
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


OTHER = {"fusion": {"online": True}, "cosma": {"objective": "traffic_then_latency"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--planner", choices=sorted(OTHER), default="fusion")
    parser.add_argument("--machine", default="npu_ideal")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--catalogue", action="store_true")
    asked = parser.parse_args()
    every = [f"{name}:{budget}" for name in NETWORKS for budget in ("MR", "MH", "MP", "256KiB")]
    problems = asked.problems or (every if asked.catalogue else FEW)
    names = ("traffic", "other", "latency", "floor", "gap", "CPU s")
    print(f"{'':28} " + " ".join(f"{name:>9}" for name in names))
    ratios, near = [], 0
    for problem in problems:
        name, _, budget = problem.partition(":")
        graph = sp.load(name)

        def planned(budget: str = budget, graph: sp.Graph = graph, **options: Any) -> sp.Plan:
            limit, machine = asked.limit, asked.machine
            shared = {"machine": machine, "time_limit": limit, "weights": COUNTED}
            return sp.plan(graph, asked.planner, budget, **shared, **options)

        try:
            plans = [planned(), planned(**OTHER[asked.planner])]
            began = time.process_time()
            plan = planned(objective="latency")
            spent = time.process_time() - began
        except BudgetTooSmall as error:
            print(f"{problem:28} {error}", flush=True)
            continue
        claim = plan.details.latency
        assert claim is not None
        least, other, quick = (sp.simulate(p).makespan_s * 1e3 for p in (*plans, plan))
        floor = floors_of(plan).latency_s * 1e3
        ratios.append(quick / least)
        near += quick <= NEAR * floor
        times = f"{least:9.4g} {other:9.4g} {quick:9.4g} {floor:9.4g}"
        print(f"{problem:28} {times} {claim.gap:9.2%} {spent:9.1f}", flush=True)
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"{len(ratios)} problems: latency is {mean:.3f} of least traffic's (geometric mean)")
        print(f"within 5 % of the floor: {near / len(ratios):.0%}")


if __name__ == "__main__":
    main()
