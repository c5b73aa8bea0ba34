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
            return [self[at] for at in range(*position.indices(len(self)))]
        at = position + len(self) if position < 0 else position
        if not 0 <= at < len(self):
            raise IndexError(f"{position} of {len(self)} instructions")
        return self._found(at)[0]

    def _found(self, position: int) -> tuple[Instruction, tuple[int, ...]]:
        """An instruction, and the numbers of the items, one in the other, in which it is."""
        at = bisect_right(self._ends, position)
        item = self.items[at]
        if not isinstance(item, Repeat):
            return item, (at,)
        body = self._bodies.setdefault(at, ByPosition(item.body))
        number, inside = divmod(position - (self._ends[at - 1] if at else 0), len(body))
        found, path = body._found(inside)
        move: Move = item.moves[path[0]]
        for deeper in path[1:]:
            move = moves_of(move)[deeper]
        changed = moved(found, move, number)
        assert not isinstance(changed, Repeat)
        return changed, (at, *path)
