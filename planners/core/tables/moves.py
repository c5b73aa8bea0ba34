"""How the leaves of loops move in a round, as columns, and all rounds made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planners.core.program import Barrier, Compute, Instruction, Load, Region, Store
from planners.core.tables.table import NOWHERE, Numbers, Table

FARTHEST = 1 << 36
LARGEST = 1 << 61
"""What moves so far in a round, or is so large to begin with, may pass 64 bits in some round."""


class RoundMoves:
    """By depth of loops: how far an instruction's numbers go in a round, in the order of rows."""

    def __init__(self) -> None:
        self.noted: dict[int, list[tuple[int, Instruction, Sequence[int]]]] = {}

    def note(self, depth: int, leaf: int, item: Instruction, by: Sequence[int]) -> None:
        """An instruction, the `leaf`th, moves so in a round of the loop at this depth."""
        if any(abs(number) >= FARTHEST for number in by):
            raise OverflowError
        if any(by):
            self.noted.setdefault(depth, []).append((leaf, item, by))

    def multiplied(self, leaves: Table, order: Numbers, rounds: Sequence[Numbers]) -> Table:
        """All rows: in `order` of leaves, each moved by its number of `rounds` at every depth."""
        for column in (leaves.step, leaves.start, leaves.stop, leaves.offset, leaves.sums):
            if column.size and (column.max() >= LARGEST or column.min() <= -LARGEST):
                raise OverflowError
        counts = np.diff(leaves.first)[order]
        first = np.concatenate(([0], np.cumsum(counts)))
        of = np.repeat(np.arange(len(order)), counts)
        row = np.arange(first[-1]) - first[of] + leaves.first[order][of]
        step, start, stop = leaves.step[order], leaves.start[row], leaves.stop[row]
        offset, sums = leaves.offset[row], leaves.sums[order]
        for depth, noted in self.noted.items():
            by = _Columns(leaves)
            for leaf, item, numbers in noted:
                by.add(leaf, item, numbers)
            turn = rounds[depth]
            step = step + by.step[order] * turn
            sums = sums + (by.sums[order] * turn)[:, None]
            inside = turn[of]
            moved = by.start[row] * inside[:, None]
            start, stop = start + moved, stop + moved
            offset = offset + by.offset[row] * inside
        if (sums[leaves.sums[order] >= 0] < 0).any():
            raise OverflowError
        if (offset < NOWHERE).any() or (offset[leaves.offset[row] >= 0] < 0).any():
            raise OverflowError
        return replace(
            leaves,
            kind=leaves.kind[order],
            step=step,
            operator=leaves.operator[order],
            engine=leaves.engine[order],
            joined=leaves.joined[order],
            macs=leaves.macs[order],
            sums=sums,
            first=first,
            role=leaves.role[row],
            instruction=of,
            tensor=leaves.tensor[row],
            rank=leaves.rank[row],
            start=start,
            stop=stop,
            memory=leaves.memory[row],
            offset=offset,
            size=leaves.size[row],
            freed=leaves.freed[row],
        )


class _Columns:
    """The moves at one depth, by leaf and by row of leaves."""

    def __init__(self, leaves: Table) -> None:
        self.first = leaves.first
        self.step = np.zeros(len(leaves), np.int64)
        self.sums = np.zeros(len(leaves), np.int64)
        self.start = np.zeros(leaves.start.shape, np.int64)
        self.offset = np.zeros(len(leaves.offset), np.int64)

    def add(self, leaf: int, item: Instruction, by: Sequence[int]) -> None:
        """Take an instruction's numbers in the order of `planners.core.loops.numbers`."""
        self.step[leaf], at = by[0], 1
        row = int(self.first[leaf])
        if isinstance(item, (Load, Store)):
            rank = len(item.piece.box)
            self.start[row : row + 2, :rank] = by[1 : 1 + rank]
            at = 1 + rank
            for end in (item.source, item.target):
                at, row = self._offset(row, end, by, at), row + 1
        elif isinstance(item, Compute):
            for piece, region in (*item.reads, *item.writes):
                rank = len(piece.box)
                self.start[row, :rank] = by[at : at + rank]
                at = self._offset(row, region, by, at + rank)
                row += 1
            if item.sums is not None:
                self.sums[leaf], at = by[at], at + 1
            for part in item.parts:
                self.start[row, : len(part)] = by[at : at + len(part)]
                at, row = at + len(part), row + 1
        elif not isinstance(item, Barrier):
            rank = len(item.piece.box)
            self.start[row, :rank] = by[1 : 1 + rank]
            self._offset(row, item.region, by, 1 + rank)

    def _offset(self, row: int, region: Region, by: Sequence[int], at: int) -> int:
        """Take the offset of a region that has one; where the next number is."""
        if region.offset is None:
            return at
        self.offset[row] = by[at]
        return at + 1
