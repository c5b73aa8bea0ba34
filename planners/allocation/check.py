"""Is a packing right? Knows the question, and no algorithm that answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planners.allocation.problem.model import HeldPart, Lifetime
from planners.core.errors import InvalidPlan


def check_packing(
    lifetimes: Sequence[Lifetime], offsets: Mapping[str, int], capacity_bytes: int
) -> None:
    """Raise InvalidPlan unless every lifetime has a place, aligned, within capacity, its own.

    O(n log n + pairs that overlap in time).
    """
    _check_names(lifetimes, offsets)
    for item in sorted(lifetimes, key=lambda item: item.lower):
        _check_place(item, offsets[item.id], capacity_bytes)
    held = [(part, item) for item in lifetimes for part in item.held_parts()]
    live: list[tuple[HeldPart, Lifetime]] = []
    for new, item in sorted(held, key=lambda pair: pair[0].lower):
        live = [pair for pair in live if pair[0].upper > new.lower]
        for old, other in live:
            if _overlap(offsets[other.id], old, offsets[item.id], new):
                raise InvalidPlan(
                    f"{item.id!r} overlaps {other.id!r} at {offsets[other.id] + old.low:#x} "
                    f"(+{old.high - old.low} bytes)",
                    step=new.lower,
                    address=offsets[item.id] + new.low,
                    kind="overlap",
                )
        live.append((new, item))


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
            f"an offset is given for {unknown[0]!r}, which is no lifetime", kind="ids"
        )


def _overlap(start: int, one: HeldPart, other_start: int, other: HeldPart) -> bool:
    first = max(start + one.low, other_start + other.low)
    return first < min(start + one.high, other_start + other.high)
