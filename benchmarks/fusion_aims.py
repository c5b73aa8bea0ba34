"""How long the planner's own search over fused groups takes, beside what it should.

    python benchmarks/fusion_aims.py [NETWORK ...] [--kib 256]

For each network, with all options at their defaults: processor seconds for what is known of its
operators, and of the search, with wall seconds beside them; groups grown and groups costed; traffic
in MB of no fusion, of the best partition and of the bound, and the gap; and the aim. Networks too
large for the budget get the least that fits each of their operators. `timm:` networks want timm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from planners.catalogue.loading import load
from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FusionOptions
from planners.fusion.search.exact import best_partition

KIB, MB = 1024, 1e6
# Seconds, and the gap that is allowed after them.
AIMS = {
    "squeezenet1_0": (0.3, 0.0),
    "mobilenet_v2": (0.3, 0.0),
    "resnet50": (1.0, 0.0),
    "googlenet": (10.0, 0.0),
    "resnet152": (60.0, 0.05),
    "timm:nasnetalarge": (120.0, 0.1),
}
AT_LEAST_BUDGET = ("timm:nasnetalarge",)
HEAD = (
    "| network | KiB | operators | known s | search s | wall s | groups | costed | no fusion MB | "
    "best MB | bound MB | gap | aim |\n|" + "---|" * 13
)


def row(name: str, graph: Graph, kib: int) -> str:
    began = time.process_time()
    model = GroupModel(graph, load_machine("npu_ideal"), FusionOptions().values())
    ways = [model.staircase(1 << i) for i in range(len(graph.operators))]
    known_s = time.process_time() - began
    least = max(min(way.buffer_bytes for way in each) for each in ways)
    budget = least if name in AT_LEAST_BUDGET else max(least, kib * KIB)
    limit, gap = AIMS.get(name, (60.0, 0.0))
    model.evaluations = 0
    began, wall = time.process_time(), time.perf_counter()
    found = best_partition(model, graph, budget, Clock(max(limit, 60.0)))
    search_s, wall_s = time.process_time() - began, time.perf_counter() - wall
    bests = [model.best(1 << i, budget) for i in range(len(graph.operators))]
    alone = sum(way.traffic_bytes for way in bests if way)
    met = "met" if search_s <= limit and found.gap <= gap else "missed"
    cells = (
        name,
        f"{budget / KIB:g}",
        len(graph.operators),
        f"{known_s:.2f}",
        f"{search_s:.2f}",
        f"{wall_s:.2f}",
        found.considered,
        model.evaluations,
        *(f"{n / MB:.2f}" for n in (alone, found.objective_bytes, found.bound_bytes)),
        f"{found.gap:.1%}",
        f"{limit:g} s, gap {gap:.0%}: {met}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main(names: Sequence[str], kib: int) -> None:
    print(HEAD)
    for name in names:
        try:
            print(row(name, load(name), kib), flush=True)
        except BudgetTooSmall as error:
            print(f"| {name} | {error} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(AIMS))
    parser.add_argument("--kib", type=int, default=256)
    options = parser.parse_args()
    main(options.networks, options.kib)
