"""Instructions as views show them: one read of each tensor in a compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

from planners.core.boxes import around
from planners.core.by_position import ByPosition
from planners.core.loops import items_of
from planners.core.program import Compute, Instruction, Operand, Piece, Program, Region


class DrawnInstructions(Sequence[Instruction]):
    """A program's instructions, each made when it is asked for.

    A compute that reads several pieces of a tensor reads the box around them, and frees nothing.
    """

    def __init__(self, program: Program) -> None:
        self._all = ByPosition(tuple(items_of(program)))

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Instruction]:
        return map(_drawn, self._all)

    @overload
    def __getitem__(self, position: int) -> Instruction: ...
    @overload
    def __getitem__(self, position: slice) -> list[Instruction]: ...
    def __getitem__(self, position: int | slice) -> Instruction | list[Instruction]:
        if isinstance(position, slice):
            return [_drawn(item) for item in self._all[position]]
        return _drawn(self._all[position])


def _drawn(item: Instruction) -> Instruction:
    if isinstance(item, Compute) and len(item.reads) > len({o.piece.tensor for o in item.reads}):
        return replace(item, reads=tuple(_merged(item.reads)), frees=())
    return item


def _merged(reads: Iterable[Operand]) -> Iterator[Operand]:
    merged: dict[str, tuple[Any, Region]] = {}
    for (tensor, box), region in reads:
        before, space = merged.get(tensor, (None, region._replace(size_bytes=0)))
        size = space.size_bytes + region.size_bytes
        merged[tensor] = (around(before, box), space._replace(size_bytes=size))
    for tensor, (box, region) in merged.items():
        yield Operand(Piece(tensor, box), region)
