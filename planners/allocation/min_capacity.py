"""The least memory that lifetimes fit in: a search over capacities, each packed exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from planners.allocation import heuristics
from planners.allocation.aligned import aligned_load, by_themselves, unit_of
from planners.allocation.in_time_order import extent_of, quick_arena
from planners.allocation.interrupted import are_interrupted, least_interrupted
from planners.allocation.portfolio import MOST_BLOCKS, pack
from planners.allocation.problem.instance import reduce
from planners.allocation.problem.model import Lifetime
from planners.core.progress import Clock, ProgressCallback

# Of the time left, what one capacity may take; and the most, in seconds.
SHARE, MOST_S = 0.3, 5.0


@dataclass(frozen=True, slots=True)
class Tightest:
    """Offsets in bytes by id, the highest address in use, and a proven bound on any such."""

    offsets: Mapping[str, int]
    extent_bytes: int
    bound_bytes: int


def pack_tightest(
    lifetimes: Sequence[Lifetime],
    *,
    time_limit_s: float = 10.0,
    should_stop: Callable[[], bool] | None = None,
    progress: ProgressCallback | None = None,
) -> Tightest:
    """Addresses up to the least extent found: that of the load where all fits in it.

    More than `MOST_BLOCKS` lifetimes are placed in one order after another, without a search.
    Extents are multiples of what divides all sizes and alignments, so few capacities are possible.
    """
    clock = Clock(time_limit_s, progress, should_stop=should_stop)
    if are_interrupted(lifetimes):
        placed = least_interrupted(lifetimes, clock)
        return Tightest(placed.offsets, placed.extent_bytes, placed.bound_bytes)
    unit = unit_of(lifetimes)
    bound = tried = aligned_load(lifetimes)
    offsets: Mapping[str, int] = quick_arena(lifetimes, clock)
    extent = extent_of(lifetimes, offsets)
    clock.report("best fit", extent, bound)
    if len(lifetimes) > MOST_BLOCKS:
        offsets = _lowest_of_orders(lifetimes, offsets, bound, clock)
        extent = extent_of(lifetimes, offsets)
        return Tightest(offsets, extent, bound)
    capacity = bound
    while tried < extent and not clock.expired():
        limit = min(MOST_S, SHARE * clock.left_s)
        packing = pack(
            lifetimes,
            capacity,
            time_limit_s=limit,
            explain=False,
            should_stop=lambda: clock.stopped,
        )
        if packing.status == "packed":
            offsets, extent = packing.offsets, packing.extent_bytes
        else:
            tried = capacity + unit
            if packing.status == "infeasible":
                bound = max(bound, tried)
        clock.report("packing", extent, min(bound, extent))
        capacity = tried + (extent - tried) // (2 * unit) * unit
    return Tightest(offsets, extent, min(bound, extent))


def _lowest_of_orders(
    lifetimes: Sequence[Lifetime], offsets: Mapping[str, int], bound: int, clock: Clock
) -> Mapping[str, int]:
    """The given offsets, lowered group by group of what shares time, until the time is over."""
    if not by_themselves(lifetimes):
        return offsets
    best = dict(offsets)
    solid = [item for item in lifetimes if item.size_bytes > 0]
    ends = {item.id: offsets[item.id] + item.size_bytes for item in solid}
    groups = reduce(solid, 0)
    for number, group in enumerate(groups):
        extent = max(ends[id] for id in group.ids)
        within = replace(group, capacity=extent // group.unit_bytes - 1)
        part = clock.part(clock.left_s / (len(groups) - number))
        for found in heuristics.ever_lower(within, part):
            best |= group.in_bytes(found)
            extent = group.extent(found) * group.unit_bytes
            clock.report("placing in other orders", None, bound)
            if extent <= bound:
                break
    return best
