"""What comes several times comes from a slower memory on chip, where the machine has one.

A program that was made for the scratchpad alone loads some parameters for each tile again, and
spills tensors that come back. Where a memory behind the scratchpad has room for as long as that
goes on, parameters come to it once, in front of the first use, and from there each time; what is
spilled goes there and no further. Pieces that save the most bytes for the room that they take come
first. Loads in loops stay in loops: rounds that load other pieces find them one after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from planners.core.graph import Graph
from planners.core.loops import (
    expanded,
    first_step,
    items_of,
    last_step,
    moves_of,
    numbers,
    numbers_of,
)
from planners.core.machine import Machine
from planners.core.program import (
    Box,
    Instruction,
    Item,
    Load,
    Move,
    Piece,
    Program,
    Region,
    Release,
    Repeat,
    Store,
    piece_bytes,
)
from planners.joined.slow_memory.prefetch import BankPlace, BankSpace

Path = tuple[int, ...]
"""Of an instruction in a program: the number of the item, and in each loop that of the body's."""
MOST_PIECES = 4096
"""Of one load in a loop: more are left where they are."""


@dataclass(frozen=True, slots=True)
class LoopedLoad:
    """A load of parameters, and the loops around it: rounds, and whether its box moves in them."""

    path: Path
    load: Load
    counts: tuple[int, ...]
    moving: tuple[bool, ...]
    pieces: tuple[Piece, ...]
    """All that it loads, in the order in which it does so first."""

    @property
    def times(self) -> int:
        """How often each of the pieces comes."""
        times = 1
        for count, moves in zip(self.counts, self.moving, strict=True):
            times *= 1 if moves else count
        return times

    def strides(self, size_bytes: int) -> tuple[int, ...]:
        """By how much its place moves in a round of each loop, the outermost first."""
        strides_bytes, step = list[int](), size_bytes
        for count, moves in reversed([*zip(self.counts, self.moving, strict=True)]):
            strides_bytes.append(step if moves else 0)
            step *= count if moves else 1
        return tuple(reversed(strides_bytes))


@dataclass(frozen=True, slots=True)
class Kept:
    """Pieces that lie in a slower memory one behind the other, from one item to another."""

    pieces: tuple[Piece, ...]
    size_bytes: int
    first: int
    last: int
    saved_bytes: int
    loads: tuple[LoopedLoad, ...] = ()

    @property
    def worth(self) -> float:
        """Bytes saved off chip for one of the room."""
        return self.saved_bytes / (self.size_bytes * len(self.pieces))

    def regions(self, place: BankPlace) -> Iterator[tuple[Piece, Region]]:
        """Where each piece lies."""
        for number, piece in enumerate(self.pieces):
            yield piece, place.part(number * self.size_bytes, self.size_bytes)


def nearer(graph: Graph, machine: Machine, program: Program) -> tuple[Program, BankSpace]:
    """The program with what comes several times in slower memories, as far as these have room; and
    what room is taken in them, by the items of that program."""
    space = BankSpace(machine)
    items = list(items_of(program))
    kept = [*_parameters(graph, machine, items), *_spilled(graph, machine, items)]
    placed: list[tuple[Kept, BankPlace]] = []
    for each in sorted(kept, key=lambda each: -each.worth):
        size = each.size_bytes * len(each.pieces)
        place = space.find(size, each.first, each.last)
        if place is not None:
            space.take(place)
            placed.append((each, place))
    if not placed:
        return program, space
    written = [*_written(machine, items, placed)]
    first = {at: number for number, (at, _) in reversed([*enumerate(written)])}
    last = {at: number for number, (at, _) in enumerate(written)}
    moved = [replace(p, first=first[p.first], last=last[p.last]) for p in space.taken]
    return space.in_program(program, [item for _, item in written]), BankSpace(machine, moved)


# ---- what comes several times ------------------------------------------------------------------


def _parameters(graph: Graph, machine: Machine, items: Sequence[Item]) -> Iterator[Kept]:
    """Parameters that come more than once: loads of the same pieces together."""
    by_tensor: dict[str, list[LoopedLoad]] = defaultdict(list)
    for at, item in enumerate(items):
        for load in _loads(graph, machine, item, (at,), (), ()):
            by_tensor[load.load.piece.tensor].append(load)
    for loads in by_tensor.values():
        by_pieces: dict[tuple[Piece, ...], list[LoopedLoad]] = defaultdict(list)
        for load in loads:
            by_pieces[load.pieces].append(load)
        once: set[Piece] = set()
        for pieces, same in by_pieces.items():
            # A piece is nowhere twice: what others load too, but not all of it, stays.
            if len({*pieces}) < len(pieces) or not once.isdisjoint(pieces):
                continue
            once.update(pieces)
            size = piece_bytes(graph, pieces[0])
            times = sum(each.times for each in same)
            if times > 1 and size and all(piece_bytes(graph, p) == size for p in pieces):
                first, last = same[0].path[0], same[-1].path[0]
                saved = (times - 1) * size * len(pieces)
                yield Kept(pieces, size, first, last, saved, tuple(same))


