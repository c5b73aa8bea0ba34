"""Are lower bounds on fused groups below what these groups cost? Of networks as they are.

    python benchmarks/group_bounds.py [all | resnet18,swin_t] [--operators 5] [--seconds 12]

Groups grow from operators alone, those of equal looks once. Of each the staircase says what it
needs and moves; at every budget on it the bound must be no more, and the least buffer no less than
its floor. Prints groups that contradict, and how many were looked at; fails if any does.
"""

from __future__ import annotations

import argparse
import random
import sys
from time import perf_counter

import planners as sp
from planners.cli.study import TORCHVISION
from planners.core.machine import load_machine
from planners.core.masks import positions
from planners.fusion.options import FusionOptions
from planners.fusion.planner import group_model
from planners.fusion.search.candidates import Candidates

MOST_ABREAST = 3000
"""Groups of one size that larger ones grow from; of more a sample."""


def contradictions(name: str, operators: int, seconds: float) -> tuple[int, list[str]]:
    """How many groups of a network were looked at, and a line for each that contradicts."""
    graph, end, count = sp.load(name), perf_counter() + seconds, 0
    model = group_model(graph, load_machine("npu_ideal"), FusionOptions.from_values({}).values())
    found, seen, wrong = Candidates(model, graph, model.traits), set[object](), list[str]()
    layer = dict(found._singles())
    for _ in range(1, operators):
        grown = {}
        for mask, around in found._larger(layer):
            if perf_counter() > end:
                return count, wrong
            if not model.fuses(mask):
                continue
            grown[mask] = around
            if (key := found.key(mask)) in seen or not (steps := found.cost(mask)):
                continue
            seen.add(key)
            count += 1
            budgets = [buffer for buffer, _ in steps]
            bounds = found.least_traffic(mask, budgets)
            costs = [min(moved for need, moved in steps if need <= b) for b in budgets]
            low = any(b is None or b > c for b, c in zip(bounds, costs, strict=True))
            if low or found.floor(mask) > min(budgets):
                names = ", ".join(graph.operators[i].name for i in positions(mask))
                wrong.append(f"{name}: {names}")
        some = random.Random(name).sample(sorted(grown), min(MOST_ABREAST, len(grown)))
        layer = {mask: grown[mask] for mask in some}
    return count, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="?", default="all", help="all of torchvision's, or names")
    parser.add_argument("--operators", type=int, default=5, help="in the largest groups")
    parser.add_argument("--seconds", type=float, default=12.0, help="for a network, at most")
    chosen = parser.parse_args()
    models = sorted(TORCHVISION) if chosen.models == "all" else chosen.models.split(",")
    groups, wrong = 0, list[str]()
    for name in models:
        count, lines = contradictions(name, chosen.operators, chosen.seconds)
        groups, wrong = groups + count, wrong + lines
        print("\n".join([*lines, f"{name}: {count} groups, {len(lines)} contradict"]), flush=True)
    print(f"{groups} groups of {len(models)} networks, {len(wrong)} contradict")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
