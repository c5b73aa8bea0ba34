"""One thing changed in a plan's file: in a row of its program, in its memories or in its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from math import prod
from random import Random
from typing import Any, TypeAlias

from tests.replay.needs import Graph, Refused
from tests.replay.program import Row as Reader

Data: TypeAlias = dict[str, Any]
Row: TypeAlias = list[Any]
Edit: TypeAlias = Callable[[Data, Random], bool]
"""Changes a file in place; whether there was anything to change."""
STEPS = (-64, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 64)


def forged(data: Data, draw: Random, edits: list[str] | None = None) -> tuple[str, Data]:
    """A copy of a file with one edit, rarely two, and their names."""
    made, names = deepcopy(data), []
    for _ in range(draw.choice((1, 1, 1, 2))):
        name = draw.choice(edits or list(EDITS))
        with suppress(Refused, LookupError, TypeError, ValueError):  # An edit may rest on another.
            if EDITS[name](made, draw):
                names.append(name)
    return "+".join(names), made


# ---- places in a program ---------------------------------------------------------------------


def bodies(rows: list[Row], moves: list[Any] | None = None) -> Iterator[tuple[list[Row], Any]]:
    """The rows of a program and of each of its loops, with how they move."""
    yield rows, moves
    for row in rows:
        if row[0] == "repeat":
            yield from bodies(row[2], row[3])


def drawn_body(data: Data, draw: Random) -> tuple[list[Row], Any]:
    """Rows that a place is drawn in: often those of a loop, where there is one."""
    return draw.choice([each for each in bodies(data["program"]["instructions"]) if each[0]])


def drawn_row(data: Data, draw: Random, *names: str) -> Row | None:
    """An instruction of these names."""
    rows = [
        row
        for body, _ in bodies(data["program"]["instructions"])
        for row in body
        if row[0] != "repeat" and (row[0] in names or not names)
    ]
    return draw.choice(rows) if rows else None


def regions(row: Row) -> list[tuple[Row, int]]:
    """Where the regions of an instruction are: a list, and where in it one begins."""
    match row[0]:
        case "load" | "store":
            return [(row[3], 0), (row[4], 0)]
        case "compute":
            return [(operand, 1) for operand in (*row[3], *row[4])]
        case "release":
            return [(row[3], 0)]
    return []


def pieces(row: Row) -> list[tuple[Row, int]]:
    """Where the numbers of an instruction's pieces are."""
    if row[0] == "compute":
        return [(operand, 0) for operand in (*row[3], *row[4])]
    return [(row, 2)] if row[0] in ("load", "store", "release") else []


# ---- edits -----------------------------------------------------------------------------------


def address(data: Data, draw: Random) -> bool:
    """An operand is at another address."""
    row = drawn_row(data, draw, "load", "store", "compute", "release")
    places = [] if row is None else [(r, at) for r, at in regions(row) if r[at + 1] is not None]
    if not places:
        return False
    region, at = draw.choice(places)
    region[at + 1] += draw.choice(STEPS)
    return True


def shifted(data: Data, draw: Random) -> bool:
    """A piece lies at another address, wherever the program names it there."""
    row = drawn_row(data, draw, "load", "compute")
    places = [] if row is None else [p for p in zip(pieces(row), regions(row)) if p[1][0][p[1][1]]]
    if not places:
        return False
    (named, i), (region, at) = draw.choice(places)
    wanted, by = [named[i], *region[at : at + 2]], draw.choice(STEPS)
    if wanted[2] is None:
        return False
    for body, _ in bodies(data["program"]["instructions"]):
        for other in body:
            who = pieces(other) * (2 if other[0] in ("load", "store") else 1)
            for (n, j), (r, k) in zip(who, regions(other)):
                if [n[j], *r[k : k + 2]] == wanted:
                    r[k + 1] += by
    return True


def size(data: Data, draw: Random) -> bool:
    """A region has another size."""
    row = drawn_row(data, draw, "load", "store", "compute", "release")
    if row is None or not regions(row):
        return False
    region, at = draw.choice(regions(row))
    region[at + 2] += draw.choice((-1, 1, 3))
    return True


def memory(data: Data, draw: Random) -> bool:
    """A region is in another memory, or in none."""
    row = drawn_row(data, draw, "load", "store", "compute", "release")
    if row is None or not regions(row):
        return False
    region, at = draw.choice(regions(row))
    region[at] = draw.choice([m["name"] for m in data["program"]["memories"]] + ["nowhere"])
    if draw.random() < 0.5:
        region[at + 1] = None if region[at + 1] is not None else 0
    return True


def dropped(data: Data, draw: Random) -> bool:
    """An instruction is missing."""
    body, moves = drawn_body(data, draw)
    at = draw.randrange(len(body))
    del body[at]
    if moves is not None:
        del moves[at]
    return True


