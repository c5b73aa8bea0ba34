"""A plan that passed `check`, with all that views need of it. No other plan is ever displayed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

import planners as sp
from app.model.blocks import BlockTree
from app.model.moments import fullest, stop_of
from app.model.packing import packed, unpacked
from app.model.pool import PoolRuns, pool_of
from app.model.stream import Stream, stream_of
from app.model.waits import Stage, stages_of
from planners.core.program import Compute, Instruction, Load, Region, Release, Store
from planners.core.progress import ProgressCallback
from planners.fusion.explain import FusedGroup, groups_of
from planners.simulator.simulate import traced

WITH_GROUPS = 100  # nodes that may be visible at first where groups are drawn around them


@dataclass(frozen=True)
class Shown:
    """A checked plan, the report of the check, and its times; `packed` is the plan's JSON text.

    The program may have been shortened for drawing (`app.model.wire`): to save it, save the text.
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
        if not (known := self.packed or "".join(self.late[:1])):
            raise sp.BadInput("the plan's text is still being written: try again in some seconds")
        return known

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
        return BlockTree([op.name for op in operators], [op.block for op in operators])

    @property
    def opened(self) -> frozenset[str]:
        """The blocks that are open at first: more of them where groups are drawn."""
        return self.tree.comfortable(*((WITH_GROUPS,) if self.groups else ()))

    @cached_property
    def serial_trace(self) -> sp.Trace:
        """Times with nothing overlapped: each instruction begins when the one before ends."""
        at, intervals = 0.0, []
        for item in self.trace.intervals:
            stop = at + item.stop_s - item.start_s
            alone = replace(item, stall_s=0.0, cause="", blocker=None)
            intervals.append(replace(alone, start_s=at, stop_s=stop))
            at = stop
        return replace(self.trace, serial=True, makespan_s=at, intervals=tuple(intervals))

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        return tuple(self.plan.program.instructions)

    @cached_property
    def by_step(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the instructions of each step."""
        positions: list[list[int]] = [[] for _ in range(self.steps)]
        for position, item in enumerate(self.instructions):
            positions[item.step].append(position)
        return tuple(map(tuple, positions))

    @cached_property
    def computes(self) -> tuple[tuple[int, int], ...]:
        """First and last compute of each step; the step's bounds where it has none."""
        spans = []
        for positions in self.by_step:
            runs = [p for p in positions if isinstance(self.instructions[p], Compute)]
            bounds = runs or positions or (0,)
            spans.append((bounds[0], bounds[-1]))
        return tuple(spans)

    @cached_property
    def ran(self) -> tuple[tuple[str, ...], ...]:
        """The operators that each step runs, or runs a part of."""
        return tuple(
            tuple(
                dict.fromkeys(
                    item.operator
                    for position in positions
                    if isinstance(item := self.instructions[position], Compute)
                )
            )
            for positions in self.by_step
        )

    @cached_property
    def reads(self) -> Mapping[str, tuple[int, ...]]:
        """The steps that read each tensor, or a part of it."""
        steps_of: dict[str, dict[int, None]] = {}
        for item in self.instructions:
            if isinstance(item, Compute):
                for piece, _ in item.reads:
                    steps_of.setdefault(piece.tensor, {})[item.step] = None
        return {tensor: tuple(steps) for tensor, steps in steps_of.items()}

    @cached_property
    def writes(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """Step and bytes of each write of a compute to each tensor."""
        return _sizes(
            (operand.piece.tensor, item.step, operand.region.size_bytes)
            for item in self.instructions
            if isinstance(item, Compute)
            for operand in item.writes
        )

    @cached_property
    def releases(self) -> Mapping[str, tuple[tuple[int, int], ...]]:
        """Step and bytes of each release of each tensor."""
        return _sizes(
            (item.piece.tensor, item.step, item.region.size_bytes)
            for item in self.instructions
            if isinstance(item, Release)
        )

    @cached_property
    def stays(self) -> Mapping[str, tuple[sp.Residency, ...]]:
        """The stays of each tensor on chip."""
        by_tensor: dict[str, list[sp.Residency]] = {}
        for stay in self.report.residencies:
            by_tensor.setdefault(stay.tensor, []).append(stay)
        return {tensor: tuple(stays) for tensor, stays in by_tensor.items()}

    @cached_property
    def ended(self) -> Mapping[int, tuple[sp.Residency, ...]]:
        """The stays that an instruction ended, by its step."""
        by_step: dict[int, list[sp.Residency]] = {}
        for stay in self.report.residencies:
            if stay.stop_instruction >= 0:
                by_step.setdefault(stay.stop_step - 1, []).append(stay)
        return {step: tuple(stays) for step, stays in by_step.items()}

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
        for stay in self.report.residencies:
            kind, layer, ring = stream.acts.get(stay.start_instruction, ("kernel", 0, ""))
            if kind == "kernel" or ring not in columns_of:
                continue
            left, right = self.columns(stay)
            before = columns_of[ring][layer] or (left, right)
            columns_of[ring][layer] = min(left, before[0]), max(right, before[1])
        return {ring: tuple(lives) for ring, lives in columns_of.items()}

    @cached_property
    def groups(self) -> tuple[FusedGroup, ...]:
        """The fused groups of the plan; most planners have none."""
        return groups_of(self.plan)

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
    def memories(self) -> tuple[str, ...]:
        """On-chip memories in which something resides, the machine's own first."""
        names = dict.fromkeys(r.memory for r in self.report.residencies)
        own = self.plan.machine.onchip
        return tuple(sorted(names, key=lambda name: name != own)) or (own,)

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
        leaving = [r.stop_step - 1 for r in self.report.residencies if r.ending == "spill"]
        return min(leaving, default=self.report.peak_step)

    def live(self, step: int) -> tuple[sp.Residency, ...]:
        """What is resident while a step computes, largest first; of a tile or row, at its fullest
        moment."""
        if step not in self._lived:  # several views ask for the same step
            self._lived.clear()
            self._lived[step] = self._live(step)
        return self._lived[step]

    def _live(self, step: int) -> tuple[sp.Residency, ...]:
        left, right = self._sides
        stays = self.report.residencies
        live = [stays[int(i)] for i in np.flatnonzero((left <= step) & (step < right))]
        if self.groups or self.pool:
            moment = fullest(live, self.by_step[step])
            live = [r for r in live if r.start_instruction <= moment < stop_of(r)]
        return tuple(sorted(live, key=lambda r: (-r.size_bytes, r.tensor)))

    def held(self, step: int, live: Iterable[sp.Residency]) -> int:
        """The bytes of these stays together; line buffers of a pool are drawn whole but filled row
        by row."""
        return self.report.occupancy[step] if self.pool else sum(r.size_bytes for r in live)

    @cached_property
    def _lived(self) -> dict[int, tuple[sp.Residency, ...]]:
        return {}

    @cached_property
    def _sides(self) -> tuple[Any, Any]:
        """The first step of each stay, and the one after its last."""
        sides = np.array(self._columns, dtype=np.int64).reshape(-1, 2)
        return sides[:, 0], sides[:, 1]

    @cached_property
    def _columns(self) -> tuple[tuple[int, int], ...]:
        return tuple(self.columns(r) for r in self.report.residencies)

    @cached_property
    def peaks(self) -> tuple[int, ...]:
        """Steps at which occupancy has a local maximum, for jumping between them."""
        return local_maxima(self.report.occupancy)

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """The steps in which bytes cross the chip's edge."""
        offchip = {memory.name for memory in self.plan.program.memories if memory.offchip}
        steps = {
            item.step
            for item in self.instructions
            if isinstance(item, (Load, Store)) and _other(item).memory in offchip
        }
        return tuple(sorted(steps))

    @cached_property
    def step_seconds(self) -> tuple[tuple[float, float], ...]:
        return self._seconds(self.trace)

    @cached_property
    def serial_step_seconds(self) -> tuple[tuple[float, float], ...]:
        return self._seconds(self.serial_trace)

    def _seconds(self, trace: sp.Trace) -> tuple[tuple[float, float], ...]:
        """The time at which each step starts to compute and the time at which it stops."""
        spans: dict[int, tuple[float, float]] = {}
        for item in trace.intervals:
            if isinstance(self.instructions[item.instruction], Compute):
                start, stop = spans.get(item.step, (item.start_s, item.stop_s))
                spans[item.step] = (min(start, item.start_s), max(stop, item.stop_s))
        last = (0.0, 0.0)
        seconds = []
        for step in range(self.steps):
            last = spans.get(step, (last[1], last[1]))
            seconds.append(last)
        return tuple(seconds)

    @cached_property
    def operator_seconds(self) -> Mapping[str, float]:
        """How long each operator computes."""
        seconds: dict[str, float] = {}
        for item in self.trace.intervals:
            if isinstance(self.instructions[item.instruction], Compute):
                seconds[item.label] = seconds.get(item.label, 0.0) + item.stop_s - item.start_s
        return seconds

    @cached_property
    def moved_bytes(self) -> Mapping[str, int]:
        """Non-compulsory off-chip bytes of each tensor: all transfers beyond the unavoidable
        ones."""
        total: dict[str, int] = {}
        offchip = {memory.name for memory in self.plan.program.memories if memory.offchip}
        for item in self.instructions:
            if isinstance(item, (Load, Store)) and _other(item).memory in offchip:
                total[item.piece.tensor] = total.get(item.piece.tensor, 0) + item.source.size_bytes
        for name in total:
            kind = self.graph.tensors[name].kind
            owed = (kind != "activation") + (name in self.graph.outputs)
            total[name] = max(0, total[name] - owed * self.graph.size_bytes(name))
        return total


def show(text: str, progress: ProgressCallback | None = None) -> Shown:
    """Read, check and time a plan. Raises `BadInput` or `InvalidPlan`."""
    data: Any = json.loads(text)
    plan = sp.Plan.from_json(data)
    report = sp.check(plan, progress)
    return Shown(plan, report, traced(plan, report, plan.machine), packed(text))


def _sizes(entries: Iterable[tuple[str, int, int]]) -> Mapping[str, tuple[tuple[int, int], ...]]:
    """Step and bytes by tensor."""
    by_tensor: dict[str, list[tuple[int, int]]] = {}
    for tensor, step, size in entries:
        by_tensor.setdefault(tensor, []).append((step, size))
    return {tensor: tuple(some) for tensor, some in by_tensor.items()}


def _other(item: Load | Store) -> Region:
    """The end of a transfer that is farther from the compute engine."""
    return item.source if isinstance(item, Load) else item.target


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
