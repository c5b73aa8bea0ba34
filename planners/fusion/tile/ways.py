"""Ways to run a fused group, many at once, and which of them are worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np

from planners.fusion.tile.axes import Counts

Steps: TypeAlias = tuple[tuple[int, int], ...]  # (buffer, traffic) in bytes, from small to large


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A way to run a group: `traffic_bytes` are all that cross, parameters included.

    `rows_per_strip` counts rows of the tallest output, `images` those in a tile. `sliced` are the
    places in `group.tensors` of those held by the channel, `channel_tile` or more at a time.
    `kept` are the places in the group of operators whose parameters stay on chip; the others'
    are loaded anew for each tile, for `channel_tile` channels or more at a time. An operator
    alone may be run in `channel_passes` over its input, each making `pass_channels`. Tiles are
    `bands` of columns, one band after the other.
    """

    buffer_bytes: int
    traffic_bytes: int
    rows_per_strip: int
    strips: int
    images: int
    kept: tuple[int, ...]
    channel_tile: int
    sliced: tuple[int, ...] = ()
    channel_passes: int = 1
    pass_channels: int = 0
    bands: int = 1


@dataclass(frozen=True)
class GroupWays:
    """Buffers and traffic of many ways to run a group in bytes, their strips, and what makes one
    of them. Those of one of its `kinds` hold the same by the channel, in as many bands, of as
    many images, in one pass over the channels or in several."""

    buffers: Counts
    traffic: Counts
    strips: Counts
    kinds: Counts
    make: Callable[[int], GroupPlan]


class Staircase(Sequence[GroupPlan]):
    """Undominated ways by rising buffer; `steps` has their buffers and traffic in bytes.

    The ways are made on first access; `ways` are all, dominated ones too.
    """

    def __init__(self, ways: Sequence[GroupWays], places: Sequence[int], steps: Steps) -> None:
        self.steps, self.ways = steps, ways
        self._places = places
        self._made: dict[int, GroupPlan] = {}

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, at: int) -> GroupPlan: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[GroupPlan, ...]: ...
    def __getitem__(self, at: int | slice) -> GroupPlan | tuple[GroupPlan, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        at = range(len(self))[at]
        if at not in self._made:
            self._made[at] = made(self.ways, self._places[at])
        return self._made[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Staircase) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def undominated(ways: Sequence[GroupWays]) -> Staircase:
    """Those for which no other needs no more buffer and moves no more."""
    buffers = np.concatenate([way.buffers for way in ways])
    traffic = np.concatenate([way.traffic for way in ways])
    rising = np.lexsort((traffic, buffers))
    least = np.minimum.accumulate(traffic[rising])
    better = rising[np.concatenate(([True], least[1:] < least[:-1]))]
    steps = tuple(zip(buffers[better].tolist(), traffic[better].tolist(), strict=True))
    return Staircase(ways, better.tolist(), steps)


def cheapest(ways: Sequence[GroupWays], budget_bytes: int) -> list[GroupPlan]:
    """All that move least of those that fit."""
    moved = [way.traffic[way.buffers <= budget_bytes] for way in ways]
    least = min((int(part.min()) for part in moved if len(part)), default=-1)
    return [
        way.make(int(at))
        for way in ways
        for at in np.flatnonzero((way.buffers <= budget_bytes) & (way.traffic == least))
    ]


def fitting(ways: Sequence[GroupWays], budget_bytes: int) -> list[GroupPlan]:
    """All that fit."""
    return [way.make(int(at)) for way in ways for at in np.flatnonzero(way.buffers <= budget_bytes)]


def made(ways: Sequence[GroupWays], at: int) -> GroupPlan:
    """The way at a place, counted over all of them."""
    for way in ways:
        if at < len(way.buffers):
            return way.make(at)
        at -= len(way.buffers)
    raise IndexError(at)
