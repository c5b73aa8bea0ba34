"""A fixed schedule as uses and gaps: what must be resident when, and what a drop would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.cosma.model.constraints import NO_WISHES, WishedStays


@dataclass(frozen=True, slots=True)
class TensorLine:
    """A tensor along a schedule: the steps that use it, the one that makes it among them.

    `host_copy` says that the host has it whenever it is dropped without a store of its own:
    graph inputs, parameters, and graph outputs, whose store is compulsory; nothing where the
    paper is taken literally.
    """

    tensor: str
    size_bytes: int
    uses: tuple[int, ...]
    produced: bool
    host_copy: bool


class UseGap(NamedTuple):
    """The time between two consecutive uses, `(before, after)`, of line number `line`."""

    line: int
    before: int
    after: int

    @property
    def interior(self) -> range:
        """Steps at which a kept tensor takes space that the step itself does not need."""
        return range(self.before + 1, self.after)


@dataclass(frozen=True)
class ScheduleProblem:
    """Which tensors to keep over which gaps, for one schedule and budget.

    `paper_strict`: as in the paper's equations, whatever is dropped is stored first, once.
    `wished`: what the user wants kept, dropped or first; the schedule respects it. `in_place`:
    operators read parameters where they live, which changes no stay.
    """

    graph: Graph
    schedule: tuple[int, ...]
    parameters: bool
    budget_bytes: int
    paper_strict: bool = False
    wished: WishedStays = NO_WISHES
    in_place: bool = False

    @cached_property
    def lines(self) -> tuple[TensorLine, ...]:
        """All tensors that any operator touches, in order of first use."""
        uses: dict[str, list[int]] = {}
        produced: set[str] = set()
        for step, position in enumerate(self.schedule):
            op = self.graph.operators[position]
            for name in (*op.inputs, *(op.parameters if self.parameters else ()), *op.outputs):
                uses.setdefault(name, []).append(step)
            produced.update(op.outputs)
        outputs = set(self.graph.outputs)
        return tuple(
            TensorLine(
                tensor=name,
                size_bytes=self.graph.size_bytes(name),
                uses=tuple(steps),
                produced=name in produced,
                host_copy=not self.paper_strict and (name not in produced or name in outputs),
            )
            for name, steps in uses.items()
        )

    @cached_property
    def gaps(self) -> tuple[UseGap, ...]:
        return tuple(
            UseGap(i, a, b) for i, line in enumerate(self.lines) for a, b in pairwise(line.uses)
        )

    @cached_property
    def kept(self) -> frozenset[UseGap]:
        """The gaps that must be kept, as wished."""
        return self._gaps_of(self.wished.keep)

    @cached_property
    def spilled(self) -> frozenset[UseGap]:
        """The gaps that must be dropped, as wished: those with a step that does not use them."""
        return frozenset(gap for gap in self._gaps_of(self.wished.spill) if gap.interior)

    def _gaps_of(self, tensors: frozenset[str]) -> frozenset[UseGap]:
        if not tensors:
            return frozenset()
        return frozenset(gap for gap in self.gaps if self.lines[gap.line].tensor in tensors)

    @cached_property
    def required(self) -> tuple[int, ...]:
        """Bytes that each step needs resident: its inputs, outputs and counted parameters."""
        need = [0] * len(self.schedule)
        for line in self.lines:
            for step in line.uses:
                need[step] += line.size_bytes
        return tuple(need)

    def cost(self, dropped: Sequence[UseGap] | frozenset[UseGap]) -> int:
        """Non-compulsory bytes when these gaps are dropped: each reload, and one store a tensor."""
        reloads = sum(self.lines[gap.line].size_bytes for gap in dropped)
        stored = {gap.line for gap in dropped if not self.lines[gap.line].host_copy}
        return reloads + sum(self.lines[i].size_bytes for i in stored)

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """Bytes that each step needs resident, with what must be kept across it."""
        need = list(self.required)
        for gap in self.kept:
            for step in gap.interior:
                need[step] += self.lines[gap.line].size_bytes
        return tuple(need)

    def assert_feasible(self) -> None:
        """Raise `BudgetTooSmall` with the operator that needs the most, where it does not fit."""
        need = max(self.needed, default=0)
        if need > self.budget_bytes:
            step = self.needed.index(need)
            op = self.graph.operators[self.schedule[step]]
            raise BudgetTooSmall(need, self.budget_bytes, op.name, self.held_at(step))

    def held_at(self, step: int) -> tuple[str, ...]:
        """The tensors that a step needs resident: its own, and what must be kept across it."""
        op = self.graph.operators[self.schedule[step]]
        across = (self.lines[gap.line].tensor for gap in sorted(self.kept) if step in gap.interior)
        return (*op.inputs, *(op.parameters if self.parameters else ()), *op.outputs, *across)


class TensorStay(NamedTuple):
    """A stay of line number `line` over the uses at steps `first` to `last`, both included."""

    line: int
    first: int
    last: int


def runs(problem: ScheduleProblem, dropped: frozenset[UseGap]) -> tuple[TensorStay, ...]:
    """The stays that remain when these gaps are dropped and all others kept."""
    stays = []
    for i, line in enumerate(problem.lines):
        first = line.uses[0]
        for before, after in pairwise(line.uses):
            if UseGap(i, before, after) in dropped:
                stays.append(TensorStay(i, first, before))
                first = after
        stays.append(TensorStay(i, first, line.uses[-1]))
    return tuple(stays)


def extent_of(problem: ScheduleProblem, offsets: Mapping[TensorStay, int]) -> int:
    """The highest address that stays reach, in bytes."""
    lines = problem.lines
    return max((at + lines[stay.line].size_bytes for stay, at in offsets.items()), default=0)


def cost_of(problem: ScheduleProblem, stays: dict[TensorStay, int]) -> int:
    """Non-compulsory bytes of stays: each but the first is a load; one store where needed."""
    count: dict[int, int] = {}
    for run in stays:
        count[run.line] = count.get(run.line, 0) + 1
    total = 0
    for i, n in count.items():
        line = problem.lines[i]
        total += (n - 1) * line.size_bytes
        if n > 1 and not line.host_copy:
            total += line.size_bytes
    return total
