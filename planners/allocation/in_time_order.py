"""Addresses for very many lifetimes: each as it begins, in the tightest gap between the live ones.

O(n log n), however many live at once. The field calls it an online best fit.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planners.allocation.arena import best_fit_arena
from planners.allocation.heuristics import can_pair
from planners.allocation.problem.model import Lifetime
from planners.core.integers import rounded_up
from planners.core.progress import Clock


def quick_arena(lifetimes: Sequence[Lifetime], clock: Clock) -> dict[str, int]:
    """Offsets by best fit in order of size, where there is time for that, or in order of time."""
    by_time = in_time_order(lifetimes)
    if not can_pair([i.lower for i in lifetimes], [i.upper for i in lifetimes], clock):
        return by_time
    by_size = best_fit_arena(lifetimes)
    return by_size if extent_of(lifetimes, by_size) <= extent_of(lifetimes, by_time) else by_time


def extent_of(lifetimes: Sequence[Lifetime], offsets: Mapping[str, int]) -> int:
    """The highest address in use."""
    return max((offsets[i.id] + i.size_bytes for i in lifetimes), default=0)


LOOKED_AT = 16
"""Gaps that are large enough, of which one may have to be left for an alignment."""


def in_time_order(lifetimes: Sequence[Lifetime]) -> dict[str, int]:
    """Offsets, forwards or backwards in time, whichever needs less; gaps are left aside."""
    forwards = _placed(lifetimes)
    backwards = _placed([replace(i, lower=-i.upper, upper=-i.lower, gaps=()) for i in lifetimes])
    return min(forwards, backwards, key=lambda offsets: extent_of(lifetimes, offsets))


def _placed(lifetimes: Sequence[Lifetime]) -> dict[str, int]:
    solid = [item for item in lifetimes if item.size_bytes]
    events = [(item.lower, 1, -item.size_bytes, k) for k, item in enumerate(solid)]
    events += [(item.upper, 0, 0, k) for k, item in enumerate(solid)]
    offsets, free = dict.fromkeys((item.id for item in lifetimes), 0), FreeList()
    for _, begins, _, k in sorted(events):
        item = solid[k]
        if begins:
            offsets[item.id] = free.take(item.size_bytes, item.alignment)
        else:
            free.give(offsets[item.id], offsets[item.id] + item.size_bytes)
    return offsets


class FreeList:
    """The free ranges of a memory without an end, by size; none touches another, or the top."""

    def __init__(self) -> None:
        self.top = 0
        self._by_size: list[tuple[int, int]] = []
        self._stop: dict[int, int] = {}
        self._start: dict[int, int] = {}

    def take(self, size_bytes: int, alignment: int) -> int:
        """Where so many bytes are taken: in the smallest range that holds them, else at the top."""
        at = bisect_left(self._by_size, (size_bytes, 0))
        for room, start in self._by_size[at : at + LOOKED_AT]:
            place = rounded_up(start, alignment)
            if place + size_bytes <= start + room:
                self._remove(start, start + room)
                self._add(start, place)
                self._add(place + size_bytes, start + room)
                return place
        place = rounded_up(self.top, alignment)
        self._add(self.top, place)
        self.top = place + size_bytes
        return place

    def give(self, start: int, stop: int) -> None:
        """Free a range that was taken."""
        if start in self._start:
            self._remove(before := self._start[start], start)
            start = before
        if stop in self._stop:
            self._remove(stop, after := self._stop[stop])
            stop = after
        if stop == self.top:
            self.top = start
        else:
            self._add(start, stop)

    def _add(self, start: int, stop: int) -> None:
        if start < stop:
            insort(self._by_size, (stop - start, start))
            self._stop[start], self._start[stop] = stop, start

    def _remove(self, start: int, stop: int) -> None:
        del self._by_size[bisect_left(self._by_size, (stop - start, start))]
        del self._stop[start], self._start[stop]
