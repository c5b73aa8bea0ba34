"""Programs written as loops: rounds are moved copies of one body, made when someone iterates.

All that is said of a program is said of its expansion. What can do with a few rounds reads the
items as they are written (`items_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from planners.core.program import (
    Barrier,
    Box,
    Compute,
    Instruction,
    Item,
    Load,
    Move,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Repeat,
    Store,
)

MOST_DEEP = 8
MOST_INSTRUCTIONS = 1 << 22
"""Loops of a file may be nested so deep; and so many instructions, loops expanded, a program has at
the most: each takes some hundred bytes of the columns that it is replayed in."""


MOST_HELD = 300_000
"""Items of a program that are held rather than made anew at each pass."""


class LoopedInstructions:
    """Instructions written as items, of which some are loops: held, or made anew at each pass."""

    def __init__(self, items: Sequence[Item] | Callable[[], Iterable[Item]]) -> None:
        self._items = items

    @property
    def lazy(self) -> bool:
        """Whether the items are made anew at each pass."""
        return callable(self._items)

    @property
    def items(self) -> Iterable[Item]:
        """As written: instructions and loops."""
        return self._items() if callable(self._items) else self._items

    def __iter__(self) -> Iterator[Instruction]:
        return expanded(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopedInstructions) and tuple(self.items) == tuple(other.items)

    __hash__ = None  # type: ignore[assignment]


def held(program: Program, most: int = MOST_HELD) -> Program:
    """The same program, of which the items are held, not made anew at each pass.

    One of more than `most` items, each of which takes about a thousand bytes, stays as it is.
    """
    instructions = program.instructions
    if isinstance(instructions, LoopedInstructions) and instructions.lazy:
        items = tuple(islice(instructions.items, most + 1))
        return (
            program
            if len(items) > most
            else replace(program, instructions=LoopedInstructions(items))
        )
    if not isinstance(instructions, (tuple, list, LoopedInstructions)):
        return replace(program, instructions=tuple(instructions))
    return program


def cannot_change(program: Program) -> bool:
    """Whether what is found of a program stays so: its items are held, and nobody can replace them,
    or they are made anew, always the same."""
    instructions = program.instructions
    if isinstance(instructions, LoopedInstructions):
        return instructions.lazy or isinstance(instructions.items, tuple)
    return isinstance(instructions, tuple)


def items_of(program: Program) -> Iterable[Item]:
    """A program's items as written: instructions and loops."""
    instructions = program.instructions
    return instructions.items if isinstance(instructions, LoopedInstructions) else instructions


def expanded(items: Iterable[Item]) -> Iterator[Instruction]:
    """Every instruction of every round, in program order."""
    for item in items:
        if isinstance(item, Repeat):
            for k in range(item.count):
                yield from expanded(round_of(item, k))
        else:
            yield item


def round_of(loop: Repeat, number: int) -> Iterator[Item]:
    """The items of a round, counted from 0."""
    for item, move in zip(loop.body, loop.moves, strict=True):
        yield moved(item, move, number)


def size_of(items: Iterable[Item]) -> int:
    """How many instructions items expand to."""
    return sum(i.count * size_of(i.body) if isinstance(i, Repeat) else 1 for i in items)


def is_longer(program: Program, most: int = MOST_INSTRUCTIONS) -> bool:
    """Whether a program has more instructions than that, loops expanded."""
    count = 0
    for item in items_of(program):
        count += size_of((item,))
        if count > most:
            return True
    return False


