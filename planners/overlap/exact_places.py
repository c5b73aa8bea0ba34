"""The least circular pool for a part of a schedule, by CP-SAT: which of two begins first."""

from __future__ import annotations

import sys
from math import ceil
from typing import Any

from planners.overlap.places import Part, Places
from planners.progress import Clock

MOST_PAIRS = 4000
LEAST_S = 0.2  # with less time it is not begun
WORKERS = 2


def improve(
    part: Part, least: int, pool: int, places: Places, clock: Clock
) -> tuple[int, Places, int]:
    """A pool smaller than that known and places in it, or those known; and a bound on any pool.

    It ends with the first pool of `least` bytes. OR-Tools is not to be had beside highspy.
    """
    if "highspy" in sys.modules or len(part.pairs) > MOST_PAIRS or clock.left_s < LEAST_S:
        return pool, places, part.floor
    from ortools.sat.python import cp_model  # slow to import, and never with highspy loaded

    unit = part.unit
    model = cp_model.CpModel()
    size, offsets = _build(model, part, max(least, part.floor) // unit, pool // unit)
    for offset, place in zip(offsets, places, strict=True):
        model.add_hint(offset, place // unit)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = WORKERS
    solver.parameters.max_time_in_seconds = clock.left_s
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return pool, places, part.floor
    found = tuple(int(solver.value(offset)) * unit for offset in offsets)
    # The search begins at `least`: that nothing smaller was found says nothing.
    proven = ceil(solver.best_objective_bound - 1e-6) * unit
    return int(solver.value(size)) * unit, found, proven if proven > least else part.floor


def _build(model: Any, part: Part, least: int, most: int) -> tuple[Any, list[Any]]:
    """The size of the pool and all places, in units; each pair's gaps, whichever begins first."""
    unit = part.unit
    size = model.new_int_var(least, max(least, most), "")
    offsets = [model.new_int_var(0, max(0, most - 1), "") for _ in part.blocks]
    for offset in offsets:
        model.add(offset < size)
    # A pool may be turned round: the largest block lies at its beginning.
    largest = max(range(len(offsets)), key=lambda i: part.blocks[i].size)
    model.add(offsets[largest] == 0)
    for a, b, ab, ba in part.pairs:
        front = model.new_bool_var("")
        ahead = offsets[b] - offsets[a]
        model.add(ahead >= ab // unit).only_enforce_if(front)
        model.add(ahead <= size - ba // unit).only_enforce_if(front)
        model.add(-ahead >= ba // unit).only_enforce_if(~front)
        model.add(-ahead <= size - ab // unit).only_enforce_if(~front)
    model.minimize(size)
    return size, offsets
