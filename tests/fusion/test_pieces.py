"""Pieces of a tensor on chip: those that meet a box are those that a look at each one finds."""

from __future__ import annotations

import random

from planners.core.boxes import meet
from planners.core.program import Box, Operand, Piece, Region
from planners.fusion.emit.residents import PiecesInOrder


def box_of(rng: random.Random, shape: tuple[int, ...]) -> Box:
    ends = [sorted(rng.sample(range(n + 1), 2)) for n in shape]
    return tuple((start, stop) for start, stop in ends)


def some(rng: random.Random, shape: tuple[int, ...], count: int) -> list[Operand]:
    boxes = [box_of(rng, shape) for _ in range(count)]
    return [Operand(Piece("t", box), Region("sram", n, 1)) for n, box in enumerate(boxes)]


def test_what_meets_a_box_is_found_whatever_came_and_went() -> None:
    rng = random.Random(0)
    for shape in ((1, 40, 7, 7), (3, 9), (1000,), ()):
        pieces, plain = PiecesInOrder(), list[Operand]()
        for _ in range(60):
            at = rng.randrange(len(plain) + 1)
            more = some(rng, shape, rng.randrange(9))
            match rng.randrange(4):
                case 0:
                    pieces.insert(at, more)
                    plain[at:at] = more
                case 1 if len(plain) > 60:
                    pieces.cut(at)
                    del plain[at:]
                case _:
                    for operand in more:
                        pieces.append(operand)
                    plain += more
            box = box_of(rng, shape)
            assert [*pieces] == plain
            assert pieces.meeting(box) == [x for x in plain if meet(x.piece.box, box)]
