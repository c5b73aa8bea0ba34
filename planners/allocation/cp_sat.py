"""The packing question as OR-Tools CP-SAT sees it: boxes that may not overlap in the plane."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import ceil, inf
from threading import Event, Thread
from typing import Any

from planners.allocation.heuristics import Offsets
from planners.allocation.problem.instance import Instance
from planners.core.progress import POLL_S, Clock

LEAST_S = 0.5
"""With less time the solver is not begun: it cannot be stopped at its start."""
LOOKS_A_SECOND = 30_000
"""Looks at a clock that are about as much work as a second of the solver's deterministic time,
which takes it more than ten seconds of a clock."""


def available() -> bool:
    """Whether OR-Tools can be imported: not into a process that has imported highspy."""
    return "highspy" not in sys.modules


def can_begin(clock: Clock) -> bool:
    """Whether it is there, and there is time to begin."""
    return available() and clock.left_s > LEAST_S


def solve(
    instance: Instance,
    clock: Clock,
    workers: int = 1,
    *,
    strides: Sequence[int] = (),
    highest: Sequence[int] = (),
) -> tuple[bool | None, Offsets]:
    """(True, offsets), (False, []) where proved infeasible, or (None, []) when time ended.

    With `strides`, units of which each block's offset is a multiple, goes `highest`: the highest
    offset of each.
    """
    from ortools.sat.python import cp_model  # slow to import, and never with highspy loaded

    model = cp_model.CpModel()
    offsets = _build(instance, model, strides, highest)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    status = solve_within(solver, model, clock)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True, [int(solver.value(offset)) for offset in offsets]
    return (False, []) if status == cp_model.INFEASIBLE else (None, [])


def _build(
    instance: Instance, model: Any, strides: Sequence[int], highest: Sequence[int]
) -> list[Any]:
    times, places, offsets = [], [], []
    for block in range(len(instance)):
        start, stop, size = instance.start[block], instance.stop[block], instance.size[block]
        if strides:
            stride = strides[block]
            offset = stride * model.new_int_var(0, highest[block] // stride, "")
        else:
            offset = model.new_int_var(0, instance.capacity - size, "")
        offsets.append(offset)
        times.append(model.new_fixed_size_interval_var(start, stop - start, ""))
        places.append(model.new_fixed_size_interval_var(offset, size, ""))
    model.add_no_overlap_2d(times, places)
    lengths = [b - a for a, b in zip(instance.start, instance.stop, strict=True)]
    model.add_cumulative(times, list(instance.size), instance.capacity)
    model.add_cumulative(places, lengths, instance.sections)
    return offsets


def solve_within(solver: Any, model: Any, clock: Clock, callback: Any = None) -> Any:
    """Solve within the work and the time of a clock, while a thread polls for a stop."""
    solver.parameters.max_time_in_seconds = clock.left_s
    if clock.looks_left < inf:
        solver.parameters.max_deterministic_time = clock.looks_left / LOOKS_A_SECOND
    try:
        status = _watched(solver, model, clock, callback)
    finally:
        clock.spend(1 + ceil(solver.response_proto.deterministic_time * LOOKS_A_SECOND))
    if solver.status_name(status) in ("UNKNOWN", "FEASIBLE"):
        clock.end()
    return status


def _watched(solver: Any, model: Any, clock: Clock, callback: Any) -> Any:
    if not clock.may_stop:
        return solver.solve(model, callback)
    done = Event()

    def watch() -> None:
        while not done.wait(POLL_S):
            if clock.stopped:
                solver.stop_search()
                return

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        return solver.solve(model, callback)
    finally:
        done.set()
        watcher.join()
