"""The replay of a valid program, in columns: the report of the readable one, or none.

Every condition of `planners.simulator.symbolic` is asked of all instructions at once. Where one
does not hold, or is not decided here, there is no report, and the instructions are replayed one by
one: that says what is wrong, and where.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.core.access import share_of_macs
from planners.core.boxes import Box, uncovered
from planners.core.boxes import joined as joined_boxes
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.program import AddressSpace, Compute, Load, Piece, Program, Region, Store
from planners.core.tables.boxes import boxes_of, merged, tiled
from planners.core.tables.build import table_of
from planners.core.tables.distinct import distinct
from planners.core.tables.table import (
    COMPUTE,
    LOAD,
    READ,
    STORE,
    WRITE,
    Numbers,
    Table,
)
from planners.simulator.columns.addresses import Owners, extent, occupancy, placed
from planners.simulator.columns.homes import Homes
from planners.simulator.columns.needs import NeedsAsked
from planners.simulator.columns.operands import Operands
from planners.simulator.columns.pairing import PairedResidencies, Pairing
from planners.simulator.columns.undecided import Undecided, require
from planners.simulator.records.engines import Engines
from planners.simulator.records.replayed import Counted, Replayed, is_long

MANY_PAIRS = 8
"""For so many pairs of a need and a read to each of them, needs that are just read are left out."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Columns:
    """A valid program: its operands, the residencies that they name, and whose bytes these take."""

    operands: Operands
    pairing: Pairing
    residencies: PairedResidencies
    owners: Owners


def replayed(graph: Graph, program: Program, machine: Machine | None) -> Replayed | None:
    """What a program does, where columns can tell that it is right; None where they cannot."""
    table = table_of(program) if is_long(program) else None
    if table is None:
        return None
    try:
        return ColumnsReplay(graph, program, table, machine).run()
    except Undecided:
        return None


def counted(graph: Graph, program: Program) -> Counted | None:
    """What a program holds and moves, without a look at what is computed; None as above."""
    table = table_of(program) if is_long(program) else None
    if table is None:
        return None
    try:
        return ColumnsReplay(graph, program, table, None).count()
    except Undecided:
        return None


def named(graph: Graph, program: Program) -> Columns | None:
    """The operands and residencies of a program that is taken to be right; None as above."""
    table = table_of(program) if is_long(program) else None
    if table is None:
        return None
    try:
        return ColumnsReplay(graph, program, table, None).columns()
    except Undecided:
        return None


