"""The paper's ILP against the search, instance by instance, in one run on one machine.

    python benchmarks/ilp.py [--limit 60] [--schedules default,joint] [--solver HiGHS]
                             [--quick] [--literal]

Random networks of NAS-like cells (about 11 operators a cell) and small real ones, at MR and MH. One
line an instance: operators, the model's variables and constraints, seconds of both (the ILP's with
and without writing it down), how many times longer the ILP takes (`>` where it is cut short at the
limit), and non-compulsory bytes with status of both; then the median ratio. The ILP has capacity
rows on top of the paper's, which make it far faster; `--literal` leaves them out. It fails where
two proofs disagree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from nas_like import nas_like

import planners as sp
from planners.core.errors import Cancelled
from planners.cosma.ilp.model import build
from planners.cosma.ilp.solve import solve
from planners.cosma.model.problem import ScheduleProblem

REAL = ("alexnet", "vgg11", "resnet18", "squeezenet1_1", "mobilenet_v2", "googlenet", "vit_b_16")


class Instance(NamedTuple):
    graph: sp.Graph
    label: str
    budget: int
    schedule: str


def instances(quick: bool, schedules: list[str]) -> Iterator[Instance]:
    graphs = [
        nas_like(cells, seed, pairs=3, most_depth=1)
        for cells in range(1, 3 if quick else 5)
        for seed in (1, 2)
    ]
    graphs += [sp.load(name) for name in REAL[: 2 if quick else None]]
    for graph in graphs:
        b = sp.budgets(graph)
        budgets = {"MR": b.MR} | ({"MH": b.MH} if b.MP > b.MR else {})
        for label, budget in budgets.items():
            for schedule in schedules:
                yield Instance(graph, label, budget, schedule)


def compare(item: Instance, limit: float, solver: str, literal: bool) -> tuple[str, float]:
    """The line of an instance, and how many times longer the ILP takes at least."""
    began = time.perf_counter()
    schedule = item.schedule
    ours = sp.plan(
        item.graph, budget=item.budget, schedule=schedule, time_limit=limit, replay=False
    ).claims
    ours_s = time.perf_counter() - began

    p = ScheduleProblem(item.graph, tuple(range(len(item.graph.operators))), False, item.budget)
    began = time.perf_counter()
    head = (
        f"{item.graph.name:<14} {item.label} {item.schedule:<7} {len(p.schedule):>4} "
        f"{ours_s:>8.3f} {ours.objective_bytes:>9} {ours.status:<8}"
    )
    try:
        model = build(
            p,
            "full" if item.schedule == "joint" else "fixed",
            tighten=not literal,
            should_stop=lambda: time.perf_counter() - began > limit,
        )
    except Cancelled:
        text = f"{head} {limit:>8.1f} {'':>8} {'':>9} {'not written down in time':<23}"
        return f"{text} >{limit / ours_s:>8.0f}", limit / ours_s
    build_s = time.perf_counter() - began
    found = solve(model, solver, max(1.0, limit - build_s))
    total = build_s + found.seconds
    known = "" if found.values is None else str(found.objective_bytes)
    if found.status == ours.status == "optimal" and found.objective_bytes != ours.objective_bytes:
        raise SystemExit(f"{item.graph.name} {item.label} {item.schedule}: proofs disagree")
    size = f"{len(model.lp.variables())}×{len(model.lp.constraints())}"
    more = " " if found.status == "optimal" else ">"
    text = (
        f"{head} {total:>8.1f} {found.seconds:>8.1f} {known:>9} {found.status:<9}{size:>14}"
        f" {more}{total / ours_s:>8.0f}"
    )
    return text, total / ours_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--schedules", default="default,joint")
    parser.add_argument("--solver", default="HiGHS")
    parser.add_argument("--quick", action="store_true", help="the smallest instances only")
    parser.add_argument("--literal", action="store_true", help="the paper's equations only")
    options = parser.parse_args()
    sp.plan(nas_like(1, 2, pairs=3, most_depth=1))  # Imports are no part of either time.
    print(
        f"{'network':<14} {'B':<2} {'order':<7} {'ops':>4} {'ours s':>8} {'bytes':>9} {'':<8} "
        f"{'ILP s':>8} {'solve s':>8} {'bytes':>9} {'':<9}{'model':>14} {'ratio':>9}"
    )
    ratios: dict[str, list[float]] = {}
    for item in instances(options.quick, options.schedules.split(",")):
        text, ratio = compare(item, options.limit, options.solver, options.literal)
        print(text, flush=True)
        ratios.setdefault(item.schedule, []).append(ratio)
    for schedule, found in ratios.items():
        print(
            f"{schedule}: {len(found)} instances, the ILP takes {median(found):.0f} times as long "
            f"(median; {min(found):.1f} to {max(found):.0f}), at least"
        )


if __name__ == "__main__":
    main()
