"""Is a packing right? Knows the question, and no algorithm that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planners.allocation.problem.model import Lifetime
from planners.core.errors import InvalidPlan


def check_packing(
    lifetimes: Sequence[Lifetime], offsets: Mapping[str, int], capacity_bytes: int
) -> None:
    """Raise InvalidPlan unless every lifetime has a place, aligned, within capacity, its own.

    O(n log n + pairs that overlap in time).
    """
    _check_names(lifetimes, offsets)
    live: list[Lifetime] = []
    for new in sorted(lifetimes, key=lambda item: item.lower):
        offset = offsets[new.id]
        if offset < 0 or offset + new.size_bytes > capacity_bytes:
            raise InvalidPlan(
                f"{new.id!r} of {new.size_bytes} bytes lies outside the {capacity_bytes} there are",
                step=new.lower,
                address=offset,
                kind="bounds",
            )
        if offset % new.alignment:
            raise InvalidPlan(
                f"{new.id!r} lies at {offset}, no multiple of {new.alignment}",
                step=new.lower,
                address=offset,
                kind="alignment",
            )
        live = [old for old in live if old.upper > new.lower]
        for old in live:
            if _overlap(offsets[old.id], old.size_bytes, offset, new.size_bytes):
                raise InvalidPlan(
                    f"{new.id!r} overlaps {old.id!r} at {offsets[old.id]:#x} "
                    f"(+{old.size_bytes} bytes)",
                    step=new.lower,
                    address=offset,
                    kind="overlap",
                )
        live.append(new)


def _check_names(lifetimes: Sequence[Lifetime], offsets: Mapping[str, int]) -> None:
    names = {lifetime.id for lifetime in lifetimes}
    if len(names) != len(lifetimes):
        raise InvalidPlan("two lifetimes have the same id", kind="ids")
    if missing := sorted(names - offsets.keys()):
        raise InvalidPlan(f"{missing[0]!r} has no offset", kind="ids")
    if unknown := sorted(offsets.keys() - names):
        raise InvalidPlan(
            f"an offset is given for {unknown[0]!r}, which is no lifetime", kind="ids"
        )


def _overlap(start: int, size: int, other: int, other_size: int) -> bool:
    return max(start, other) < min(start + size, other + other_size)
