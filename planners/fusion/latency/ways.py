"""The ways to run a group that are worth timing, each with a place of its own and its pace.

A way is laid out in all of the budget, and in half of it, which leaves the other half to the
groups before and after it. Of all ways those are timed that differ in what is held by the channel,
in bands and in passes; of each kind a few from small buffer and much traffic to the reverse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import count_of
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.layout import Arranger
from planners.fusion.latency.group_time import GroupPace, GroupPacer, GroupWork
from planners.fusion.tile.axes import Counts
from planners.fusion.tile.strips import Group
from planners.fusion.tile.ways import GroupPlan, GroupWays, made

# ---- Of the many ways to run a group the few that are worth laying out and timing ----------------

KINDS, EACH = 4, 2  # kinds of ways to a group that are looked at, and ways of each
FEW_STRIPS = 64  # ways of more are for want of others


class Kind(NamedTuple):
    """What ways have in common."""

    sliced: tuple[int, ...]
    bands: int
    images: int
    in_passes: bool


class Stair(NamedTuple):
    """The undominated ways of a kind by rising buffer, and what the last moves, in bytes."""

    kind: Kind
    places: list[int]
    least_bytes: int


def few(ways: Sequence[GroupWays], budget_bytes: int, *, more: bool) -> list[GroupPlan]:
    """Of the ways that fit a few of each kind: of those kinds that move least, and of that which
    holds least by the channel."""
    stairs = sorted(
        _stairs(ways, budget_bytes), key=lambda s: (s.least_bytes, s.kind.bands, len(s.kind.sliced))
    )
    if more:
        places = [at for stair in stairs[:KINDS] for at in _spread(stair.places)]
    else:
        simple = sorted(stairs, key=lambda s: (s.kind.bands, len(s.kind.sliced)))
        places = [stair.places[-1] for stair in (*stairs[:1], *simple[:1])]
    return [made(ways, at) for at in places]


def _stairs(ways: Sequence[GroupWays], budget_bytes: int) -> Iterator[Stair]:
    """Of each kind those that fit for which no other needs no more buffer and moves no more; of
    equals that with the fewest tiles. Those of many tiles only for want of others."""
    if not ways:
        return
    buffers, traffic, strips = (
        np.concatenate([getattr(way, name) for way in ways])
        for name in ("buffers", "traffic", "strips")
    )
    fits = buffers <= budget_bytes
    quick = fits & (strips <= FEW_STRIPS)
    chosen = quick if quick.any() else fits
    for kind, places in _by_kind(ways, chosen).items():
        at = np.concatenate(places)
        at = at[np.lexsort((strips[at], traffic[at], buffers[at]))]
        least = np.minimum.accumulate(traffic[at])
        at = at[np.concatenate(([True], least[1:] < least[:-1]))]
        yield Stair(kind, at.tolist(), int(traffic[at[-1]]))


def _by_kind(ways: Sequence[GroupWays], chosen: NDArray[np.bool_]) -> dict[Kind, list[Counts]]:
    """Places of the chosen ways, counted over all."""
    rows_of: dict[Kind, list[Counts]] = {}
    begin = 0
    for way in ways:
        stop = begin + len(way.buffers)
        local = np.flatnonzero(chosen[begin:stop])
        for number in np.unique(way.kinds[local]).tolist():
            alike = local[way.kinds[local] == number]
            plan = way.make(int(alike[0]))
            kind = Kind(plan.sliced, plan.bands, plan.images, plan.channel_passes > 1)
            rows_of.setdefault(kind, []).append(alike + begin)
        begin = stop
    return rows_of


def _spread(stair: Sequence[int]) -> list[int]:
    """The last, which moves least, and a few before it."""
    return [stair[-1 - (len(stair) - 1) * k // EACH] for k in range(min(EACH, len(stair)))]


# --------------------------------------------------------------------------------------------------

PARTS = (1, 2)  # of the budget: all, or half
PACED = 2  # ways in all and in half of the budget that are timed
MANY, LONGER = 2000, 4  # instructions that are soon written; and times the least, of longer ones
MOST_TIMES_WORSE = 1.25  # by engines' work; what is worse than the best by more is left out


@dataclass(frozen=True)
class TimedWay:
    """A way to run a group, laid out in so much of the budget, and its pace.

    `size_bytes` are those of its layout, `early_bytes` of them kept parameters'.
    """

    plan: GroupPlan
    part_bytes: int
    size_bytes: int
    early_bytes: int
    pace: GroupPace


class TimedWays:
    """The ways of groups of a model within a budget in bytes, timed; alike groups once."""

    def __init__(self, model: GroupModel, budget_bytes: int, double_buffer: bool) -> None:
        self.model, self.graph, self.budget_bytes = model, model.graph, budget_bytes
        self.double_buffer = double_buffer
        self.pacer = GroupPacer(model.graph, model.machine, budget_bytes)
        self.evaluations = 0
        self._known: dict[object, tuple[TimedWay, ...]] = {}

    def timed_ways(self, mask: int, *, more: bool = False) -> tuple[TimedWay, ...]:
        """Undominated timed ways of a group; none where it does not fit.

        A few, at a pace that is estimated for long ones, or `more` of them, at their own.
        """
        key = (self.model.content(mask), more)
        if key not in self._known:
            self._known[key] = tuple(undominated(self._timed(mask, more)))
        return self._known[key]

    def laid(self, name: str, mask: int, way: TimedWay) -> LaidGroup:
        """A group in one of its ways, from address 0."""
        group = self.model.group(mask)
        arranger = Arranger(self.graph, group, way.plan)
        layout = arranger.arrange(way.part_bytes, self.double_buffer)
        return LaidGroup(name, group, way.plan, layout, arranger)

    def _timed(self, mask: int, more: bool) -> list[TimedWay]:
        group = self.model.group(mask)
        plans = few(self.model.ways(mask), self.budget_bytes, more=more)
        roomiest = self.model.roomiest(mask, self.budget_bytes) if more else None
        laid = [
            each
            for plan in dict.fromkeys([*plans, *([roomiest] if roomiest else [])])
            for each in self._laid(group, plan)
        ]
        worked = []
        for each, part_bytes in short(laid):
            self.evaluations += 1
            worked.append((each, part_bytes, self.pacer.work(each, exact=more)))
        return [_paced(*each, more) for each in _promising(worked, self.budget_bytes)]

    def _laid(self, group: Group, plan: GroupPlan) -> Iterator[tuple[LaidGroup, int]]:
        """A way in all and in half of the budget, where these differ."""
        arranger = Arranger(self.graph, group, plan)
        sizes = set()
        for part in PARTS:
            budget = self.budget_bytes // part
            if plan.buffer_bytes > budget:
                continue
            layout = arranger.arrange(budget, self.double_buffer)
            if layout.size_bytes not in sizes:
                sizes.add(layout.size_bytes)
                yield LaidGroup("g", group, plan, layout, arranger, early=plan.kept), budget


def short(laid: Sequence[tuple[LaidGroup, int]]) -> Iterator[tuple[LaidGroup, int]]:
    """Those that are not much longer to write than the shortest, or than is soon written."""
    counts = [count_of([each]) for each, _ in laid]
    most = max(MANY, LONGER * min(counts, default=0))
    return (each for each, count in zip(laid, counts, strict=True) if count <= most)


def _promising(
    worked: Sequence[tuple[LaidGroup, int, GroupWork]], budget_bytes: int
) -> Iterator[tuple[LaidGroup, int, GroupWork]]:
    """The few with the least work, and of those that leave half of the memory."""
    ranked = sorted(worked, key=lambda each: (each[2].least_s, each[0].layout.size_bytes))
    least = ranked[0][2].least_s if ranked else 0.0
    taken = [0, 0]
    for laid, part_bytes, work in ranked:
        small = laid.layout.size_bytes * 2 <= budget_bytes
        if taken[small] < PACED and work.least_s <= MOST_TIMES_WORSE * least:
            taken[small] += 1
            yield laid, part_bytes, work


def _paced(laid: LaidGroup, part_bytes: int, work: GroupWork, exact: bool) -> TimedWay:
    early_bytes = sum(laid.arranger.kept_bytes(i) for i in laid.plan.kept)
    pace = work.pace(exact=exact)
    return TimedWay(laid.plan, part_bytes, laid.layout.size_bytes, early_bytes, pace)


def undominated(ways: Iterable[TimedWay]) -> Iterator[TimedWay]:
    """Those that are not worse in all respects: seconds and bytes."""
    kept: list[tuple[tuple[float, ...], TimedWay]] = []
    ranked = [(_respects(way), way) for way in ways]
    for respects, way in sorted(ranked, key=lambda pair: pair[0]):
        if not any(all(a <= b for a, b in zip(other, respects)) for other, _ in kept):
            kept.append((respects, way))
    if kept:
        most = MOST_TIMES_WORSE * kept[0][0][0]
        yield from (way for respects, way in kept if respects[0] <= most)


def _respects(way: TimedWay) -> tuple[float, ...]:
    pace = way.pace
    return pace.ready_s, pace.alone_s, pace.in_s, pace.out_s, way.size_bytes
