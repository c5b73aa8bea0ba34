"""The instructions of each step in bundles: one compute an operator, one transfer a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Load,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
)
from planners.core.tables.boxes import boxes_of
from planners.core.tables.distinct import distinct
from planners.core.tables.table import (
    BARRIER,
    COMPUTE,
    ENDED,
    LOAD,
    READ,
    RELEASE,
    SOURCE,
    STORE,
    WRITE,
    Numbers,
    Table,
)

ORDER = np.zeros(5, np.int64)
"""Within a step: what comes, what is computed, what is stored, what goes."""
ORDER[[LOAD, COMPUTE, STORE, RELEASE]] = range(4)


def bundled_program(program: Program, table: Table) -> tuple[Program, Numbers]:
    """A program with fewer and larger instructions, and where each of the old ones is in it."""
    entries = _Entries(table)
    items = tuple(_Bundles(table, entries).instructions())
    place = np.zeros(len(table), np.int64)
    place[entries.position] = entries.bundle[: len(entries.position)]
    return replace(program, instructions=items), place


class _Entries:
    """What is in which bundle: instructions, then reads that end with their compute."""

    def __init__(self, table: Table) -> None:
        self.position = np.flatnonzero(table.kind != BARRIER)
        self.freed = np.flatnonzero(table.freed)
        named = table.tensor[table.first[:-1][self.position]]
        name = np.where(table.kind == COMPUTE, table.operator, -1)[self.position]
        name = np.where(name < 0, len(table.operators) + named, name)
        every, which = distinct(
            np.append(table.step[self.position], table.step[table.instruction[self.freed]]),
            np.append(ORDER[table.kind[self.position]], np.full(len(self.freed), ORDER[RELEASE])),
            np.append(name, len(table.operators) + table.tensor[self.freed]),
        )
        first = np.full(len(every), len(which))
        np.minimum.at(first, which, np.arange(len(which)))
        order = np.lexsort((first, every[:, 1], every[:, 0]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self.bundle = rank[which]
        self.first = first[order]


@dataclass(frozen=True)
class _Hulls:
    """Rows of a table by what they have in common, in the order of the first of each."""

    key: Numbers
    first: Numbers
    box: list[Box]
    size: list[int]


class _Bundles:
    def __init__(self, table: Table, entries: _Entries) -> None:
        self.table, self.entries = table, entries
        of = np.full(len(table), -1, np.int64)
        of[entries.position] = entries.bundle[: len(entries.position)]
        self.of = of[table.instruction]

    def instructions(self) -> Iterator[Instruction]:
        """One for each bundle."""
        table, entries = self.table, self.entries
        reads, writes = self._operands(READ), self._operands(WRITE)
        moved, gone = self._moved(), self._gone()
        computing = table.kind == COMPUTE
        macs = np.zeros(len(entries.first), np.int64)
        positions = entries.position[computing[entries.position]]
        np.add.at(macs, self.of[table.first[:-1][positions]], table.macs[positions])
        sums = macs.tolist()
        for bundle, first in enumerate(entries.first.tolist()):
            if first >= len(entries.position):
                row = int(entries.freed[first - len(entries.position)])
                yield Release(int(table.step[table.instruction[row]]), *gone[bundle])
                continue
            at = int(entries.position[first])
            step, kind = int(table.step[at]), int(table.kind[at])
            if kind == RELEASE:
                yield Release(step, *gone[bundle])
                continue
            engine = table.engines[table.engine[at]]
            if kind == COMPUTE:
                named = tuple(reads.get(bundle, ())), tuple(writes.get(bundle, ()))
                operator = table.operators[table.operator[at]]
                yield Compute(step, operator, *named, sums[bundle], (), engine)
            else:
                piece, source = moved[bundle]
                target = self._region(int(table.first[at]) + 1, source.size_bytes)
                make = Load if kind == LOAD else Store
                yield make(step, piece, source, target, engine)

    def _operands(self, role: int) -> dict[int, list[Operand]]:
        """By bundle, an operand for each tensor: the box around its pieces, each counted once."""
        table = self.table
        rows = np.flatnonzero(table.role == role)
        axes = table.start.shape[1]
        ends = [side[rows, axis] for side in (table.start, table.stop) for axis in range(axes)]
        _, piece = distinct(self.of[rows], table.tensor[rows], *ends)
        rows = rows[np.sort(np.unique(piece, return_index=True)[1])]
        hulls = self._hulls(rows, self.of[rows] * len(table.tensors) + table.tensor[rows])
        by_bundle: dict[int, list[Operand]] = {}
        for key, row, box, size in self._each(hulls):
            bundle, tensor = divmod(key, len(table.tensors))
            operand = Operand(Piece(table.tensors[tensor], box), self._region(row, size))
            by_bundle.setdefault(bundle, []).append(operand)
        return by_bundle

    def _moved(self) -> dict[int, Operand]:
        """By bundle of transfers: what is moved, from where."""
        rows = np.flatnonzero(self.table.role == SOURCE)
        return self._of_bundles(rows, self.of[rows])

    def _gone(self) -> dict[int, Operand]:
        """By bundle of releases: what is gone, where it was."""
        entries = self.entries
        rows = np.flatnonzero(self.table.role == ENDED)
        freed = entries.bundle[len(entries.position) :]
        return self._of_bundles(np.append(rows, entries.freed), np.append(self.of[rows], freed))

    def _of_bundles(self, rows: Numbers, bundle: Numbers) -> dict[int, Operand]:
        tensor = self.table.tensor
        return {
            key: Operand(Piece(self.table.tensors[tensor[row]], box), self._region(row, size))
            for key, row, box, size in self._each(self._hulls(rows, bundle))
        }

    def _region(self, row: int, size: int) -> Region:
        table = self.table
        offset = int(table.offset[row])
        return Region(table.memories[table.memory[row]], None if offset < 0 else offset, size)

    def _each(self, hulls: _Hulls) -> Iterator[tuple[int, int, Box, int]]:
        rows = zip(hulls.key.tolist(), hulls.first.tolist(), hulls.box, hulls.size, strict=True)
        return iter(rows)

    def _hulls(self, rows: Numbers, key: Numbers) -> _Hulls:
        """The boxes around rows of one key, and the sum of their bytes."""
        table = self.table
        order = np.argsort(key, kind="stable")
        rows, key = rows[order], key[order]
        begins = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
        if not len(begins):
            return _Hulls(key, rows, [], [])
        low = np.minimum.reduceat(table.start[rows], begins)
        high = np.maximum.reduceat(table.stop[rows], begins)
        size = np.add.reduceat(table.size[rows], begins)
        first = rows[begins]
        ahead = np.argsort(first, kind="stable")
        boxes: list[Box] = [()] * len(ahead)
        rank = table.rank[first[ahead]]
        for axes in np.unique(rank).tolist():
            those = np.flatnonzero(rank == axes)
            some = boxes_of(low[ahead[those]], high[ahead[those]], axes)
            for at, box in zip(those.tolist(), some, strict=True):
                boxes[at] = box
        return _Hulls(key[begins][ahead], first[ahead], boxes, size[ahead].tolist())