def doubled(data: Data, draw: Random) -> bool:
    """An instruction is there twice."""
    body, moves = drawn_body(data, draw)
    at = draw.randrange(len(body))
    to = draw.choice((at, draw.randrange(len(body))))
    body.insert(to, deepcopy(body[at]))
    if moves is not None:
        moves.insert(to, deepcopy(moves[at]))
    return True


def swapped(data: Data, draw: Random) -> bool:
    """Two instructions have changed places: next to each other, or anywhere."""
    body, moves = drawn_body(data, draw)
    at = draw.randrange(len(body))
    to = draw.choice((min(at + 1, len(body) - 1), draw.randrange(len(body))))
    body[at], body[to] = body[to], body[at]
    if moves is not None:
        moves[at], moves[to] = moves[to], moves[at]
    if draw.random() < 0.7 and "repeat" not in (body[at][0], body[to][0]):
        body[at][1], body[to][1] = body[to][1], body[at][1]  # Steps stay in order.
    return True


def later(data: Data, draw: Random) -> bool:
    """An instruction comes a little earlier or later, in the step of what it comes to."""
    body, moves = drawn_body(data, draw)
    at = draw.randrange(len(body))
    to = max(0, min(len(body) - 1, at + draw.randrange(-4, 5)))
    step = body[to][1]
    row = body.pop(at)
    if row[0] != "repeat" and type(step) is int and (at == to or body[min(to, len(body)) - 1]):
        row[1] = step if draw.random() < 0.8 else row[1]
    body.insert(to, row)
    if moves is not None:
        moves.insert(to, moves.pop(at))
    return True


def step(data: Data, draw: Random) -> bool:
    """An instruction has another step, or the program fewer steps."""
    row = drawn_row(data, draw)
    if row is None or draw.random() < 0.1:
        del data["program"]["steps"][-1:]
        return True
    row[1] += draw.choice((-2, -1, 1, 2))
    return True


def tensor(data: Data, draw: Random) -> bool:
    """A piece is of another tensor, or of none."""
    names = [name for name, *_ in data["graph"]["tensors"]] + ["nothing"]
    draw.choice(data["program"]["pieces"])[0] = draw.choice(names)
    return True


def box(data: Data, draw: Random) -> bool:
    """A piece is another box of its tensor: moved, longer or shorter."""
    axes = draw.choice(data["program"]["pieces"])[1]
    if not axes:
        return False
    axis = draw.choice(axes)
    for end in draw.choice(((0,), (1,), (0, 1))):
        axis[end] += draw.choice((-1, 1))
    return True


def piece(data: Data, draw: Random) -> bool:
    """An instruction names another piece."""
    row = drawn_row(data, draw, "load", "store", "compute", "release")
    if row is None or not pieces(row):
        return False
    place, at = draw.choice(pieces(row))
    place[at] = draw.randrange(len(data["program"]["pieces"]) + 1)
    return True


def operands(data: Data, draw: Random) -> bool:
    """A computation reads or writes one operand fewer, or one twice, or in another order."""
    row = drawn_row(data, draw, "compute")
    side = None if row is None else row[draw.choice((3, 3, 4))]
    if not side:
        return False
    at = draw.randrange(len(side))
    match draw.choice(("drop", "twice", "turn")):
        case "drop":
            del side[at]
        case "twice":
            side.append(deepcopy(side[at]))
        case "turn":
            side.reverse()
    return True


def frees(data: Data, draw: Random) -> bool:
    """A computation ends another read."""
    row = drawn_row(data, draw, "compute")
    if row is None:
        return False
    if row[6] and draw.random() < 0.5:
        row[6].pop(draw.randrange(len(row[6])))
    else:
        others = {*range(-1, len(row[3]) + 1)} - {*row[6]}  # One that is there: `test_naive`.
        row[6].append(draw.choice(sorted(others)))
    return True


def macs(data: Data, draw: Random) -> bool:
    """A computation does more or less, or is of another operator."""
    row = drawn_row(data, draw, "compute")
    if row is None:
        return False
    if draw.random() < 0.6:
        row[5] += draw.choice((-1, 1))
    else:
        row[2] = draw.choice([op["name"] for op in data["graph"]["operators"]] + ["nothing"])
    return True


def parts(data: Data, draw: Random) -> bool:
    """A sum or a part of a piece is another one, or the whole piece."""
    rows = [r for b, _ in bodies(data["program"]["instructions"]) for r in b if r[0] == "compute"]
    made = [row for row in rows if len(row) > 8] or rows
    if not made:
        return False
    row = draw.choice(made)
    if len(row) == 8:
        row += [[0, draw.randint(1, 4)]]
    elif draw.random() < 0.2:
        del row[8:]
    elif len(row) == 9:
        row[8][draw.randrange(2)] += draw.choice((-1, 1))
    elif any(row[9]):
        draw.choice(draw.choice([b for b in row[9] if b]))[draw.randrange(2)] += draw.choice(
            (-1, 1)
        )
    return True


