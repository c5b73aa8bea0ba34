"""The strategies of joined plans: each makes programs and judges them, and keeps the best.

What they share is in `JoinedSearch`: the network in the model's order and, where blocks need less
at once in others, in these, with all that is found of their parts. A turn of more work searches the
parts anew whose search was cut short; programs that follow from the same parts are made once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from planners.core.objective import Objective
from planners.core.portfolio import Outcome
from planners.core.progress import Clock
from planners.joined.build import JoinedBuilder, JoinedProgram
from planners.joined.evaluator import Judge, Judged
from planners.joined.local_search import LocalSearch
from planners.joined.options import JoinedOptions
from planners.joined.pool import RoomyBlocks
from planners.joined.segments import Segment, every, looks_of

SLICES = (16, 8, 32, 4)
"""A slice of parameters is the budget over one of these; and half of such a slice."""
MOST_REPAIRS = 3
"""Ways that are taken out one after the other where parameters find no room in them."""


BlocksAndSegments: TypeAlias = tuple[RoomyBlocks, tuple[Segment, ...], tuple[float, float]]
"""Blocks, the segments of them that are best, and what these cost by their estimate."""


@dataclass
class JoinedSearch:
    """A problem of joined plans, and what its strategies have found of its parts.

    `alone`: no other planner is asked, so that fused groups alone are better than nothing.
    """

    builder: JoinedBuilder
    objective: Objective
    options: JoinedOptions
    alone: bool = True
    in_other_order: JoinedBuilder | None = None
    blocks: dict[tuple[int, int], BlocksAndSegments] = field(default_factory=dict)
    """With their best segments, by builder and size of slices."""
    orders: dict[int, list[int]] = field(default_factory=dict)
    """Sizes of slices, in the order in which they are tried, by builder."""
    local: LocalSearch | None = None

    def judge(self, builder: JoinedBuilder) -> Judge:
        """What judges programs of a builder."""
        return Judge(builder, self.objective, self.options)

    def best_segments(self, builder: JoinedBuilder, slice_bytes: int) -> BlocksAndSegments:
        """Blocks with room for slices of parameters, and the segments that are best for them."""
        key = id(builder), slice_bytes
        if key not in self.blocks:
            blocks = builder.blocks(slice_bytes)
            self.builder.clock.report(f"blocks in the pool, slices of {slice_bytes} bytes")
            self.blocks[key] = blocks, *builder.best_segments(blocks)
        return self.blocks[key]

    def slices(self, builder: JoinedBuilder) -> list[int]:
        """Sizes of slices of parameters; where seconds count those first whose segments are best by
        their estimates: in large ones an array makes whole steps, small ones leave more room in the
        pool."""
        if id(builder) not in self.orders:
            sizes = [*dict.fromkeys(builder.slice_bytes(share) for share in SLICES)]
            if builder.objective == "latency":
                sizes.sort(key=lambda size: self.best_segments(builder, size)[2])
            self.orders[id(builder)] = sizes
        return self.orders[id(builder)]

    def outcome(self, best: Judged | None, *, finished: bool | None = None) -> Outcome[Judged]:
        """What a turn of a strategy ends with: nothing is better than the floor of the problem."""
        return Outcome(best, bound=(0, self.objective.floor), finished=finished)


class StrategyTurn:
    """A turn of a strategy: programs made and judged until its clock has expired."""

    def __init__(
        self, search: JoinedSearch, builder: JoinedBuilder, best: Judged | None, clock: Clock
    ) -> None:
        self.search, self.builder, self.best, self.clock = search, builder, best, clock
        self.judge = search.judge(builder)

    @property
    def over(self) -> bool:
        """Whether nothing more is tried."""
        return (self.best is not None and self.judge.met(self.best)) or self.clock.expired()

    def try_slices(self, size: int) -> None:
        """Try what is best for slices of parameters of a size."""
        blocks, best, _ = self.search.best_segments(self.builder, size)
        for segments in self.builder.spills.in_order(blocks, best, self.clock):
            self.try_segments(blocks, segments, size)
            if self.over:
                return

    def try_fused_alone(self, *, anyway: bool = False) -> None:
        """Try all of the network as fused groups: where they do most of the work, or `anyway`."""
        builder = self.builder
        size = self.search.slices(builder)[0]
        blocks, segments, _ = self.search.best_segments(builder, size)
        wanted = anyway or builder.is_mostly_fused(segments)
        if builder.given or (wanted and not builder.in_place):
            self.try_segments(blocks, builder.all_fused(segments), size)

    def try_segments(
        self, blocks: RoomyBlocks, segments: tuple[Segment, ...], slice_bytes: int
    ) -> None:
        """Try segments; where parameters find no room in a way of the pool, without that way."""
        for _ in range(1 + MOST_REPAIRS):
            operator = self._try_sizes(blocks, segments, slice_bytes)
            if not operator or self.over:
                return
            repaired = self.builder.spills.without_way(blocks, segments, operator, self.clock)
            if repaired == segments:
                return
            segments = repaired

    def _try_sizes(
        self, blocks: RoomyBlocks, segments: tuple[Segment, ...], slice_bytes: int
    ) -> str:
        """Try slices of a size and of half of it; the operator that found no room for the last."""
        base = self.builder.unstreamed(blocks, segments, self.clock)
        if base is None:
            return ""
        operator = ""
        for size in self.builder.sizes(base, slice_bytes):
            if size != slice_bytes and self.over:
                break
            self.builder.clock.report(f"parameters streamed, slices of {size} bytes")
            program = self.builder.streamed(base, size)
            if program is not None:
                self.judge_program(program)
            operator = self.builder.no_room_for(base, size)
        return operator

    def judge_program(self, program: JoinedProgram) -> None:
        """Judge a program, and keep it where it is the best."""
        best, judge, objective = self.best, self.judge, self.search.objective
        self.clock.spend(looks_of(program.program))
        value = judge.beforehand(program) if best is not None else None
        if best is None or value is None or objective.better(value, best.value):
            judged = judge.evaluate(program)
            self.builder.note_judged()
            if best is None or judge.better(judged, best):
                self.best = best = judged
        claims = best.plan.claims
        self.builder.clock.report("joined programs", claims.offchip_bytes, claims.bound_bytes)


# ---- the strategies ------------------------------------------------------------------------------


def in_slices(
    rank: int,
) -> Callable[[JoinedSearch, Judged | None, Clock], Outcome[Judged]]:
    """Blocks in the pool, its parameters in slices of the size that has this rank by estimates."""

    def run(search: JoinedSearch, best: Judged | None, clock: Clock) -> Outcome[Judged]:
        turn = StrategyTurn(search, search.builder, best, clock)
        for size in search.slices(search.builder)[rank : rank + 1]:
            turn.try_slices(size)
        if turn.best is None:
            turn.try_fused_alone(anyway=search.alone)
        return search.outcome(turn.best)

    return run


def fused_alone(search: JoinedSearch, best: Judged | None, clock: Clock) -> Outcome[Judged]:
    """All of the network as fused groups."""
    if best is None:
        return search.outcome(None, finished=False)  # It was tried in the place of slices.
    turn = StrategyTurn(search, search.builder, best, clock)
    turn.try_fused_alone()
    return search.outcome(turn.best)


def every_sequence(search: JoinedSearch, best: Judged | None, clock: Clock) -> Outcome[Judged]:
    """Of a small network every sequence of ways, of fused groups and of whole tensors."""
    builder = search.builder
    turn = StrategyTurn(search, builder, best, clock)
    for share in SLICES:
        size = builder.slice_bytes(share)
        blocks = builder.blocks(size, clock=clock.share(0.5))
        for segments in every(blocks, builder.spilled.methods):
            if turn.over:
                return search.outcome(turn.best)
            turn.try_segments(blocks, segments, size)
    return search.outcome(turn.best)


def another_order(search: JoinedSearch, best: Judged | None, clock: Clock) -> Outcome[Judged]:
    """Operators within blocks in the orders that need the least at once."""
    if search.in_other_order is None:
        search.in_other_order = search.builder.in_other_order(clock.share(0.5))
    if search.in_other_order is None:
        return search.outcome(best)
    turn = StrategyTurn(search, search.in_other_order, best, clock)
    for size in search.slices(turn.builder):
        if not turn.over:
            turn.try_slices(size)
    return search.outcome(turn.best)


def better_ways_of_blocks(
    search: JoinedSearch, best: Judged | None, clock: Clock
) -> Outcome[Judged]:
    """Exchanges of one way of a block for another, as long as the plan gets better."""
    if best is None:
        return search.outcome(None, finished=False)
    if search.local is None or search.local.best is not best:
        builder, other = search.builder, search.in_other_order
        if other is not None and best.joined_program.blocks.graph is other.graph:
            builder = other
        search.local = LocalSearch(builder, search.judge(builder), best)
    # It has finished for this plan, and goes on from the next that is better.
    return search.outcome(search.local.run(clock), finished=False)


def breaks_wishes(search: JoinedSearch, best: Judged) -> bool:
    """Whether blocks are to run in other ways for wishes; of a small network all are tried."""
    return search.builder.larger and bool(best.lost)


def may_be_improved(search: JoinedSearch, best: Judged) -> bool:
    """The same, because of wishes or for a better plan."""
    return search.builder.larger and (search.options.improve or bool(best.lost))