def _loads(
    graph: Graph,
    machine: Machine,
    item: Item,
    path: Path,
    loops: tuple[tuple[int, int], ...],
    moves: tuple[Move, ...],
) -> Iterator[LoopedLoad]:
    """The loads of parameters from off chip in an item; `loops` around it, and how it moves."""
    if isinstance(item, Repeat):
        for number, (inner, move) in enumerate(zip(item.body, item.moves, strict=True)):
            outer = tuple(moves_of(each)[number] for each in moves)
            around = (*loops, (item.count, number))
            yield from _loads(graph, machine, inner, (*path, number), around, (*outer, move))
        return
    if not isinstance(item, Load) or item.source.memory != machine.parameters:
        return
    if graph.tensors[item.piece.tensor].kind != "parameter" or item.source.offset is not None:
        return
    axes = len(item.piece.box)
    by = [_by(item, move)[1 : 1 + axes] for move in moves]
    counts = tuple(count for count, _ in loops)
    moving = tuple(any(each) for each in by)
    many = 1
    for count, moves_here in zip(counts, moving, strict=True):
        many *= count if moves_here else 1
    if many <= MOST_PIECES:
        boxes = _boxes(item.piece.box, [*zip(counts, by, strict=True)])
        pieces = tuple(Piece(item.piece.tensor, box) for box in boxes)
        yield LoopedLoad(path, item, counts, moving, pieces)


def _boxes(box: Box, loops: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[Box]:
    """The boxes in all rounds of loops in which they move."""
    if not loops:
        yield box
        return
    (count, by), *inner = loops
    for number in range(count if any(by) else 1):
        there = tuple(
            (start + number * step, stop + number * step)
            for (start, stop), step in zip(box, by, strict=True)
        )
        yield from _boxes(there, inner)


def _spilled(graph: Graph, machine: Machine, items: Sequence[Item]) -> Iterator[Kept]:
    """Pieces that are stored once, not as outputs, and come back as they are."""
    stored: dict[str, dict[Piece, int]] = defaultdict(dict)
    loaded: dict[str, dict[Piece, list[int]]] = defaultdict(lambda: defaultdict(list))
    other: set[str] = set(graph.outputs)
    for at, item in enumerate(items):
        if isinstance(item, Repeat):
            for each in expanded((item,)):
                if isinstance(each, Load | Store):
                    other.add(each.piece.tensor)
        elif isinstance(item, Store):
            if item.piece in stored[item.piece.tensor]:
                other.add(item.piece.tensor)
            stored[item.piece.tensor][item.piece] = at
        elif isinstance(item, Load) and item.source.memory == machine.offchip:
            loaded[item.piece.tensor][item.piece].append(at)
    for tensor, pieces in stored.items():
        back = loaded[tensor]
        whole = tensor not in other and back.keys() == pieces.keys()
        if not whole or graph.tensors[tensor].kind != "activation":
            continue
        for piece, at in pieces.items():
            size = piece_bytes(graph, piece)
            if size:
                yield Kept((piece,), size, at, max(back[piece]), (1 + len(back[piece])) * size)


# ---- the program written -----------------------------------------------------------------------


@dataclass
class _Changes:
    """Loads and stores that now go to slower memories: by their path, and spilled pieces."""

    sources: dict[Path, tuple[Region, tuple[int, ...]]] = field(default_factory=dict)
    spilled: dict[Piece, Region] = field(default_factory=dict)

    def rewritten(
        self, item: Item, path: Path, moves: tuple[Move, ...]
    ) -> tuple[Item, tuple[Move, ...]]:
        """An item changed, and how it moves in each loop around it, the outermost first."""
        if isinstance(item, Repeat):
            return self._of_loop(item, path, moves)
        if path in self.sources and isinstance(item, Load):
            region, strides = self.sources[path]
            at = 1 + len(item.piece.box)
            by = [_by(item, move) for move in moves]
            moved = tuple((*b[:at], s, *b[at:]) for b, s in zip(by, strides, strict=True))
            return replace(item, source=region, engine=""), moved
        if isinstance(item, Load) and item.piece in self.spilled:
            return replace(item, source=self.spilled[item.piece]), moves
        if isinstance(item, Store) and item.piece in self.spilled:
            return replace(item, target=self.spilled[item.piece]), moves
        return item, moves

    def _of_loop(
        self, loop: Repeat, path: Path, moves: tuple[Move, ...]
    ) -> tuple[Repeat, tuple[Move, ...]]:
        body, inner_moves, outer = list[Item](), list[Move](), [list[Move]() for _ in moves]
        for number, (inner, move) in enumerate(zip(loop.body, loop.moves, strict=True)):
            around = (*(moves_of(each)[number] for each in moves), move)
            item, changed = self.rewritten(inner, (*path, number), around)
            body.append(item)
            inner_moves.append(changed[-1])
            for level, each in zip(outer, changed[:-1], strict=True):
                level.append(each)
        return Repeat(loop.count, tuple(body), tuple(inner_moves)), tuple(map(tuple, outer))


def _by(item: Instruction, move: Move) -> tuple[int, ...]:
    """How each number of an instruction moves."""
    return numbers_of(move) or (0,) * len(numbers(item))


def _written(
    machine: Machine, items: Sequence[Item], placed: Sequence[tuple[Kept, BankPlace]]
) -> Iterator[tuple[int, Item]]:
    """The items of the program, each with the number of the one that it was or is beside."""
    first: dict[int, list[tuple[Kept, BankPlace]]] = defaultdict(list)
    last: dict[int, list[tuple[Kept, BankPlace]]] = defaultdict(list)
    changes = _Changes()
    for kept, place in placed:
        last[kept.last].append((kept, place))
        if kept.loads:
            first[kept.first].append((kept, place))
        else:
            changes.spilled[kept.pieces[0]] = place.region
        for load in kept.loads:
            start = place.part(0, kept.size_bytes)
            changes.sources[load.path] = start, load.strides(kept.size_bytes)
    for at, item in enumerate(items):
        for kept, place in first[at]:
            home = Region(machine.parameters, None, kept.size_bytes)
            for number, (piece, region) in enumerate(kept.regions(place)):
                yield at, Load(first_step(item), piece, home, region, joined=number > 0)
        yield at, changes.rewritten(item, (at,), ())[0]
        for kept, place in last[at]:
            for piece, region in kept.regions(place):
                yield at, Release(last_step(item), piece, region)
