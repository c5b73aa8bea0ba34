"""How a joined program is made of segments, on what all programs of a problem have in common.

A program is made in two stages. Blocks run in the pool or as fused groups (`segments`), the pool's
parameters read in place; then these are streamed into the bytes that are free (`streamed`). How
large a slice of parameters is decides both how much room the pool leaves for them and how finely
operators are cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from planners.core.graph import Graph
from planners.core.loops import is_longer
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.program_size import MOST_WRITTEN, OPERATOR_S
from planners.core.progress import MOST_SHARE, TRIAL_SHARE, Clock, now
from planners.joined.concatenate import consecutive
from planners.joined.fused import FusedParts
from planners.joined.in_place import read_in_place
from planners.joined.pool import KnownLevels, RoomyBlocks, emitted
from planners.joined.segments import EACH_S, MOST_OPERATORS, Segment, best_segments, writing_s
from planners.joined.spilled import SpilledParts, SpilledWays
from planners.joined.streamed import NoRoom, ParameterStream
from planners.joined.subgraph import part_of, reordered
from planners.overlap.emit.count import effort
from planners.overlap.search.chain import cuts
from planners.simulator.engine_assignment import by_directions
from planners.wishes.language import Wish

NEARLY_ALL = 0.9
"""Of the work as fused groups: there is little else to be searched in the time that is left."""
MOST_SLICES = 2000
"""Smaller slices than so many of all parameters are not tried."""


@dataclass(frozen=True, slots=True)
class JoinedProgram:
    """A program and how it was made: its segments, the slices in bytes (0: read in place)."""

    program: Program
    segments: tuple[Segment, ...]
    slice_bytes: int
    blocks: RoomyBlocks


@dataclass(frozen=True, slots=True)
class UnstreamedProgram:
    """A program of segments whose parameters are read in place until they are streamed; `key` is
    what it follows from. `stream` brings them on chip, where they are to come there."""

    program: Program
    segments: tuple[Segment, ...]
    blocks: RoomyBlocks
    key: tuple[object, ...]
    stream: ParameterStream | None


@dataclass
class JoinedBuilder:
    """Makes joined programs of one problem; what they have in common is found once.

    `clock`: that of all of the work, whose seconds say what can be written; searches have clocks of
    their own. `marks`: the positions between which blocks lie, where they are not those of the
    graph in its own order. `given`: a plan of all of the network as fused groups, where one is
    known.
    """

    graph: Graph
    machine: Machine
    budget_bytes: int
    objective: str
    clock: Clock
    in_place: bool = False
    wishes: tuple[Wish, ...] = ()
    marks: tuple[int, ...] = ()
    given: Plan | None = None
    levels: KnownLevels = field(default_factory=dict)
    tried: dict[tuple[object, ...], str] = field(default_factory=dict)
    """By what a program follows from: the operator whose parameters found no room, if one did not.
    """
    has_program: bool = False
    last_s: float = 0.0
    """Seconds from the begin of the last program to its value."""
    begun_s: float = 0.0
    """When the last program was begun."""

    @cached_property
    def fused(self) -> FusedParts:
        """Parts of the network as fused groups."""
        return FusedParts(*self._problem, given=self.given)

    @cached_property
    def spilled(self) -> SpilledParts:
        """Parts of the network as whole tensors with spills."""
        return SpilledParts(*self._problem)

    @cached_property
    def spills(self) -> SpilledWays:
        """What of segments runs with spills."""
        return SpilledWays(self.spilled)

    @property
    def _problem(self) -> tuple[Graph, Machine, int, str, Clock, tuple[Wish, ...], bool]:
        """What parts are planned for."""
        problem = self.graph, self.machine, self.budget_bytes, self.objective, self.clock
        return *problem, self.wishes, self.in_place

    @property
    def whole(self) -> tuple[int, int]:
        """The range of all operators."""
        return 0, len(self.graph.operators)

    @property
    def larger(self) -> bool:
        """Whether the network has too many operators for every sequence of ways to be made."""
        return len(self.graph.operators) > MOST_OPERATORS

    @cached_property
    def parameter_bytes(self) -> int:
        """What all operators read, each time that one reads it."""
        graph = self.graph
        return sum(graph.size_bytes(t) for op in graph.operators for t in op.parameters)

    def in_other_order(self, clock: Clock) -> JoinedBuilder | None:
        """The same with operators in orders that need less at once; None where there are none."""
        marks = tuple(cuts(self.graph))
        graph = reordered(self.graph, marks, clock)
        if graph is None:
            return None
        other = replace(self, graph=graph, marks=marks, levels={}, tried={})
        other.fused = self.fused  # Of the same operators, whatever their order.
        return other

    # ---- blocks and segments --------------------------------------------------------------------

    def slice_bytes(self, share: int) -> int:
        """The slices of parameters that are the budget over `share`; 0 where none stream."""
        least = -(-self.parameter_bytes // MOST_SLICES)
        return 0 if self.in_place else max(self.budget_bytes // share, least)

    def blocks(
        self, slice_bytes: int, part: float = 1.0, clock: Clock | None = None
    ) -> RoomyBlocks:
        """Blocks in a `part` of the budget, with room for slices of parameters; searched in the
        time of a clock, or in a part of all of it."""
        return RoomyBlocks(
            self.graph,
            self.machine,
            int(part * self.budget_bytes),
            slice_bytes,
            clock or self.clock.share(TRIAL_SHARE),
            self.levels,
            in_place=self.in_place,
            marks=self.marks,
        )

    def best_segments(self, blocks: RoomyBlocks) -> tuple[tuple[Segment, ...], tuple[float, float]]:
        """The segments of pool and fused groups that are best by their estimates, and these: bytes
        that cross, where they count, and seconds."""
        by_bytes = self.objective == "traffic"
        segments, cost = best_segments(blocks, list(blocks.ways()), by_bytes=by_bytes)
        return tuple(segments), cost

    def all_fused(self, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """All of the network as fused groups in the place of segments."""
        blocks, unfit = sum(s.blocks for s in segments), sum(s.unfit for s in segments)
        return (Segment(*self.whole, blocks=blocks, unfit=unfit),)

    def is_mostly_fused(self, segments: tuple[Segment, ...]) -> bool:
        """Whether fused groups do more than half of the work, or bytes count: what crosses between
        segments may then cost more than the pool saves."""
        fused = [p for each in segments if each.fused for p in range(each.first, each.stop)]
        every = range(len(self.graph.operators))
        return self.objective != "latency" or 2 * _share_of_work(self.graph, fused, every) > 1

    # ---- programs --------------------------------------------------------------------------------

    def unstreamed(
        self, blocks: RoomyBlocks, segments: tuple[Segment, ...], clock: Clock
    ) -> UnstreamedProgram | None:
        """The program of segments before its parameters are streamed; None where a part of it has
        none, where it is too long, or where there is no time to write it."""
        if not self._find_parts(blocks, segments, clock) or not self._may_write(blocks, segments):
            return None
        program = self._concatenated(blocks, segments)
        if is_longer(program, MOST_WRITTEN) or not self.may_judge(program, segments):
            return None
        stream = None
        if not self.in_place and not all(segment.fused for segment in segments):
            stream = ParameterStream(self.graph, self.machine, program, self.budget_bytes)
        return UnstreamedProgram(program, segments, blocks, self._key(blocks, segments), stream)

    def sizes(self, base: UnstreamedProgram, slice_bytes: int) -> list[int]:
        """The sizes of slices that are tried: the given one, and half of it."""
        if base.stream is None:
            return [slice_bytes]
        least = self.parameter_bytes / MOST_SLICES
        return [size for size in (slice_bytes, slice_bytes // 2) if size >= least]

    def streamed(self, base: UnstreamedProgram, slice_bytes: int) -> JoinedProgram | None:
        """The program with parameters in slices of a size; None where it was made before, or where
        some find no room (`no_room_for`)."""
        key = self._stream_key(base, slice_bytes)
        if key in self.tried or not self.may_judge(base.program, base.segments):
            return None
        program, self.tried[key], self.begun_s = base.program, "", now()
        if self.in_place:
            program = read_in_place(self.graph, self.machine, program)
        elif base.stream is not None:
            try:
                program = base.stream.streamed(slice_bytes)
            except NoRoom as error:
                self.tried[key] = error.operator
                return None
        self.has_program = True
        # Transfers name their engines, so that it is judged as it is returned.
        return JoinedProgram(by_directions(program), base.segments, slice_bytes, base.blocks)

    def no_room_for(self, base: UnstreamedProgram, slice_bytes: int) -> str:
        """The operator whose parameters found no room, where one did not."""
        return self.tried.get(self._stream_key(base, slice_bytes), "")

    def may_judge(self, program: Program, segments: tuple[Segment, ...] = ()) -> bool:
        """Whether there is time to judge a program of segments; for a first one of fused groups
        alone always."""
        if len(segments) == 1 and segments[0].fused and not self.has_program:
            return True
        return self._allows(max(writing_s(program), self.last_s))

    def note_judged(self) -> None:
        """Take note of how long the last program took: the next may take as long."""
        self.last_s = now() - self.begun_s

    def _may_write(self, blocks: RoomyBlocks, segments: tuple[Segment, ...]) -> bool:
        """The same of segments whose parts are found and not all written."""
        instructions = 0.0
        for segment in segments:
            if segment.ways:
                part = part_of(self.graph, segment.first, segment.stop)
                instructions += effort(part, blocks.layout(segment.ways))
        return self._allows(EACH_S * instructions)

    def _allows(self, seconds: float) -> bool:
        """Whether there is time for something; for a first program there is as much as the limit,
        whatever is left of it."""
        return self.clock.allows(seconds - (0.0 if self.has_program else self.clock.whole_limit_s))

    def _stream_key(self, base: UnstreamedProgram, slice_bytes: int) -> tuple[object, ...]:
        return base.key, slice_bytes if base.stream is not None else 0

    def _key(self, blocks: RoomyBlocks, segments: tuple[Segment, ...]) -> tuple[object, ...]:
        """What a program follows from: its segments, and the work that their parts had."""
        return tuple(
            (each.first, each.stop, each.layout_key, self._work(blocks, each)) for each in segments
        )

    def _work(self, blocks: RoomyBlocks, segment: Segment) -> float:
        if segment.ways:
            return 0
        if segment.spilled:
            return self.spilled.work(blocks, segment.first, segment.stop, segment.spilled)
        return self.fused.work(segment.first, segment.stop)

    def _find_parts(self, blocks: RoomyBlocks, segments: tuple[Segment, ...], clock: Clock) -> bool:
        """Find what runs as fused groups or with spills; False where one of them has no plan."""
        for segment in segments:
            if segment.spilled and self.spills.part(blocks, segment, clock) is None:
                return False
        unsearched = self.fused.unsearched(segments, clock)
        operators = sum(segment.stop - segment.first for segment in unsearched)
        if self.has_program and not self.clock.allows(OPERATOR_S * operators):
            return False
        every = {p for each in unsearched for p in range(each.first, each.stop)}
        searching_s = self._searching_share(every) * clock.left_s
        for segment in segments:
            if segment.fused:
                rest = {p for each in unsearched for p in range(each.first, each.stop)}
                positions = range(segment.first, segment.stop)
                part = clock.share(_share_of_work(self.graph, positions, rest | {*positions}))
                seconds = searching_s * _share_of_work(self.graph, positions, every | {*positions})
                left_s = clock.left_s
                part = part.of_time(min(1.0, seconds / left_s) if left_s else 1.0)
                if segment in unsearched:
                    unsearched.remove(segment)
                if self.fused.find(segment.first, segment.stop, part) is None:
                    return False
        return True

    def _searching_share(self, positions: Collection[int]) -> float:
        """Of the time that is left, for the search of operators as fused groups: half of the rest
        more where these are nearly all of the work."""
        share = _share_of_work(self.graph, positions, range(len(self.graph.operators)))
        return (1 + MOST_SHARE) / 2 if share > NEARLY_ALL else MOST_SHARE

    def _concatenated(self, blocks: RoomyBlocks, segments: tuple[Segment, ...]) -> Program:
        """The program of segments whose parts are found, the pool's parameters in place."""
        programs = [self._part_program(blocks, segment) for segment in segments]
        if len(segments) == 1 and segments[0].fused:
            return programs[0]
        return consecutive(programs, self.machine, self.budget_bytes)

    def _part_program(self, blocks: RoomyBlocks, segment: Segment) -> Program:
        first, stop = segment.first, segment.stop
        if segment.ways:
            whole = (first, stop) == self.whole
            part = self.graph if whole else part_of(self.graph, first, stop)
            return emitted(part, self.machine, blocks.layout(segment.ways))
        if segment.spilled:
            spilled = self.spilled.part(blocks, first, stop, segment.spilled)
            assert spilled is not None
            return spilled.program
        fused = self.fused.part(first, stop)
        assert fused is not None
        return fused.program


def _share_of_work(graph: Graph, some: Iterable[int], of: Iterable[int]) -> float:
    """The share of multiply-accumulates that operators have of those of others; each has one."""
    macs = [max(1, op.macs) for op in graph.operators]
    return sum(macs[p] for p in some) / max(1, sum(macs[p] for p in of))
