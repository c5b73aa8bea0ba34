"""Which bytes of a memory are taken, as disjoint half-open ranges with an owner each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Generic, TypeVar

Owner = TypeVar("Owner")


class TakenRanges(Generic[Owner]):
    """Disjoint ranges in address order; each step costs a binary search and a list shift."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: list[tuple[int, int, Owner]] = []

    def __iter__(self) -> Iterator[tuple[int, int, Owner]]:
        return iter(self._ranges)

    def clash(self, start: int, stop: int) -> tuple[int, int, Owner] | None:
        """A range that overlaps `[start, stop)`, the lowest one, or None."""
        at = bisect_left(self._starts, start)
        if at and self._ranges[at - 1][1] > start:
            return self._ranges[at - 1]
        if at < len(self._starts) and self._starts[at] < stop:
            return self._ranges[at]
        return None

    def take(self, start: int, stop: int, owner: Owner) -> None:
        """Take a range that clashes with nothing."""
        at = bisect_left(self._starts, start)
        self._starts.insert(at, start)
        self._ranges.insert(at, (start, stop, owner))

    def free(self, start: int) -> None:
        """Free the range that begins at `start`."""
        at = bisect_left(self._starts, start)
        del self._starts[at], self._ranges[at]
