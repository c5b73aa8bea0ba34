"""Joined plans beside each paper's planner, on that paper's own networks and machine.

    python benchmarks/joined_papers.py [optimus vmcu demand-layering cosma] [--limit 10]

* `optimus`: its eight networks on its accelerator with 128 KiB, bytes off chip, `fusion`.
* `vmcu`: the MCUNets on its board with 128 KB, weights read in place, seconds, `overlap`; in
  128 KiB, and in the least bytes that overlap needs.
* `demand-layering`: Darknet's networks on its board, seconds, `streaming` with rings and maps in
  one memory: in the bytes that its plan of least delay takes, and in twice the least.
* `cosma`: its fourteen networks with parameters at MR, bytes off chip, `cosma` in the order
  that it chooses.

Each planner has all of the limit alone, joined without asking the others. Printed for each cell:
the bytes, what the two have and joined's share of it, and how the whole compares: in how many
cells joined is better, equal (within a hundredth of a percent), worse, and the geometric mean.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

import planners as sp
from planners.core.machine import Machine, load_machine
from planners.papers.cosma.study import HUMAN, SEARCHED
from planners.papers.demand_layering.paper import NETWORKS as DARKNETS
from planners.papers.demand_layering.sections import section_graph
from planners.papers.optimus.paper import EIGHT
from planners.papers.vmcu.paper import F411RE_BYTES, PUBLISHED_KIB

EQUAL = 1e-4
FREE_BYTES = 2**33


@dataclass(frozen=True)
class Cell:
    """A problem, the paper's planner and its options."""

    name: str
    graph: sp.Graph
    machine: Machine
    budget_bytes: int
    objective: str
    weights: str
    planner: str
    options: dict[str, Any] = field(default_factory=dict)


def optimus() -> Iterator[Cell]:
    machine = load_machine("optimus")
    for name in EIGHT:
        graph = sp.load(name)
        budget = 128 * 1024
        yield Cell(
            name, graph, machine, budget, "traffic", "counted", "fusion", {"objective": "traffic"}
        )


def vmcu() -> Iterator[Cell]:
    machine = load_machine("stm32f411")
    for name in PUBLISHED_KIB:
        graph = sp.load(name)
        least = sp.plan(graph, "overlap", F411RE_BYTES * 4, machine=machine, objective="ram")
        for budget in sorted({F411RE_BYTES, least.claims.extent_bytes}):
            options = {"objective": "latency"}
            yield Cell(name, graph, machine, budget, "latency", "in-place", "overlap", options)


def demand_layering() -> Iterator[Cell]:
    machine = load_machine("jetson_xavier_980pro")
    for name in DARKNETS:
        graph = section_graph(name)
        free = sp.plan(graph, "streaming", FREE_BYTES, machine=machine, joint=True)
        needed = free.claims.peak_bytes
        for budget in (needed // 2, needed):
            yield Cell(
                name, graph, machine, budget, "latency", "counted", "streaming", {"joint": True}
            )


def cosma() -> Iterator[Cell]:
    machine = load_machine("npu_ideal")
    for name in (*HUMAN, *SEARCHED):
        graph = sp.load(name)
        budget = sp.budgets(graph, parameters=True).MR
        options = {"schedule": "joint"}
        yield Cell(name, graph, machine, budget, "traffic", "counted", "cosma", options)


PAPERS: dict[str, Callable[[], Iterator[Cell]]] = {
    "optimus": optimus,
    "vmcu": vmcu,
    "demand-layering": demand_layering,
    "cosma": cosma,
}


def value(cell: Cell, planner: str, options: dict[str, Any], limit_s: float) -> float | None:
    """Seconds or bytes of a planner's plan, checked and replayed; None where it has none."""
    options = {"weights": cell.weights, **options}
    try:
        plan = sp.plan(
            cell.graph,
            planner,
            cell.budget_bytes,
            machine=cell.machine,
            time_limit=limit_s,
            **options,
        )
    except sp.SpillwayError as error:
        print(f"    {planner}: {type(error).__name__}: {error!s:.150}")
        return None
    sp.check(plan)
    trace = sp.simulate(plan)
    return trace.makespan_s if cell.objective == "latency" else float(trace.traffic_bytes)


def compare(cell: Cell, limit_s: float) -> float | None:
    """Joined's value over the paper's planner's; infinity where joined alone has none, zero where
    it alone has one."""
    began = time.process_time()
    theirs = value(cell, cell.planner, cell.options, limit_s)
    ours = value(cell, "joined", {"objective": cell.objective, "others": False}, limit_s)
    took = time.process_time() - began
    scale, unit = (1e3, "ms") if cell.objective == "latency" else (1.0, "B")
    told = [f"{scale * v:,.6g} {unit}" if v is not None else "none" for v in (ours, theirs)]
    ratio = None
    if ours is not None and theirs is not None:
        ratio = ours / theirs
    elif ours is not None or theirs is not None:
        ratio = 0.0 if theirs is None else float("inf")
    share = f"{ratio:.4f}" if ratio is not None else "–"
    print(
        f"{cell.name} {cell.budget_bytes:,} B: joined {told[0]}, {cell.planner} {told[1]}, "
        f"{share}; {took:.1f} s of processor",
        flush=True,
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", metavar="PAPER")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each plan")
    chosen = parser.parse_args()
    for name in chosen.papers or PAPERS:
        print(f"# {name}")
        ratios = [r for cell in PAPERS[name]() if (r := compare(cell, chosen.limit)) is not None]
        both = [r for r in ratios if 0 < r < float("inf")]
        better = sum(r < 1 - EQUAL for r in ratios)
        worse = sum(r > 1 + EQUAL for r in ratios)
        mean = exp(sum(map(log, both)) / len(both)) if both else float("nan")
        print(
            f"joined better in {better}, equal in {len(ratios) - better - worse}, worse in {worse};"
            f" geometric mean {mean:.4f} in {len(both)} cells that both have"
        )


if __name__ == "__main__":
    main()
