"""When within a step the memory is fullest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import planners as sp


def stop_of(residency: sp.Residency) -> float:
    """The instruction that ends a stay; one that lasts to the end has none."""
    return float("inf") if residency.stop_instruction < 0 else residency.stop_instruction


def fullest(residencies: Iterable[sp.Residency], positions: Sequence[int]) -> int:
    """The first of a step's instructions after which most bytes are held."""
    first, last = positions[0], positions[-1]
    change: dict[int, int] = {}
    for residency in residencies:
        start, stop = max(first, residency.start_instruction), stop_of(residency)
        change[start] = change.get(start, 0) + residency.size_bytes
        if stop <= last:
            change[int(stop)] = change.get(int(stop), 0) - residency.size_bytes
    live_bytes, most, at = 0, -1, first
    for position in sorted(change):
        live_bytes += change[position]
        if live_bytes > most:
            most, at = live_bytes, position
    return at
