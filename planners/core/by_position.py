"""A program's instructions by their position, found in its loops without the rounds before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

from planners.core.loops import expanded, moved, moves_of, size_of
from planners.core.program import Instruction, Item, Move, Repeat


class ByPosition(Sequence[Instruction]):
    """Every instruction of every round, in program order: each is made when it is asked for."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self._bodies: dict[int, ByPosition] = {}

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(size_of((item,)) for item in self.items))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Instruction]:
        return expanded(self.items)

    @overload
    def __getitem__(self, position: int) -> Instruction: ...
    @overload
    def __getitem__(self, position: slice) -> list[Instruction]: ...
    def __getitem__(self, position: int | slice) -> Instruction | list[Instruction]:
        if isinstance(position, slice):
            start, stop, step = position.indices(len(self))
            if step == 1:
                return [item for item, _ in self._between(start, stop)]
            return [self[at] for at in range(start, stop, step)]
        at = position + len(self) if position < 0 else position
        if not 0 <= at < len(self):
            raise IndexError(f"{position} of {len(self)} instructions")
        return next(item for item, _ in self._between(at, at + 1))

    def _between(self, start: int, stop: int) -> Iterator[tuple[Instruction, tuple[int, ...]]]:
        """Instructions, and the numbers of the items, one in the other, in which each is."""
        at = bisect_right(self._ends, start)
        while start < stop:
            item = self.items[at]
            if isinstance(item, Repeat):  # One of nothing ends where it begins.
                yield from self._rounds(at, item, start, min(stop, self._ends[at]))
            else:
                yield item, (at,)
            start, at = max(start, self._ends[at]), at + 1

    def _rounds(
        self, at: int, loop: Repeat, start: int, stop: int
    ) -> Iterator[tuple[Instruction, tuple[int, ...]]]:
        """Instructions of a loop, the item of that number, each moved to its round."""
        body = self._bodies.setdefault(at, ByPosition(loop.body))
        begun, size = (self._ends[at - 1] if at else 0), max(len(body), 1)
        for number in range((start - begun) // size, -(-(stop - begun) // size)):
            first = begun + number * size
            inside = body._between(max(start - first, 0), min(stop - first, size))
            for instruction, path in inside:
                move: Move = loop.moves[path[0]]
                for deeper in path[1:]:
                    move = moves_of(move)[deeper]
                changed = moved(instruction, move, number)
                assert not isinstance(changed, Repeat)
                yield changed, (at, *path)
