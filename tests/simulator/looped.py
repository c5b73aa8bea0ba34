"""Programs written as loops, and what may be wrong with them, one number at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby

import torch
from torch import nn

import planners as sp
from planners.core.errors import InvalidPlan
from planners.core.loops import (
    LoopedInstructions,
    items_of,
    moved,
    moves_of,
    numbers,
    numbers_of,
    rolled,
)
from planners.core.program import Compute, Item, Move, Program, Repeat
from planners.simulator.check import CheckReport, replay
from tests.simulator.programs import RowsInRings

Case = tuple[sp.Graph, Program]


def rows(height: int, rows_held: int) -> Case:
    """Two convolutions row by row; a loop over all rows but the first and last few."""

    class Taller(RowsInRings):
        pass

    Taller.height = height
    made = Taller(rows_held)
    program = made.program()
    steps = [list(items) for _, items in groupby(program.instructions, lambda item: item.step)]
    return made.graph, replace(program, instructions=LoopedInstructions(tuple(rolled(steps))))


def fused(module: nn.Module, shape: Sequence[int], budget: float) -> Case:
    """A plan of fused groups, at this share of what whole tensors take."""
    graph = sp.from_torch(module.eval(), (torch.randn(*shape),))
    whole = max(
        sum(map(graph.size_bytes, (*op.inputs, *op.outputs, *op.parameters)))
        for op in graph.operators
    )
    size = int(whole * budget)
    plan = sp.plan(graph, planner="fusion", budget=size, replay=False)
    return graph, replace(
        plan.program, instructions=LoopedInstructions(tuple(items_of(plan.program)))
    )


NAMES = ("rows", "more rows", "sums in strips", "parts in strips", "sums", "parts", "strips")


@cache
def cases() -> dict[str, Case]:
    """Loops over rows, over channels, sums, parts, two buffers in turn, and loops in loops."""
    torch.manual_seed(0)
    deep = nn.Sequential(
        nn.Conv2d(4, 24, 1), nn.Conv2d(24, 24, 3, padding=1, groups=24), nn.Conv2d(24, 4, 1)
    )
    pool = nn.Sequential(nn.Conv2d(8, 16, 1), nn.MaxPool2d(2), nn.Conv2d(16, 40, 1))
    wide = nn.Sequential(nn.Conv2d(8, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1))
    strided = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.MaxPool2d(2), nn.Conv2d(8, 30, 3))
    return {
        "rows": rows(24, 3),
        "more rows": rows(40, 4),
        "sums in strips": fused(deep, (1, 4, 12, 5), 0.12),
        "parts in strips": fused(pool, (1, 8, 32, 6), 0.25),
        "sums": fused(wide, (1, 8, 24, 8), 0.1),
        "parts": fused(wide, (1, 8, 24, 8), 0.4),
        "strips": fused(strided, (1, 3, 48, 16), 0.15),
    }


def flat(program: Program) -> Program:
    """The same program with every round written out."""
    return replace(program, instructions=tuple(program.instructions))


def verdict(graph: sp.Graph, program: Program) -> CheckReport | tuple[object, ...]:
    """What a replay says: its report, or its error to the last field."""
    try:
        return replay(graph, program)
    except InvalidPlan as error:
        return (str(error), error.step, error.instruction, error.memory, error.address)


def loops(items: Sequence[Item]) -> Iterator[Repeat]:
    """Every loop, those in loops too."""
    for item in items:
        if isinstance(item, Repeat):
            yield item
            yield from loops(item.body)


def corrupted(program: Program, seed: int) -> Program:
    """The program with one thing changed in one of its loops."""
    dice = random.Random(seed)
    items = tuple(items_of(program))
    victim = dice.choice(list(loops(items)))
    inside = victim not in items

    def walk(some: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(
            _changed(item, dice, inside)
            if item is victim
            else replace(item, body=walk(item.body))
            if isinstance(item, Repeat)
            else item
            for item in some
        )

    return replace(program, instructions=LoopedInstructions(walk(items)))


def _changed(loop: Repeat, dice: random.Random, inside: bool) -> Repeat:
    """A loop with one thing changed; one inside of another keeps its items, which move with it."""
    at = dice.randrange(len(loop.body))
    body, moves = list(loop.body), list(loop.moves)
    item, move = body[at], moves[at]
    several = "" if inside else "drop twice swap"
    match dice.choice(f"count number move move macs frees {several}".split()):
        case "count":
            return replace(loop, count=max(1, loop.count + dice.choice((-2, -1, 1, 2, 50))))
        case "number":
            body[at] = moved(item, _nudge(_zeros(item), dice), 1)
        case "move":
            moves[at] = _nudge(move, dice)
        case "drop":
            del body[at], moves[at]
        case "twice":
            body.insert(at, item)
            moves.insert(at, move)
        case "swap":
            to = dice.randrange(len(body))
            body[at], body[to], moves[at], moves[to] = body[to], body[at], moves[to], moves[at]
        case "macs" if isinstance(item, Compute):
            body[at] = replace(item, macs=item.macs + 1)
        case "frees" if isinstance(item, Compute):
            body[at] = replace(item, frees=(dice.randrange(-1, len(item.reads) + 1),))
    return Repeat(loop.count, tuple(body), tuple(moves))


def _zeros(item: Item) -> Move:
    if isinstance(item, Repeat):
        return tuple(_zeros(each) for each in item.body)
    return (0,) * len(numbers(item))


def _nudge(move: Move, dice: random.Random) -> Move:
    """One number of a move more or less."""
    nested = moves_of(move)
    if nested:
        at = dice.randrange(len(nested))
        return (*nested[:at], _nudge(nested[at], dice), *nested[at + 1 :])
    own = list(numbers_of(move))
    if own:
        own[dice.randrange(len(own))] += dice.choice((-16, -2, -1, 1, 2, 16))
    return tuple(own)
