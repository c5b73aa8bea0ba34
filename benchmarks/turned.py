"""What an array changes: the same questions on an ideal machine and on one with an array.

    python benchmarks/turned.py [--limit 2] [--machines npu_ideal npu_small]

The cells are those of `cells.csv` (networks × planners × budgets; other comparisons of planners
use them too), planned by latency where the planner can. Printed, for each network and budget: the
planner whose plan is quickest on either machine; of each planner's plan what 64 KiB more buys; and
ten networks in the order of their latency at MP. Seconds are those of the simulator.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.study.budgets import parse_size

CELLS = Path(__file__).with_name("cells.csv")
MORE_BYTES = 64 * 1024
BY_LATENCY = ("cosma", "fusion", "overlap", "joined")
TEN = (
    "squeezenet1_1",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "shufflenet_v2_x1_0",
    "mnasnet1_0",
    "efficientnet_b0",
    "resnet18",
    "regnet_x_400mf",
    "googlenet",
    "mcunet_vww1",
)


def seconds(graph: sp.Graph, planner: str, budget: int, machine: str, limit: float) -> float | None:
    """The latency of a cell's plan; None where there is none."""
    options = {"objective": "latency"} if planner in BY_LATENCY else {}
    try:
        plan = sp.plan(graph, planner, budget, machine, time_limit=limit, **options)
    except (sp.BudgetTooSmall, sp.NoPlanFound):
        return None
    return sp.simulate(plan).makespan_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--machines", nargs=2, default=("npu_ideal", "npu_small"))
    asked = parser.parse_args()
    with CELLS.open() as file:
        cells = list(csv.DictReader(file))
    took: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    buys: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        graph, size = sp.load(cell["network"]), parse_size(cell["budget"])
        for machine in asked.machines:
            now = seconds(graph, cell["planner"], size, machine, asked.limit)
            more = seconds(graph, cell["planner"], size + MORE_BYTES, machine, asked.limit)
            if now is not None and more is not None:
                buys[machine].append(1 - more / now)
            if now is not None:
                took[cell["network"], cell["budget"], machine][cell["planner"]] = now
    turned = 0
    for network, budget in dict.fromkeys((c["network"], c["budget"]) for c in cells):
        best = [took[network, budget, machine] for machine in asked.machines]
        names = [min(each, key=lambda p: each[p]) if each else "none" for each in best]
        turned += names[0] != names[1]
        words = [
            f"{name} {each[name] * 1e3:.3f} ms" if each else "none"
            for name, each in zip(names, best)
        ]
        other = " turned" if names[0] != names[1] else ""
        print(f"{network:20} {budget:8} {words[0]:24} {words[1]:24}{other}")
    print(f"{len(cells)} cells: {turned} winners turned")
    for machine in asked.machines:
        some = buys[machine]
        print(f"64 KiB more buy on {machine}: median {median(some):.1%}, most {max(some):.1%}")
    for machine in asked.machines:
        whole = {
            name: seconds(sp.load(name), "cosma", 1 << 40, machine, asked.limit) for name in TEN
        }
        order = sorted(whole, key=lambda name: whole[name] or 0.0)
        print(machine + ": " + ", ".join(f"{n} {(whole[n] or 0) * 1e3:.2f}" for n in order))


if __name__ == "__main__":
    main()
