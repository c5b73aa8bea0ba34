"""Of the many ways to run a group the few that are worth laying out and timing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.fusion.tile.axes import Counts
from planners.fusion.tile.ways import GroupPlan, GroupWays, made

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
    found: dict[Kind, list[Counts]] = {}
    begin = 0
    for way in ways:
        stop = begin + len(way.buffers)
        local = np.flatnonzero(chosen[begin:stop])
        for number in np.unique(way.kinds[local]).tolist():
            alike = local[way.kinds[local] == number]
            plan = way.make(int(alike[0]))
            kind = Kind(plan.sliced, plan.bands, plan.images, plan.channel_passes > 1)
            found.setdefault(kind, []).append(alike + begin)
        begin = stop
    return found


def _spread(stair: Sequence[int]) -> list[int]:
    """The last, which moves least, and a few before it."""
    return [stair[-1 - (len(stair) - 1) * k // EACH] for k in range(min(EACH, len(stair)))]
