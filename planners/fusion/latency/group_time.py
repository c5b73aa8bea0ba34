"""How long a group takes on the engines of a machine: its own program, timed once.

Seconds of work are those of the scoreboard's instructions. When each starts is found on a small
scoreboard of the group alone: engines in program order, hazards on its own bytes, all that it
loads in place off chip. Long loops are timed for a few rounds and then go on at that pace, so that
`alone_s` is an estimate there. The seconds of work are exact, or those of a few strips, which the
others are like.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from planners.core.engines import by_direction
from planners.core.graph import Graph
from planners.core.loops import moved
from planners.core.machine import Machine
from planners.core.program import (
    AddressSpace,
    Compute,
    Instruction,
    Item,
    Load,
    Region,
    Repeat,
    Store,
)
from planners.fusion.emit.group import GroupEmitter
from planners.fusion.emit.laid import LaidGroup, memories_of
from planners.fusion.emit.residents import Residents
from planners.simulator.hazards import Event, Hazards
from planners.simulator.timing import Durations

ENGINES = ("compute", "dma_in", "dma_out")


class TimedOf(NamedTuple):
    """What is timed of a group: rounds of each loop, of which the rest goes on like the last, and
    instructions, of which the rest goes on at the pace of those before."""

    rounds: int
    instructions: int


ESTIMATE, EXACT = TimedOf(6, 1500), TimedOf(1 << 30, 12_000)
SAMPLE = 8
"""Strips that are written for an estimate; the later half is what the others are like."""


@dataclass(frozen=True, slots=True)
class GroupPace:
    """Seconds of a group: of work on each engine, of loads that are there `early`, from the first
    instruction to the last where none is, and from when these are there."""

    compute_s: float
    in_s: float
    out_s: float
    early_s: float
    alone_s: float
    ready_s: float


class GroupPacer:
    """Times groups of a graph on a machine within a budget in bytes."""

    def __init__(self, graph: Graph, machine: Machine, budget_bytes: int) -> None:
        self.graph, self.machine, self.budget_bytes = graph, machine, budget_bytes
        self.residents = Residents(graph, machine)

    def work(self, laid: LaidGroup, *, exact: bool = False) -> GroupWork:
        """What a group does by itself, not yet timed: all of it, or a few strips."""
        spaces = AddressSpace(memories_of(self.machine, (laid,), self.budget_bytes))
        emitter = GroupEmitter(self.residents, laid, 0)
        durations = Durations(self.machine, spaces, self.graph)
        work = GroupWork(spaces, durations, [*emitter.load_early(0)])
        if exact:
            work.add(emitter.run())
        else:
            passes = len(laid.arranger.passes())
            rounds = passes * emitter.batches * laid.arranger.bands.count
            work.add_like([*emitter.sample(SAMPLE)], laid.plan.strips // rounds, rounds, passes)
        return work


class GroupWork:
    """Seconds of a group's instructions by engine, those of loops times their rounds.

    `early` of its items are there before it begins, where there is room for them.
    """

    def __init__(
        self, spaces: AddressSpace, durations: Durations, early: list[Instruction]
    ) -> None:
        self.spaces, self.durations, self.early = spaces, durations, early
        self.items: list[Item] = []
        self.later: list[Item] = []
        self.later_times, self.again_s = 0.0, 0.0
        self.seconds = dict.fromkeys(ENGINES, 0.0)
        self._known: dict[object, float] = {}
        self._count(early, 1, self.seconds)
        self.early_s = self.seconds["dma_in"]

    @property
    def least_s(self) -> float:
        """No engine is done earlier."""
        return max(self.seconds.values())

    def pace(self, *, exact: bool = False) -> GroupPace:
        """The pace of the group by itself; `exact` where it is not too long for that."""
        limits = EXACT if exact else ESTIMATE
        seconds = self.seconds
        alone_s = ready_s = max(_Board(self, limits, seconds).makespan(self.early), self.least_s)
        if self.early:
            rest = {**seconds, "dma_in": seconds["dma_in"] - self.early_s}
            ready_s = max(_Board(self, limits, rest).makespan(), *rest.values())
        return GroupPace(
            compute_s=seconds["compute"],
            in_s=seconds["dma_in"],
            out_s=seconds["dma_out"],
            early_s=self.early_s,
            alone_s=alone_s,
            ready_s=min(ready_s, alone_s),
        )

    def add(self, items: Iterable[Item]) -> None:
        """What else it does."""
        more = [*items]
        self.items += more
        self._count(more, 1, self.seconds)

    def add_like(self, strips: Sequence[list[Item]], count: int, rounds: int, passes: int) -> None:
        """So many rounds of so many strips like these, the first of them and a few after it.

        What is there before it begins is loaded again in each pass over the channels but the first,
        when the one before is done with its place.
        """
        half = len(strips) // 2
        for number, strip in enumerate(strips):
            alike = (count - half) / (len(strips) - half) if number >= half else 1.0
            self._count(strip, rounds * alike, self.seconds)
            (self.later if number >= half else self.items).extend(strip)
        self.later_times = (rounds * count - len(strips)) / (len(strips) - half)
        self.again_s = (passes - 1) * self.early_s
        self.seconds["dma_in"] += self.again_s

    def _count(self, items: Iterable[Item], times: float, seconds: dict[str, float]) -> None:
        """Add the seconds of these, so many times."""
        for item in items:
            match item:
                case Repeat():
                    self._count(item.body, times * item.count, seconds)
                case Load() | Store():
                    seconds[by_direction(item)] += times * self.seconds_of(item)
                case Compute():
                    seconds["compute"] += times * self.seconds_of(item)

    def seconds_of(self, item: Instruction) -> float:
        """Seconds of an instruction; of alike ones once."""
        match item:
            case Load() | Store():
                key: object = (item.source.memory, item.target.memory, item.source.size_bytes)
            case Compute(sums=None, parts=()):
                reads = tuple([(o.region.memory, o.region.size_bytes) for o in item.reads])
                writes = tuple([(o.region.memory, o.region.size_bytes) for o in item.writes])
                key = (item.macs, reads, writes)
            case _:
                return self.durations(_with_sums(item))
        if key not in self._known:
            self._known[key] = self.durations(item)
        return self._known[key]


def _with_sums(item: Instruction) -> Instruction:
    """A part of a sum after the first reads what it adds to."""
    if isinstance(item, Compute) and item.sums and item.sums[0]:
        return Compute(
            item.step,
            item.operator,
            (*item.reads, *item.writes),
            item.writes,
            item.macs,
            sums=item.sums,
            parts=item.parts,
        )
    return item


class _Board:
    """When engines are free and bytes are settled, in a group's own memories."""

    def __init__(self, work: GroupWork, limits: TimedOf, whole: Mapping[str, float]) -> None:
        self.spaces, self.work, self.limits, self.whole = work.spaces, work, limits, whole
        self.free = dict.fromkeys(ENGINES, 0.0)
        self.ranges: dict[str, Hazards] = defaultdict(Hazards)
        self.timed = 0
        self.worked = dict.fromkeys(ENGINES, 0.0)

    def makespan(self, early: Iterable[Item] = ()) -> float:
        """From the first instruction to the end of the last, with those that come early before it;
        what is not timed goes on alike."""
        self.run((*early, *self.work.items))
        before_s = max(self.free.values())
        self.run(self.work.later)
        timed_s = max(self.free.values())
        if self.timed <= self.limits.instructions:
            return timed_s + self.work.later_times * (timed_s - before_s) + self.work.again_s
        busiest = max(self.whole, key=lambda engine: self.whole[engine])
        return timed_s * max(1.0, self.whole[busiest] / (self.worked[busiest] or float("inf")))

    def run(self, items: Iterable[Item]) -> None:
        """Time these, one after the other, but for those beyond the limit."""
        for item in items:
            if self.timed > self.limits.instructions:
                return
            if isinstance(item, Repeat):
                self._loop(item)
            else:
                self._one(item)

    def _loop(self, loop: Repeat) -> None:
        before: dict[str, float] = {}
        since = self.timed
        for k in range(min(loop.count, self.limits.rounds)):
            before, worked = dict(self.free), dict(self.worked)
            self.run(moved(i, m, k) for i, m in zip(loop.body, loop.moves, strict=True))
        rest = loop.count - self.limits.rounds
        if rest > 0 and self.timed <= self.limits.instructions:
            gained = {engine: now - before[engine] for engine, now in self.free.items()}
            for engine, seconds in gained.items():
                self.free[engine] += rest * seconds
                self.worked[engine] += rest * (self.worked[engine] - worked[engine])
            for hazards in self.ranges.values():
                hazards.delay(since + 1, rest * max(gained.values()))

    def _one(self, item: Item) -> None:
        self.timed += 1
        match item:
            case Load():
                self._issue(by_direction(item), (), (item.target,), self.work.seconds_of(item))
            case Store():
                self._issue(by_direction(item), (item.source,), (), self.work.seconds_of(item))
            case Compute():
                reads = [region for _, region in item.reads]
                writes = [region for _, region in item.writes]
                if item.sums and item.sums[0]:
                    reads += writes
                self._issue("compute", reads, writes, self.work.seconds_of(item))

    def _issue(
        self, engine: str, reads: Iterable[Region], writes: Iterable[Region], seconds: float
    ) -> None:
        start = self.free[engine]
        reading = [(self.ranges[s.memory], s) for r in reads for s in self.spaces.spans(r)]
        writing = [(self.ranges[s.memory], s) for r in writes for s in self.spaces.spans(r)]
        for hazards, span in reading:
            start = max(start, hazards.last_write(span.start, span.stop).time_s)
        for hazards, span in writing:
            start = max(
                start,
                hazards.last_write(span.start, span.stop).time_s,
                hazards.last_read(span.start, span.stop).time_s,
            )
        self.free[engine] = start + seconds
        self.worked[engine] += seconds
        end = Event(start + seconds, self.timed)
        for hazards, span in reading:
            hazards.read(span.start, span.stop, end)
        for hazards, span in writing:
            hazards.write(span.start, span.stop, end)
