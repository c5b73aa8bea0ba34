"""Numbers that grow by a constant in each round of each loop around them.

A number is given at the first round of all loops, with how much each loop adds in a round. What is
affine is within bounds in all rounds if it is in the corners: the first and last of each loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from planners.core.loops import numbers_of
from planners.core.program import Box, Instruction, Move

Vector: TypeAlias = tuple[int, ...]
"""How a box moves along each of its axes in a round."""


class NotProven(Exception):
    """Nothing is known to be wrong, but one round does not decide the others."""


class Motion(NamedTuple):
    """How an operand moves in a round of one loop: its box, and its offset."""

    box: Vector
    offset: int

    @property
    def rests(self) -> bool:
        return not self.offset and not any(self.box)


Motions: TypeAlias = tuple[Motion, ...]
"""One for each loop around, the outermost first."""


class Moves:
    """The moves of an instruction, read in the order of its numbers, one set for each loop."""

    def __init__(self, item: Instruction, moves: Sequence[Move]) -> None:
        self.rows = [numbers_of(move) for move in moves]
        self.at = 0

    def number(self) -> Vector:
        """How much each loop adds to the next number."""
        self.at += 1
        return tuple([row[self.at - 1] for row in self.rows])

    def box(self, axes: int) -> tuple[Vector, ...]:
        """How the next box moves in each loop."""
        start, self.at = self.at, self.at + axes
        return tuple([row[start : self.at] for row in self.rows])

    def operand(self, axes: int, addressed: bool) -> Motions:
        """How the next operand moves in each loop."""
        boxes = self.box(axes)
        offsets = self.number() if addressed else (0,) * len(self.rows)
        return tuple([Motion(box, by) for box, by in zip(boxes, offsets)])


def least(base: int, by: Sequence[int], rounds: Sequence[int]) -> int:
    """The least of a number over all rounds."""
    return base + sum([last * min(0, d) for d, last in zip(by, rounds)])


def largest(base: int, by: Sequence[int], rounds: Sequence[int]) -> int:
    """The largest of a number over all rounds."""
    return base + sum([last * max(0, d) for d, last in zip(by, rounds)])


def shifted(box: Box, by: Sequence[int], times: int = 1) -> Box:
    """A box some rounds later."""
    return tuple([(a + times * d, b + times * d) for (a, b), d in zip(box, by, strict=True)])


def hull(box: Box, boxes: Sequence[Vector], rounds: Sequence[int]) -> Box:
    """What a box sweeps over all rounds."""
    out = []
    for axis, (start, stop) in enumerate(box):
        by = [vector[axis] for vector in boxes]
        out.append((least(start, by, rounds), largest(stop, by, rounds)))
    return tuple(out)


def corners(rounds: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The first and last rounds of all loops, in all combinations."""
    return product(*[(0, last) if last else (0,) for last in rounds])


def progression(box: Box, boxes: Sequence[Vector], rounds: Sequence[int], most: int) -> list[Box]:
    """What a box covers over all rounds, as few boxes. Raises `NotProven` beyond `most`."""
    covered = [box]
    for vector, last in zip(boxes, rounds, strict=True):
        axes = [axis for axis, d in enumerate(vector) if d]
        if not axes or not last:
            continue
        sizes = [each[axes[0]][1] - each[axes[0]][0] for each in covered]
        if len(axes) == 1 and abs(vector[axes[0]]) <= min(sizes):
            covered = [hull(each, [vector], [last]) for each in covered]
        elif len(covered) * (last + 1) > most:
            raise NotProven("too many boxes")
        else:
            covered = [shifted(each, vector, k) for each in covered for k in range(last + 1)]
    return covered