class ColumnsReplay:
    """All conditions of a valid program; with `begun` those of a program's beginning."""

    def __init__(
        self,
        graph: Graph,
        program: Program,
        table: Table,
        machine: Machine | None,
        *,
        begun: bool = False,
    ) -> None:
        self.graph, self.program, self.table, self.machine = graph, program, table, machine
        self.begun = begun
        self.operands = Operands(graph, program, table)
        self.pairing = Pairing(self.operands, begun=begun)
        self.homes = Homes(self.operands)

    def count(self) -> Counted:
        """What it holds and moves."""
        self.operands.check_boxes()
        residencies = self.pairing.residencies()
        loaded, stored, fetched = self._transfers()
        return Counted(
            loaded_bytes=loaded,
            stored_bytes=stored,
            fetched=self._boxes(fetched),
            extent_bytes=extent(
                self.operands, residencies, self.operands.spans(residencies.place, residencies.wide)
            ),
            occupancy=occupancy(self.operands, residencies),
        )

    def columns(self) -> Columns:
        """Its operands, residencies, and whose bytes these take. Raises `Undecided`."""
        self.operands.check_boxes()
        residencies = self.pairing.residencies()
        owners = placed(self.operands, residencies)
        return Columns(self.operands, self.pairing, residencies, owners)

    def run(self) -> Replayed:
        """All that it does. Raises `Undecided`."""
        table, operands = self.table, self.operands
        require(len(table))
        numbers = np.arange(len(table))
        require((table.step >= 0) & (table.step < len(self.program.steps)), numbers)
        require(table.step[1:] >= table.step[:-1], numbers[1:])
        require(all(tensor.elements for tensor in self.graph.tensors.values()))
        require(set(table.operators) <= set(self.graph.index))
        columns = self.columns()
        residencies, owners = columns.residencies, columns.owners
        loaded, stored, fetched = self._transfers()
        self.homes.check(begun=self.begun)
        self._check_engines()
        self._check_operands()
        macs = self._macs()
        self._check_needs(residencies)
        if not self.begun:
            self._check_written(residencies)
        return Replayed(
            loaded_bytes=loaded,
            stored_bytes=stored,
            fetched=self._boxes(fetched),
            extent_bytes=extent(operands, residencies, owners.spans),
            macs=macs,
            instructions=len(table),
            occupancy=occupancy(operands, residencies),
            columns=columns,
        )

    # ---- transfers -------------------------------------------------------------------------

    def _transfers(self) -> tuple[int, int, Numbers]:
        """Bytes loaded and stored, and the rows that bring something from off chip."""
        table, operands = self.table, self.operands
        source = table.first[:-1][(table.kind == LOAD) | (table.kind == STORE)]
        target = source + 1
        require(operands.root[source] != operands.root[target], table.instruction[source])
        out, into = operands.offchip[source], operands.offchip[target]
        reads = np.flatnonzero((table.role == READ) & operands.offchip)
        require(~(operands.offchip & (table.role == WRITE)), table.instruction)
        fetched = np.concatenate((source[out & ~into], reads))
        loaded = int(table.size[fetched].sum())
        return loaded, int(table.size[source[into & ~out]].sum()), fetched

    def _boxes(self, rows: Numbers) -> dict[str, list[Box]]:
        """Boxes of rows by tensor, in few."""
        table, boxes = self.table, {}
        group, start, stop = merged(table.tensor[rows], table.start[rows], table.stop[rows])
        for tensor in np.unique(group).tolist():
            name = table.tensors[tensor]
            these = group == tensor
            rank = len(self.graph.tensors[name].shape)
            boxes[name] = boxes_of(start[these], stop[these], rank)
        return boxes

    def _check_engines(self) -> None:
        table, operands = self.table, self.operands
        if self.machine is None:
            return
        engines = Engines(self.machine, AddressSpace(self.program.memories))
        names = [memory.name for memory in self.program.memories]
        moves = np.flatnonzero((table.kind == LOAD) | (table.kind == STORE))
        begins = table.first[moves]
        ways, which = distinct(
            table.kind[moves],
            table.engine[moves],
            operands.memory[begins],
            operands.memory[begins + 1],
        )
        for number, (kind, engine, one, other) in enumerate(ways.tolist()):
            make = Load if kind == LOAD else Store
            source, target = (Region(names[memory], None, 0) for memory in (one, other))
            item = make(0, Piece("", ()), source, target, table.engines[engine])
            if engines.fault(item):
                raise Undecided(int(moves[which == number].min()))
        for engine in np.unique(table.engine[table.kind == COMPUTE]).tolist():
            require(not engines.fault(Compute(0, "", (), (), 0, engine=table.engines[engine])))

    # ---- computes --------------------------------------------------------------------------

    def _check_operands(self) -> None:
        """Operators read their inputs and parameters, and write their outputs."""
        table = self.table
        for role in (READ, WRITE):
            rows = np.flatnonzero(table.role == role)
            operator = table.operator[table.instruction[rows]]
            for pair in np.unique(operator * len(table.tensors) + table.tensor[rows]).tolist():
                number, tensor = divmod(pair, len(table.tensors))
                op = self._operator(number)
                names = op.outputs if role == WRITE else (*op.inputs, *op.parameters)
                if table.tensors[tensor] not in names:
                    odd = (operator == number) & (table.tensor[rows] == tensor)
                    raise Undecided(int(table.instruction[rows[odd]].min()))

    def _operator(self, number: int) -> Operator:
        return self.graph.operators[self.graph.index[self.table.operators[number]]]

    def _macs(self) -> int:
        """All MACs, each compute's of which are its share."""
        table, operands = self.table, self.operands
        firsts = np.full(len(table.operators), -1, np.int64)
        numbers = {name: at for at, name in enumerate(table.tensors)}
        for number in range(len(firsts)):
            firsts[number] = numbers.get(self._operator(number).outputs[0], -1)
        rows = np.flatnonzero(table.role == WRITE)
        at = table.instruction[rows]
        rows = rows[table.tensor[rows] == firsts[table.operator[at]]]
        at = table.instruction[rows]
        sums = table.sums[at, 1] - table.sums[at, 0]
        elements = operands.elements[self.pairing.made[rows]]
        every, which = distinct(table.operator[at], elements, sums)
        shares = []
        for number, count, channels in every.tolist():
            op = self._operator(number)
            box = ((0, count),)
            part = (0, channels) if channels else None
            share = share_of_macs(self.graph, op, op.outputs[0], box, part)
            require(share < 1 << 53)
            shares.append(share)
        macs = np.zeros(len(table), np.int64)
        np.add.at(macs, at, np.array(shares, np.int64)[which])
        require(table.macs == macs, np.arange(len(table)))
        return sum(macs.tolist())

    def _check_needs(self, residencies: PairedResidencies) -> None:
        """Each compute reads all that it needs."""
        table = self.table
        writes = np.flatnonzero(table.role == WRITE)
        residency = self.pairing.made[writes]
        at = table.instruction[writes]
        summed = table.sums[at, 1] >= 0
        flags = summed * 2 + residencies.last[writes]
        every, which = distinct(table.operator[at], table.tensor[writes], flags)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(every) + 1))
        covers = _Covers(table)
        for number, (operator, tensor, flag) in enumerate(every.tolist()):
            sums, last = divmod(flag, 2)
            rows = order[bounds[number] : bounds[number + 1]]
            box = residency[rows]
            needs = NeedsAsked(
                self.graph,
                self._operator(operator),
                table.tensors[tensor],
                table.start[box],
                table.stop[box],
                table.sums[at[rows]] if sums else None,
                bool(last),
            )
            for need in needs.needed():
                parameter = self.graph.tensors[need.tensor].kind == "parameter"
                if not parameter or self.program.counts_parameters:
                    covers.add(at[rows[need.row]], need.tensor, need.start, need.stop)
        covers.check()

    def _check_written(self, residencies: PairedResidencies) -> None:
        """Every operator has made all of its outputs."""
        table = self.table
        rows = np.flatnonzero(residencies.last & (table.role == WRITE))
        boxes = self._boxes(rows)
        for op in self.graph.operators:
            for tensor in op.outputs:
                whole = tuple((0, n) for n in self.graph.tensors[tensor].shape)
                require(not uncovered(whole, boxes.get(tensor, ())))


