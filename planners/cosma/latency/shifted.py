"""Loads moved to where their bytes are free earlier, one after the other in the order of need.

From a placement of all stays each load in turn takes the offset at which it can come earliest:
after what lay there before has gone. Others stay where they are, so every step keeps to the budget.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from planners.cosma.latency.bound import ScheduleSeconds, earliest_starts
from planners.cosma.model.problem import TensorStay

Placement: TypeAlias = Mapping[TensorStay, int]
PASSES = 3


class LoadShifter:
    """Moves the loads of one set of stays."""

    def __init__(self, seconds: ScheduleSeconds, stays: Sequence[TensorStay]) -> None:
        lines = seconds.problem.lines
        self.seconds, self.stays = seconds, stays
        self.size = np.array([lines[s.line].size_bytes for s in stays], dtype=np.int64)
        self.first = np.array([s.first for s in stays], dtype=np.int64)
        self.last = np.array([s.last for s in stays], dtype=np.int64)
        loads = [k for k, s in enumerate(stays) if is_loaded(seconds, s)]
        self.loads = sorted(loads, key=lambda k: (stays[k].first, -int(self.size[k])))
        self.in_time = self._in_time()

    def _in_time(self) -> dict[int, int]:
        """The step at which each load must have its place for no step to wait for it.

        Seen from the end: loads follow each other, and steps start no earlier than they can.
        """
        start, wanted, upto = earliest_starts(self.seconds), {}, float("inf")
        for k in reversed(self.loads):
            stay = self.stays[k]
            upto = min(upto, start[stay.first]) - self.seconds.load[stay.line]
            wanted[k] = max(0, min(stay.first, bisect_right(start, upto) - 1))
        return wanted

    def shifted(
        self, placement: Placement, *, in_time: bool, rng: random.Random | None = None
    ) -> Placement:
        """The placement with its loads moved: as early as can be, or as early as is of use.

        Of offsets that are as good, the one that it has, then the lowest or, with `rng`, any.
        """
        at = np.array([placement[s] for s in self.stays], dtype=np.int64)
        held_from = self.first.copy()
        for _ in range(PASSES):
            before, not_before = at.copy(), 0
            for k in self.loads:
                held_from[k] = self.first[k]
                want = self.in_time[k] if in_time else not_before
                at[k], held_from[k] = self._place(k, at, held_from, max(want, 0), rng)
                not_before = int(held_from[k])
            if (before == at).all():
                break
        return {stay: int(at[k]) for k, stay in enumerate(self.stays)}

    def _place(
        self,
        k: int,
        at: np.ndarray,
        held_from: np.ndarray,
        want: int,
        rng: random.Random | None,
    ) -> tuple[int, int]:
        """The offset at which load k can come earliest from `want` on, and the step that it can."""
        size, budget = int(self.size[k]), self.seconds.problem.budget_bytes
        beside = (held_from <= self.last[k]) & (self.last >= self.first[k])
        beside[k] = False
        ahead = (self.last < self.first[k]) & (self.last >= want)
        near = np.flatnonzero(beside | ahead)
        low, high = at[near], at[near] + self.size[near]
        offsets = np.unique(np.concatenate(([0, budget - size, at[k]], high, low - size)))
        offsets = offsets[(offsets >= 0) & (offsets + size <= budget)]
        meets = (low < offsets[:, None] + size) & (high > offsets[:, None])
        free = ~(meets & beside[near]).any(axis=1)
        gone = np.where(meets & ~beside[near], self.last[near] + 1, 0).max(axis=1, initial=0)
        come = np.maximum(gone, want)[free]
        offsets = offsets[free]
        best = np.flatnonzero(come == come.min())
        here = best[offsets[best] == at[k]]
        chosen = here[0] if len(here) else best[0] if rng is None else rng.choice(list(best))
        return int(offsets[chosen]), int(come[chosen])


def is_loaded(seconds: ScheduleSeconds, stay: TensorStay) -> bool:
    """Whether a stay begins with a load, not with the operator that makes the tensor."""
    line = seconds.problem.lines[stay.line]
    return not (line.produced and stay.first == line.uses[0])
