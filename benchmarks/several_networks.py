"""The least memory in which two networks meet their deadlines: policies, slices and stages.

    python benchmarks/several_networks.py [MODEL:PERIOD_MS:DEADLINE_MS ...] [--seconds 20]

A table as in docs/streaming.md; `--seconds` is what a search may take, of each kind of layout.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import planners as sp
from planners.core.progress import Clock
from planners.streaming.several import (
    POLICIES,
    LeastMemory,
    PeriodicTask,
    Policy,
    analyse,
    entry,
    exact,
    least_of_all,
    least_partitioned,
    least_shared,
    search,
    tasks_of,
)

PAIR = ("densenet201:120:100", "yolov4:360:300")
WAYS = ((2, 1), (2, 4), (3, 1))  # stages, slices
MIB = 2**20


def cell(tasks: Sequence[PeriodicTask], found: LeastMemory) -> str:
    """What was found of a kind of layout, and whether that is proven."""
    if found.layout is None:
        return f"none: {found.why}" if found.proven else "none found"
    kept = [task.name for i, task in enumerate(tasks) if found.layout.keeps(i)]
    text = f"{found.layout.memory_bytes / MIB:.1f} MiB"
    text += f" ({', '.join(kept)} kept)" if kept else ""
    return text + ("" if found.proven else f", at least {found.bound_bytes / MIB:.1f}")


def row(
    tasks: Sequence[PeriodicTask], policy: Policy, stages: int, slices: int, seconds: float
) -> str:
    found = [
        kind(search(tasks, policy, stages, Clock(seconds)))
        for kind in (least_shared, least_of_all, least_partitioned)
    ]
    layouts = [item.layout for item in found if item.layout]
    bounds = "–"
    if layouts:
        best = analyse(tasks, policy, min(layouts, key=lambda layout: layout.memory_bytes))
        bounds = ", ".join(f"{response.bound_s * 1e3:.1f} ms" for response in best.responses)
    cells = [policy, str(stages), str(slices), *(cell(tasks, item) for item in found), bounds]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("networks", nargs="*", default=PAIR)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--machine", default="jetson_xavier_980pro")
    given = parser.parse_args()
    entries = [entry(text) for text in given.networks]
    graphs = [sp.load(said.model, bytes_per_element=4) for said in entries]
    machine = sp.load_machine(given.machine)
    print(
        "| policy | stages | slices | one ring | one ring, some kept | a ring for each | bounds |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for policy in POLICIES:
        for stages, slices in WAYS:
            tasks = tasks_of(entries, graphs, machine, exact(1), stages=stages, slices=slices)
            print(row(tasks, policy, stages, slices, given.seconds), flush=True)


if __name__ == "__main__":
    main()
