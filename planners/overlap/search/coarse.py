"""Operators alone, in a given order: the coarsest segments with which a pool fits a budget.

Whole tensors, then ever fewer rows at once, then segments, each operator for itself and only where
it must: what a step needs depends on its own operator's segments alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd

from planners.allocation.overlapping.circular import search, tightest
from planners.allocation.overlapping.exact import Packed
from planners.allocation.overlapping.model import (
    Places,
    PoolBlock,
    PoolProblem,
    joined,
    most_shared,
)
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.graph import Graph
from planners.core.progress import TRIAL_SHARE, Clock
from planners.overlap.kernels.candidates import RunCandidate
from planners.overlap.kernels.levels import Levels
from planners.overlap.place.schedule_parts import blocks_of, parts_of
from planners.overlap.search.chain import ChainWay

ROUNDS = 2


@dataclass(frozen=True, slots=True)
class OrderHolds:
    """What a step of an order holds, and which of its operator's inputs die with it, in bytes."""

    position: int
    held: int
    made: int
    dying: tuple[tuple[str, int], ...]

    @property
    def least(self) -> int:
        """Bytes that it takes at least with any segments."""
        return self.held - most_shared(self.made, [(size, 0) for _, size in self.dying])

    def need(self, run: RunCandidate) -> int:
        """Bytes that it takes at least with an operator's segments."""
        shared = [(size, run.distances[n]) for n, size in self.dying if n in run.distances]
        beside = sum(need.size_bytes for need in run.needs)
        return self.held + beside - most_shared(self.made, shared)


def steps_of(graph: Graph, order: Sequence[int]) -> list[OrderHolds]:
    """The steps of an order of operators (positions)."""
    change = [0] * (len(order) + 1)
    last = {}
    for block in blocks_of(graph, order):
        change[block.first] += block.size
        change[block.last + 1] -= block.size
        last[block.name] = block.last
    steps = []
    for number, (position, live_bytes) in enumerate(zip(order, accumulate(change), strict=False)):
        op = graph.operators[position]
        dying = tuple((n, graph.size_bytes(n)) for n in op.inputs if last[n] == number)
        output_bytes = graph.size_bytes(op.outputs[0]) if len(op.outputs) == 1 else 0
        steps.append(OrderHolds(position, live_bytes, output_bytes, dying))
    return steps


def _shares(graph: Graph, position: int, may_share: Mapping[tuple[str, str], int]) -> bool:
    op = graph.operators[position]
    return any((op.outputs[0], name) in may_share for name in op.inputs)


class Coarse:
    """An order of operators, the segments chosen for each, and where all tensors lie."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[int],
        budget_bytes: int,
        may_share: Mapping[tuple[str, str], int],
    ) -> None:
        self.graph, self.order, self.budget = graph, tuple(order), budget_bytes
        self.steps, self.may_share = steps_of(graph, order), may_share
        self.levels = [self._levels(step.position) for step in self.steps]
        self.chosen = [0] * len(self.steps)
        self._places: dict[Hashable, tuple[int, Places] | None] = {}
        self.needs = [self._coarsest(number) for number in range(len(self.steps))]

    @property
    def need_bytes(self) -> int:
        """A lower bound in bytes on the places with these segments."""
        return max(self.needs)

    @property
    def runs(self) -> list[RunCandidate]:
        return [self._run(number) for number in range(len(self.steps))]

    def _levels(self, position: int) -> Levels:
        """The segments that an operator may run in."""
        return Levels(self.graph, (position,), _shares(self.graph, position, self.may_share))

    def _run(self, number: int) -> RunCandidate:
        run = self.levels[number].at(self.chosen[number])
        assert run is not None  # A level was chosen.
        return run

    def _coarsest(self, number: int) -> int:
        """Take the first level with which a step fits, or the last; what it then needs."""
        step = self.steps[number]
        while (need := step.need(self._run(number))) > self.budget:
            if not self._refine(number):
                return min(map(step.need, self.levels[number]))
        return need

    def _refine(self, number: int) -> bool:
        """Take the next finer level; whether there is one."""
        if self.levels[number].at(self.chosen[number] + 1) is None:
            return False
        self.chosen[number] += 1
        return True

    def ways(self, first: int, stop: int, clock: Clock) -> Iterator[ChainWay]:
        """The parts of a range of steps of the default order that fit, as ways."""
        for number, (start, end) in enumerate(self.spans):
            if first <= start and end <= stop:
                fits = self._placed(number, clock)
                if fits is not None:
                    part, size, places = fits
                    packed = Packed(part.named(places), size, part.floor)
                    yield ChainWay(start, end, tuple(self.runs[start:end]), packed, 0)

    def layout(self, clock: Clock) -> tuple[PoolLayout, int] | None:
        """All tensors placed within the budget, and a bound for these segments in this order.

        Where no places are found, segments become finer in that part.
        """
        if self.need_bytes > self.budget:
            return None
        placed = []
        for number in range(len(self.spans)):
            fits = self._placed(number, clock)
            if fits is None:
                return None
            placed.append(fits)
        return self._joined(placed)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The steps of each part."""
        return [span for span, _ in parts_of(self.graph, {}, self.order)]

    def _part(self, number: int) -> PoolProblem:
        distances = {
            (run.writes[0], name): d for run in self.runs for name, d in run.distances.items()
        }
        (start, stop), part = list(parts_of(self.graph, distances, self.order))[number]
        beside = [
            PoolBlock(f"{step - start}:{which}", need.size_bytes, step, step)
            for step in range(start, stop)
            for which, need in enumerate(self._run(step).needs)
        ]
        if not beside:
            return part
        unit = gcd(part.unit, *(block.size for block in beside))
        return PoolProblem((*part.blocks, *beside), distances, unit=unit)

    def _placed(self, number: int, clock: Clock) -> tuple[PoolProblem, int, Places] | None:
        """A part, a pool and the places in it, with finer segments where that helps."""
        start, stop = self.spans[number]
        while max(self.needs[start:stop]) <= self.budget:
            part = self._part(number)
            if part.look not in self._places:
                self._places[part.look] = self._sought(part, clock)
            places = self._places[part.look]
            if places is not None:
                return part, *places
            if clock.expired() or not self._refined(start, stop):
                break
        return None

    def _sought(self, part: PoolProblem, clock: Clock) -> tuple[int, Places] | None:
        """Places in the budget, in less if that is quick."""
        if part.floor > self.budget:
            return None
        for pool, rounds in ((part.floor, 1), (self.budget, ROUNDS)):
            share = clock.silent(TRIAL_SHARE)
            if (places := search(part, pool, share, rounds)) is not None:
                return pool, places
        size, places = tightest(part, self.budget, clock.silent(0))
        return (size, places) if size <= self.budget else None

    def _refined(self, start: int, stop: int) -> bool:
        """Finer segments for the step that needs most, of those to which they give room."""
        for number in sorted(range(start, stop), key=lambda n: -self.needs[n]):
            before = self.needs[number]
            while self._refine(number):
                self.needs[number] = self.steps[number].need(self._run(number))
                if self.needs[number] < before:
                    return True
        return False

    def _joined(self, placed: Sequence[tuple[PoolProblem, int, Places]]) -> tuple[PoolLayout, int]:
        pool = max(size for _, size, _ in placed)
        bound = max(part.floor for part, _, _ in placed)
        offsets = joined((part.named(places) for part, _, places in placed), pool)
        runs = tuple(
            KernelRun("alone", (self.graph.operators[run.operators[0]].name,), rows=run.rows)
            for run in self.runs
        )
        return PoolLayout(pool, offsets, runs), bound