def engine(data: Data, draw: Random) -> bool:
    """An instruction is on another engine, or joined to the one before."""
    row = drawn_row(data, draw, "load", "store", "compute")
    if row is None:
        return False
    if row[0] == "load" and draw.random() < 0.3:
        row[6:] = [] if len(row) > 6 else [True]
        return True
    names = [e["name"] for e in data["machine"]["engines"]]
    row[7 if row[0] == "compute" else 5] = draw.choice([*names, "copy", "", "teleport"])
    return True


def memories(data: Data, draw: Random) -> bool:
    """A memory has another size, base, parent or name, or is of another kind."""
    one = draw.choice(data["program"]["memories"])
    match draw.choice("size size size base flag parent level name home".split()):
        case "size":
            known = one["size_bytes"]
            one["size_bytes"] = None if known is None else known + draw.choice(STEPS)
        case "base":
            one["base"] += draw.choice(STEPS)
        case "flag":
            flag = draw.choice(("circular", "offchip", "addressed"))
            one[flag] = not one[flag]
        case "parent":
            one["parent"] = draw.choice([m["name"] for m in data["program"]["memories"]] + [None])
        case "level":
            one["level"] = draw.choice([m["name"] for m in data["machine"]["memories"]] + [None])
        case "name":
            kinds = data["program"]["memories"] + data["machine"]["memories"]
            one["name"] = draw.choice([m["name"] for m in kinds])
        case "home":
            homes = data["program"]["homes"]
            kind = draw.choice(("input", "parameter", "output"))
            homes.pop(kind, None)
            if draw.random() < 0.5:
                homes[kind] = one["name"]
    known = {m["name"] for m in data["machine"]["memories"]}
    if one["parent"] is None and (one["level"] or one["name"]) not in known:
        one["level"] = data["machine"]["onchip"]  # See `test_naive` for what is in no machine.
    return True


def loop(data: Data, draw: Random) -> bool:
    """A loop has another number of rounds, or its rounds move otherwise."""
    every = [r for b, _ in bodies(data["program"]["instructions"]) for r in b if r[0] == "repeat"]
    if not every:
        return False
    row = draw.choice(every)
    if draw.random() < 0.4:
        row[1] += draw.choice((-2, -1, 1, 2))
        return True
    moves = draw.choice([m for i, m in zip(row[2], row[3]) if i[0] != "repeat"] or [[0]])
    moves[draw.randrange(len(moves))] += draw.choice((-2, -1, 1, 2))
    return True


def budget(data: Data, draw: Random) -> bool:
    """The plan has less or more memory than it had."""
    data["budget_bytes"] += draw.choice(STEPS)
    return True


def claim(data: Data, draw: Random) -> bool:
    """A claim is off by a byte, or of another status."""
    claims = data["claims"]
    name = draw.choice([n for n in claims if n.endswith("_bytes")] + ["status"])
    if name == "status":
        claims[name] = draw.choice(("optimal", "feasible", "perfect"))
    else:
        claims[name] += draw.choice((-1, 1))
    return True


def outputs(data: Data, draw: Random) -> bool:
    """The graph has an output more, or one fewer."""
    graph = data["graph"]
    if draw.random() < 0.5 and len(graph["outputs"]) > 1 and "state" not in graph:
        graph["outputs"].pop(draw.randrange(len(graph["outputs"])))
    else:
        graph["outputs"].append(
            draw.choice([o for op in graph["operators"] for o in op["outputs"]])
        )
    return True


def trimmed(data: Data, draw: Random) -> bool:
    """A piece is shorter or longer on an axis, with its bytes, wherever the program has it."""
    graph = Graph(data["graph"])
    rows = [row for body, _ in bodies(data["program"]["instructions"]) for row in body]
    loaded = [row[2] for row in rows if row[0] == "load"]
    if not loaded:
        return False
    which = draw.choice(loaded)
    name, axes = data["program"]["pieces"][which]
    axis, end = draw.choice(axes or [[0, 0]]), draw.randrange(2)
    axis[end] += draw.choice((1, -1)) if draw.random() < 0.3 else 1 - 2 * end
    bytes_ = graph.size(name, prod(b - a for a, b in axes))
    for row in rows:
        who = pieces(row) * (2 if row[0] in ("load", "store") else 1)
        for (named, i), (region, at) in zip(who, regions(row)):
            if named[i] == which:
                region[at + 2] = bytes_
    return True


