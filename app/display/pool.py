"""The circular pool of an overlap plan: its runs, their steps, and what lies where.

No Panel here. Sizes and addresses are bytes of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import planners as sp
from planners.core.details.pool import KernelRun, PoolLayout
from planners.overlap.kernels.candidates import ends

Role = Literal["input", "output", "held", "workspace"]
Range = tuple[int, int]
FORMS = {
    "alone": "by itself",
    "line": "with line buffers",
    "window": "each window anew",
    "columns": "columns of the window kept",
    "tile": "some channels at a time",
}


@dataclass(frozen=True, slots=True)
class PoolRun:
    """A run of the layout during steps `[start_step, stop_step)`.

    `dying` are tensors that it is the last to read, `alive` others that lie whole in the pool
    meanwhile. `distance_bytes` is how far before `over` the output begins, where `over` is the
    nearest dying input behind it; None where no input dies.
    """

    number: int
    run: KernelRun
    start_step: int
    stop_step: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    dying: tuple[str, ...]
    alive: tuple[str, ...]
    over: str
    distance_bytes: int | None

    @property
    def name(self) -> str:
        """The operator, or the first and the last of several."""
        names = self.run.operators
        return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"

    @property
    def workspace_bytes(self) -> int:
        return sum(buffer.size_bytes for buffer in self.run.buffers)

    def role(self, tensor: str) -> Role:
        """What a tensor is to this run."""
        if tensor in self.writes:
            return "output"
        if tensor in self.reads:
            return "input"
        inner = any(buffer.tensor == tensor for buffer in self.run.buffers)
        return "workspace" if inner else "held"


@dataclass(frozen=True)
class PoolRuns:
    """A layout and when its runs run."""

    layout: PoolLayout
    runs: tuple[PoolRun, ...]
    sizes: Mapping[str, int]

    @property
    def size_bytes(self) -> int:
        return self.layout.pool_bytes

    @cached_property
    def _run_at(self) -> tuple[int, ...]:
        last = max(run.stop_step for run in self.runs)
        run_at = [0] * last
        for run in self.runs:
            run_at[run.start_step : run.stop_step] = [run.number] * (run.stop_step - run.start_step)
        return tuple(run_at)

    def run_at(self, step: int) -> PoolRun:
        """The run that a step belongs to."""
        return self.runs[self._run_at[min(step, len(self._run_at) - 1)]]

    def run_of(self, operator: str) -> PoolRun | None:
        """The run of an operator."""
        return next((run for run in self.runs if operator in run.run.operators), None)

    def ranges(self, offset: int, size: int) -> list[Range]:
        """Bytes from an offset on as ranges of the ring: two where they wrap."""
        start, whole = offset % self.size_bytes, self.size_bytes
        size = min(size, whole)
        if start + size <= whole:
            return [(start, start + size)]
        return [(start, whole), (0, start + size - whole)]

    def extent_bytes(self, run: PoolRun) -> int:
        """The shortest part of the ring that a run needs: tensors, workspace, and what lies between
        them; everything but the largest gap."""
        offsets = self.layout.offsets
        used = [r for t in run.alive for r in self.ranges(offsets[t], self.sizes[t])]
        used += [r for b in run.run.buffers for r in self.ranges(b.offset, b.size_bytes)]
        return self.size_bytes - largest_gap(used, self.size_bytes)


def largest_gap(used: Sequence[Range], size: int) -> int:
    """The longest part of a ring of `size` bytes that none of the ranges touches."""
    if not used:
        return size
    ordered = sorted(used)
    gaps, reached = [], ordered[0][1]
    for start, stop in ordered[1:]:
        gaps.append(start - reached)
        reached = max(reached, stop)
    around = ordered[0][0] + size - reached
    return max(0, around, *gaps) if gaps else max(0, around)


def pool_of(plan: sp.Plan, ran: Sequence[Sequence[str]]) -> PoolRuns | None:
    """The pool of a plan, by the operators that each of its steps runs; None where it has none."""
    if plan.details.pool is None:
        return None
    graph, layout = plan.graph, plan.details.pool.layout
    number = {name: k for k, run in enumerate(layout.runs) for name in run.operators}
    run_of_step = [number[names[0]] if names else -1 for names in ran]
    for step in range(len(run_of_step) - 2, -1, -1):  # an input is loaded for the run after it
        run_of_step[step] = run_of_step[step + 1] if run_of_step[step] < 0 else run_of_step[step]
    last = _last_runs(graph, number, len(layout.runs))
    written_by: dict[str, int] = dict.fromkeys(graph.inputs, 0)
    runs = []
    for k, run in enumerate(layout.runs):
        reads, writes = ends(graph, [graph.index[name] for name in run.operators])
        written_by |= dict.fromkeys(writes, k)
        dying = tuple(name for name in reads if last[name] == k)
        alive = tuple(
            t for t in written_by if written_by[t] <= k <= last[t] and t in layout.offsets
        )
        steps = [step for step, of in enumerate(run_of_step) if of == k] or [0]
        over, distance = _nearest(layout, dying, writes)
        runs.append(
            PoolRun(k, run, steps[0], steps[-1] + 1, reads, writes, dying, alive, over, distance)
        )
    sizes = {name: graph.size_bytes(name) for name in layout.offsets}
    return PoolRuns(layout, tuple(runs), sizes)


def _last_runs(graph: sp.Graph, number: Mapping[str, int], count: int) -> dict[str, int]:
    """The last run that needs each tensor; an output of the network stays while it is made."""
    last = {}
    for name in graph.tensors:
        users = [number[graph.operators[i].name] for i in graph.consumers[name]]
        if name in graph.producer:
            users.append(number[graph.operators[graph.producer[name]].name])
        last[name] = max(users, default=count - 1)
    return last


def _nearest(
    layout: PoolLayout, dying: Sequence[str], writes: Sequence[str]
) -> tuple[str, int | None]:
    """The dying input that is nearest behind the output, and the bytes between their beginnings."""
    if not (dying and writes):
        return "", None
    start = layout.offsets[writes[0]]
    distances = [((layout.offsets[name] - start) % layout.pool_bytes, name) for name in dying]
    distance, name = min(distances)
    return name, distance
