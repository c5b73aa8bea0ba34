"""Programs as JSON and back: pieces are listed once, instructions are short rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planners.core.gc_pause import no_collection
from planners.core.loops import (
    MOST_DEEP,
    MOST_INSTRUCTIONS,
    LoopedInstructions,
    expanded,
    items_of,
    numbers,
    size_of,
)
from planners.core.program import (
    Barrier,
    Box,
    Compute,
    Instruction,
    Item,
    Load,
    Memory,
    Move,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Repeat,
    Store,
)


@no_collection()
def program_to_json(program: Program) -> dict[str, Any]:
    """Plain data for `json.dumps`; a lazy program is written out, its loops as loops."""
    pieces: dict[Piece, int] = {}

    def number(piece: Piece) -> int:
        return pieces.setdefault(piece, len(pieces))

    def operands(items: tuple[Operand, ...]) -> list[Any]:
        return [[number(o.piece), *o.region] for o in items]

    def row(item: Item) -> list[Any]:
        match item:
            case Repeat():
                return ["repeat", item.count, [row(i) for i in item.body], _lists(item.moves)]
            case Load() | Store():
                name = "load" if isinstance(item, Load) else "store"
                move = [list(item.source), list(item.target), item.engine]
                joined = [True] if isinstance(item, Load) and item.joined else []
                return [name, item.step, number(item.piece), *move, *joined]
            case Compute():
                sides = [operands(item.reads), operands(item.writes)]
                tail = [item.macs, list(item.frees), item.engine]
                more: list[Any] = [] if item.sums is None else [list(item.sums)]
                if item.parts:
                    sums = more[0] if more else None
                    more = [sums, [[list(axis) for axis in box] for box in item.parts]]
                return ["compute", item.step, item.operator, *sides, *tail, *more]
            case Release():
                return ["release", item.step, number(item.piece), list(item.region)]
            case Barrier():
                return ["barrier", item.step]

    rows = [row(item) for item in items_of(program)]
    return {
        "memories": [asdict(memory) for memory in program.memories],
        "homes": dict(program.homes),
        "steps": list(program.steps),
        "pieces": [[p.tensor, [list(axis) for axis in p.box]] for p in pieces],
        "instructions": rows,
    }


@no_collection()
def program_from_json(data: Any) -> Program:
    """The program that `program_to_json` wrote. Raises `KeyError`, `TypeError`, `ValueError`."""
    boxes = [(str(t), tuple((whole(a), whole(b)) for a, b in box)) for t, box in data["pieces"]]
    pieces = [Piece(*each) for each in boxes]

    def piece_of(item: Any) -> Piece:
        number = whole(item)
        if number < 0:
            raise ValueError(f"there is no piece {number}")
        return pieces[number]

    def region(item: Any) -> Region:
        memory, offset, size = item
        return Region(str(memory), None if offset is None else whole(offset), whole(size))

    def operands(items: Any) -> tuple[Operand, ...]:
        return tuple(Operand(piece_of(i), region(rest)) for i, *rest in items)

    def instruction(row: Any) -> Instruction:
        name, step, *rest = row
        if name in ("load", "store"):
            piece, source, target, *more = rest
            engine, *joined = more or [""]
            move = (whole(step), piece_of(piece), region(source), region(target), str(engine))
            if name == "store" and not joined:
                return Store(*move)
            if name == "store" or joined not in ([], [True]):
                raise ValueError(f"a {name} ends with its engine, not {joined!r:.60}")
            return Load(*move, joined=bool(joined))
        if name == "compute":
            operator, reads, writes, macs, frees, engine, *more = rest
            sides = (operands(reads), operands(writes))
            ends = tuple(map(whole, frees))
            last = (_sums(more), ()) if len(more) < 2 else (None, _parts(more, len(writes)))
            step, macs = whole(step), whole(macs)
            return Compute(step, str(operator), *sides, macs, ends, str(engine), *last)
        if name == "release":
            piece, place = rest
            return Release(whole(step), piece_of(piece), region(place))
        if name == "barrier" and not rest:
            return Barrier(whole(step))
        raise ValueError(f"unknown instruction {name!r}")

    def item(row: Any, deep: int = 0) -> Item:
        if row[0] != "repeat":
            return instruction(row)
        _, count, body, moves = row
        if type(count) is not int or count < 1 or not body or deep >= MOST_DEEP:
            raise ValueError(
                f"a repeat has rounds and a body, and at most {MOST_DEEP} lie in one another"
            )
        items = tuple(item(each, deep + 1) for each in body)
        return Repeat(count, items, _moves(items, moves))

    items = tuple(item(row) for row in data["instructions"])
    looped = any(isinstance(each, Repeat) for each in items)
    if looped and size_of(items) > MOST_INSTRUCTIONS:
        raise ValueError(f"the loops make more than {MOST_INSTRUCTIONS:,} instructions")
    return Program(
        memories=tuple(_memory(memory) for memory in data["memories"]),
        instructions=LoopedInstructions(items) if looped else tuple(expanded(items)),
        homes={str(k): str(v) for k, v in data["homes"].items()},
        steps=tuple(str(step) for step in data["steps"]),
    )


def whole(number: Any) -> int:
    """A whole number as JSON has it. Raises `ValueError` for 0.5, "1" and true."""
    if type(number) is not int:
        raise ValueError(f"{number!r:.60} is not a whole number")
    return number


def _lists(moves: tuple[int | Move, ...]) -> list[Any]:
    return [_lists(move) if isinstance(move, tuple) else move for move in moves]


def _moves(items: tuple[Item, ...], moves: Any) -> tuple[Move, ...]:
    """How these items move in a round: as many whole numbers for each as it has."""
    if not isinstance(moves, list) or len(moves) != len(items):
        raise ValueError(f"a repeat says how each of its {len(items)} items moves")
    out: list[Move] = []
    for item, move in zip(items, moves, strict=True):
        if isinstance(item, Repeat):
            out.append(_moves(item.body, move))
        elif isinstance(move, list) and [type(n) for n in move] == [int] * len(numbers(item)):
            out.append(tuple(move))
        else:
            raise ValueError(f"an instruction of a repeat moves by {move!r:.60}")
    return tuple(out)


def _sums(items: list[Any]) -> tuple[int, int] | None:
    if not items:
        return None
    pair = items[0] if len(items) == 1 else None
    if not isinstance(pair, list) or [type(n) for n in pair] != [int, int]:
        raise ValueError(f"the sums of a compute must be two whole numbers, not {items!r:.60}")
    return pair[0], pair[1]


def _parts(items: list[Any], writes: int) -> tuple[Box, ...]:
    if len(items) > 2 or items[0] is not None:
        raise ValueError(f"a compute has sums or parts, not both: {items!r:.60}")
    boxes = items[1]
    if not (
        isinstance(boxes, list)
        and len(boxes) == writes > 0
        and all(isinstance(box, list) and all(map(_is_axis, box)) for box in boxes)
    ):
        reason = f"one box of whole numbers for each of its {writes} writes"
        raise ValueError(f"the parts of a compute must be {reason}, not {boxes!r:.60}")
    return tuple(tuple((start, stop) for start, stop in box) for box in boxes)


def _is_axis(item: Any) -> bool:
    return isinstance(item, list) and [type(n) for n in item] == [int, int]


def _memory(data: Any) -> Memory:
    memory = Memory(**data)
    numbers = (memory.base, 0 if memory.size_bytes is None else memory.size_bytes)
    others = tuple(text for text in (memory.parent, memory.level) if text is not None)
    texts = (memory.name, *others)
    flags = (memory.circular, memory.offchip, memory.addressed)
    if not all(
        type(value) is kind
        for values, kind in ((numbers, int), (texts, str), (flags, bool))
        for value in values
    ):
        raise ValueError(f"memory {memory.name!r:.60} has a field of the wrong type")
    return memory
