"""Columns of a program: its instructions read once, the rounds of its loops multiplied from one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from planners.core.caches import IdentityCache
from planners.core.loops import (
    MOST_INSTRUCTIONS,
    cannot_change,
    items_of,
    moves_of,
    numbers_of,
    size_of,
)
from planners.core.program import (
    Barrier,
    Compute,
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
)
from planners.core.tables.moves import RoundMoves
from planners.core.tables.table import (
    BARRIER,
    COMPUTE,
    ENDED,
    LOAD,
    NOWHERE,
    PART,
    READ,
    RELEASE,
    SOURCE,
    STORE,
    TARGET,
    WRITE,
    Numbers,
    Table,
)

AT_ONCE = 200_000
"""Items that are read at a time: of those made on the way, no more are there at once."""

_UNPLACED = Region("", None, 0)

_last = IdentityCache[Table]()


def table_of(program: Program) -> Table | None:
    """The columns of a program; None where it, or a number in it, is too large to be held so.

    Those of the last program are kept as long as it is there: a planner counts what it moves, and
    then replays it.
    """
    table = _last.get(program)
    if table is None:
        table = _read(program)
        if table is not None and cannot_change(program):
            _last.keep(table, program)
    return table


def _read(program: Program) -> Table | None:
    written = items_of(program)
    if isinstance(written, Sequence) and size_of(written) > MOST_INSTRUCTIONS:
        return None
    names, items, count = _AllNames(), iter(written), 0
    tables: list[Table] = []
    try:
        while chunk := tuple(islice(items, AT_ONCE)):
            count += size_of(chunk)
            if count > MOST_INSTRUCTIONS:
                return None
            tables.append(_table(chunk, names))
    except OverflowError:  # A number beyond 64 bits.
        return None
    return names.joined(tables or [_table((), names)])


def _table(items: tuple[Item, ...], names: _AllNames) -> Table:
    leaves = _Leaves(names)
    if any(isinstance(item, Repeat) for item in items):
        order, moves = _Order(), RoundMoves()
        order.add(items, (), leaves, moves)
        return moves.multiplied(leaves.table(), *order.joined())
    leaves.items += (item for item in items if not isinstance(item, Repeat))
    return leaves.table()


class _Order:
    """Which leaf each row is, and in which round of each loop around it, outermost first."""

    def __init__(self) -> None:
        self.leaves: list[Numbers] = []
        self.rounds: list[tuple[Numbers, ...]] = []

    def add(
        self,
        items: Iterable[Item],
        around: tuple[Sequence[Move], ...],
        to: _Leaves,
        moves: RoundMoves,
    ) -> None:
        """Add a body; `around` has, for each loop around it, the moves of its items."""
        begun = len(to.items)
        for at, item in enumerate(items):
            if isinstance(item, Repeat):
                self._straight(begun, len(to.items))
                inside = _Order()
                outer = tuple(moves_of(each[at]) for each in around)
                inside.add(item.body, (*outer, item.moves), to, moves)
                self._repeated(inside, item.count)
                begun = len(to.items)
            else:
                for depth, each in enumerate(around):
                    moves.note(depth, len(to.items), item, numbers_of(each[at]))
                to.items.append(item)
        self._straight(begun, len(to.items))

    def _straight(self, start: int, stop: int) -> None:
        if start < stop:
            self.leaves.append(np.arange(start, stop))
            self.rounds.append(())

    def _repeated(self, inside: _Order, count: int) -> None:
        leaves, rounds = inside.joined()
        self.leaves.append(np.tile(leaves, count))
        turns = np.repeat(np.arange(count), len(leaves))
        self.rounds.append((turns, *(np.tile(deeper, count) for deeper in rounds)))

    def joined(self) -> tuple[Numbers, list[Numbers]]:
        """All rows: their leaves, and by depth their rounds, 0 where no loop is so deep."""
        if not self.leaves:
            return np.zeros(0, np.int64), []
        rounds = []
        for depth in range(max(map(len, self.rounds))):
            both = zip(self.rounds, self.leaves, strict=True)
            some = [r[depth] if depth < len(r) else np.zeros_like(leaf) for r, leaf in both]
            rounds.append(np.concatenate(some))
        return np.concatenate(self.leaves), rounds


class _Names:
    """Names as numbers, in the order in which they are first seen."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def every(self, names: Iterable[str]) -> Numbers:
        """The numbers of some names."""
        some = list(names)
        for name in dict.fromkeys(some):
            self(name)
        return np.fromiter(map(self.numbers.__getitem__, some), np.int64, len(some))

    def all(self) -> tuple[str, ...]:
        return tuple(self.numbers)


