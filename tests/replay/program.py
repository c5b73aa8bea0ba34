"""The program of a plan's file, with every round of its loops written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from tests.replay.memory import Operand
from tests.replay.needs import Box, number, require, text

MOST_DEEP = 8
"""Loops of a file may lie so deep in one another."""


@dataclass(frozen=True)
class Instruction:
    """An instruction: of a transfer `reads` is the source, `writes` the target."""

    name: str
    step: int
    reads: tuple[Operand, ...] = ()
    writes: tuple[Operand, ...] = ()
    operator: str = ""
    macs: int = 0
    frees: tuple[int, ...] = ()
    engine: str = ""
    sums: tuple[int, int] | None = None
    parts: tuple[Box, ...] = ()


class Row:
    """A row of a file being read, whose numbers grow by what the loops around it say."""

    def __init__(self, pieces: Sequence[Any], grown: Iterator[int]) -> None:
        self.pieces, self.grown = pieces, grown

    def number(self, value: Any) -> int:
        return number(value) + next(self.grown)

    def box(self, box: Any) -> Box:
        """A box moves as a whole: each axis by one number."""
        by = [next(self.grown) for _ in box]
        return tuple((number(a) + n, number(b) + n) for (a, b), n in zip(box, by, strict=True))

    def piece(self, at: Any) -> tuple[str, Box]:
        require(number(at, 0) < len(self.pieces), f"there is no piece {at}")
        tensor, box = self.pieces[at]
        return text(tensor), self.box(box)

    def operand(self, piece: tuple[str, Box], region: Any) -> Operand:
        memory, offset, size = region
        place = None if offset is None else self.number(offset)
        return Operand(*piece, text(memory), place, number(size))

    def operands(self, rows: Any) -> tuple[Operand, ...]:
        return tuple(self.operand(self.piece(at), region) for at, *region in rows)

    def instruction(self, row: Any) -> Instruction:
        name, step, *rest = row
        step = self.number(step)
        if name == "barrier":
            require(not rest, "a barrier has a step alone")
            return Instruction(name, step)
        if name == "release":
            at, region = rest
            return Instruction(name, step, (self.operand(self.piece(at), region),))
        if name in ("load", "store"):
            at, source, target, engine, *joined = rest
            require(joined in ([], [True]) and not (joined and name == "store"), "joined how?")
            piece = self.piece(at)
            ends = [self.operand(piece, region) for region in (source, target)]
            return Instruction(name, step, (ends[0],), (ends[1],), engine=text(engine))
        require(name == "compute", f"there is no instruction {name!r:.40}")
        operator, reads, writes, macs, frees, engine, *more = rest
        require(len(more) < 3, "too much for an instruction")
        sums = more[0] if more else None
        parts = more[1] if len(more) > 1 else []
        require(sums is None or not parts, "sums or parts, not both")
        require(len(more) < 2 or len(parts) == len(writes) > 0, "a part for each write")
        return Instruction(
            name,
            step,
            self.operands(reads),
            self.operands(writes),
            text(operator),
            number(macs),
            tuple(number(at) for at in frees),
            text(engine),
            None if sums is None else self.box([sums])[0],
            tuple(self.box(box) for box in parts),
        )


def written_out(
    pieces: Sequence[Any], rows: Sequence[Any], by: Sequence[Any] | None = None, deep: int = 0
) -> Iterator[Instruction]:
    """Every instruction of every round; `by` holds how far each row has moved."""
    for i, row in enumerate(rows):
        if row[0] != "repeat":
            grown = repeat(0) if by is None else iter(by[i])
            yield Row(pieces, grown).instruction(row)
            require(by is None or next(grown, None) is None, "a move has too many numbers")
            continue
        _, rounds, body, moves = row
        require(number(rounds, 1) > 0 < len(body), "a loop of nothing")
        require(deep < MOST_DEEP, "loops in loops in loops")
        require(len(moves) == len(body), "a loop says how each of its items moves")
        for k in range(rounds):
            yield from written_out(pieces, body, plus(by and by[i], moves, k), deep + 1)


def plus(by: Any, moves: Any, times: int) -> Any:
    """Lists in lists: what they hold, and so many times the numbers of others of that form."""
    if isinstance(moves, list):
        before = [None] * len(moves) if by is None else by
        return [plus(b, m, times) for b, m in zip(before, moves, strict=True)]
    return (by or 0) + number(moves) * times
