"""Two plans on one axis: which step of one corresponds to which step of the other. No Panel here.

A step of a fused plan is a tile, of a streamed plan a layer, of other plans an operator, so step
numbers cannot be compared directly. What is drawn of the other plan is moved onto the steps of the
plan on screen.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.display.displayed_plan import DisplayedPlan

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Warp:
    """A piecewise linear map through pairs of corresponding places, which fall in neither; the last
    slope continues beyond the last pair.

    Without pairs nothing is moved.
    """

    theirs: tuple[float, ...] = ()
    ours: tuple[float, ...] = ()

    def __call__(self, place: float) -> float:
        """The place on the axis of the plan on screen that corresponds to a place of the other
        plan."""
        return _between(self.theirs, self.ours, place)

    def back(self, place: float) -> float:
        """The place on the axis of the other plan that corresponds to a place of the plan on
        screen."""
        return _between(self.ours, self.theirs, place)

    @property
    def same(self) -> bool:
        """Whether nothing is moved."""
        return self.theirs == self.ours

    def every(self, places: Any) -> Any:
        """An array of places, each moved."""
        return np.array([*map(self, places.tolist())], float)

    def then(self, other: Warp) -> Warp:
        """Both, one after the other."""
        if self.same or other.same:
            return other if self.same else self
        places = sorted({*self.theirs, *map(self.back, other.theirs)})
        return Warp(tuple(places), tuple(other(self(place)) for place in places))


def warp(here: DisplayedPlan, there: DisplayedPlan, by: str) -> Warp:
    """From the steps of `there` to those of `here`: as they are counted, by time, or by operator.

    By operator: operators that come in the same order in both begin and end at the same place; one
    that has changed its place lies wherever its neighbours take it.
    """
    if by == "steps" or (here.plan.program.steps == there.plan.program.steps and by == "operator"):
        return Warp()
    pairs = _by_time(here, there) if by == "time" else _by_operator(here, there)
    return Warp(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    if len(xs) < 2:
        return x
    i = min(max(bisect_right(xs, x), 1), len(xs) - 1)
    (x0, x1), (y0, y1) = xs[i - 1 : i + 1], ys[i - 1 : i + 1]
    if x0 == x1:  # the last step takes no time
        return y1
    return y0 + (x - x0) * (y1 - y0) / (x1 - x0)


def _by_time(here: DisplayedPlan, there: DisplayedPlan) -> list[Pair]:
    """Steps begin where the plan on screen is at that time; after its end, steps of average
    length."""
    starts, places = _clock(here)
    pairs = []
    for seconds, step in zip(*_clock(there), strict=True):
        i = bisect_left(starts, seconds)
        if i < len(starts):
            pairs.append((step, _between(starts, places, seconds)))
        else:
            mean = (starts[-1] - starts[0]) / max(1, len(starts) - 1) or 1.0
            pairs.append((step, here.steps + (seconds - starts[-1]) / mean))
    return rising(pairs)


def _clock(shown: DisplayedPlan) -> tuple[list[float], list[float]]:
    """Start times of steps and their numbers, the end last; steps that begin together count as
    one."""
    times = [start for start, _ in shown.step_seconds]
    pairs = [*zip(times, map(float, range(shown.steps)), strict=True)]
    kept = rising([*pairs, (shown.trace.makespan_s, float(shown.steps))])
    return [t for t, _ in kept], [s for _, s in kept]


def _by_operator(here: DisplayedPlan, there: DisplayedPlan) -> list[Pair]:
    """Beginnings and ends of operators: as many as have the same order in both plans."""
    first: dict[float, float] = {}
    last: dict[float, float] = {}
    spans = spans_of(there)
    for name, (start, stop) in spans_of(here).items():
        if name in spans:
            a, b = spans[name]
            first[a] = min(first.get(a, start), start)
            last[b] = max(last.get(b, stop), stop)
    ends = [(0.0, 0.0), (float(there.steps), float(here.steps))]
    return rising(sorted({*first.items(), *last.items(), *ends}))


def spans_of(shown: DisplayedPlan) -> dict[str, tuple[int, int]]:
    """The steps of each operator, from its first to the one after its last."""
    spans: dict[str, tuple[int, int]] = {}
    for step, names in enumerate(shown.ran):
        for name in names:
            spans[name] = spans.get(name, (step, step))[0], step + 1
    return spans


def rising(pairs: Sequence[Pair]) -> list[Pair]:
    """As many of these pairs, in order, as rise strictly in both places; the longest such chain."""
    tails: list[float] = []
    at: list[int] = []
    before: list[int] = []
    # Equal first places: larger seconds first, so that no two of them are in one chain.
    order = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    for i, (_, y) in enumerate(order):
        k = bisect_left(tails, y)
        before.append(at[k - 1] if k else -1)
        tails[k : k + 1] = [y]
        at[k : k + 1] = [i]
    chain: list[Pair] = []
    i = at[-1] if at else -1
    while i >= 0:
        chain.append(order[i])
        i = before[i]
    return chain[::-1]
