"""A tensor that lies whole in the pool, piece by piece: made when asked for, written as loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from planners.core.loops import moved, movement
from planners.core.program import Instruction, Item, Operand, Repeat

LEAST_ROUNDS = 4
"""Fewer rounds that are alike are written one by one."""


class WholeTensor(Sequence[Operand]):
    """Pieces of a tensor in raster order, `width` in a row: each made when it is asked for."""

    def __init__(self, count: int, width: int, make: Callable[[int], Operand]) -> None:
        self._count, self.width = count, width
        self._make, self._made = make, dict[int, Operand]()

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Operand: ...

    @overload
    def __getitem__(self, number: slice) -> list[Operand]: ...

    def __getitem__(self, number: int | slice) -> Operand | list[Operand]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(self._count))]
        if not 0 <= number < self._count:
            raise IndexError(number)
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def each(self, make: Callable[[Operand], Instruction]) -> Iterator[Item]:
        """An instruction for each, a row of them and the rows as loops."""
        rows, odd = divmod(self._count, self.width)
        if odd or rows < LEAST_ROUNDS or self.width < LEAST_ROUNDS:
            yield from map(make, self)
            return
        first = self._row(make, 0)
        moves = movement((first,), (self._row(make, 1),))
        last = self._row(make, rows - 1)
        if moves is None or moved(first, moves[0], rows - 1) != last:
            yield from map(make, self)  # Rows of one image go on in the next one.
            return
        yield Repeat(rows, (first,), moves)

    def _row(self, make: Callable[[Operand], Instruction], row: int) -> Repeat:
        first, second = (make(self[row * self.width + i]) for i in (0, 1))
        return Repeat(self.width, (first,), movement((first,), (second,)) or ())
