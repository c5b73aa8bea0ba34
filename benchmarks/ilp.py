"""The paper's ILP against the search, instance by instance, in one run on one machine.

    python benchmarks/ilp.py [--limit 60] [--schedules default,joint] [--solver HiGHS]
                             [--quick] [--literal]

Random networks of NAS-like cells (10 operators a cell) and small real ones, at MR and MH. One line
an instance: operators, the model's variables and constraints, seconds of both (the ILP's with and
without writing it down), how many times longer the ILP takes (`>` where it is cut short at the
limit), and non-compulsory bytes with status of both. The ILP has capacity rows on top of the
paper's, which make it far faster; `--literal` leaves them out. It fails where two proofs disagree.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from typing import NamedTuple

import planners as sp
from planners.cosma.ilp import build
from planners.cosma.ilp_solve import solve
from planners.cosma.problem import Problem
from planners.errors import Cancelled
from planners.graph.model import Graph, Operator, Tensor

REAL = ("alexnet", "vgg11", "resnet18", "squeezenet1_1", "mobilenet_v2", "googlenet", "vit_b_16")


def nas_like(cells: int, seed: int) -> Graph:
    """Cells of three nodes, each the sum of two operators on what came before; then all joined."""
    rng = random.Random(seed)
    tensors = {"x": Tensor("x", (96,), "input")}
    ops: list[Operator] = []

    def run(kind: str, inputs: tuple[str, ...], size: int) -> str:
        name = f"{kind}{len(ops)}"
        tensors[name] = Tensor(name, (size,))
        ops.append(Operator(name, kind, tuple(dict.fromkeys(inputs)), (name,)))
        return name

    before, last, size = "x", "x", 48
    for cell in range(cells):
        states = [before, last]
        for _ in range(3):
            sides = [run("conv", (rng.choice(states),), size + rng.randint(0, 9)) for _ in "ab"]
            states.append(run("add", (sides[0], sides[1]), size))
        before, last = last, run("concat", tuple(states[2:]), 3 * size)
        size = max(4, size // (1 + cell % 2))
    return Graph(f"cells{cells}-{seed}", tensors, tuple(ops), ("x",), (last,))


class Instance(NamedTuple):
    graph: Graph
    label: str
    budget: int
    schedule: str


def instances(quick: bool, schedules: list[str]) -> Iterator[Instance]:
    graphs = [nas_like(cells, seed) for cells in range(1, 3 if quick else 5) for seed in (1, 2)]
    graphs += [sp.load(name) for name in REAL[: 2 if quick else None]]
    for graph in graphs:
        b = sp.budgets(graph)
        budgets = {"MR": b.MR} | ({"MH": b.MH} if b.MP > b.MR else {})
        for label, budget in budgets.items():
            for schedule in schedules:
                yield Instance(graph, label, budget, schedule)


def compare(item: Instance, limit: float, solver: str, literal: bool) -> str:
    began = time.perf_counter()
    ours = sp.plan(item.graph, budget=item.budget, schedule=item.schedule, time_limit=limit).claims
    ours_s = time.perf_counter() - began

    p = Problem(item.graph, tuple(range(len(item.graph.operators))), False, item.budget)
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
        return f"{head} {limit:>8.1f} {'':>8} {'':>9} {'not written down in time':<24}"
    build_s = time.perf_counter() - began
    found = solve(model, solver, max(1.0, limit - build_s))
    total = build_s + found.seconds
    known = "" if found.values is None else str(found.objective_bytes)
    if found.status == ours.status == "optimal" and found.objective_bytes != ours.objective_bytes:
        raise SystemExit(f"{item.graph.name} {item.label} {item.schedule}: proofs disagree")
    size = f"{len(model.lp.variables())}×{len(model.lp.constraints())}"
    more = " " if found.status == "optimal" else ">"
    return (
        f"{head} {total:>8.1f} {found.seconds:>8.1f} {known:>9} {found.status:<9}{size:>14}"
        f" {more}{total / ours_s:>8.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--schedules", default="default,joint")
    parser.add_argument("--solver", default="HiGHS")
    parser.add_argument("--quick", action="store_true", help="the smallest instances only")
    parser.add_argument("--literal", action="store_true", help="the paper's equations only")
    options = parser.parse_args()
    sp.plan(nas_like(1, 1))  # Imports are no part of either time.
    print(
        f"{'network':<14} {'B':<2} {'order':<7} {'ops':>4} {'ours s':>8} {'bytes':>9} {'':<8} "
        f"{'ILP s':>8} {'solve s':>8} {'bytes':>9} {'':<9}{'model':>14} {'ratio':>9}"
    )
    for item in instances(options.quick, options.schedules.split(",")):
        print(compare(item, options.limit, options.solver, options.literal), flush=True)


if __name__ == "__main__":
    main()