class _Covers:
    """Do the reads of instructions cover what these need?"""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.numbers = {name: at for at, name in enumerate(table.tensors)}
        self.rows = np.flatnonzero(table.role == READ)
        key = table.instruction[self.rows] * len(table.tensors) + table.tensor[self.rows]
        order = np.argsort(key, kind="stable")
        self.rows, self.key = self.rows[order], key[order]
        self.asked: dict[str, list[tuple[Numbers, Numbers, Numbers]]] = defaultdict(list)

    def add(self, instruction: Numbers, tensor: str, start: Numbers, stop: Numbers) -> None:
        """Boxes of a tensor that instructions need."""
        some = (start < stop).all(axis=1)
        if some.any():
            self.asked[tensor].append((instruction[some], start[some], stop[some]))

    def check(self) -> None:
        """Raise `Undecided` where a need is not covered."""
        for tensor, columns in self.asked.items():
            instruction, start, stop = (
                np.concatenate(column) for column in zip(*columns, strict=True)
            )
            require(tensor in self.numbers)
            self._check(self.numbers[tensor], instruction, start, stop)

    def _is_read(self, key: Numbers, start: Numbers, stop: Numbers) -> NDArray[np.bool_]:
        """Which needs are, edge by edge, what one read of their instruction has."""
        table, rank, same_key = self.table, start.shape[1], np.isin(self.key, key)
        rows = self.rows[same_key]
        keys = np.concatenate((self.key[same_key], key))
        starts = np.concatenate((table.start[rows, :rank], start))
        stops = np.concatenate((table.stop[rows, :rank], stop))
        _, which = distinct(keys, *starts.T, *stops.T)
        return np.isin(which[len(rows) :], which[: len(rows)])

    def _check(self, tensor: int, instruction: Numbers, start: Numbers, stop: Numbers) -> None:
        table, rank = self.table, start.shape[1]
        key = instruction * len(table.tensors) + tensor
        first = np.searchsorted(self.key, key)
        counts = np.searchsorted(self.key, key, side="right") - first
        require(counts > 0, instruction)
        if counts.sum() > MANY_PAIRS * (len(key) + counts.max(initial=0)):
            other = ~self._is_read(key, start, stop)
            key, start, stop = key[other], start[other], stop[other]
            instruction = instruction[other]
            first, counts = first[other], counts[other]
        group = np.repeat(np.arange(len(key)), counts)
        begins = np.cumsum(counts) - counts
        rows = self.rows[np.arange(len(group)) - begins[group] + first[group]]
        low = np.maximum(table.start[rows, :rank], start[group])
        high = np.minimum(table.stop[rows, :rank], stop[group])
        if not rank:
            return
        holds = ((low == start[group]) & (high == stop[group])).all(axis=1)
        covered = np.zeros(len(key), np.bool_)
        covered[group[holds]] = True
        left = np.flatnonzero(~covered)
        if not len(left):
            return
        meets = (low < high).all(axis=1) & ~covered[group]
        group, low, high = np.searchsorted(left, group[meets]), low[meets], high[meets]
        filled = tiled(group, low, high, len(left), start[left], stop[left])
        for odd in np.flatnonzero(~filled).tolist():  # They overlap, or do not cover it.
            these = group == odd
            boxes = joined_boxes(boxes_of(low[these], high[these], rank))
            at = left[odd : odd + 1]
            (box,) = boxes_of(start[at], stop[at], rank)
            if uncovered(box, boxes):
                raise Undecided(int(instruction[left[odd]]))
