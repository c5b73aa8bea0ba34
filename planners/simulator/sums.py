"""Sums made in parts: a part after the first reads what it adds to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from planners.program import AddressSpace, Compute, Instruction, Operand, Piece, Program, Release


@dataclass(slots=True)
class PartialSum:
    """The ranges of channels, of `channels` in all, that a piece is the sum of so far."""

    channels: int
    ranges: list[tuple[int, int]] = field(default_factory=list)
    added: int = 0

    @property
    def complete(self) -> bool:
        return self.added == self.channels

    @property
    def state(self) -> str:
        """What is left to do, in words."""
        left = self.channels - self.added
        return f"unfinished: {left} of {self.channels} channels are still to be added"

    def add(self, start: int, stop: int) -> None:
        """Add a range. Raises `ValueError` where it is none, or has been added before."""
        if not 0 <= start < stop <= self.channels:
            raise ValueError(f"channels {start}:{stop} are out of range of {self.channels}")
        for a, b in self.ranges:
            if a < stop and start < b:
                raise ValueError(f"channels {max(a, start)}:{min(b, stop)} are added already")
        self.ranges.append((start, stop))
        self.added += stop - start


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
