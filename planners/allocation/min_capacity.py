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

FIRST_WORK = 4096
"""Looks at the clock for one capacity in the first round; twice as many in each that follows."""
CAPACITIES = 6
"""Of a round: with more work the next one finds better than with more capacities."""


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
    clock: Clock | None = None,
) -> Tightest:
    """Addresses up to the least extent found: that of the load where all fits in it.

    More than `MOST_BLOCKS` lifetimes are placed in one order after another, without a search.
    Extents are multiples of what divides all sizes and alignments, so few capacities are possible.
    A search that is a part of another gives its `clock` in place of a limit.
    """
    clock = clock or Clock(time_limit_s, progress, should_stop=should_stop)
    if are_interrupted(lifetimes):
        placed = least_interrupted(lifetimes, clock)
        return Tightest(placed.offsets, placed.extent_bytes, placed.bound_bytes)
    bound = aligned_load(lifetimes)
    offsets: Mapping[str, int] = quick_arena(lifetimes, clock)
    tight = Tightest(offsets, extent_of(lifetimes, offsets), bound)
    clock.report("best fit", tight.extent_bytes, bound)
    if len(lifetimes) > MOST_BLOCKS:
        offsets = _lowest_of_orders(lifetimes, offsets, bound, clock)
        return Tightest(offsets, extent_of(lifetimes, offsets), bound)
    tight = _tried(lifetimes, tight, bound, clock.work(FIRST_WORK))
    work = FIRST_WORK
    while tight.bound_bytes < tight.extent_bytes and not clock.expired():
        tight = _between(lifetimes, tight, work, clock)
        work *= 2
    return tight


def _tried(lifetimes: Sequence[Lifetime], tight: Tightest, capacity: int, clock: Clock) -> Tightest:
    """With what a capacity says, in the work of a clock."""
    offsets, extent, bound = tight.offsets, tight.extent_bytes, tight.bound_bytes
    packing = pack(lifetimes, capacity, explain=False, clock=clock)
    if packing.status == "packed":
        offsets, extent = packing.offsets, packing.extent_bytes
    elif packing.status == "infeasible":
        bound = max(bound, capacity + unit_of(lifetimes))
    clock.report("packing", extent, min(bound, extent))
    return Tightest(offsets, extent, min(bound, extent))


def _between(lifetimes: Sequence[Lifetime], tight: Tightest, work: int, clock: Clock) -> Tightest:
    """A round of capacities between the bound and the extent: the middle of what is left after each
    that is not enough, or not found to be in so much work."""
    unit = unit_of(lifetimes)
    least = tight.bound_bytes
    for _ in range(CAPACITIES):
        if least >= tight.extent_bytes or clock.expired():
            break
        capacity = least + (tight.extent_bytes - least) // (2 * unit) * unit
        tight = _tried(lifetimes, tight, capacity, clock.work(work))
        if tight.extent_bytes > capacity:
            least = max(capacity + unit, tight.bound_bytes)
    return tight


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
        part = clock.among(len(groups) - number)
        for lower in heuristics.ever_lower(within, part):
            best |= group.in_bytes(lower)
            extent = group.extent(lower) * group.unit_bytes
            clock.report("placing in other orders", None, bound)
            if extent <= bound:
                break
    return best