def far(data: Data, draw: Random) -> bool:
    """What was on chip is off chip, with its addresses: a right program of more traffic."""
    roots = [m for m in data["program"]["memories"] if m["parent"] is None and m["addressed"]]
    outside = [m["name"] for m in data["machine"]["memories"]]
    root = draw.choice(roots)
    root["offchip"], root["level"] = True, draw.choice(outside)
    for one in data["program"]["memories"]:
        one["offchip"] |= one["parent"] == root["name"]
    return True


def elsewhere(data: Data, draw: Random) -> bool:
    """What goes to a home and is no output has an address there."""
    kinds = {name: kind for name, kind, *_ in data["graph"]["tensors"]}
    outside = [m["name"] for m in data["program"]["memories"] if not m["addressed"]]
    made = {"name": "outside", "size_bytes": draw.choice((None, 1 << 20)), "circular": False}
    made |= {"offchip": True, "addressed": True, "parent": None, "base": 0, "level": outside[0]}
    places: dict[int, int] = {}
    end = draw.choice((0, 3))
    for row in (row for body, _ in bodies(data["program"]["instructions"]) for row in body):
        for piece, side in ((row[2], row[4 if row[0] == "store" else 3]),) * (
            row[0] in ("load", "store")
        ):
            name = data["program"]["pieces"][piece][0]
            if kinds.get(name) == "activation" and name not in data["graph"]["outputs"]:
                if piece not in places:
                    places[piece], end = end, end + side[2]
                side[:2] = ["outside", places[piece]]
    if places:
        data["program"]["memories"].append(made)
    return bool(places)


def window(data: Data, draw: Random) -> bool:
    """A memory is a window of a larger one, or a ring turned within a ring."""
    memories = data["program"]["memories"]
    old = draw.choice([m for m in memories if m["parent"] is None and m["addressed"]])
    if old["size_bytes"] is None or any(m["name"] == "below" for m in memories):
        return False
    by = draw.choice((0, 1, 5, 16))
    below = {**old, "name": "below", "level": old["level"] or old["name"]}
    if not old["circular"]:
        below["size_bytes"] += by
        below["circular"] = draw.random() < 0.3
        data["budget_bytes"] += by
    old |= {"parent": "below", "base": by, "level": None}
    memories.append(below)
    if draw.random() < 0.5 and not (by and old["circular"]):  # See `test_naive`.
        for row in (row for body, _ in bodies(data["program"]["instructions"]) for row in body):
            for region, at in regions(row):
                turned = below["size_bytes"] if below["circular"] else 1 << 62
                if region[at] == old["name"] and draw.random() < 0.5:
                    region[at : at + 2] = ["below", (region[at + 1] + by) % turned]
    return True


def rounds(data: Data, draw: Random) -> bool:
    """Some rows are a loop of one round, or of two."""
    body, moves = drawn_body(data, draw)
    at = draw.randrange(len(body))
    to = draw.randint(at + 1, min(len(body), at + 6))
    some, still = body[at:to], [zeros(data, row) for row in body[at:to]]
    body[at:to] = [["repeat", draw.choice((1, 1, 1, 2)), some, still]]
    if moves is not None:
        moves[at:to] = [moves[at:to]]
    return True


def zeros(data: Data, row: Row) -> list[Any]:
    """How a row moves that does not move: a zero for each of its numbers."""
    if row[0] == "repeat":
        return [zeros(data, each) for each in row[2]]
    taken: list[int] = []

    def none() -> Iterator[int]:
        while True:
            taken.append(0)
            yield 0

    Reader(data["program"]["pieces"], none()).instruction(row)
    return taken


def typed(data: Data, draw: Random) -> bool:
    """A number is written as something else: with a point, as text, as a truth value."""
    row = drawn_row(data, draw)
    if row is None:
        return False
    spots: list[tuple[Any, Any]] = [(row, 1), (data, "budget_bytes"), *pieces(row)]
    spots += [(r, at + n) for r, at in regions(row) for n in (1, 2) if r[at + n] is not None]
    axes = draw.choice(data["program"]["pieces"])[1]
    spots += [(axis, end) for axis in axes for end in (0, 1)]
    spots += [(row, 5)] if row[0] == "compute" else []
    place, at = draw.choice(spots)
    known = place[at]
    place[at] = draw.choice((float(known), known + 0.5, str(known), None, [known], bool(known)))
    return True


EDITS: dict[str, Edit] = {
    edit.__name__: edit
    for edit in (
        *(address, shifted, size, memory, dropped, doubled, swapped, later, step, tensor, box),
        *(piece, operands, frees, macs, parts, engine, memories, loop, budget, claim, outputs),
        *(trimmed, far, elsewhere, window, rounds),
    )
}
OFTEN = (
    "address shifted dropped doubled swapped later operands memories loop box piece trimmed trimmed"
).split()
"""Edits that leave much right."""
