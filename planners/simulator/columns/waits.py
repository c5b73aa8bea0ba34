"""What each instruction of a valid program waits for, from whose bytes it names.

What is read was written by who placed it, or who added its last part; what is placed waits for the
writers and readers of the residencies whose bytes it takes. An issue is what starts at once: a
compute, a transfer, or several loads that are joined.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from planners.core.tables.distinct import distinct
from planners.core.tables.table import (
    BARRIER,
    COMPUTE,
    LOAD,
    READ,
    SOURCE,
    STORE,
    TARGET,
    WRITE,
    Flags,
    Numbers,
)
from planners.simulator.columns.replay import Columns
from planners.simulator.columns.undecided import require

AT_ONCE = 1 << 20
"""Pairs of boxes that are compared at a time."""


class Lists(NamedTuple):
    """Lists of numbers, one after the other: the k-th is `values[first[k]:first[k + 1]]`."""

    first: list[int]
    values: list[int]


def _lists(keys: Numbers, values: Numbers, count: int) -> Lists:
    """Values by their key, in the order in which they are given."""
    order = np.argsort(keys, kind="stable")
    first = np.searchsorted(keys[order], np.arange(count + 1))
    return Lists(first.tolist(), values[order].tolist())


class Waits:
    """By issue: whose ends it waits for.

    `head` is the first instruction of each issue. `reads` has the issues that wrote what one
    reads; a number beyond the issues names one of `several`, any of which may be the last. `spans`
    has the spans of bytes that one writes, and by span `writers` the issues that wrote there last
    and `overwritten` which residencies lay there (-1: its own), of which `readers` are the issues
    that read them. `barriers` are the issues in front of which everything has to end.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.table, self.residencies = columns.operands.table, columns.residencies
        require(self.residencies.wide == columns.operands.own_bytes[self.residencies.place])
        kind = self.table.kind
        transfer = (kind == LOAD) | (kind == STORE)
        joined = (kind == LOAD) & self.table.joined
        joined[0] = False
        joined[1:] &= transfer[:-1]
        starts = (transfer | (kind == COMPUTE)) & ~joined
        self.head = np.flatnonzero(starts)
        self.issue = np.cumsum(starts) - 1
        barriers = self.issue[kind == BARRIER] + 1
        self.barriers = frozenset(barriers.tolist())
        self._link()

    def __len__(self) -> int:
        return len(self.head)

    def _link(self) -> None:
        table, residencies, count = self.table, self.residencies, len(self)
        role, of = table.role, residencies.of
        row_issue = self.issue[table.instruction]
        self._rows = row_issue
        is_resident = of >= 0
        taking = is_resident & ((role == WRITE) | (role == TARGET))
        reading = is_resident & ((role == READ) | (role == SOURCE))
        wrote = np.full(len(residencies.place), -1, np.int64)
        wrote[of[residencies.last]] = row_issue[residencies.last]
        before = self._issue_before(np.flatnonzero(taking))
        again = residencies.adds & self.columns.pairing.summed
        rows = np.concatenate((np.flatnonzero(reading), np.flatnonzero(again)))
        wait = np.concatenate((wrote[of[reading]], before[again]))
        home_rows, home_wait = self._homes()
        rows, wait = np.concatenate((rows, home_rows)), np.concatenate((wait, home_wait))
        order = np.argsort(rows, kind="stable")
        self.reads = _lists(row_issue[rows[order]], wait[order], count)
        self.readers = _lists(of[reading], row_issue[reading], len(residencies.place))
        self._link_writes(np.flatnonzero(taking & residencies.adds), before, wrote)

    def _issue_before(self, taking: Numbers) -> Numbers:
        """By row: the issue that wrote a part of the same piece before it."""
        before = np.full(len(self.table.role), -1, np.int64)
        order = taking[np.argsort(self.residencies.of[taking], kind="stable")]
        same = self.residencies.of[order[1:]] == self.residencies.of[order[:-1]]
        before[order[1:][same]] = self._rows[order[:-1][same]]
        return before

    def _link_writes(self, adds: Numbers, before: Numbers, wrote: Numbers) -> None:
        spans, owner_span, owner = self.columns.owners
        placing = self.residencies.place[spans.row]
        row = np.concatenate((placing, adds))
        order = np.argsort(row, kind="stable")
        self.spans = _lists(self._rows[row[order]], np.arange(len(row)), len(self))
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        key = np.concatenate((position[owner_span], position[len(placing) :]))
        writers = np.concatenate((wrote[owner], before[adds]))
        overwritten = np.concatenate((owner, np.full(len(adds), -1, np.int64)))
        self.writers = _lists(key, writers, len(row))
        self.overwritten = _lists(key, overwritten, len(row)).values

    def _homes(self) -> tuple[Numbers, Numbers]:
        """Rows that read what was stored, and the issue that stored it, or one of `several`."""
        table, operands = self.table, self.columns.operands
        role, home = table.role, operands.at_home
        self.several: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
        slots = len(self)
        self.slots = 0
        pair = operands.memory * len(table.tensors) + table.tensor
        stores = np.flatnonzero(home & (role == TARGET))
        _, same = distinct(pair[stores], operands.piece[stores])
        _, once = np.unique(same, return_index=True)
        stores = stores[np.sort(once)]
        rows: list[Numbers] = []
        waits: list[Numbers] = []
        for each in np.unique(pair[stores]).tolist():
            stored = stores[pair[stores] == each]
            reads = np.flatnonzero(home & (pair == each) & ((role == READ) | (role == SOURCE)))
            read, store = self._met(reads, stored)
            counts = np.bincount(read, minlength=len(reads))
            alone = counts[read] == 1
            rows.append(reads[read[alone]])
            waits.append(self._rows[store[alone]])
            ends = np.searchsorted(read, np.arange(len(reads) + 1)).tolist()
            for at in np.flatnonzero(counts > 1).tolist():
                several = self._rows[store[ends[at] : ends[at + 1]]].tolist()
                self.several[int(self._rows[reads[at]])].append((slots + self.slots, several))
                rows.append(reads[at : at + 1])
                waits.append(np.array([slots + self.slots]))
                self.slots += 1
        empty = np.zeros(0, np.int64)
        return np.concatenate([empty, *rows]), np.concatenate([empty, *waits])

    def _met(self, reads: Numbers, stored: Numbers) -> tuple[Numbers, Numbers]:
        """Pairs of reads, by number, and earlier stores: of the same box, else of all it meets."""
        table, piece = self.table, self.columns.operands.piece
        found_read, found_store = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        size = max(1, AT_ONCE // max(1, len(stored)))
        for begin in range(0, len(reads), size):
            some = reads[begin : begin + size, None]
            earlier = stored[None, :] < some
            same = earlier & (piece[stored][None, :] == piece[some])
            meets: Flags = earlier & ~same.any(axis=1)[:, None]
            for axis in range(table.start.shape[1]):
                a, b = table.start[:, axis], table.stop[:, axis]
                meets &= (a[some] < b[stored][None, :]) & (a[stored][None, :] < b[some])
            read, store = np.nonzero(same | meets)
            found_read.append(read + begin)
            found_store.append(stored[store])
        return np.concatenate(found_read), np.concatenate(found_store)