class _AllNames:
    """The names of a program."""

    def __init__(self) -> None:
        self.tensors, self.memories = _Names(), _Names()
        self.operators, self.engines = _Names(), _Names()

    def joined(self, tables: Sequence[Table]) -> Table:
        """Tables of these names, one after the other."""
        if len(tables) == 1:
            return tables[0]
        rows = np.cumsum([0, *(len(table.role) for table in tables)])
        items = np.cumsum([0, *(len(table) for table in tables)])
        axes = max(table.start.shape[1] for table in tables)
        moved = [
            replace(
                table,
                first=table.first[min(at, 1) :] + rows[at],
                instruction=table.instruction + items[at],
                start=_padded(table.start, axes, 0),
                stop=_padded(table.stop, axes, 1),
            )
            for at, table in enumerate(tables)
        ]
        columns = {
            field.name: np.concatenate([getattr(table, field.name) for table in moved])
            for field in fields(Table)
            if field.name not in ("tensors", "memories", "operators", "engines")
        }
        return Table(
            tensors=self.tensors.all(),
            memories=self.memories.all(),
            operators=self.operators.all(),
            engines=self.engines.all(),
            **columns,
        )


def _padded(ends: Numbers, axes: int, value: int) -> Numbers:
    return np.pad(ends, ((0, 0), (0, axes - ends.shape[1])), constant_values=value)


_KINDS = {Load: LOAD, Store: STORE, Compute: COMPUTE, Release: RELEASE, Barrier: BARRIER}
_TRANSFER, _RELEASED = (SOURCE, TARGET), (ENDED,)


class _Leaves:
    """Instructions as columns, each as it is written."""

    def __init__(self, names: _AllNames) -> None:
        self.names = names
        self.items: list[Instruction] = []

    def table(self) -> Table:
        """The columns of these instructions."""
        items, operators, engines = self.items, self.names.operators, self.names.engines
        pieces: list[Piece] = []
        regions: list[Region] = []
        role: list[int] = []
        first, operator, engine, macs = [0], [], [], []
        joined, freed, sums = [], [], []
        for at, item in enumerate(items):
            if isinstance(item, Compute):
                both = item.reads + item.writes
                pieces += [piece for piece, _ in both]
                regions += [region for _, region in both]
                role += [READ] * len(item.reads) + [WRITE] * len(item.writes)
                if item.parts:
                    pieces += _parts(item)
                    regions += [_UNPLACED] * len(item.parts)
                    role += [PART] * len(item.parts)
                if item.frees:
                    freed += [_freed(first[-1], index, item) for index in item.frees]
                if item.sums is not None:
                    sums.append((at, *item.sums))
                operator.append(operators(item.operator))
                engine.append(engines(item.engine))
                macs.append(item.macs)
            elif isinstance(item, Release):
                pieces.append(item.piece)
                regions.append(item.region)
                role += _RELEASED
                operator.append(-1)
                engine.append(-1)
                macs.append(0)
            elif isinstance(item, Barrier):
                operator.append(-1)
                engine.append(-1)
                macs.append(0)
            else:
                pieces += (item.piece, item.piece)
                regions += (item.source, item.target)
                role += _TRANSFER
                operator.append(-1)
                engine.append(engines(item.engine))
                macs.append(0)
                if isinstance(item, Load) and item.joined:
                    joined.append(at)
            first.append(len(pieces))
        count = len(items)
        begins = np.array(first, np.int64)
        return Table(
            operators=operators.all(),
            engines=engines.all(),
            kind=np.fromiter(map(_KINDS.__getitem__, map(type, items)), np.uint8, count),
            step=np.fromiter(map(attrgetter("step"), items), np.int64, count),
            operator=np.array(operator, np.int64),
            engine=np.array(engine, np.int64),
            joined=_marked(joined, count),
            macs=np.array(macs, np.int64),
            sums=_ranges(sums, count),
            first=begins,
            role=np.array(role, np.uint8),
            instruction=np.repeat(np.arange(count), np.diff(begins)),
            freed=_marked_once(freed, len(pieces)),
            **_pieces(pieces, self.names.tensors),
            **_regions(regions, self.names.memories),
        )


