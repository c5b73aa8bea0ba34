"""Joined plans run on real numbers in an arena of the budget, beside PyTorch: thirty networks.

    python benchmarks/joined_execute.py [MODEL ...] [--limit 3] [--behind 256KiB]

Each at a reduced input, joined alone, by latency in a third of MR, and by traffic in a twelfth of
it, or the least of its doubles that is enough; weights are random, batch norms calibrated. An error
is right where it is within twenty times eager PyTorch's own in float32, which is how far that is
from float64. `--behind` puts a slower memory of so many bytes behind the scratchpad. Printed: what
the plan is made of, what runs again, and the error. Ends with 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from joined_memories import machine_of

import planners as sp
from planners.catalogue.torch_models import random_inputs, random_module
from planners.core.machine import load_machine

SIDES = {
    64: (
        *("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "mnasnet0_5", "mnasnet1_0"),
        *("shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "squeezenet1_0", "squeezenet1_1"),
        *("regnet_x_400mf", "regnet_y_400mf", "regnet_x_800mf", "regnet_y_800mf"),
        *("efficientnet_b0", "efficientnet_b1", "efficientnet_v2_s", "googlenet"),
        *("resnet18", "resnet34", "resnet50", "resnext50_32x4d", "densenet121", "densenet169"),
        *("mnasnet0_75", "shufflenet_v2_x1_5", "convnext_tiny", "swin_t", "alexnet"),
    ),
    96: ("lraspp_mobilenet_v3_large", "inception_v3"),
}
AGAIN = "run again"


def planned(graph: sp.Graph, objective: str, limit_s: float, machine: sp.Machine) -> sp.Plan:
    """A joined plan in a small part of MR in which there is one."""
    whole = sp.budgets(graph, parameters=True).MR
    asked = {"objective": objective, "weights": "counted", "others": False, "time_limit": limit_s}
    for part in (3,) if objective == "latency" else (12, 6, 3):
        with suppress(sp.SpillwayError):
            return sp.plan(graph, "joined", whole // part, machine, **asked)
    return sp.plan(graph, "joined", whole, machine, **asked)


def run(name: str, side: int, objective: str, limit_s: float, machine: sp.Machine) -> bool:
    """Plan, check and execute one network; whether it came out right."""
    graph = sp.load(name, input_shape=((1, 3, side, side),))
    plan = planned(graph, objective, limit_s, machine)
    budget = plan.budget_bytes
    began = time.perf_counter()
    module = random_module(name, 0, random_inputs(((8, 3, side, side),), 1))
    inputs = random_inputs(((1, 3, side, side),), 0)
    result = sp.execute(plan, module, inputs)
    with torch.no_grad():
        exact = copy.deepcopy(module).double().eval()(*(x.double() for x in inputs))
    leaves = torch.utils._pytree.tree_leaves
    pairs = zip(leaves(result.reference), leaves(exact), strict=True)
    own = max(float((a.double() - b).abs().max()) for a, b in pairs)
    right = result.max_abs_error <= 20 * own
    hows = Counter(stretch.how for stretch in plan.details.stretches)
    again = any(AGAIN in stretch.why for stretch in plan.details.stretches)
    print(
        f"{name} {side}×{side}, {budget:,} B, {objective}: "
        f"{', '.join(f'{count} {how}' for how, count in hows.items())}"
        f"{', some run again' if again else ''}"
        f"{', two memories' if plan.slow_memories else ''}; {result.compute_steps} computes; error "
        f"{result.max_abs_error:.2g}, eager's own {own:.2g}{'' if right else ' WRONG'}; "
        f"{time.perf_counter() - began:.1f} s",
        flush=True,
    )
    return right


def cases(names: list[str]) -> Iterator[tuple[str, int]]:
    for side, models in SIDES.items():
        yield from ((name, side) for name in models if not names or name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--limit", type=float, default=3.0, help="seconds for a plan")
    parser.add_argument("--behind", help="size of a slower memory behind the scratchpad")
    chosen = parser.parse_args()
    machine = load_machine("npu_ideal")
    if chosen.behind:
        machine = machine_of(sp.parse_size(chosen.behind))
    right = [
        run(name, side, objective, chosen.limit, machine)
        for name, side in cases(chosen.models)
        for objective in ("latency", "traffic")
    ]
    print(f"{sum(right)} of {len(right)} right")
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
