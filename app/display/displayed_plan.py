"""A plan that passed `check`, with all that views need of it. No other plan is ever displayed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

import planners as sp
from app.display.blocks import BlockTree
from app.display.display_instructions import DrawnInstructions
from app.display.instruction_names import InstructionNames
from app.display.peak_instant import fullest, stop_of
from app.display.pool import PoolRuns, pool_of
from app.display.program_facts import ProgramFacts, facts_of
from app.display.repeats import called_apart
from app.display.residencies_by import by_last_step, by_tensor
from app.display.stream import Stream, stream_of
from app.display.stretches import RunStretch, stretches_of
from app.display.waits import Stage, stages_of
from app.model.packing import packed, unpacked
from planners.core.program import Compute, Instruction
from planners.core.progress import ProgressCallback
from planners.fusion.explain import FusedGroup, groups_of
from planners.simulator.binding import OperatorBinding, what_binds
from planners.simulator.records.interval_columns import HeldIntervals, columns_of_intervals
from planners.simulator.records.residency_columns import (
    ENDINGS,
    ResidencyColumns,
    columns_of_residencies,
)
from planners.simulator.simulate import traced

MOST_BOUND = 10_000  # intervals of a program of which is told what binds its operators
STEPS_HELD = 4
"""Steps whose instructions are held: what is said of one looks at it, and at the one before."""
WITH_GROUPS = 100  # nodes that may be visible at first where groups are drawn around them


@dataclass(frozen=True)
class DisplayedPlan:
    """A checked plan, the report of the check, and its times; `packed` is the plan's JSON text.

    The program may have been shortened for drawing (`app.display.wire`): to save it, save the text.
    """

    plan: sp.Plan
    report: sp.CheckReport
    trace: sp.Trace
    packed: str = field(repr=False, compare=False)
    late: list[str] = field(default_factory=list, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The plan as JSON text, as its planner made it. Raises `BadInput` as `packed_text`."""
        return unpacked(self.packed_text)

    @property
    def packed_text(self) -> str:
        """The same, packed.

        Of a long program the text comes after the plan, into `late`. Raises `BadInput` until then.
        """
        if not (text := self.packed or "".join(self.late[:1])):
            raise sp.BadInput("the plan's text is still being written: try again in some seconds")
        return text

    @property
    def graph(self) -> sp.Graph:
        return self.plan.graph

    @property
    def moved(self) -> bool:
        """Whether the plan was changed by hand."""
        return bool(self.plan.details.moves)

    @property
    def steps(self) -> int:
        return len(self.plan.program.steps)

    @cached_property
    def tree(self) -> BlockTree:
        """The blocks of the model that its operators are in."""
        operators = self.graph.operators
        paths = called_apart([(op.block, op.kind) for op in operators])
        return BlockTree([op.name for op in operators], paths)

    @property
    def opened(self) -> frozenset[str]:
        """The blocks that are open at first: more of them where groups are drawn."""
        return self.tree.comfortable(*((WITH_GROUPS,) if self.groups else ()))

    @cached_property
    def serial_trace(self) -> sp.Trace:
        """Times with nothing overlapped: each instruction begins when the one before ends."""
        times = columns_of_intervals(self.trace.intervals)
        ends = [0.0]
        for start, stop in zip(times.start_s.tolist(), times.stop_s.tolist(), strict=True):
            ends.append(ends[-1] + stop - start)
        alone = replace(
            times,
            start_s=np.array(ends[:-1], np.float64),
            stop_s=np.array(ends[1:], np.float64),
            stall_s=np.zeros(len(times)),
            cause=np.zeros_like(times.cause),
            blocker=np.full(len(times), -1),
        )
        return replace(self.trace, serial=True, makespan_s=ends[-1], intervals=HeldIntervals(alone))

    @cached_property
    def bindings(self) -> Mapping[str, OperatorBinding]:
        """What binds each operator; empty for programs that are long."""
        if len(self.trace.intervals) > MOST_BOUND:
            return {}
        return {each.operator: each for each in what_binds(self.plan, self.trace)}

    @cached_property
    def instructions(self) -> Sequence[Instruction]:
        """Those of the program; of a tensor that is read in pieces the box around them."""
        return DrawnInstructions(self.plan.program)

    @cached_property
    def names(self) -> InstructionNames:
        """What the instructions are called."""
        return InstructionNames.of_trace(
            self.trace, lambda at: isinstance(self.instructions[at], Compute)
        )

    def at(self, step: int) -> Sequence[Instruction]:
        """The instructions of a step."""
        if step not in self._at:
            if len(self._at) >= STEPS_HELD:
                self._at.pop(next(iter(self._at)))
            self._at[step] = self.instructions[slice(*_ends(self.by_step[step]))]
        return self._at[step]

    @cached_property
    def _at(self) -> dict[int, Sequence[Instruction]]:
        return {}

    @cached_property
    def told(self) -> dict[tuple[int, str, str], tuple[str, list[Any], list[Any]]]:
        """By step, memory and unit: the title, what is live and the sentences, once written."""
        return {}

    @cached_property
    def facts(self) -> ProgramFacts:
        """What each step runs, reads, writes and moves. Raises `BadInput` for too long a one."""
        return facts_of(self.plan.program)

    @property
    def by_step(self) -> Sequence[range]:
        """Positions of the instructions of each step."""
        return self.facts.by_step

    @property
    def computes(self) -> Sequence[tuple[int, int]]:
        """First and last compute of each step; the step's bounds where it has none."""
        return self.facts.computes

    @property
    def ran(self) -> tuple[tuple[str, ...], ...]:
        """The operators that each step runs, or runs a part of."""
        return self.facts.ran

    @property
    def reads(self) -> Mapping[str, tuple[int, ...]]:
        """The steps that read each tensor, or a part of it."""
        return self.facts.reads

    @property
    def writes(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """Step and bytes of each write of a compute to each tensor."""
        return self.facts.writes

    @property
    def releases(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """Step and bytes of each release of each tensor."""
        return self.facts.releases

    @cached_property
    def stays(self) -> Mapping[str, tuple[sp.Residency, ...]]:
        """The stays of each tensor on chip."""
        return by_tensor(self.residency_columns)

    @cached_property
    def ended(self) -> Mapping[int, tuple[sp.Residency, ...]]:
        """The stays that an instruction ended, by its step."""
        return by_last_step(self.residency_columns, self.steps)

    def first_step(self, operator: str) -> int | None:
        """The first step that runs an operator."""
        return next((step for step, names in enumerate(self.ran) if operator in names), None)

    @cached_property
    def pool(self) -> PoolRuns | None:
        """The circular pool of the plan and what runs in it; only overlap plans have one."""
        return pool_of(self.plan, self.ran)

    @cached_property
    def stream(self) -> Stream | None:
        """The layers and rings of a plan that streams its parameters; others have none."""
        return stream_of(self.plan)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Reads, copies and kernels of a plan that streams its parameters."""
        return stages_of(self.stream, self.trace) if self.stream else ()

    @cached_property
    def lives(self) -> Mapping[str, tuple[tuple[int, int] | None, ...]]:
        """By ring, the columns of steps in which each layer's bytes are there."""
        stream = self.stream
        assert stream is not None
        columns_of: dict[str, list[tuple[int, int] | None]] = {
            ring.key: [None] * len(stream.layers) for ring in stream.rings
        }
        for residency in self.report.residencies:
            kind, layer, ring = stream.acts.get(residency.start_instruction, ("kernel", 0, ""))
            if kind == "kernel" or ring not in columns_of:
                continue
            left, right = self.columns(residency)
            before = columns_of[ring][layer] or (left, right)
            columns_of[ring][layer] = min(left, before[0]), max(right, before[1])
        return {ring: tuple(lives) for ring, lives in columns_of.items()}

    @cached_property
    def groups(self) -> tuple[FusedGroup, ...]:
        """The fused groups of the plan; most planners have none."""
        return groups_of(self.plan)

    @cached_property
    def stretches(self) -> tuple[RunStretch, ...]:
        """The stretches of a plan that joins the methods; others have none."""
        return stretches_of(self.plan, self.ran)

    @cached_property
    def group_of(self) -> Mapping[str, int]:
        """The place among the groups of each operator that is in one."""
        return {name: k for k, group in enumerate(self.groups) for name in group.operators}

    def group_at(self, step: int) -> FusedGroup | None:
        """The group of which a step is a tile."""
        return next((g for g in self.groups if g.start_step <= step < g.stop_step), None)

    def group_named(self, name: str) -> FusedGroup | None:
        """The group of that name."""
        return next((g for g in self.groups if g.name == name), None)

    @cached_property
    def residency_columns(self) -> ResidencyColumns:
        """The residencies as columns."""
        return columns_of_residencies(self.report.residencies)

    @cached_property
    def memories(self) -> tuple[str, ...]:
        """On-chip memories in which something resides, the machine's own first."""
        residencies = self.residency_columns
        names = [residencies.memories[at] for at in dict.fromkeys(residencies.memory.tolist())]
        onchip = self.plan.machine.onchip
        return tuple(sorted(names, key=lambda name: name != onchip)) or (onchip,)

    def columns(self, residency: sp.Residency) -> tuple[int, int]:
        """The steps during whose compute a residency is on chip: what the address map draws.

        A spill that makes room ends before the compute that needed the room, so it ends where that
        step begins; a residency during which nothing is computed keeps the step it is in.
        """
        start, stop = residency.start_step, residency.stop_step
        if residency.start_instruction > self.computes[start][1]:
            start += 1
        ended = residency.stop_instruction
        if ended >= 0 and ended < self.computes[stop - 1][0]:
            stop -= 1
        return (start, stop) if start < stop else (residency.start_step, residency.stop_step)

    @property
    def opening_step(self) -> int:
        """Where the cursor starts: the first spill, because that matters most, or else the peak."""
        residencies = self.residency_columns
        leaving = residencies.stop_step[residencies.ending == ENDINGS.index("spill")]
        return int(leaving.min()) - 1 if len(leaving) else self.report.peak_step

    def live(self, step: int) -> tuple[sp.Residency, ...]:
        """What is resident while a step computes, largest first; of a tile or row, at its fullest
        moment."""
        if step not in self._lived:  # several views ask for the same step
            self._lived.clear()
            self._lived[step] = self._live(step)
        return self._lived[step]

    def _live(self, step: int) -> tuple[sp.Residency, ...]:
        left, right = self.sides
        rows = np.flatnonzero((left <= step) & (step < right))
        live = self.residency_columns.at(rows).residencies()
        passing = sum(residency.size_bytes for residency in live) > self.report.occupancy[step]
        if self.groups or self.pool or passing:
            moment = fullest(live, self.by_step[step])
            live = tuple(r for r in live if r.start_instruction <= moment < stop_of(r))
        return tuple(sorted(live, key=lambda r: (-r.size_bytes, r.tensor)))

    def held(self, step: int, live: Iterable[sp.Residency]) -> int:
        """The bytes of these stays together; line buffers of a pool are drawn whole but filled row
        by row."""
        return self.report.occupancy[step] if self.pool else sum(r.size_bytes for r in live)

    @cached_property
    def _lived(self) -> dict[int, tuple[sp.Residency, ...]]:
        return {}

    @cached_property
    def sides(self) -> tuple[Any, Any]:
        """The first step of each stay, and the one after its last."""
        residencies, computes = (
            self.residency_columns,
            np.array(self.computes, np.int64).reshape(-1, 2),
        )
        start, stop, ended = (
            residencies.start_step,
            residencies.stop_step,
            residencies.stop_instruction,
        )
        left = start + (residencies.start_instruction > computes[start, 1])
        right = stop - ((ended >= 0) & (ended < computes[stop - 1, 0]))
        empty = left >= right
        return np.where(empty, start, left), np.where(empty, stop, right)

    @cached_property
    def peaks(self) -> tuple[int, ...]:
        """Steps at which occupancy has a local maximum, for jumping between them."""
        return local_maxima(self.report.occupancy)

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """The steps in which bytes cross the chip's edge."""
        return self.facts.moves

    @cached_property
    def step_seconds(self) -> tuple[tuple[float, float], ...]:
        return self._seconds(self.trace)

    @cached_property
    def serial_step_seconds(self) -> tuple[tuple[float, float], ...]:
        return self._seconds(self.serial_trace)

    @cached_property
    def step_ends(self) -> tuple[float, ...]:
        """Seconds at which the first step begins and each ends; the last with the program."""
        return _step_ends(self.step_seconds, self.trace.makespan_s)

    @cached_property
    def serial_step_ends(self) -> tuple[float, ...]:
        """The same with nothing overlapped."""
        return _step_ends(self.serial_step_seconds, self.serial_trace.makespan_s)

    def _seconds(self, trace: sp.Trace) -> tuple[tuple[float, float], ...]:
        """The time at which each step starts to compute and the time at which it stops."""
        times = columns_of_intervals(trace.intervals)
        rows = np.flatnonzero(self.facts.computing[times.instruction])
        of = times.step[rows]
        first, last_s = np.full(self.steps, np.inf), np.full(self.steps, -np.inf)
        np.minimum.at(first, of, times.start_s[rows])
        np.maximum.at(last_s, of, times.stop_s[rows])
        every = zip(first.tolist(), last_s.tolist(), strict=True)
        spans = {at: both for at, both in enumerate(every) if both[0] <= both[1]}
        last = (0.0, 0.0)
        seconds = []
        for step in range(self.steps):
            last = spans.get(step, (last[1], last[1]))
            seconds.append(last)
        return tuple(seconds)

    @cached_property
    def operator_seconds(self) -> Mapping[str, float]:
        """How long each operator computes."""
        times = columns_of_intervals(self.trace.intervals)
        rows = np.flatnonzero(self.facts.computing[times.instruction])
        label = times.label[rows]
        taken = np.bincount(label, (times.stop_s - times.start_s)[rows], len(times.labels))
        return {times.labels[at]: float(taken[at]) for at in dict.fromkeys(label.tolist())}

    @cached_property
    def moved_bytes(self) -> Mapping[str, int]:
        """Non-compulsory off-chip bytes of each tensor: all transfers beyond the unavoidable
        ones."""
        total = dict(self.facts.crossed)
        for name in total:
            kind = self.graph.tensors[name].kind
            owed = (kind != "activation") + (name in self.graph.outputs)
            total[name] = max(0, total[name] - owed * self.graph.size_bytes(name))
        return total


def show(text: str, progress: ProgressCallback | None = None) -> DisplayedPlan:
    """Read, check and time a plan. Raises `BadInput` or `InvalidPlan`."""
    data: Any = json.loads(text)
    plan = sp.Plan.from_json(data)
    report = sp.check(plan, progress)
    return DisplayedPlan(plan, report, traced(plan, report, plan.machine), packed(text))


def _ends(positions: range) -> tuple[int, int]:
    return positions.start, positions.stop


def local_maxima(values: tuple[int, ...]) -> tuple[int, ...]:
    """First positions of plateaus that are higher than what is beside them."""
    maxima, rising = [], True
    start = 0
    for i in range(1, len(values) + 1):
        following = values[i] if i < len(values) else -1
        if following > values[i - 1]:
            rising, start = True, i
        elif following < values[i - 1]:
            if rising:
                maxima.append(start)
            rising, start = False, i
    return tuple(maxima)


def holes(occupied: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Free ranges `[start, stop)` between occupied ones in a memory of `size` bytes."""
    free, reached = [], 0
    for start, stop in sorted(occupied):
        if start > reached:
            free.append((reached, start))
        reached = max(reached, stop)
    return [*free, (reached, size)] if reached < size else free


def _step_ends(seconds: Sequence[tuple[float, float]], makespan_s: float) -> tuple[float, ...]:
    ends = np.maximum.accumulate([0.0, *(stop for _, stop in seconds)])
    ends[-1] = max(ends[-1], makespan_s)
    return tuple(ends.tolist())
