"""The axis across an address map: steps as they are counted, or the time at which each ends.

A step of a fused plan is a tile: a group of many short ones takes most of an axis of steps, and
little of the time. No Panel here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.kinds.registry import kind_of
from app.model.aligning import Warp
from app.model.checked_plan import Shown

TIME = "time"
MISLEADS = 0.2
"""Steps mislead where a place on their axis is by so much of it from where it is in time."""


def is_timed(shown: Shown, axis: str) -> bool:
    """Whether an axis is of time: as asked, else where groups of tiles make steps mislead."""
    if axis or not kind_of(shown).banded:
        return axis == TIME
    ends = np.array(step_ends(shown, serial=False))
    shares = ends / (ends[-1] or 1.0)
    return bool(np.abs(shares - np.linspace(0, 1, len(ends))).max(initial=0.0) > MISLEADS)


def step_ends(shown: Shown, *, serial: bool) -> Sequence[float]:
    """In seconds: where the first step begins, and where each ends; the last with the program."""
    seconds = shown.serial_step_seconds if serial else shown.step_seconds
    trace = shown.serial_trace if serial else shown.trace
    ends = np.maximum.accumulate([0.0, *(stop for _, stop in seconds)])
    ends[-1] = max(ends[-1], trace.makespan_s)
    found: list[float] = ends.tolist()
    return found


def axis_of(shown: Shown, axis: str, *, serial: bool) -> Warp:
    """From steps to places on the axis, which are seconds or the steps themselves."""
    if not is_timed(shown, axis):
        return Warp()
    return Warp(tuple(map(float, range(shown.steps + 1))), tuple(step_ends(shown, serial=serial)))
