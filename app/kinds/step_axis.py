"""The axis across an address map: steps as they are counted, or the time at which each ends.

A step of a fused plan is a tile: a group of many short ones takes most of an axis of steps, and
little of the time. No Panel here.
"""

from __future__ import annotations

import numpy as np

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of

TIME = "time"
ROOM_AFTER = 1.01
"""An axis of time ends so much later than the program."""
MISLEADS = 0.2
"""Steps mislead where a place on their axis is by so much of it from where it is in time."""


def is_timed(shown: DisplayedPlan, axis: str) -> bool:
    """Whether an axis is of time: as asked, else where groups of tiles make steps mislead."""
    if axis or not kind_of(shown).banded:
        return axis == TIME
    ends = np.array(shown.step_ends)
    shares = ends / (ends[-1] or 1.0)
    return bool(np.abs(shares - np.linspace(0, 1, len(ends))).max(initial=0.0) > MISLEADS)


def end_of(axis: Warp, steps: float) -> float:
    """Where an axis ends on which so many steps are to be seen; one of time as the timeline's."""
    return axis(steps) if axis.same else axis(steps) * ROOM_AFTER


def axis_of(shown: DisplayedPlan, axis: str, *, serial: bool) -> Warp:
    """From steps to places on the axis, which are seconds or the steps themselves."""
    if not is_timed(shown, axis):
        return Warp()
    ends = shown.serial_step_ends if serial else shown.step_ends
    return Warp(tuple(map(float, range(shown.steps + 1))), ends)