def _parts(item: Compute) -> list[Piece]:
    """The parts of a compute's writes; of one too many or too few, as pieces of the last write."""
    names = [operand.piece.tensor for operand in item.writes] or [""]
    names += [names[-1]] * (len(item.parts) - len(names))
    return [Piece(name, part) for name, part in zip(names, item.parts, strict=False)]


def _freed(first: int, index: int, item: Compute) -> int:
    """The row of a read that ends. Raises `OverflowError` where there is none of that number."""
    if not 0 <= index < len(item.reads):
        raise OverflowError
    return first + index


def _marked(rows: Sequence[int], count: int) -> Any:
    marked = np.zeros(count, np.bool_)
    np.add.at(marked, np.array(rows, np.int64), True)
    return marked


def _marked_once(rows: Sequence[int], count: int) -> Any:
    """Raises `OverflowError` for a row that is there twice: a read does not end twice."""
    if len(set(rows)) < len(rows):
        raise OverflowError
    return _marked(rows, count)


def _ranges(ranges: Sequence[tuple[int, int, int]], count: int) -> Numbers:
    """Ranges of channels. Raises `OverflowError` where one begins in front of the first."""
    out = np.full((count, 2), -1, np.int64)
    if ranges:
        rows = np.array(ranges, np.int64)
        if rows.min() < 0:
            raise OverflowError
        out[rows[:, 0]] = rows[:, 1:]
    return out


def _once(things: list[Any]) -> tuple[list[Any], Numbers]:
    """Each object once, and which it is, row by row: most are named again and again."""
    keys = np.fromiter(map(id, things), np.int64, len(things))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return list(map(things.__getitem__, first.tolist())), which


def _pieces(rows: list[Piece], names: _Names) -> dict[str, Any]:
    pieces, which = _once(rows)
    tensor = names.every(map(itemgetter(0), pieces))
    boxes = [piece.box for piece in pieces]
    rank = np.fromiter(map(len, boxes), np.uint8, len(boxes))
    axes = int(rank.max(initial=0))
    ends = np.zeros((len(pieces), axes, 2), np.int64)
    ends[:, :, 1] = 1
    for deep in np.unique(rank).tolist():
        those = np.flatnonzero(rank == deep)
        axes_of = chain.from_iterable(map(boxes.__getitem__, those.tolist()))
        numbers = np.fromiter(chain.from_iterable(axes_of), np.int64)
        ends[those, :deep] = numbers.reshape(len(those), deep, 2)
    return {
        "tensors": names.all(),
        "tensor": tensor[which],
        "rank": rank[which],
        "start": ends[which, :, 0],
        "stop": ends[which, :, 1],
    }


def _regions(rows: list[Region], names: _Names) -> dict[str, Any]:
    regions, which = _once(rows)
    memory = names.every(region.memory for region in regions if region is not _UNPLACED)
    if len(memory) < len(regions):
        at = next(at for at, region in enumerate(regions) if region is _UNPLACED)
        memory = np.insert(memory, at, NOWHERE)
    offsets = list(map(itemgetter(1), regions))
    offset = np.array([NOWHERE if at is None else at for at in offsets], np.int64)
    if (offset < 0).sum() > offsets.count(None):  # One that no memory has.
        raise OverflowError
    return {
        "memories": names.all(),
        "memory": memory[which],
        "offset": offset[which],
        "size": np.fromiter(map(itemgetter(2), regions), np.int64, len(regions))[which],
    }
