"""The minimum peak memory footprint over all schedules (MP, and the MPMF schedule; eqs. 13–15).

A bottleneck shortest path over the sets D of executed operators: the least peak at which D can be
reached. An operator that fits under the least open peak and leaves no more behind than it found
is run at once: brought forward in any continuation it raises no footprint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from planners.core.best_first import NO_LIMIT, BestFirstSearch, SearchNode
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.progress import Clock, TimeOver
from planners.core.services import Pairs, Peak, Shares
from planners.cosma.model.constraints import WishedStays, positions_before
from planners.cosma.order.rules import PEAK_RULES, PeakRules

MOVES_A_LOOK = 2048
"""Moves between two looks at the clock: some milliseconds."""


PEAK_WORK = 256
"""Looks at the clock for an order of least peak on the way to something else: a second or two."""


class _Op(NamedTuple):
    predecessors: int
    fresh: int  # bytes of outputs
    inputs: tuple[tuple[int, int, bool], ...]  # size, consumers, not made by an operator
    unread: int  # bytes of outputs that nothing reads
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
        self.shares = shares
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
        dying = op.unread
        for size, consumers, external in op.inputs:
            if external and not consumers & done:
                footprint += size
            if not consumers & ~after:
                dying += size
        live = footprint - dying
        if self.shares is not None:
            footprint -= self.shares(position, after)
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
        unread=sum(size for size, consumers in outputs if not consumers),
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
    search = PeakSearch(prints)
    search.run(clock, max_states)
    if search.goal is not None:
        return Peak(search.least, search.least, search.schedule(), search.states)
    given = tuple(range(len(prints.ops)))
    schedules = [_greedy(prints)]
    if all(not op.predecessors >> i for i, op in enumerate(prints.ops)):
        schedules.insert(0, given)
    peaks = [prints.peak(order) for order in schedules]
    best = min(range(len(schedules)), key=peaks.__getitem__)
    return Peak(peaks[best], min(search.least, peaks[best]), schedules[best], search.states)


_Node: TypeAlias = SearchNode[int, int, tuple[int, ...]]


class PeakSearch(BestFirstSearch[int, int, tuple[int, ...]]):
    """Over sets of executed operators; what is live and ready after each, it decides."""

    def __init__(self, prints: Footprints, rules: PeakRules = PEAK_RULES) -> None:
        super().__init__(NO_LIMIT, 0)
        self.prints, self.rules = prints, rules
        self.moves, self._look_at = 0, MOVES_A_LOOK
        self._after: dict[int, tuple[int, int]] = {0: (0, prints.first_ready())}
        self.begin(0, 0, ())

    def schedule(self) -> tuple[int, ...]:
        """The schedule of least peak."""
        return tuple(position for node in self.path() for position in node[2])

    def is_goal(self, state: int) -> bool:
        return state == self.prints.all

    def rank(self, state: int) -> tuple[int, int]:
        return -state.bit_count(), state

    def expand(
        self, node: _Node, clock: Clock | None
    ) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Run each operator that is ready, and all that raise nothing after it.

        Raises `TimeOver` once in a while, where the clock has expired: where hundreds of operators
        are ready, one state takes seconds.
        """
        done, peak, _, _ = node
        reached = self.reached if self.rules.reached else {}
        live, ready = self._after[done]
        run, ready_after = self.prints.move, self.prints.ready
        for position in bits(ready):
            self.moves += 1
            if self.moves >= self._look_at:
                self._look(clock)
            move = run(done, live, position)
            cost = max(peak, move.footprint)
            before = reached.get(move.done)
            if before is not None and before <= cost:
                continue
            state, rest, path = self._dive(cost, move, ready_after(done, ready, position), clock)
            self._after[state.done] = state.live, rest
            yield cost, state.done, (position, *path)

    def _look(self, clock: Clock | None) -> None:
        self._look_at = self.moves + MOVES_A_LOOK
        if clock is not None and clock.expired():
            raise TimeOver

    def _dive(
        self, peak: int, move: Move, ready: int, clock: Clock | None
    ) -> tuple[Move, int, list[int]]:
        """Run all operators that raise nothing, one after the other."""
        path: list[int] = []
        run, ops = self.prints.move, self.prints.ops
        while self.rules.free_runs:
            if self.moves >= self._look_at:
                self._look(clock)
            room = peak - move.live if self.prints.shares is None else NO_LIMIT
            rest = ready
            while rest:  # As `bits`, in place: most of the time is spent here.
                low = rest & -rest
                rest ^= low
                position = low.bit_length() - 1
                self.moves += 1
                if ops[position].fresh > room:
                    continue
                then = run(move.done, move.live, position)
                if then.footprint <= peak and then.live <= move.live:
                    ready = self.prints.ready(move.done, ready, position)
                    path.append(position)
                    move = then
                    break
            else:
                break
        return move, ready, path


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
