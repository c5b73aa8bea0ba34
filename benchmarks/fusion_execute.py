"""Fused groups run on real numbers, tile by tile in an arena of the budget, beside PyTorch.

    python benchmarks/fusion_execute.py [MODEL ...] [--reduced] [--kib 128]

The paper's eight smaller networks at a reduced input, and three of them at full size. The arena
has the budget's bytes for each byte of an element that was planned: 4 × for float32. Batch norms
are calibrated on eight other images. An error is compared with eager PyTorch's own in float32,
which is how far it is from float64.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Any

import torch

import planners as sp
from planners.catalogue.torch_models import random_inputs, random_module

FULL = dict.fromkeys(("squeezenet1_0", "mobilenet_v2", "resnet18"), 224)
REDUCED = {
    "alexnet": 96,
    "vgg16": 64,
    "googlenet": 64,
    "squeezenet1_0": 64,
    "mobilenet_v2": 64,
    "resnet18": 64,
    "resnet50": 64,
    "resnet152": 64,
}


def run(name: str, side: int, budget_bytes: int) -> bool:
    """Plan, check and execute one network; whether it came out right."""
    began = time.perf_counter()
    graph = sp.load(name, input_shape=((1, 3, side, side),))
    plan = sp.plan(graph, "fusion", budget_bytes, machine="optimus", time_limit=120, replay=False)
    planned = time.perf_counter()
    report = sp.check(plan)
    checked = time.perf_counter()
    module = random_module(name, 0, random_inputs(((8, 3, side, side),), 1))
    inputs = random_inputs(((1, 3, side, side),), 0)
    result = sp.execute(plan, module, inputs)
    executed = time.perf_counter()
    with torch.no_grad():
        exact = copy.deepcopy(module).double().eval()(*(x.double() for x in inputs))
    own = max(
        float((a.double() - b).abs().max()) for a, b in zip(leaves(result.reference), leaves(exact))
    )
    right = result.max_abs_error <= 20 * own
    print(
        f"{name} {side}×{side}: {plan.claims.status}, {report.instructions} instructions, "
        f"{result.compute_steps} computes in an arena of {result.arena_bytes} bytes; error "
        f"{result.max_abs_error:.2g}, eager's own {own:.2g}{'' if right else ' WRONG'}; seconds: "
        f"plan {planned - began:.1f}, check {checked - planned:.1f}, "
        f"execute {executed - checked:.1f}",
        flush=True,
    )
    return right


def leaves(value: Any) -> list[torch.Tensor]:
    return (
        [value] if isinstance(value, torch.Tensor) else [x for item in value for x in leaves(item)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(REDUCED))
    parser.add_argument("--reduced", action="store_true", help="no full size")
    parser.add_argument("--kib", type=int, default=128)
    chosen = parser.parse_args()
    cases = [(name, REDUCED[name]) for name in chosen.models]
    cases += [] if chosen.reduced else [(n, FULL[n]) for n in chosen.models if n in FULL]
    wrong = [name for name, side in cases if not run(name, side, chosen.kib * 1024)]
    if wrong:
        raise SystemExit(f"not PyTorch's result: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