def after(items: Iterable[Item], count: int) -> Iterator[Instruction]:
    """Every instruction but the first so many."""
    for item in items:
        size = size_of((item,))
        if count >= size:
            count -= size
        elif isinstance(item, Repeat):
            rounds, count = divmod(count, size // item.count)
            for number in range(rounds, item.count):
                yield from after(round_of(item, number), count)
                count = 0
        else:
            yield item


def pieces_of(items: Iterable[Item]) -> int:
    """How many pieces the computations of items read and write, loops expanded."""
    count = 0
    for item in items:
        if isinstance(item, Repeat):
            count += item.count * pieces_of(item.body)
        elif isinstance(item, Compute):
            count += len(item.reads) + len(item.writes)
    return count


def first_step(item: Item) -> int:
    """The timestep of an instruction, or of the first of a loop."""
    return first_step(item.body[0]) if isinstance(item, Repeat) else item.step


def last_step(item: Item) -> int:
    """The timestep of an instruction, or of the last of a loop."""
    while isinstance(item, Repeat):
        *_, item = round_of(item, item.count - 1)
    return item.step


def mapped(items: Iterable[Item], change: Callable[[Instruction], Instruction]) -> Iterator[Item]:
    """The same items with each instruction changed in what does not move."""
    for item in items:
        if isinstance(item, Repeat):
            yield Repeat(item.count, tuple(mapped(item.body, change)), item.moves)
        else:
            yield change(item)


def among(items: Iterable[Item], wanted: Callable[[Instruction], bool]) -> Iterator[Item]:
    """The items that are wanted, by what does not move in them; loops of none are left out."""
    for item in items:
        wanted_part = _wanted(item, (), wanted)
        if wanted_part is not None:
            yield wanted_part[0]


def _wanted(
    item: Item, moves: tuple[Move, ...], wanted: Callable[[Instruction], bool]
) -> tuple[Item, tuple[Move, ...]] | None:
    """What of an item is wanted, and how that moves in each of the loops around it."""
    if not isinstance(item, Repeat):
        return (item, moves) if wanted(item) else None
    around = zip(*(moves_of(move) for move in (item.moves, *moves)), strict=True)
    tried = [_wanted(*one, wanted) for one in zip(item.body, around, strict=True)]
    kept = [one for one in tried if one is not None]
    if not kept:
        return None
    inner, *outer = zip(*(m for _, m in kept), strict=True)
    return Repeat(item.count, tuple(i for i, _ in kept), inner), tuple(outer)


# ---- movement --------------------------------------------------------------------------------


def numbers(item: Instruction) -> tuple[int, ...]:
    """What may move in an instruction.

    Its step; of each operand, in order (a transfer's piece with source and target, a compute's
    reads and writes), where its box begins on each axis and then its offset, where it has one; the
    first channel of `sums`; and where the box of each of `parts` begins.
    """
    out = [item.step]
    match item:
        case Load() | Store():
            _box(out, item.piece.box)
            out += [at for at in (item.source.offset, item.target.offset) if at is not None]
        case Compute():
            for (_, box), region in (*item.reads, *item.writes):
                _box(out, box)
                if region.offset is not None:
                    out.append(region.offset)
            if item.sums is not None:
                out.append(item.sums[0])
            for box in item.parts:
                _box(out, box)
        case Release():
            _box(out, item.piece.box)
            out += [] if item.region.offset is None else [item.region.offset]
        case Barrier():
            pass
    return tuple(out)


def _box(out: list[int], box: Box) -> None:
    for start, _ in box:
        out.append(start)


def moved(item: Item, move: Move, times: int) -> Item:
    """An item `times` rounds later."""
    if not times:
        return item
    if isinstance(item, Repeat):
        body = (moved(i, m, times) for i, m in zip(item.body, moves_of(move), strict=True))
        return Repeat(item.count, tuple(body), item.moves)
    by = numbers_of(move)
    return _Mover(by, times).instruction(item) if any(by) else item


def moves_of(move: Move) -> tuple[Move, ...]:
    """The move of a loop as those of its body's items."""
    return tuple(m for m in move if isinstance(m, tuple))


def numbers_of(move: Move) -> tuple[int, ...]:
    """The move of an instruction as whole numbers."""
    return tuple(m for m in move if isinstance(m, int))


class _Mover:
    """Moves what an instruction has, in the order of its `numbers`."""

    __slots__ = ("at", "by", "times")

    def __init__(self, by: tuple[int, ...], times: int) -> None:
        self.by, self.times, self.at = by, times, 0

    def number(self, value: int) -> int:
        self.at += 1
        return value + self.times * self.by[self.at - 1]

    def box(self, box: Box) -> Box:
        by, times, at = self.by, self.times, self.at
        self.at += len(box)
        mine = by[at : self.at]
        return tuple([(a + times * d, b + times * d) for (a, b), d in zip(box, mine, strict=True)])

    def piece(self, piece: Piece) -> Piece:
        return Piece(piece.tensor, self.box(piece.box))

    def region(self, region: Region) -> Region:
        if region.offset is None:
            return region
        return Region(region.memory, self.number(region.offset), region.size_bytes)

    def operands(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple([Operand(self.piece(o.piece), self.region(o.region)) for o in operands])

    def instruction(self, item: Instruction) -> Instruction:
        step = self.number(item.step)
        match item:
            case Load():
                piece, ends = self.piece(item.piece), (item.source, item.target)
                source, target = map(self.region, ends)
                return Load(step, piece, source, target, item.engine, item.joined)
            case Store():
                piece, ends = self.piece(item.piece), (item.source, item.target)
                source, target = map(self.region, ends)
                return Store(step, piece, source, target, item.engine)
            case Compute():
                reads, writes = self.operands(item.reads), self.operands(item.writes)
                sums = item.sums
                if sums is not None:
                    first = self.number(sums[0])
                    sums = (first, first + sums[1] - sums[0])
                parts = tuple([self.box(box) for box in item.parts])
                rest = (item.macs, item.frees, item.engine, sums, parts)
                return Compute(step, item.operator, reads, writes, *rest)
            case Release():
                return Release(step, self.piece(item.piece), self.region(item.region))
            case Barrier():
                return Barrier(step)


# ---- finding loops -----------------------------------------------------------------------------


def movement(first: Sequence[Item], second: Sequence[Item]) -> tuple[Move, ...] | None:
    """How each item of a round moves to the next one; None where they differ by more than that."""
    if len(first) != len(second):
        return None
    moves = []
    for a, b in zip(first, second):
        move = _movement(a, b)
        if move is None:
            return None
        moves.append(move)
    return tuple(moves)


def _movement(a: Item, b: Item) -> Move | None:
    if isinstance(a, Repeat) or isinstance(b, Repeat):
        if not (isinstance(a, Repeat) and isinstance(b, Repeat)):
            return None
        return movement(a.body, b.body) if (a.count, a.moves) == (b.count, b.moves) else None
    if type(a) is not type(b):
        return None
    by = [b.step - a.step]
    if isinstance(a, Compute) and isinstance(b, Compute):
        alike = _computes(by, a, b)
    elif isinstance(a, Release) and isinstance(b, Release):
        alike = _piece(by, a.piece, b.piece) and _region(by, a.region, b.region)
    elif isinstance(a, (Load, Store)) and isinstance(b, (Load, Store)):
        alike = _transfers(by, a, b)
    else:
        alike = True
    return tuple(by) if alike else None


def _boxes(by: list[int], a: Box, b: Box) -> bool:
    """Whether two boxes are of one size; how their starts differ is added to `by`."""
    if len(a) != len(b):
        return False
    for (p, q), (r, s) in zip(a, b):
        if q - p != s - r:
            return False
        by.append(r - p)
    return True


def _piece(by: list[int], a: Piece, b: Piece) -> bool:
    return a.tensor == b.tensor and _boxes(by, a.box, b.box)


def _region(by: list[int], a: Region, b: Region) -> bool:
    if a.memory != b.memory or a.size_bytes != b.size_bytes:
        return False
    if a.offset is not None and b.offset is not None:
        by.append(b.offset - a.offset)
        return True
    return a.offset is b.offset


def _transfers(by: list[int], a: Load | Store, b: Load | Store) -> bool:
    if isinstance(a, Load) and isinstance(b, Load) and a.joined != b.joined:
        return False
    if a.engine != b.engine or not _piece(by, a.piece, b.piece):
        return False
    return _region(by, a.source, b.source) and _region(by, a.target, b.target)


def _computes(by: list[int], a: Compute, b: Compute) -> bool:
    if (a.operator, a.macs, a.frees, a.engine) != (b.operator, b.macs, b.frees, b.engine):
        return False
    sides = ((a.reads, b.reads), (a.writes, b.writes))
    if any(len(x) != len(y) for x, y in (*sides, (a.parts, b.parts))):
        return False
    for side in sides:
        for (piece, region), (other, there) in zip(*side):
            if not (_piece(by, piece, other) and _region(by, region, there)):
                return False
    if a.sums is not None and b.sums is not None:
        if a.sums[1] - a.sums[0] != b.sums[1] - b.sums[0]:
            return False
        by.append(b.sums[0] - a.sums[0])
    elif a.sums is not b.sums:
        return False
    return all(_boxes(by, part, other) for part, other in zip(a.parts, b.parts))


def rolled(rounds: Sequence[Sequence[Item]], least: int = 4) -> Iterator[Item]:
    """The items of rounds one after the other, as loops where `least` rounds or more move alike.

    A loop's body is one round or, where each second one moves alike (two buffers in turn), two.
    """
    start = 0
    while start < len(rounds):
        for period in (1, 2):
            body = _joined(rounds, start, period)
            move = movement(body, _joined(rounds, start + period, period)) if body else None
            count = 1
            while move is not None and _continues(rounds, start + count * period, period, move):
                count += 1
            if count >= least:
                yield Repeat(count, body, move or ())
                start += count * period
                break
        else:
            yield from rounds[start]
            start += 1


def _joined(rounds: Sequence[Sequence[Item]], start: int, period: int) -> tuple[Item, ...]:
    if start + period > len(rounds):
        return ()
    return tuple(item for each in rounds[start : start + period] for item in each)


def _continues(
    rounds: Sequence[Sequence[Item]], start: int, period: int, move: tuple[Move, ...]
) -> bool:
    """Whether the rounds from here on are those before, moved so."""
    here = _joined(rounds, start, period)
    return bool(here) and movement(_joined(rounds, start - period, period), here) == move
