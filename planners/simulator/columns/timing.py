"""The scoreboard of a valid program whose waits are known: only when is left to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from planners.core.caches import IdentityCache
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.engines import sharing
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import Program
from planners.core.tables.distinct import distinct
from planners.core.tables.table import (
    COMPUTE,
    ENDED,
    LOAD,
    PART,
    READ,
    STORE,
    TARGET,
    WRITE,
    Flags,
    Numbers,
)
from planners.simulator.columns.parts import compute_of, computed_parts
from planners.simulator.columns.replay import Columns, named
from planners.simulator.columns.scoreboard import IssueTimes, issue_times
from planners.simulator.columns.undecided import Undecided, require
from planners.simulator.columns.waits import Waits
from planners.simulator.records.interval import Interval, shares
from planners.simulator.records.interval_columns import CAUSES, IntervalColumns, Seconds
from planners.simulator.records.traffic import MovedBytes

_last = IdentityCache[IntervalColumns]()
_SECONDS = ("start_s", "stop_s", "stall_s")


def moved_by_columns(columns: Columns, machine: Machine) -> MovedBytes:
    """The bytes of `planners.simulator.traffic.moved_bytes`."""
    operands, table = columns.operands, columns.operands.table
    adds = columns.residencies.adds & columns.pairing.summed
    moved = (table.role != PART) & (table.role != ENDED)
    reads = moved & (table.role != WRITE) & (table.role != TARGET)
    part_rows = columns.pairing.made
    sizes = np.where(moved, table.size, 0)
    written = sizes * operands.elements[part_rows] // operands.elements
    times = _read_again(columns, machine)
    level = [machine.memory(name).name for name in operands.level]
    by_memory = tuple[dict[str, int], ...](({}, {}, {}))
    for rows, some, of_each in zip(
        (reads | adds, moved & ~reads, times > 0),
        (sizes, written, sizes * times),
        by_memory,
        strict=True,
    ):
        for memory in np.unique(operands.memory[rows]).tolist():
            here = some[rows & (operands.memory == memory)]
            of_each[level[memory]] = of_each.get(level[memory], 0) + int(here.sum())
    return MovedBytes(int(table.macs.sum()), *by_memory)


def _read_again(columns: Columns, machine: Machine) -> Numbers:
    """By row: how often the array reads what a compute reads of it after the first time."""
    table = columns.operands.table
    times = np.zeros(len(table.role), np.int64)
    if machine.is_ideal:
        return times
    compute = compute_of(columns, machine)
    parts, which = computed_parts(columns, compute)
    each = [compute.input_reads(name, box, sums) - 1 for name, box, _, sums, _ in parts]
    of_instruction = np.zeros(len(table), np.int64)
    of_instruction[table.kind == COMPUTE] = np.array([*each, 0], np.int64)[which]
    number = {name: at for at, name in enumerate(table.tensors)}
    named = [number.get(compute.streamed(name), -1) for name in table.operators]
    streamed = np.array([*named, -1], np.int64)[table.operator[table.instruction]]
    again = (table.role == READ) & (table.tensor == streamed)
    return np.where(again, of_instruction[table.instruction], times)


def timed(
    columns: Columns, machine: Machine, serial: bool, seconds: Sequence[float | None]
) -> IntervalColumns | None:
    """The intervals of `planners.simulator.timing.schedule`; None where transfers may choose."""
    how = (machine, serial, tuple(seconds))
    if (cached := _last.get(columns, *how)) is not None:
        return cached
    try:
        intervals = _Timing(columns, machine, seconds).intervals(serial)
    except Undecided:
        return None
    _last.keep(intervals, columns, *how)
    return intervals


def makespan_by_columns(graph: Graph, program: Program, machine: Machine) -> float | None:
    """When the last instruction of a program ends that is taken to be right; None where columns do
    not tell."""
    columns = named(graph, program)
    if columns is None:
        return None
    try:
        timing = _Timing(columns, machine, ())
        times = timing.issue_times(serial=False)
    except Undecided:
        return None
    return max(times.stop_s, default=0.0)


class _Timing:
    def __init__(self, columns: Columns, machine: Machine, seconds: Sequence[float | None]) -> None:
        self.columns, self.machine = columns, machine
        self.operands, self.table = columns.operands, columns.operands.table
        self.waits = Waits(columns)
        self.engines = self._engines()
        self.taken = self._taken(seconds)

    def _engines(self) -> list[str]:
        """The engine of each issue. Raises `Undecided` where one of several may take a transfer."""
        table, head = self.table, self.waits.head
        every, which = distinct(table.kind[head], table.engine[head])
        names = []
        for kind, engine in every.tolist():
            name = table.engines[engine]
            if kind != COMPUTE and not name:
                name = "dma_in" if kind == LOAD else "dma_out"
                require(sharing(self.machine, name) == (name,))
            names.append(name)
        return [names[at] for at in which.tolist()]

    # ---- durations ---------------------------------------------------------------------------

    def _taken(self, given: Sequence[float | None]) -> list[float]:
        """Seconds of each instruction: what is given, else those of the machine's roofline."""
        table, seconds = self.table, np.zeros(len(self.table))
        transfer = np.flatnonzero((table.kind == LOAD) | (table.kind == STORE))
        seconds[transfer] = self._transfers(transfer)
        compute = table.kind == COMPUTE
        seconds[compute] = self._computes(compute)
        taken: list[float] = seconds.tolist()
        for at, value in enumerate(given):
            if value is not None:
                taken[at] = value
        return taken

    def _engine_values(self, rows: Numbers | Flags, name: str) -> Seconds:
        """A value of the engine of each of these instructions."""
        table = self.table
        values: dict[tuple[int, int], float] = {}
        every, which = distinct(table.kind[rows], table.engine[rows])
        for kind, engine in every.tolist():
            engine_name = table.engines[engine] or ("dma_in" if kind == LOAD else "dma_out")
            values[kind, engine] = getattr(self.machine.engine(engine_name), name)
        distinct_values = np.array(
            [values[kind, engine] for kind, engine in every.tolist()], np.float64
        )
        of_each: Seconds = distinct_values[which]
        return of_each

    def _rates(self, name: str) -> Seconds:
        """By memory of the program: bytes a second of the machine's memory that it is a part of."""
        levels = [self.machine.memory(each) for each in self.operands.level]
        return np.array([getattr(each, name) for each in levels])

    def _transfers(self, rows: Numbers) -> Seconds:
        table, memory = self.table, self.operands.memory
        source = table.first[rows]
        rate = np.minimum(
            self._engine_values(rows, "bytes_per_s"),
            np.minimum(
                self._rates("read_bytes_per_s")[memory[source]],
                self._rates("write_bytes_per_s")[memory[source + 1]],
            ),
        )
        latency = np.where(table.joined[rows], 0.0, self._engine_values(rows, "latency_s"))
        return latency + table.size[source] / rate

    def _computes(self, rows: Flags) -> Seconds:
        table = self.table
        role, sizes = table.role, table.size
        again = self.columns.residencies.adds & self.columns.pairing.summed
        reads = self._moved((role == READ) | again, self._crossing(sizes), "read_bytes_per_s")
        part_rows = self.columns.pairing.made
        elements = self.operands.elements
        written = sizes * elements[part_rows] // elements
        writes = self._moved(role == WRITE, written, "write_bytes_per_s")
        moving = seconds_by_port(reads, writes, self.machine, np.maximum)
        arrays = self._arrays(rows)
        seconds: Seconds = self._engine_values(rows, "latency_s") + np.maximum(arrays, moving[rows])
        given = np.array([*map(self._compute.is_given, table.operators), False])
        return np.where(given[table.operator[rows]], arrays, seconds)

    def _crossing(self, sizes: Numbers) -> Numbers | Seconds:
        """Of each row the bytes that a compute reads: of weights, what ports say."""
        if self.machine.compute_ports.weights == 1:
            return sizes
        tensors, levels = self.table.tensors, self.operands.level
        part = [
            [self._compute.crossing(name, level) for name in tensors] for level in (*levels, "")
        ]
        shares: Seconds = np.array(part)[self.operands.memory, self.table.tensor]
        return sizes * shares

    @cached_property
    def _compute(self) -> ComputeSeconds:
        return compute_of(self.columns, self.machine)

    def _arrays(self, rows: Flags) -> Seconds:
        """Seconds of array and outputs of these computes: those of parts alike are asked once."""
        if self._compute.is_ideal:
            return self.table.macs[rows] / self.machine.macs_per_s
        parts, which = computed_parts(self.columns, self._compute)
        seconds: Seconds = np.array([self._compute.part_s(*part) for part in parts])[which]
        return seconds

    def _moved(self, rows: Flags, sizes: Numbers | Seconds, rate: str) -> dict[str, Seconds]:
        """Seconds that bytes of these rows take, by memory and instruction."""
        seconds: dict[str, Seconds] = {}
        level = np.array(self.operands.level)
        for memory in self.machine.memories:
            here = np.flatnonzero(level == memory.name)
            some = np.flatnonzero(rows & np.isin(self.operands.memory, here))
            bytes_ = np.zeros(len(self.table), sizes.dtype)
            np.add.at(bytes_, self.table.instruction[some], sizes[some])
            seconds[memory.name] = bytes_ / getattr(memory, rate)
        return seconds

    # ---- the scoreboard ----------------------------------------------------------------------

    def issue_times(self, *, serial: bool) -> IssueTimes:
        """When each issue starts and ends."""
        return issue_times(self.waits, self.engines, self._issue_seconds, serial)

    @cached_property
    def _issue_seconds(self) -> list[float]:
        """Seconds of each issue: of joined loads all of theirs."""
        seconds = np.array(self.taken)[self.waits.head]
        for at, items in self._joined.items():
            seconds[at] = sum(self.taken[item] for item in items)
        of_each: list[float] = seconds.tolist()
        return of_each

    def intervals(self, serial: bool) -> IntervalColumns:
        """The intervals of all loads, stores and computes, in program order."""
        table, head = self.table, self.waits.head
        times = self.issue_times(serial=serial)
        causes, blockers = np.array(times.cause, np.uint8), np.array(times.blocker, np.int64)
        names = {name: at for at, name in enumerate(dict.fromkeys(self.engines))}
        whole = IntervalColumns(
            engines=tuple(names),
            labels=(*table.operators, *table.tensors),
            engine=np.array([names[name] for name in self.engines], np.int64),
            label=self._labels[head],
            start_s=np.array(times.start_s, np.float64),
            stop_s=np.array(times.stop_s, np.float64),
            stall_s=np.array(times.stall_s, np.float64),
            instruction=head,
            step=table.step[head],
            cause=causes,
            blocker=np.where(causes > 0, head[blockers], -1) if len(head) else blockers,
        )
        return self._shared(whole) if self._joined else whole

    @cached_property
    def _joined(self) -> dict[int, list[int]]:
        """By issue of several loads that are joined: these."""
        table, head = self.table, self.waits.head
        transfer = (table.kind == LOAD) | (table.kind == STORE)
        bounds = np.append(head, len(table)).tolist()
        return {
            at: [item for item in range(bounds[at], bounds[at + 1]) if transfer[item]]
            for at in np.unique(self.waits.issue[self._follows()]).tolist()
        }

    def _shared(self, whole: IntervalColumns) -> IntervalColumns:
        """The same where transfers of joined loads are their shares by bytes."""
        table, labels = self.table, whole.labels
        taken, joined = self._issue_seconds, self._joined
        counts = np.ones(len(whole), np.int64)
        counts[list(joined)] = [len(items) for items in joined.values()]
        rows = np.repeat(np.arange(len(whole)), counts)
        begins = (np.cumsum(counts) - counts).tolist()
        columns: dict[str, Any] = {
            name: getattr(whole, name)[rows]
            for name in (*_SECONDS, "label", "instruction", "cause", "blocker")
        }
        for at, items in joined.items():
            one = Interval(
                engine=whole.engines[whole.engine[at]],
                start_s=float(whole.start_s[at]),
                stop_s=float(whole.stop_s[at]),
                instruction=int(whole.instruction[at]),
                step=int(whole.step[at]),
                label=labels[whole.label[at]],
                stall_s=float(whole.stall_s[at]),
                cause=CAUSES[whole.cause[at]],
                blocker=int(whole.blocker[at]),
            )
            sizes = table.size[table.first[items]].tolist()
            parts = [(item, size, "") for item, size in zip(items, sizes, strict=True)]
            for to, part in enumerate(shares(one, taken[at], parts), begins[at]):
                for name in _SECONDS:
                    columns[name][to] = getattr(part, name)
                if part.instruction != one.instruction:
                    columns["instruction"][to] = part.instruction
                    columns["label"][to] = self._labels[part.instruction]
                    columns["cause"][to], columns["blocker"][to] = 0, -1
        return replace(whole, engine=whole.engine[rows], step=whole.step[rows], **columns)

    def _follows(self) -> Flags:
        """Loads that are joined to the one before."""
        transfer = (self.table.kind == LOAD) | (self.table.kind == STORE)
        starts = np.zeros(len(self.table), np.bool_)
        starts[self.waits.head] = True
        follows: Flags = transfer & ~starts
        return follows

    @cached_property
    def _labels(self) -> Numbers:
        """What each instruction is called: a compute's operator, else a transfer's tensor."""
        table = self.table
        tensor = table.tensor[np.minimum(table.first[:-1], len(table.tensor) - 1)]
        return np.where(table.operator >= 0, table.operator, len(table.operators) + tensor)
