"""Which residency of a piece each operand of a program names, from its placing to its release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planners.core.access import reduced
from planners.core.tables.boxes import tiled
from planners.core.tables.table import (
    ENDED,
    PART,
    TARGET,
    WRITE,
    Flags,
    Numbers,
)
from planners.simulator.columns.operands import Operands
from planners.simulator.columns.undecided import require

PHASES = 4
"""Times within an instruction: what it reads, what it ends, what it places, what is complete."""
FOREVER = 1 << 62


@dataclass(frozen=True)
class PairedResidencies:
    """Stays of pieces in memories with addresses, in the order of placing.

    `place` is the row that places a piece, `begin` and `end` are times (`PHASES` an instruction;
    `FOREVER` where it stays), `complete` the time at which all its parts are there (`begin` where
    it is made at once, `FOREVER` where some are to come), `wide` its bytes until then. `of` has the
    residency of each row, -1 for none; `adds` the rows that add a part, each with whether it is the
    `last` of its residency.
    """

    place: Numbers
    begin: Numbers
    end: Numbers
    complete: Numbers
    wide: Numbers
    of: Numbers
    adds: Flags
    last: Flags


class Pairing:
    """Pairs placings, uses and releases. Raises `Undecided` where they do not pair.

    `begun`: only the beginning of a program is there, and parts of pieces may still be to come.
    """

    def __init__(self, operands: Operands, *, begun: bool = False) -> None:
        self.operands, self.table, self.begun = operands, operands.table, begun

    @cached_property
    def made(self) -> Numbers:
        """For each write the row whose box it makes: its own, or that of its part."""
        table = self.table
        rows = np.arange(len(table.role))
        parts, writes = np.flatnonzero(table.role == PART), np.flatnonzero(self.parted)
        require(len(parts) == len(writes))
        require(table.instruction[parts] == table.instruction[writes])
        require(table.tensor[parts] == table.tensor[writes])
        require(table.start[parts] >= table.start[writes])
        require(table.stop[parts] <= table.stop[writes])
        rows[writes] = parts
        return rows

    @cached_property
    def parted(self) -> Flags:
        """Writes that make a part of their piece."""
        table = self.table
        has_parts = np.zeros(len(table), np.bool_)
        has_parts[table.instruction[table.role == PART]] = True
        require(~has_parts | (table.sums[:, 0] < 0))
        parted: Flags = (table.role == WRITE) & has_parts[table.instruction]
        return parted

    @cached_property
    def summed(self) -> Flags:
        """Writes that add some channels' products to their piece."""
        table = self.table
        summed: Flags = (table.role == WRITE) & (table.sums[table.instruction, 1] >= 0)
        return summed

    def wide_bytes(self) -> Numbers:
        """Bytes of each row's region: its piece's own, an accumulator's for sums."""
        table, graph = self.table, self.operands.graph
        size = self.operands.own_bytes.copy()
        summed = np.flatnonzero(self.summed)
        if graph.bytes_per_element == "native":
            numbers = table.operator[table.instruction[summed]]
            for at in np.unique(numbers).tolist():
                op = graph.operators[graph.index[table.operators[at]]]
                rows = summed[numbers == at]
                every, which = np.unique(self.operands.elements[rows], return_inverse=True)
                sizes = [graph.sum_bytes(op, elements) for elements in every.tolist()]
                size[rows] = np.array(sizes, np.int64)[which]
        return size

    def residencies(self) -> PairedResidencies:
        """All residencies of a program."""
        table, operands = self.table, self.operands
        role, wide = table.role, self.wide_bytes()
        at, addressed = table.instruction, operands.addressed
        require((table.size == wide) | (role == PART), at)
        require(~addressed | (table.offset >= 0), at)
        require(addressed | ((table.offset < 0) & ~table.freed), at)
        require(addressed | ((role != WRITE) & (role != ENDED)) | (role == PART), at)
        ended = addressed & ((role == ENDED) | table.freed)
        uses = np.flatnonzero(addressed & (role != ENDED))
        phase = np.where((role[uses] == WRITE) | (role[uses] == TARGET), 2, 0)
        ends = np.flatnonzero(ended)
        row = np.concatenate((uses, ends))
        time = table.instruction[row] * PHASES + np.concatenate((phase, np.ones_like(ends)))
        key = operands.root[row] * (int(operands.piece.max(initial=0)) + 1) + operands.piece[row]
        order = np.argsort(key * (len(table) * PHASES) + time, kind="stable")
        row, time, key = row[order], time[order], key[order]
        ending = order >= len(uses)
        placing = ~ending & ((role[row] == WRITE) | (role[row] == TARGET))
        begins = np.ones(len(row), np.bool_)
        begins[1:] = (key[1:] != key[:-1]) | ending[:-1]
        at = table.instruction[row]
        require(placing[begins], at[begins])
        parts = self.parted | self.summed
        again = placing & ~begins
        require(parts[row[again]], at[again])
        require(placing[:-1][again[1:]], at[1:][again[1:]])
        residency = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        place = row[first]
        require(parts[place[residency[again]]], at[again])
        self._check_places(row, place[residency])
        of = np.full(len(role), -1, np.int64)
        of[row[~ending]] = residency[~ending]
        of[row[ending]] = residency[ending]
        last = placing.copy()
        last[:-1] &= ~again[1:]
        end = np.full(len(place), FOREVER, np.int64)
        end[residency[ending]] = time[ending]
        used = np.zeros(len(place), np.bool_)
        used[residency[~placing]] = True
        done = self._complete(row[placing], residency[placing], place)
        require(done | (self.begun & ~used))
        complete = time[first].copy()
        complete[residency[last]] = np.where(done[residency[last]], time[last], FOREVER)
        adds, lasts = np.zeros(len(role), np.bool_), np.zeros(len(role), np.bool_)
        adds[row[again]] = True
        lasts[row[last]] = done[residency[last]]
        inorder = np.argsort(time[first], kind="stable")
        back = np.empty_like(inorder)
        back[inorder] = np.arange(len(inorder))
        of[of >= 0] = back[of[of >= 0]]
        return PairedResidencies(
            place=place[inorder],
            begin=time[first][inorder],
            end=end[inorder],
            complete=complete[inorder],
            wide=table.size[place][inorder],
            of=of,
            adds=adds,
            last=lasts,
        )

    def _check_places(self, row: Numbers, place: Numbers) -> None:
        """Each row names the bytes at which its piece was placed."""
        operands = self.operands
        same = operands.memory[row] == operands.memory[place]
        same &= operands.place[row] == operands.place[place]
        other = np.flatnonzero(~same)
        if len(other):  # Other names of the same bytes, where they lie in one stretch.
            own_bytes = operands.own_bytes[row[other]]
            here, there = (
                operands.spans(row[other], own_bytes),
                operands.spans(place[other], own_bytes),
            )
            require(len(here.row) == len(there.row) == len(other))
            require(here.start == there.start, self.table.instruction[row[other]])

    def _complete(self, row: Numbers, residency: Numbers, place: Numbers) -> Flags:
        """By residency: whether the parts of its piece are all of it, once."""
        table, done = self.table, np.ones(len(place), np.bool_)
        parted = self.parted[row]
        require(parted == self.parted[place[residency]])
        if parted.any():
            some, group = np.unique(residency[parted], return_inverse=True)
            part, whole = self.made[row[parted]], place[some]
            low, high = table.start[whole], table.stop[whole]
            done[some] = tiled(group, table.start[part], table.stop[part], len(some), low, high)
        summed = self.summed[row]
        require(summed == self.summed[place[residency]])
        if summed.any():
            some, group = np.unique(residency[summed], return_inverse=True)
            channels = self.channels[table.operator[table.instruction[place[some]]]]
            sums = table.sums[table.instruction[row[summed]]]
            require((sums[:, 0] >= 0) & (sums[:, 0] < sums[:, 1]))
            require((channels > 0) & (channels < 1 << 31))
            require(sums[:, 1] <= channels[group])
            low, high = np.zeros((len(some), 1), np.int64), channels[:, None]
            done[some] = tiled(group, sums[:, :1], sums[:, 1:], len(some), low, high)
        return done

    @cached_property
    def channels(self) -> Numbers:
        """By operator: how many channels it sums over, 0 where it cannot do so in parts."""
        graph = self.operands.graph
        ops = [graph.operators[graph.index[name]] for name in self.table.operators]
        return np.array([reduced(graph, op) or 0 for op in ops], np.int64)
