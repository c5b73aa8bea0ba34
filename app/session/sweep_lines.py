"""What a sweep plans: the planners with their options, and the budgets of each. No Panel here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.kinds.registry import kind_of_planner
from app.model.options import (
    no_breaks,
    options,
    series,
)
from app.model.pareto import AXES
from app.model.sizes import NAMED_BUDGETS
from app.model.state import ProblemFields

CHOSEN = "as chosen"
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "cosma": ("cosma", {}),
    "fusion": ("fusion", {}),
    "overlap": ("overlap", {}),
    "streaming": ("streaming", {}),
    "joined": ("joined", {}),
    "cosma, least latency": ("cosma", {"objective": "latency"}),
    "fusion, least latency": ("fusion", {"objective": "latency"}),
    "cosma, joint order": ("cosma", {"schedule": "joint"}),
    "fusion, joint": ("fusion", {"joint": True}),
    "overlap, least latency": ("overlap", {"objective": "latency"}),
    "overlap, no fuse": ("overlap", {"fuse": False}),
    "streaming 2S-MD": ("streaming", {"pipeline": "2s-md"}),
    "streaming Async-MD": ("streaming", {"pipeline": "async-md"}),
}
SWEPT = (CHOSEN, *VARIANTS)
POINTS = 9
DEEPEST = 64
MOST_OF_FRONT = 24
PROBE = 1
"""A budget in which nothing fits: the planner's error then names its least budget."""


@dataclass
class SweepLine:
    """A planner with its options, and its progress through the budgets.

    `first` are budgets that come before all others, `grid` the others once they are known.
    """

    name: str
    problem: Mapping[str, Any]
    first: list[int]
    wide: bool
    grid: list[int] | None = None
    known: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    planned: set[int] = field(default_factory=set)
    front: list[int] = field(default_factory=list)
    running: int = 0
    failed: bool = False

    @property
    def has_front(self) -> bool:
        """Whether its plans list all budgets at which they change."""
        kind = kind_of_planner(self.problem["planner"])
        return kind.changes_at_front(self.problem["options"])

    @property
    def waits(self) -> bool:
        """Whether the next budgets depend on the plan that is being made."""
        return self.has_front and not self.front and self.running > 0

    def take_front(self, point: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A point and what follows from it: the same plan at other budgets that are wanted."""
        budget = point["budget_bytes"]
        points = [dict(point)]
        self.planned.add(budget)
        if self.has_front and point["front"]:
            self.front = list(point["front"])
            if self.wide:
                self.grid = [b for b in thinned(self.front) if b not in self.planned]
            here = bisect_right(self.front, budget)
            wanted = [*self.first, *(self.grid or [])]
            for other in dict.fromkeys(wanted):
                if other not in self.planned and bisect_right(self.front, other) == here:
                    points.append({**point, "budget_bytes": other})
                    self.planned.add(other)
        for one in points:
            self.known[one["budget_bytes"]] = one
        self._forget_planned()
        return points

    def take_least(self, need: int, high: int, named: Iterable[int]) -> None:
        """Given the least budget, set the others: equal ratios, and the named ones.

        The least itself comes last: programs in so little memory may be so long that they take
        minutes, and the rest of the chart is there meanwhile.
        """
        if self.wide and self.grid is None:
            low = max(need, high // DEEPEST)
            even = {*even_in_ratio(low, max(high, low), POINTS), *(b for b in named if b >= need)}
            others = sorted(even - {need})
            self.grid = [*(coarse_first(others) if others else ()), need]
        self._forget_planned()

    def _forget_planned(self) -> None:
        self.first = [b for b in self.first if b not in self.planned]
        if self.grid is not None:
            self.grid = [b for b in self.grid if b not in self.planned and not self._level(b)]

    def _level(self, budget: int) -> bool:
        """Whether the plans below and above are equal in everything, so that nothing lies
        between."""
        below = [b for b in self.known if b < budget]
        above = [b for b in self.known if b > budget]
        if not below or not above:
            return False
        pair = self.known[max(below)], self.known[min(above)]
        return all(pair[0][of] == pair[1][of] for axis, of in AXES.items() if axis != "memory")

    @property
    def left(self) -> int:
        """How many budgets are still to be planned; a guess before the least is known."""
        if self.failed:
            return 0
        unknown = self.wide and self.grid is None
        lost = unknown and PROBE in self.planned and not self.running
        return len(self.first) + (len(self.grid or []) if not unknown or lost else POINTS)

    def next(self) -> int | None:
        """The next budget; `PROBE` asks for the least; None where there is nothing to do now."""
        if self.failed or self.waits:
            return None
        if self.first:
            return self.first.pop(0)
        if self.grid is None and self.wide and PROBE not in self.planned:
            self.planned.add(PROBE)
            return PROBE
        return self.grid.pop(0) if self.grid else None


def lines_of(
    problem: ProblemFields,
    request: Mapping[str, Any],
    names: Sequence[str],
    first: Sequence[int],
    wide: bool,
) -> list[SweepLine]:
    """Lines by the names of `SWEPT`, all of one problem."""
    options_of: dict[str, dict[str, Any]] = {}
    for name in names:
        one = asked_of(problem, request, name)
        if one is not None:
            options_of.setdefault(series(one), one)
    return [SweepLine(name, one, list(first), wide) for name, one in options_of.items()]


def asked_of(
    problem: ProblemFields, request: Mapping[str, Any], name: str
) -> dict[str, Any] | None:
    """The problem of a line; None for an unknown name, or one with nothing to be planned."""
    if name == CHOSEN:
        return None if no_breaks(problem) else dict(request)
    if name not in VARIANTS:
        return None
    planner, chosen = VARIANTS[name]
    other = ProblemFields.with_values(planner=planner, **chosen)
    return {**request, "planner": planner, "options": options(other)}


def sweep_budgets(
    budgets: Mapping[str, Any], least: int | None = None, points: int = 12
) -> list[int]:
    """Budgets from MR to what the default order needs at its peak, spaced by equal ratios.

    Where plans begin at `least`, far below MR, so does the sweep, down to a part of the highest.
    """
    low, high = budgets["MR"], max(budgets["default_peak"], budgets["MR"])
    if least is not None:
        low = min(low, max(least, high // DEEPEST))
    named = (budgets[name] for name in NAMED_BUDGETS)
    return sorted({*even_in_ratio(low, high, points), *named, high})


def even_in_ratio(low: int, high: int, points: int) -> list[int]:
    """Sizes from `low` to `high`, each by the same ratio above the one before."""
    ratio = (high / low) ** (1 / (points - 1))
    return [round(low * ratio**i) for i in range(points)]


def coarse_first(sizes: Sequence[int]) -> list[int]:
    """Both ends, then the middle, then the middles of the halves: the shape is soon visible."""
    order = [0, len(sizes) - 1]
    spans = [(0, len(sizes) - 1)]
    while spans:
        low, high = spans.pop(0)
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            spans += [(low, middle), (middle, high)]
    return list(dict.fromkeys(sizes[i] for i in order))


def thinned(front: Sequence[int]) -> list[int]:
    """At most `MOST_OF_FRONT` budgets of a front, its ends among them, coarse first."""
    last = len(front) - 1
    count = min(last, MOST_OF_FRONT - 1) or 1
    return coarse_first(sorted({front[round(i * last / count)] for i in range(count + 1)}))
