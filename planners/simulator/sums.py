"""Sums made in parts: a part after the first reads what it adds to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planners.core.program import (
    AddressSpace,
    Compute,
    Instruction,
    Operand,
    Piece,
    Program,
    Release,
)


def reading_sums(program: Program, spaces: AddressSpace) -> Iterator[Instruction]:
    """The instructions of a valid program, in which parts of sums read what they add to.

    The first part of a piece begins it. It stays the same one until it is released, which it
    cannot be before it is complete.
    """
    begun: set[tuple[str, Piece]] = set()

    def key(operand: Operand) -> tuple[str, Piece]:
        return spaces.root(operand.region.memory).name, operand.piece

    for item in program.instructions:
        if begun and isinstance(item, Release):
            begun.discard(key(Operand(item.piece, item.region)))
        elif begun and isinstance(item, Compute) and item.frees:
            begun.difference_update(key(item.reads[at]) for at in item.frees)
        if isinstance(item, Compute) and item.sums is not None:
            again = tuple(operand for operand in item.writes if key(operand) in begun)
            begun.update(map(key, item.writes))
            item = replace(item, reads=(*item.reads, *again))
        yield item
