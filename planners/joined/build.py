"""Joined programs of a problem, the most promising first.

A program is made in two stages. Blocks run in the pool or as fused groups (`stretches`), the pool's
parameters read in place; then these are streamed into the bytes that are free (`streamed`). How
large a slice of parameters is decides both how much room the pool leaves for them and how finely
operators are cut: several sizes are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from time import perf_counter

from planners.constraints.language import Wish
from planners.core.graph import Graph
from planners.core.loops import items_of, size_of
from planners.core.machine import Machine
from planners.core.program import Program
from planners.core.progress import Clock
from planners.core.writing import GRACE_S
from planners.joined.consecutive import consecutive
from planners.joined.every import MOST_OPERATORS, every
from planners.joined.fused import FusedPart, FusedParts
from planners.joined.in_place import read_in_place
from planners.joined.orders import reordered
from planners.joined.part import part_of
from planners.joined.pool import KnownLevels, RoomyBlocks, emitted
from planners.joined.spilled import SpilledPart, SpilledParts
from planners.joined.streamed import NoRoom, ParameterStream
from planners.joined.stretches import (
    KEPT,
    SLOWER,
    Spilled,
    Stretch,
    counted,
    stretches,
    without_way,
)
from planners.overlap.emit.count import effort
from planners.overlap.search.chain import cuts

SLICES = (16, 8, 32, 4)
"""A slice of parameters is the budget over one of these; and half of such a slice."""
MOST_SLICES = 2000
"""Smaller slices than so many of all parameters are not tried."""
EACH_S = 5e-5
"""Seconds, about, to write, stream, replay and time an instruction that is not in loops."""
BLOCKS_SHARE, FUSED_SHARE, ONLY_SHARE = 0.25, 0.6, 0.8
"""Of the time that is left, for the pool's blocks, for fused groups, and for these where no block
runs in the pool."""
SPILLED_SHARE = 0.1
"""Of the time that is left, for a stretch as whole tensors with spills."""
MOST_REPAIRS = 3
"""Ways that are taken out one after the other where parameters find no room in them."""
WHOLE_SHARE, LEAST_TIMES = 0.4, 3.0
"""Of the time that is left, for all of the network as fused groups beside stretches of them, where
that is so many times what it takes to write it."""
MOVED_S = 1.0
"""Seconds at most for fused groups where one block of a program runs another way."""
ORDERS_SHARE = 0.1
"""Of the time that is left, for other orders."""
FUSED_S, WRITTEN_S, JUDGED_S = 10e-3, 6e-3, 2e-3
"""Seconds, about, for an operator: to find its fused group, to write, replay and time it, and to
replay and time it alone."""
FULL_S = 20e-3
"""Seconds, about, to write, replay and time what fills the budget once, of what operators of fused
groups read and make."""


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
    levels: KnownLevels = field(default_factory=dict)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    most_fused_s: float = inf
    made: bool = False
    """Whether there was a program."""
    took_s: float = 0.0
    """Seconds to stream and judge the last program."""

    @cached_property
    def fused(self) -> FusedParts:
        """Parts of the network as fused groups."""
        return FusedParts(*self._problem)

    @cached_property
    def spilled(self) -> SpilledParts:
        """Parts of the network as whole tensors with spills."""
        return SpilledParts(*self._problem)

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
        best = tuple(stretches(blocks, list(blocks.ways())))
        for found in self._tried_first(blocks, best):
            base = self._base(blocks, found)
            if base is not None and not self._too_long(base, GRACE_S):
                self.seen.add(_key(found, 0))
                self.made = True
                read = read_in_place(self.graph, self.machine, base)
                yield JoinedProgram(read, found, 0, blocks)

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
        return replace(made, program=base, stretches=found)

    def _counted(self) -> Iterator[JoinedProgram]:
        """Programs whose parameters stream, in slices of several sizes."""
        for share in SLICES:
            if share != SLICES[0] and self.clock.expired():
                return
            size = max(self.budget_bytes // share, -(-self.parameter_bytes // MOST_SLICES))
            blocks = self.blocks(size, BLOCKS_SHARE)
            self.clock.report(f"blocks in the pool, slices of {size} bytes")
            best = tuple(stretches(blocks, list(blocks.ways())))
            for found in self._tried_first(blocks, best):
                yield from self._of(blocks, found, size)
            if self.made and share == SLICES[0] and self._is_mostly_fused(best):
                self.most_fused_s = WHOLE_SHARE * self.clock.left_s
                yield from self._whole_fused(blocks, best, size)
                self.most_fused_s = inf
            for found in every(blocks, self.spilled.hows):
                if self.clock.expired():
                    return
                yield from self._of(blocks, found, size)
        if self.alone and not self.made:  # Parameters found no room in the pool.
            yield from self._whole_fused(blocks, best, size)

    def _is_mostly_fused(self, found: tuple[Stretch, ...]) -> bool:
        """Whether all of the network as fused groups may be better than some of it: where they
        make much of the work, or bytes count, for what crosses between stretches."""
        fused, ops = [stretch for stretch in found if stretch.fused], self.graph.operators
        own, every = (
            sum(op.macs for stretch in some for op in ops[stretch.first : stretch.stop])
            for some in (fused, found)
        )
        whole = Stretch(*self.whole)
        worth = self.larger and self.clock.left_s > LEAST_TIMES * self._written_s(whole)
        return worth and bool(fused) and (self.objective != "latency" or 2 * own > every)

    def _tried_first(
        self, blocks: RoomyBlocks, best: tuple[Stretch, ...]
    ) -> Iterator[tuple[Stretch, ...]]:
        """The stretches, and those with spills: these take less time than fused groups, and come
        first where they are not much slower."""
        slow: list[tuple[Stretch, ...]] = []
        for found in self._with_spills(blocks, best):
            if slow or any(self._crosses_long(blocks, stretch) for stretch in found):
                slow.append(found)
            else:
                yield found
        yield from (best, *slow)

    def _crosses_long(self, blocks: RoomyBlocks, stretch: Stretch) -> bool:
        """Whether what a stretch with spills moves takes longer than fused groups would, about."""
        part = self._spilled(blocks, stretch) if stretch.spilled else None
        if part is None or self.objective == "traffic":
            return False
        rate = self.machine.memory(self.machine.offchip).read_bytes_per_s
        return part.offchip_bytes / rate > SLOWER * blocks.least_s(stretch.first, stretch.stop)

    def _with_spills(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...]
    ) -> Iterator[tuple[Stretch, ...]]:
        """The same with whole tensors and spills in the place of fused groups, where they fit; and
        all of the network so."""
        parts, unfit = sum(s.blocks for s in found), sum(s.unfit for s in found)
        whole = Stretch(*self.whole, blocks=parts, unfit=unfit)
        for how in self.spilled.hows:
            made = tuple(self._spilled_where(blocks, stretch, how) for stretch in found)
            if made != found:
                yield made
            beside = len(found) > 1 and any(stretch.fused for stretch in found)
            # In the pool what several operators read comes for each of them.
            if beside or (how == KEPT and self.objective != "latency" and made == found):
                alone = self._spilled_where(blocks, whole, how)
                if alone.spilled:
                    yield (alone,)

    def _spilled_where(self, blocks: RoomyBlocks, stretch: Stretch, how: Spilled) -> Stretch:
        """A stretch of fused groups as whole tensors where these fit."""
        if not stretch.fused or self.clock.expired():
            return stretch
        other = replace(stretch, spilled=how)
        return stretch if self._spilled(blocks, other) is None else other

    def _spilled(self, blocks: RoomyBlocks, stretch: Stretch) -> SpilledPart | None:
        limit_s = SPILLED_SHARE * self.clock.left_s
        assert stretch.spilled
        return self.spilled.find(blocks, stretch.first, stretch.stop, stretch.spilled, limit_s)

    def _without_way(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...], operator: str
    ) -> tuple[Stretch, ...]:
        """The stretches where the way that has no room for an operator's parameters is none: as
        whole tensors where these fit and were not it, or as fused groups."""
        at = self.graph.index[operator]
        other = tuple(counted(each, blocks.marks, ()) for each in without_way(found, at))
        if any(stretch.spilled and stretch.first <= at < stretch.stop for stretch in found):
            return other
        known = {(stretch.first, stretch.stop) for stretch in found if stretch.fused}
        how = self.spilled.hows[0]
        return tuple(
            each if (each.first, each.stop) in known else self._spilled_where(blocks, each, how)
            for each in other
        )

    def _of(
        self,
        blocks: RoomyBlocks,
        found: tuple[Stretch, ...],
        size: int,
        repairs: int = MOST_REPAIRS,
    ) -> Iterator[JoinedProgram]:
        """The programs of stretches, parameters in slices of a size and of half of it."""
        if all(stretch.fused for stretch in found):
            if self.whole not in self.fused.known:
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
            began = perf_counter()
            try:
                program = stream.streamed(slice_bytes)
            except NoRoom as error:
                unplaced = error.operator
            else:
                self.made, unplaced = True, ""
                yield JoinedProgram(program, found, slice_bytes, blocks)
            self.took_s = perf_counter() - began
        if unplaced and repairs:
            other = self._without_way(blocks, found, unplaced)
            if other != found:
                yield from self._of(blocks, other, size, repairs - 1)

    def _whole_fused(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...], slice_bytes: int
    ) -> Iterator[JoinedProgram]:
        """The same where blocks run in the pool, but for want of time or room not there."""
        if self.whole not in self.fused.known:
            parts = sum(stretch.blocks for stretch in found)
            unfit = sum(stretch.unfit for stretch in found)
            all_fused = (Stretch(*self.whole, blocks=parts, unfit=unfit),)
            yield from self._all_fused(blocks, all_fused, slice_bytes)

    def _all_fused(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...], slice_bytes: int
    ) -> Iterator[JoinedProgram]:
        """All of the network as fused groups, where no block of it runs in the pool."""
        base = self._base(blocks, found)
        if base is not None:
            self.seen.add(_key(found, slice_bytes))
            self.made = True
            yield JoinedProgram(base, found, slice_bytes, blocks)

    def _too_late(self, blocks: RoomyBlocks, found: tuple[Stretch, ...]) -> bool:
        """Whether fused parts that are not known yet, and the program, take more than is left."""
        left_s, seconds = self.clock.left_s + (0.0 if self.made else GRACE_S), 0.0
        unknown = self.fused.unknown(found)
        for stretch in found:
            operators = stretch.stop - stretch.first
            if stretch.spilled:
                spilled = self._spilled(blocks, stretch)
                seconds += EACH_S * size_of(items_of(spilled.program)) if spilled else 0.0
            elif not stretch.fused:
                part = part_of(self.graph, stretch.first, stretch.stop)
                seconds += EACH_S * effort(part, blocks.layout(stretch.ways))
            elif fused := self.fused.known.get((stretch.first, stretch.stop)):
                seconds += EACH_S * size_of(items_of(fused.program))
            else:
                seconds += FUSED_S * operators * (stretch in unknown) + self._written_s(stretch)
        return seconds > left_s

    def _written_s(self, stretch: Stretch) -> float:
        """Seconds, about, to write, stream, replay and time a stretch."""
        ops, size = self.graph.operators[stretch.first : stretch.stop], self.graph.size_bytes
        written_s = WRITTEN_S * len(ops)
        if not stretch.fused:
            return written_s
        crossing = sum(size(name) for op in ops for name in (*op.inputs, *op.outputs))
        return max(written_s, FULL_S * crossing / self.budget_bytes)

    def _too_long(self, program: Program, grace_s: float = 0.0) -> bool:
        """Whether a program cannot be written and judged in the time that is left."""
        return self._too_little(size_of(items_of(program)) * EACH_S, grace_s)

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
                spilled = self._spilled(blocks, stretch)
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
        return consecutive(programs, self.machine, self.budget_bytes)

    def _fused(self, stretch: Stretch, found: tuple[Stretch, ...]) -> FusedPart | None:
        """A stretch as fused groups; a longer search where it is found anew."""
        own = range(stretch.first, stretch.stop)
        unknown = self.fused.unknown(found)
        rest = {p for s in unknown for p in range(s.first, s.stop)} | {*own}
        macs = [op.macs for op in self.graph.operators]
        share = sum(macs[p] for p in own) / max(1, sum(macs[p] for p in rest))
        alone = (stretch.first, stretch.stop) == self.whole  # It is written once, by fusion itself.
        own_s = JUDGED_S * len(self.graph.operators)
        written_s = own_s if alone else sum(map(self._written_s, found))
        left_s = self.clock.left_s - written_s
        if (1 - FUSED_SHARE) * left_s > written_s:  # Else there is no time for other programs.
            share *= ONLY_SHARE if alone and self.larger else FUSED_SHARE
        return self.fused.find(stretch.first, stretch.stop, min(self.most_fused_s, share * left_s))


def _key(found: tuple[Stretch, ...], slice_bytes: int) -> tuple[object, ...]:
    """What a program follows from."""
    return (*((s.first, s.stop, s.layout_key) for s in found), slice_bytes)
