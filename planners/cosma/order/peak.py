"""The minimum peak memory footprint over all schedules (MP, and the MPMF schedule; eqs. 13–15).

A bottleneck shortest path over the sets D of executed operators: the least peak at which D can be
reached. An operator that fits under the least open peak and leaves no more behind than it found
is run at once: brought forward in any continuation it raises no footprint.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.progress import Clock, TimeOver
from planners.core.services import Pairs, Peak, Shares
from planners.cosma.model.constraints import WishedStays, positions_before

MOVES_A_LOOK = 2048
"""Moves between two looks at the clock: some milliseconds."""


class _Op(NamedTuple):
    predecessors: int
    fresh: int  # bytes of outputs
    inputs: tuple[tuple[int, int, bool], ...]  # size, consumers, not made by an operator
    outputs: tuple[tuple[int, int], ...]  # size, consumers
    successors: tuple[int, ...]


class Move(NamedTuple):
    """The bytes resident while an operator runs, those live after it, and all that ran."""

    footprint: int
    live: int
    done: int


class Footprints:
    """Live bytes of a set of executed operators, and what running one more makes of them.

    Pairs of operators `before` run in that order. Where `kept` is given, only those tensors stay
    between their uses: all others are there for their operators, and no longer. The bytes
    that `shares` gives for an operator are not counted while it runs.
    """

    def __init__(
        self,
        graph: Graph,
        parameters: bool,
        *,
        before: Pairs = (),
        kept: frozenset[str] | None = None,
        shares: Shares | None = None,
    ) -> None:
        self._shares = shares
        waits = positions_before(graph, before)
        self.ops = [_describe(graph, i, parameters, mask, kept) for i, mask in enumerate(waits)]
        for i, mask in enumerate(waits):
            for j in bits(mask):
                successors = tuple(sorted({*self.ops[j].successors, i}))
                self.ops[j] = self.ops[j]._replace(successors=successors)
        self.all = (1 << len(self.ops)) - 1

    def move(self, done: int, live: int, position: int) -> Move:
        """Run an operator: the bytes resident while it runs, and those live after it."""
        op = self.ops[position]
        after = done | 1 << position
        footprint = live + op.fresh
        dying = 0
        for size, consumers, external in op.inputs:
            if external and not consumers & done:
                footprint += size
            if not consumers & ~after:
                dying += size
        for size, consumers in op.outputs:
            if not consumers:
                dying += size
        live = footprint - dying
        if self._shares is not None:
            footprint -= self._shares(position, after)
        return Move(footprint, live, after)

    def ready(self, done: int, ready: int, position: int) -> int:
        """The operators that can run after `position` was run from `done`, as a mask."""
        after = done | 1 << position
        ready &= ~(1 << position)
        for successor in self.ops[position].successors:
            if not self.ops[successor].predecessors & ~after:
                ready |= 1 << successor
        return ready

    def first_ready(self) -> int:
        return sum(1 << i for i, op in enumerate(self.ops) if not op.predecessors)

    def steps(self, schedule: Sequence[int]) -> Iterator[int]:
        """The footprint of each step of a schedule that spills nothing."""
        done = live = 0
        for position in schedule:
            footprint, live, done = self.move(done, live, position)
            yield footprint

    def peak(self, schedule: Sequence[int]) -> int:
        """The largest footprint of a schedule that spills nothing."""
        return max(self.steps(schedule), default=0)


def _describe(
    graph: Graph, position: int, parameters: bool, waits: int, kept: frozenset[str] | None
) -> _Op:
    op = graph.operators[position]

    def mask(tensor: str) -> int:
        return sum(1 << i for i in graph.consumers[tensor])

    producers = [graph.producer[t] for t in op.inputs if t in graph.producer]
    successors = {i for t in op.outputs for i in graph.consumers[t]}
    reads = [*op.inputs, *(op.parameters if parameters else ())]
    outputs = [(graph.size_bytes(t), mask(t)) for t in op.outputs]
    if kept is not None:
        passing = [t for t in (*reads, *op.outputs) if t not in kept]
        outputs = [(graph.size_bytes(t), mask(t)) for t in op.outputs if t in kept]
        outputs.append((sum(map(graph.size_bytes, passing)), 0))
        reads = [t for t in reads if t in kept]
    return _Op(
        predecessors=sum(1 << i for i in set(producers)) | waits,
        fresh=sum(size for size, _ in outputs),
        inputs=tuple((graph.size_bytes(t), mask(t), t not in graph.producer) for t in reads),
        outputs=tuple(outputs),
        successors=tuple(sorted(successors)),
    )


def order_peak(graph: Graph, schedule: tuple[int, ...], parameters: bool = False) -> int:
    """Peak bytes of a schedule that spills nothing."""
    return Footprints(graph, parameters).peak(schedule)


def order_footprints(
    graph: Graph,
    schedule: Sequence[int],
    parameters: bool = False,
    *,
    shares: Shares | None = None,
) -> list[int]:
    """The bytes that each step of a schedule takes, nothing spilled."""
    return list(Footprints(graph, parameters, shares=shares).steps(schedule))


def minimum_peak(
    graph: Graph,
    parameters: bool = False,
    *,
    clock: Clock | None = None,
    max_states: int = 400_000,
    before: Pairs = (),
    shares: Shares | None = None,
) -> Peak:
    """The schedule of least peak, by bottleneck search, of those with these operators `before`.

    What outputs share with dying inputs takes no bytes: `shares` must not fall where other
    operators ran before. Where states or time run out, the result is the best schedule known with
    the least open peak as its bound.
    """
    prints = Footprints(graph, parameters, before=before, shares=shares)
    return least_peak(prints, clock or Clock(30.0), max_states)


def least_for_kept(graph: Graph, parameters: bool, wished: WishedStays, clock: Clock) -> Peak:
    """The schedule that needs least beside what must be kept: all else is there when it is used.

    By sizes: addresses may need more.
    """
    prints = Footprints(graph, parameters, before=wished.before, kept=wished.keep)
    return least_peak(prints, clock)


def least_peak(prints: Footprints, clock: Clock, max_states: int = 400_000) -> Peak:
    """`minimum_peak` for any footprints that shrink, or stay, where other operators ran before."""
    search = _PeakSearch(prints, clock, max_states)
    bound, schedule = search.run()
    if schedule is not None:
        return Peak(bound, bound, schedule, search.states)
    given = tuple(range(len(prints.ops)))
    known = [_greedy(prints)]
    if all(not op.predecessors >> i for i, op in enumerate(prints.ops)):
        known.insert(0, given)
    peaks = [prints.peak(order) for order in known]
    best = min(range(len(known)), key=peaks.__getitem__)
    return Peak(peaks[best], min(bound, peaks[best]), known[best], search.states)


class _PeakSearch:
    def __init__(self, prints: Footprints, clock: Clock, max_states: int) -> None:
        self.prints, self.clock, self.max_states = prints, clock, max_states
        self.came: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
        self.states = self.moves = 0
        self.open_peak = 0

    def run(self) -> tuple[int, tuple[int, ...] | None]:
        """The least peak and its schedule; or the least open peak and None."""
        try:
            return self._run()
        except TimeOver:
            return self.open_peak, None

    def _run(self) -> tuple[int, tuple[int, ...] | None]:
        heap = [(0, 0, 0, 0, self.prints.first_ready())]  # peak, -depth, done, live, ready
        closed: set[int] = set()
        while heap:
            peak, _, done, live, ready = heapq.heappop(heap)
            self.open_peak = peak
            if done == self.prints.all:
                return peak, self._schedule()
            if done in closed:
                continue
            closed.add(done)
            self.states += 1
            if self.states > self.max_states:
                return peak, None
            for item in self._expand(peak, done, live, ready):
                heapq.heappush(heap, item)
        return 0, ()

    def _expand(
        self, peak: int, done: int, live: int, ready: int
    ) -> Iterator[tuple[int, int, int, int, int]]:
        for position in bits(ready):
            move = self._move(done, live, position)
            if move.done in self.came and self.came[move.done][0] <= max(peak, move.footprint):
                continue
            after = self.prints.ready(done, ready, position)
            reached, state, rest, path = self._dive(max(peak, move.footprint), move, after)
            old = self.came.get(state.done)
            if old is None or reached < old[0]:
                self.came[state.done] = (reached, (done, position, *path))
                yield reached, -state.done.bit_count(), state.done, state.live, rest

    def _dive(self, peak: int, move: Move, ready: int) -> tuple[int, Move, int, list[int]]:
        """Run all operators that raise nothing, one after the other."""
        path: list[int] = []
        while True:
            for position in bits(ready):
                then = self._move(move.done, move.live, position)
                if then.footprint <= peak and then.live <= move.live:
                    ready = self.prints.ready(move.done, ready, position)
                    path.append(position)
                    move = then
                    break
            else:
                return peak, move, ready, path

    def _move(self, done: int, live: int, position: int) -> Move:
        """Run an operator. Raises `TimeOver` once in a while, where the clock has expired: where
        hundreds of operators are ready, one state takes seconds."""
        self.moves += 1
        if not self.moves % MOVES_A_LOOK and self.clock.expired():
            raise TimeOver
        return self.prints.move(done, live, position)

    def _schedule(self) -> tuple[int, ...]:
        parts: list[tuple[int, ...]] = []
        state = self.prints.all
        while state:
            _, (before, *path) = self.came[state]
            parts.append(tuple(path))
            state = before
        return tuple(position for part in reversed(parts) for position in part)


def _greedy(prints: Footprints) -> tuple[int, ...]:
    """Always the operator of least footprint, then of least bytes left behind."""
    done, live, ready, order = 0, 0, prints.first_ready(), []
    while ready:
        moves = ((prints.move(done, live, position), position) for position in bits(ready))
        move, position = min(moves, key=lambda item: (item[0].live, item[0].footprint))
        ready = prints.ready(done, ready, position)
        done, live = move.done, move.live
        order.append(position)
    return tuple(order)
