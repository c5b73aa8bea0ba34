"""Joined plans beside those of other planners by latency, weights counted or read in place.

    python benchmarks/joined.py --limit 6 mobilenet_v2:262144 resnet18:MR
    python benchmarks/joined.py --weights in-place mobilenet_v2:131072

Each cell is a network and a budget (bytes, or MR, MH, MP of these weights). Printed for each: the
floor of the problem, and of each planner alone, with all of the limit, the milliseconds of its
plan, the bytes that it moves and the processor seconds that it took, check and timing included.
Then the geometric mean of joined over the better of the others, and over the floor.
"""

from __future__ import annotations

import argparse
import time
from math import exp, log

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import Machine, load_machine, with_scratchpad
from planners.core.weights import COUNTED, IN_PLACE

OTHERS = {COUNTED: ("fusion", "cosma"), IN_PLACE: ("overlap", "cosma")}


def asked(
    graph: sp.Graph, planner: str, budget: int, machine: Machine, limit_s: float, weights: str
) -> float | None:
    """The milliseconds of a planner's plan, told with its bytes; None where it has none."""
    began = time.process_time()
    options: dict[str, object] = {"objective": "latency", "weights": weights}
    if planner == "joined":
        options["others"] = False
    try:
        plan = sp.plan(graph, planner, budget, machine=machine, time_limit=limit_s, **options)
    except sp.SpillwayError as error:
        print(f"  {planner}: {type(error).__name__}")
        return None
    trace = sp.simulate(plan)
    took = time.process_time() - began
    told = f"{1e3 * trace.makespan_s:.4f} ms, {trace.traffic_bytes:,} bytes, {took:.1f} s"
    print(f"  {planner}: {told}", flush=True)
    return 1e3 * trace.makespan_s


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="+", metavar="MODEL:BUDGET")
    parser.add_argument("--limit", type=float, default=6.0, help="seconds for each plan")
    parser.add_argument("--machine", default="npu_ideal")
    parser.add_argument("--weights", choices=OTHERS, default=COUNTED)
    chosen = parser.parse_args()
    counted = chosen.weights == COUNTED
    beside, above = [], []
    for cell in chosen.cells:
        name, _, budget = cell.rpartition(":")
        graph = sp.load(name)
        if budget.isdigit():
            size = int(budget)
        else:
            size = getattr(sp.budgets(graph, parameters=counted), budget)
        machine = with_scratchpad(load_machine(chosen.machine), size)
        floor = 1e3 * ProblemFloors(graph, machine, chosen.weights).latency_s
        print(f"{name} {size:,} bytes: floor {floor:.4f} ms")
        took = {
            planner: asked(graph, planner, size, machine, chosen.limit, chosen.weights)
            for planner in ("joined", *OTHERS[chosen.weights])
        }
        own = took.pop("joined")
        others = [value for value in took.values() if value is not None]
        if own is not None:
            above.append(own / floor)
            beside += [own / min(others)] if others else []
    print(f"joined over the better of the others: {mean(beside):.3f}, in {len(beside)} cells")
    print(
        f"joined over the floor: {mean(above):.3f}, within 5 % in {sum(a <= 1.05 for a in above)}"
    )


if __name__ == "__main__":
    main()
