"""Is a packing right? Knows the question, and no algorithm that answers it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from planners.allocation.problem.model import Lifetime
from planners.core.errors import InvalidPlan


def check_packing(
    lifetimes: Sequence[Lifetime], offsets: Mapping[str, int], capacity_bytes: int
) -> None:
    """Raise InvalidPlan unless every lifetime has a place, aligned, within capacity, its own.

    O(n log n): what is held at a time never overlaps, so that only the two beside it are met.
    """
    _check_names(lifetimes, offsets)
    for item in sorted(lifetimes, key=lambda item: item.lower):
        _check_place(item, offsets[item.id], capacity_bytes)
    parts = [(part, item) for item in lifetimes for part in item.held_parts()]
    live: list[tuple[int, int, str]] = []  # from and to which address, whose; rising
    ends: list[tuple[int, tuple[int, int, str]]] = []
    for part, item in sorted(parts, key=lambda pair: pair[0].lower):
        while ends and ends[0][0] <= part.lower:
            _, over = heappop(ends)
            del live[bisect_left(live, over)]
        start, stop = offsets[item.id] + part.low, offsets[item.id] + part.high
        at = bisect_left(live, (start, stop, item.id))
        for other_start, other_stop, other in live[max(0, at - 1) : at + 1]:
            if max(start, other_start) < min(stop, other_stop):
                raise InvalidPlan(
                    f"{item.id!r} overlaps {other!r} at {other_start:#x} "
                    f"(+{other_stop - other_start} bytes)",
                    step=part.lower,
                    address=start,
                    kind="overlap",
                )
        live.insert(at, (start, stop, item.id))
        heappush(ends, (part.upper, (start, stop, item.id)))


def _check_place(item: Lifetime, offset: int, capacity_bytes: int) -> None:
    if offset < 0 or offset + item.size_bytes > capacity_bytes:
        raise InvalidPlan(
            f"{item.id!r} of {item.size_bytes} bytes lies outside the {capacity_bytes} there are",
            step=item.lower,
            address=offset,
            kind="bounds",
        )
    if offset % item.alignment:
        raise InvalidPlan(
            f"{item.id!r} lies at {offset}, no multiple of {item.alignment}",
            step=item.lower,
            address=offset,
            kind="alignment",
        )


def _check_names(lifetimes: Sequence[Lifetime], offsets: Mapping[str, int]) -> None:
    names = {lifetime.id for lifetime in lifetimes}
    if len(names) != len(lifetimes):
        raise InvalidPlan("two lifetimes have the same id", kind="ids")
    if missing := sorted(names - offsets.keys()):
        raise InvalidPlan(f"{missing[0]!r} has no offset", kind="ids")
    if unknown := sorted(offsets.keys() - names):
        raise InvalidPlan(
            f"an offset is given for {unknown[0]!r}, which is not a lifetime", kind="ids"
        )
