"""Is a plan that is made for an array quicker there than one that was made for an ideal machine?

    python benchmarks/made_for.py [--planners joined] [--out rows.json] [--against old.json]

The cells are those of `cells.csv`, planned by latency where the planner can, for `--machines`, an
array and an ideal one; both plans are timed by the simulator on the array. Printed for each cell:
both in ms, the first over the second, over its floor, and over that of `--against`, which another
build wrote to `--out`. At the end, for each planner: geometric means, the worst, how many are
within 5 % of their floor, and the processor seconds of planning.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.core.bounds.floors import latency_floor_s
from planners.study.budgets import parse_size

CELLS = Path(__file__).with_name("cells.csv")
BY_LATENCY = ("cosma", "fusion", "overlap", "joined")


def planned(
    graph: sp.Graph, planner: str, budget: int, machine: str, limit: float
) -> sp.Plan | None:
    """A cell's plan; None where there is none."""
    options = {"objective": "latency"} if planner in BY_LATENCY else {}
    try:
        return sp.plan(graph, planner, budget, machine, time_limit=limit, **options)
    except (sp.BudgetTooSmall, sp.NoPlanFound):
        return None


def row(cell: dict[str, str], limit: float, machines: tuple[str, str]) -> dict[str, float]:
    """Seconds on the array of the plan for it and of the one for the ideal machine, the floor, and
    the seconds of planning; 0 for what is not there."""
    graph, size = sp.load(cell["network"]), parse_size(cell["budget"])
    started = time.process_time()
    plan = planned(graph, cell["planner"], size, machines[0], limit)
    took = time.process_time() - started
    other = planned(graph, cell["planner"], size, machines[1], limit)
    array = sp.load_machine(machines[0])
    found = {"array_s": 0.0, "ideal_s": 0.0, "floor_s": 0.0, "plan_s": took}
    if plan is not None:
        found["array_s"] = sp.simulate(plan).makespan_s
        found["floor_s"] = latency_floor_s(plan) or 0.0
    if other is not None:
        found["ideal_s"] = sp.simulate(replace(other, machine=array)).makespan_s
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--machines", nargs=2, default=("npu_small", "npu_ideal"))
    parser.add_argument("--planners", nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    asked = parser.parse_args()
    before = json.loads(asked.against.read_text()) if asked.against else {}
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with CELLS.open() as file:
        cells = [
            c for c in csv.DictReader(file) if c["planner"] in (asked.planners or c["planner"])
        ]
    for cell in cells:
        name = f"{cell['network']} {cell['planner']} {cell['budget']}"
        found = rows[name] = row(cell, asked.limit, asked.machines)
        own, old = ratios[cell["planner"]], before.get(name, {})
        words = [f"{name:40} {found['array_s'] * 1e3:9.4f} {found['ideal_s'] * 1e3:9.4f} ms"]
        for what, seconds in (
            ("ideal", found["ideal_s"]),
            ("floor", found["floor_s"]),
            ("before", old.get("array_s", 0.0)),
        ):
            if seconds and found["array_s"]:
                own[what].append(found["array_s"] / seconds)
                words.append(f"{what} {own[what][-1]:.4f}")
        if old.get("plan_s"):
            own["planning"].append(found["plan_s"] / old["plan_s"])
        print("  ".join(words), flush=True)
    for planner, own in ratios.items():
        near = sum(ratio <= 1.05 for ratio in own["floor"])
        means = [f"{k} {geometric_mean(v):.4f} (worst {max(v):.4f})" for k, v in own.items() if v]
        print(f"{planner:10} {'  '.join(means)}  within 5 % of floor {near}/{len(own['floor'])}")
    if asked.out:
        asked.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
