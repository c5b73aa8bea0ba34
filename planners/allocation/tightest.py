"""The least memory that lifetimes fit in: a search over capacities, each packed exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planners.allocation.aligned import aligned_load, unit_of
from planners.allocation.arena import best_fit_arena
from planners.allocation.portfolio import pack
from planners.allocation.problem.model import Lifetime
from planners.core.progress import Clock

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
) -> Tightest:
    """Addresses up to the least extent found: that of the load where all fits in it.

    Extents are multiples of what divides all sizes and alignments, so few capacities are possible.
    """
    clock = Clock(time_limit_s, should_stop=should_stop)
    unit = unit_of(lifetimes)
    bound = tried = aligned_load(lifetimes)
    offsets: Mapping[str, int] = best_fit_arena(lifetimes)
    extent = max((offsets[item.id] + item.size_bytes for item in lifetimes), default=0)
    capacity = bound
    while tried < extent and not clock.expired():
        limit = min(MOST_S, SHARE * clock.left_s)
        packing = pack(
            lifetimes, capacity, time_limit_s=limit, explain=False, should_stop=should_stop
        )
        if packing.status == "packed":
            offsets, extent = packing.offsets, packing.extent_bytes
        else:
            tried = capacity + unit
            if packing.status == "infeasible":
                bound = max(bound, tried)
        capacity = tried + (extent - tried) // (2 * unit) * unit
    return Tightest(offsets, extent, min(bound, extent))
