"""Joined programs of a problem, the most promising first.

A program is made in two stages. Blocks run in the pool or as fused groups (`stretches`), the pool's
parameters read in place; then these are streamed into the bytes that are free (`streamed`). How
large a slice of parameters is decides both how much room the pool leaves for them and how finely
operators are cut: several sizes are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from planners.constraints.language import Wish
from planners.core.graph import Graph
from planners.core.loops import is_longer
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.program_size import GRACE_S, MOST_WRITTEN
from planners.core.progress import Clock, now
from planners.joined.concatenate import consecutive
from planners.joined.fused import FusedPart, FusedParts
from planners.joined.in_place import read_in_place
from planners.joined.pool import KnownLevels, RoomyBlocks, emitted
from planners.joined.segments import (
    EACH_S,
    JUDGED_S,
    MOST_OPERATORS,
    Stretch,
    every,
    found_s,
    known_s,
    stretches,
    written_s,
)
from planners.joined.spilled import SpilledParts, SpilledWays
from planners.joined.streamed import NoRoom, ParameterStream
from planners.joined.subgraph import part_of, reordered
from planners.overlap.emit.count import effort
from planners.overlap.search.chain import cuts
from planners.simulator.engine_assignment import by_directions

SLICES = (16, 8, 32, 4)
"""A slice of parameters is the budget over one of these; and half of such a slice."""
MOST_SLICES = 2000
"""Smaller slices than so many of all parameters are not tried."""
BLOCKS_SHARE, FUSED_SHARE, ONLY_SHARE = 0.25, 0.6, 0.8
"""Of the time that is left, for the pool's blocks, for fused groups, and for these where few blocks
run in the pool."""
MOST_OF_IT = 0.9
"""Of the operators, in one stretch of fused groups: few blocks run in the pool."""
MOST_REPAIRS = 3
"""Ways that are taken out one after the other where parameters find no room in them."""
WHOLE_SHARE, LEAST_TIMES = 0.4, 3.0
"""Of the time that is left, for all of the network as fused groups beside stretches of them, where
that is so many times what it takes to write it."""
MOVED_S = 1.0
"""Seconds at most for fused groups where one block of a program runs another way."""
ORDERS_SHARE = 0.1
"""Of the time that is left, for other orders."""


@dataclass(frozen=True, slots=True)
class JoinedProgram:
    """A program and how it was made: its stretches, the slices in bytes (0: read in place)."""

    program: Program
    stretches: tuple[Stretch, ...]
    slice_bytes: int
    blocks: RoomyBlocks


@dataclass
class JoinedBuilder:
    """Makes joined programs of one problem; what they have in common is found once.

    `alone`: no other planner is asked, so that fused groups are better than nothing. `marks`: the
    positions between which blocks lie, where they are not those of the graph in its own order.
    `given`: a plan of all of the network as fused groups, where one is known.
    """

    graph: Graph
    machine: Machine
    budget_bytes: int
    objective: str
    clock: Clock
    in_place: bool = False
    alone: bool = True
    wishes: tuple[Wish, ...] = ()
    marks: tuple[int, ...] = ()
    given: Plan | None = None
    levels: KnownLevels = field(default_factory=dict)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    most_fused_s: float = inf
    made: bool = False
    """Whether there was a program."""
    all_fused: bool = False
    """Whether all of the network was tried as fused groups."""
    took_s: float = 0.0
    """Seconds to stream and judge the last program."""

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
        """What of stretches runs with spills."""
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

    def programs(self) -> Iterator[JoinedProgram]:
        """Programs that differ in their stretches or slices, until the time is over."""
        if self.in_place:
            yield from self._in_place()
        else:
            yield from self._counted()

    def _in_place(self) -> Iterator[JoinedProgram]:
        """The program of the best stretches, its parameters read at their home."""
        blocks = self.blocks(0, BLOCKS_SHARE)
        best = self._stretches(blocks)
        for found in self.spills.tried_first(blocks, best):
            base = self._base(blocks, found)
            if base is not None and not self._too_long(base, GRACE_S):
                self.seen.add(_key(found, 0))
                self.made = True
                read = read_in_place(self.graph, self.machine, base)
                yield _named(read, found, 0, blocks)

    def blocks(self, slice_bytes: int, share: float, part: float = 1.0) -> RoomyBlocks:
        """Blocks in a `part` of the budget, searched in a `share` of the time that is left."""
        return RoomyBlocks(
            self.graph,
            self.machine,
            int(part * self.budget_bytes),
            slice_bytes,
            self.clock.share(share),
            self.levels,
            in_place=self.in_place,
            marks=self.marks,
        )

    def _stretches(self, blocks: RoomyBlocks) -> tuple[Stretch, ...]:
        by_bytes = self.objective == "traffic"
        return tuple(stretches(blocks, list(blocks.ways()), by_bytes=by_bytes))

    def in_other_order(self) -> JoinedBuilder | None:
        """The same with operators in orders that need less at once; None where there are none."""
        marks = tuple(cuts(self.graph))
        graph = reordered(self.graph, marks, self.clock.share(ORDERS_SHARE))
        if graph is None:
            return None
        other = replace(self, graph=graph, marks=marks, levels={}, seen=set())
        other.fused = self.fused  # Of the same operators, whatever their order.
        return other

    def again(self, made: JoinedProgram, found: tuple[Stretch, ...]) -> JoinedProgram | None:
        """A program of other stretches, in slices as large; None where it was made before, does not
        fit, or takes too long."""
        key = _key(found, made.slice_bytes)
        if key in self.seen:
            return None
        self.seen.add(key)
        if self._too_late(made.blocks, found):
            return None
        self.most_fused_s = MOVED_S
        base = self._base(made.blocks, found)
        if base is None or self._too_long(base):
            return None
        if self.in_place:
            base = read_in_place(self.graph, self.machine, base)
        elif any(not stretch.fused for stretch in found):
            stream = ParameterStream(self.graph, self.machine, base, self.budget_bytes)
            try:
                base = stream.streamed(made.slice_bytes)
            except NoRoom:
                return None
        return _named(base, found, made.slice_bytes, made.blocks)

    def _counted(self) -> Iterator[JoinedProgram]:
        """Programs whose parameters stream, in slices of several sizes."""
        for share in SLICES:
            if share != SLICES[0] and self.clock.expired():
                return
            size = max(self.budget_bytes // share, -(-self.parameter_bytes // MOST_SLICES))
            blocks = self.blocks(size, BLOCKS_SHARE)
            self.clock.report(f"blocks in the pool, slices of {size} bytes")
            best = self._stretches(blocks)
            for found in self.spills.tried_first(blocks, best):
                yield from self._of(blocks, found, size)
            if self.made and share == SLICES[0] and (self.given or self._may_be_fused(best)):
                self.most_fused_s = WHOLE_SHARE * self.clock.left_s
                yield from self._whole_fused(blocks, best, size)
                self.most_fused_s = inf
            for found in every(blocks, self.spilled.hows):
                if self.clock.expired():
                    return
                yield from self._of(blocks, found, size)
        if (self.alone or self.given) and not self.made:  # Parameters found no room in the pool.
            yield from self._whole_fused(blocks, best, size)

    def _may_be_fused(self, found: tuple[Stretch, ...]) -> bool:
        """Whether all of the network as fused groups may be better than some of it: where they
        make much of the work, or bytes count, for what crosses between stretches."""
        if self.clock.left_s <= LEAST_TIMES * self._written_s(Stretch(*self.whole)):
            return False
        fused = [p for each in found if each.fused for p in range(each.first, each.stop)]
        every = range(len(self.graph.operators))
        return self.objective != "latency" or 2 * _share_of_work(self.graph, fused, every) > 1

    def _of(
        self,
        blocks: RoomyBlocks,
        found: tuple[Stretch, ...],
        size: int,
        repairs: int = MOST_REPAIRS,
    ) -> Iterator[JoinedProgram]:
        """The programs of stretches, parameters in slices of a size and of half of it."""
        if all(stretch.fused for stretch in found):
            yield from self._all_fused(blocks, found, size)
            return
        if self._too_late(blocks, found):
            self.clock.end()
            if self.alone and not self.made:
                yield from self._whole_fused(blocks, found, size)
            return
        base = self._base(blocks, found)
        if base is None or self._too_long(base, 0.0 if self.made else GRACE_S):
            return
        stream, unplaced = ParameterStream(self.graph, self.machine, base, self.budget_bytes), ""
        for slice_bytes in (size, size // 2):
            key = _key(found, slice_bytes)
            if key in self.seen or slice_bytes * MOST_SLICES < self.parameter_bytes:
                continue
            if self.made and (self._too_long(base) or self._too_little(self.took_s)):
                return
            self.seen.add(key)
            self.clock.report(f"parameters streamed, slices of {slice_bytes} bytes")
            began = now()
            try:
                program = stream.streamed(slice_bytes)
            except NoRoom as error:
                unplaced = error.operator
            else:
                self.made, unplaced = True, ""
                yield _named(program, found, slice_bytes, blocks)
            self.took_s = now() - began
        if unplaced and repairs:
            other = self.spills.without_way(blocks, found, unplaced)
            if other != found:
                yield from self._of(blocks, other, size, repairs - 1)

    def _whole_fused(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...], slice_bytes: int
    ) -> Iterator[JoinedProgram]:
        """The same where blocks run in the pool, but for want of time or room not there."""
        parts = sum(stretch.blocks for stretch in found)
        unfit = sum(stretch.unfit for stretch in found)
        all_fused = (Stretch(*self.whole, blocks=parts, unfit=unfit),)
        yield from self._all_fused(blocks, all_fused, slice_bytes)

    def _all_fused(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...], slice_bytes: int
    ) -> Iterator[JoinedProgram]:
        """All of the network as fused groups, where no block of it runs in the pool."""
        if self.all_fused or (self.made and self.clock.expired()):
            return
        self.all_fused = True
        base = self._base(blocks, found)
        if base is not None:
            self.seen.add(_key(found, slice_bytes))
            self.made = True
            yield _named(base, found, slice_bytes, blocks)

    def _too_late(self, blocks: RoomyBlocks, found: tuple[Stretch, ...]) -> bool:
        """Whether fused parts that are not known yet, and the program, take more than is left."""
        left_s, seconds = self.clock.left_s + (0.0 if self.made else GRACE_S), 0.0
        unknown = self.fused.unknown(found)
        for stretch in found:
            if stretch.spilled:
                spilled = self.spills.part(blocks, stretch)
                seconds += known_s(spilled.program) if spilled else 0.0
            elif not stretch.fused:
                part = part_of(self.graph, stretch.first, stretch.stop)
                seconds += EACH_S * effort(part, blocks.layout(stretch.ways))
            elif fused := self.fused.known.get((stretch.first, stretch.stop)):
                seconds += known_s(fused.program)
            else:
                seconds += found_s(stretch) * (stretch in unknown) + self._written_s(stretch)
        return seconds > left_s

    def _written_s(self, stretch: Stretch) -> float:
        return written_s(self.graph, stretch, self.budget_bytes)

    def _too_long(self, program: Program, grace_s: float = 0.0) -> bool:
        """Whether a program cannot be written and judged in the time that is left."""
        return self._too_little(known_s(program), grace_s)

    def _too_little(self, seconds: float, grace_s: float = 0.0) -> bool:
        """Whether less is left than so many seconds, which then ends the search."""
        if seconds <= self.clock.left_s + grace_s:
            return False
        self.clock.end()
        return True

    def _base(self, blocks: RoomyBlocks, found: tuple[Stretch, ...]) -> Program | None:
        """The program with the pool's parameters in place; None where a fused part has none."""
        programs = []
        for stretch in found:
            alone = (stretch.first, stretch.stop) == self.whole
            part = self.graph if alone else part_of(self.graph, stretch.first, stretch.stop)
            if stretch.spilled:
                spilled = self.spills.part(blocks, stretch)
                if spilled is None:
                    return None
                programs.append(spilled.program)
                continue
            if not stretch.fused:
                layout = blocks.layout(stretch.ways)
                programs.append(emitted(part, self.machine, layout))
                continue
            fused = self._fused(stretch, found)
            if fused is None or (not alone and self._too_long(fused.program, GRACE_S)):
                return None
            if alone:
                return fused.program
            programs.append(fused.program)
        made = consecutive(programs, self.machine, self.budget_bytes)
        return None if is_longer(made, MOST_WRITTEN) else made

    def _fused(self, stretch: Stretch, found: tuple[Stretch, ...]) -> FusedPart | None:
        """A stretch as fused groups; a longer search where it is found anew."""
        own = range(stretch.first, stretch.stop)
        unknown = self.fused.unknown(found)
        rest = {p for s in unknown for p in range(s.first, s.stop)} | {*own}
        share = _share_of_work(self.graph, own, rest) if self.larger else len(own) / len(rest)
        alone = (stretch.first, stretch.stop) == self.whole  # It is written once, by fusion itself.
        own_s = JUDGED_S * len(self.graph.operators)
        made_s = own_s if alone else sum(map(self._written_s, found))
        left_s = self.clock.left_s - made_s
        if (1 - FUSED_SHARE) * left_s > made_s:  # Else there is no time for other programs.
            most = self.larger and len(own) > MOST_OF_IT * len(self.graph.operators)
            share *= ONLY_SHARE if most else FUSED_SHARE
        return self.fused.find(stretch.first, stretch.stop, min(self.most_fused_s, share * left_s))


def _named(
    program: Program, found: tuple[Stretch, ...], slice_bytes: int, blocks: RoomyBlocks
) -> JoinedProgram:
    """A program whose transfers name their engines, so that it is judged as it is returned."""
    return JoinedProgram(by_directions(program), found, slice_bytes, blocks)


def _key(found: tuple[Stretch, ...], slice_bytes: int) -> tuple[object, ...]:
    """What a program follows from."""
    return (*((s.first, s.stop, s.layout_key) for s in found), slice_bytes)


def _share_of_work(graph: Graph, some: Iterable[int], of: Iterable[int]) -> float:
    """The share of multiply-accumulates that operators have of those of others; each has one."""
    macs = [max(1, op.macs) for op in graph.operators]
    return sum(macs[p] for p in some) / max(1, sum(macs[p] for p in of))
