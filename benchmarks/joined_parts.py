"""What each part of a joined plan buys: its value with all of them, and with one taken away.

    python benchmarks/joined_parts.py --limit 6 mobilenet_v2:262144 resnet18:262144
    python benchmarks/joined_parts.py --objective traffic efficientnet_b0:262144

Cells as in `benchmarks/joined.py`, in bytes, weights counted, joined alone; milliseconds, or MB of
traffic. Taken away: `overlap` (no output lies over a dying input), `slices` (an operator's
parameters are there together), `early loads` (parameters are loaded just before they are read
first), `computing again` (what is spilled comes back), `spills` (no whole tensors beside pool and
groups), `the pool` (all runs as fused groups: the plan of `fusion`). Then the geometric mean of
each over all together. The first plan of a network is not counted: later ones know costs from it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from math import exp, log
from typing import Any
from unittest.mock import patch

import planners as sp
from planners.joined.fused import FusedParts
from planners.joined.pool import RoomyBlocks, RoomyLevels
from planners.joined.spilled import SpilledParts
from planners.joined.streamed import ParameterStream

levels_at, placed = RoomyLevels.at, ParameterStream.place


def apart(self: RoomyLevels, number: int) -> Any:
    """A run that overlaps nothing."""
    run = levels_at(self, number)
    return run and replace(run, distances={})


def late(self: ParameterStream, wanted: Any, near: Any, not_before: int) -> tuple[int, int]:
    """A place, and loaded no sooner than it is read."""
    offset, at = placed(self, wanted, near, not_before)
    return offset, max(at, wanted.first)


@contextmanager
def without_slices() -> Iterator[None]:
    """Parameters are never cut."""
    with (
        patch.object(RoomyBlocks, "sliced", lambda *_: False),
        patch.object(ParameterStream, "_slices", lambda _, item, __: [item]),
    ):
        yield


WITHOUT: dict[str, Callable[[], Any]] = {
    "all together": nullcontext,
    "without overlap": lambda: patch.object(RoomyLevels, "at", apart),
    "without slices": without_slices,
    "without early loads": lambda: patch.object(ParameterStream, "place", late),
    "without computing again": lambda: patch.object(FusedParts, "_is_worth", lambda *_: False),
    "without spills": lambda: patch.object(SpilledParts, "find", lambda *_: None),
}


def value(
    graph: sp.Graph, planner: str, budget: int, objective: str, limit_s: float
) -> float | None:
    """The milliseconds or MB of a plan; None where there is none."""
    options: dict[str, Any] = {"others": False} if planner == "joined" else {}
    if planner == "fusion" and objective == "traffic":
        options["joint"] = True
    asked = {"objective": objective, "weights": "counted", "time_limit": limit_s, **options}
    try:
        plan = sp.plan(graph, planner, budget, machine="npu_ideal", **asked)
    except sp.SpillwayError:
        return None
    if objective == "traffic":
        return 1e-6 * plan.claims.offchip_bytes
    return 1e3 * sp.simulate(plan).makespan_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="+", metavar="MODEL:BYTES")
    parser.add_argument("--limit", type=float, default=6.0, help="seconds for each plan")
    parser.add_argument("--objective", choices=("latency", "traffic"), default="latency")
    chosen = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    for cell in chosen.cells:
        name, _, budget = cell.rpartition(":")
        graph, found = sp.load(name), {}
        value(graph, "joined", int(budget), chosen.objective, chosen.limit)  # What is known after.
        for part, taken in WITHOUT.items():
            with taken():
                found[part] = value(graph, "joined", int(budget), chosen.objective, chosen.limit)
        fused = value(graph, "fusion", int(budget), chosen.objective, chosen.limit)
        found["without the pool"] = fused
        whole = found["all together"]
        told = (f"{part} {v:.4f}" if v else f"{part} none" for part, v in found.items())
        unit = "ms" if chosen.objective == "latency" else "MB"
        print(f"{name} {int(budget):,} bytes, {unit}: {', '.join(told)}", flush=True)
        for part, worth in found.items():
            if whole and worth:
                ratios.setdefault(part, []).append(worth / whole)
    for part, values in ratios.items():
        print(f"{part}: {exp(sum(map(log, values)) / len(values)):.3f}, in {len(values)} cells")


if __name__ == "__main__":
    main()
