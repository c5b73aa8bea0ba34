"""When within a step the memory is fullest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import planners as sp


def stop_of(stay: sp.Residency) -> float:
    """The instruction that ends a stay; one that lasts to the end has none."""
    return float("inf") if stay.stop_instruction < 0 else stay.stop_instruction


def fullest(stays: Iterable[sp.Residency], positions: Sequence[int]) -> int:
    """The first of a step's instructions after which most bytes are held."""
    first, last = positions[0], positions[-1]
    change: dict[int, int] = {}
    for stay in stays:
        start, stop = max(first, stay.start_instruction), stop_of(stay)
        change[start] = change.get(start, 0) + stay.size_bytes
        if stop <= last:
            change[int(stop)] = change.get(int(stop), 0) - stay.size_bytes
    held, most, at = 0, -1, first
    for position in sorted(change):
        held += change[position]
        if held > most:
            most, at = held, position
    return at
