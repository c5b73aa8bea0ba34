"""Parameters that come ahead of their time, to a slower memory on chip, where the machine has one.

Loads wait for bytes of the scratchpad while what is there is still read, and the engine that brings
them stands idle; later it is what all waits for, where the parameters of the last operators are
larger than the scratchpad. In that time parameters that are read later come to a memory behind the
scratchpad, in the order of their reads, and go on from there, which is quicker than from off chip.
How long the engine waits is known from the scoreboard, and is other afterwards: it is done some
times, as long as it helps.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from planners.core.graph import Graph
from planners.core.loops import LoopedInstructions, first_step, items_of, size_of
from planners.core.machine import Machine
from planners.core.program import Item, Load, Memory, Program, Region, Release, Repeat
from planners.core.progress import Clock, now
from planners.simulator.records.interval import Interval
from planners.simulator.timing import schedule

# ---- Room in memories behind the scratchpad: who lies where, from which item of a program to which


@dataclass(frozen=True, slots=True)
class BankPlace:
    """Bytes of a memory that are taken from one item to another, both included."""

    memory: str
    offset: int
    size_bytes: int
    first: int
    last: int

    @property
    def region(self) -> Region:
        return Region(self.memory, self.offset, self.size_bytes)

    def part(self, start: int, size_bytes: int) -> Region:
        """Some of its bytes."""
        return Region(self.memory, self.offset + start, size_bytes)


@dataclass
class BankSpace:
    """The machine's slower memories, the fastest of them first."""

    machine: Machine
    taken: list[BankPlace] = field(default_factory=list)

    def in_program(self, program: Program, items: Sequence[Item]) -> Program:
        """A program of items, with the memories in which something lies."""
        used = {place.memory for place in self.taken} - {m.name for m in program.memories}
        more = (Memory(n, self.machine.memory(n).size_bytes) for n in self.machine.slower)
        memories = (*program.memories, *(memory for memory in more if memory.name in used))
        instructions = LoopedInstructions(tuple(items))
        return replace(program, memories=memories, instructions=instructions)

    def find(self, size_bytes: int, first: int, last: int) -> BankPlace | None:
        """The lowest place that is free for so long, in the first memory that has one."""
        for name in self.machine.slower:
            for offset in self._offsets(name, first, last):
                place = BankPlace(name, offset, size_bytes, first, last)
                if self._is_free(place):
                    return place
        return None

    def take(self, place: BankPlace) -> None:
        self.taken.append(place)

    def _beside(self, name: str, first: int, last: int) -> Iterator[BankPlace]:
        for place in self.taken:
            if place.memory == name and place.first <= last and first <= place.last:
                yield place

    def _offsets(self, name: str, first: int, last: int) -> list[int]:
        return sorted({0, *(p.offset + p.size_bytes for p in self._beside(name, first, last))})

    def _is_free(self, place: BankPlace) -> bool:
        stop = place.offset + place.size_bytes
        if stop > self.machine.memory(place.memory).size_bytes:
            return False
        return all(
            stop <= other.offset or other.offset + other.size_bytes <= place.offset
            for other in self._beside(place.memory, place.first, place.last)
        )


# --------------------------------------------------------------------------------------------------

TIMES = 6
"""How often what is waited is looked at."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Loads of parameters that are joined: items `[at, stop)`."""

    at: int
    loads: tuple[Load, ...]

    @property
    def stop(self) -> int:
        return self.at + len(self.loads)

    @property
    def size_bytes(self) -> int:
        return sum(load.source.size_bytes for load in self.loads)


@dataclass(frozen=True, slots=True)
class AheadTransfer:
    """A transfer that comes in front of an item, to a place in a slower memory."""

    transfer: Transfer
    before: int
    place: BankPlace


class AheadLoads:
    """Programs in which more and more parameters come ahead."""

    def __init__(
        self, graph: Graph, machine: Machine, program: Program, space: BankSpace, clock: Clock
    ) -> None:
        self.graph, self.machine, self.program = graph, machine, program
        self.space, self.clock = space, clock
        self.items = list(items_of(program))
        self.transfers = self._once([*self._transfers()])
        self.ahead: dict[int, AheadTransfer] = {}

    def best(self) -> Program:
        """The quickest of them."""
        best, intervals = self.program, schedule(self.program, self.machine, self.graph)
        for _ in range(TIMES):
            began = now()
            if not self._more(intervals):
                break
            program, least = self.written(), _seconds(intervals)
            intervals = schedule(program, self.machine, self.graph)
            if _seconds(intervals) >= least:
                break
            best = program
            if not self.clock.allows(now() - began):
                break
        return best

    def _transfers(self) -> Iterator[Transfer]:
        """Those of parameters, from off chip, outside of loops."""
        at = 0
        while at < len(self.items):
            loads = list[Load]()
            for item in self.items[at:]:
                if not isinstance(item, Load) or (loads and not item.joined):
                    break
                loads.append(item)
            if loads and all(self._comes(load) for load in loads):
                yield Transfer(at, tuple(loads))
            at += max(1, len(loads))

    def _once(self, transfers: Sequence[Transfer]) -> list[Transfer]:
        """Those whose pieces come once: a piece is nowhere twice."""
        behind = self.machine.slower
        there = (i for i in self.items if isinstance(i, Load) and i.target.memory in behind)
        times = Counter(load.piece for transfer in transfers for load in transfer.loads)
        times.update(load.piece for load in there)
        return [t for t in transfers if all(times[load.piece] == 1 for load in t.loads)]

    def _comes(self, load: Load) -> bool:
        kind, source = self.graph.tensors[load.piece.tensor].kind, load.source
        home = source[:2] == (self.machine.parameters, None)
        return kind == "parameter" and home and load.target.memory not in self.machine.slower

    # ---- where the engine waits --------------------------------------------------------------

    def _more(self, intervals: Sequence[Interval]) -> bool:
        """Have more come ahead, where its engine waits; whether there was any."""
        later = deque(t for t in self.transfers if t.at not in self.ahead)
        before = len(self.ahead)
        for at, wait_s in self._waits(intervals):
            while later and later[0].at <= at:
                later.popleft()
            while later and (seconds := self._takes_s(later[0])) <= wait_s:
                first = later[0]
                place = self.space.find(first.size_bytes, at, first.stop - 1)
                if place is None or not self._is_nearer(place):
                    break
                self.space.take(place)
                self.ahead[first.at] = AheadTransfer(later.popleft(), at, place)
                wait_s -= seconds
        return len(self.ahead) > before

    def _waits(self, intervals: Sequence[Interval]) -> Iterator[tuple[int, float]]:
        """The items in front of which the engine of loads waits, and for how many seconds."""
        places = list(self._places())
        for each in intervals:
            at = places[each.instruction]
            if each.engine == "dma_in" and each.stall_s and at >= 0:
                yield at, each.stall_s

    def _places(self) -> Iterator[int]:
        """The item in front of which each instruction of the program stands; -1 in loops."""
        for at, item in self._numbered():
            if isinstance(item, Repeat):
                yield from [-1] * size_of((item,))
            else:
                yield at

    def _takes_s(self, transfer: Transfer) -> float:
        """Seconds for a transfer to a slower memory."""
        latency_s = self.machine.engine("dma_in").latency_s
        return latency_s + transfer.size_bytes / self._rate(self.machine.parameters)

    def _is_nearer(self, place: BankPlace) -> bool:
        """Whether what comes from a memory comes quicker than from where parameters live."""
        return self._rate(place.memory) > self._rate(self.machine.parameters)

    def _rate(self, memory: str) -> float:
        """Bytes a second that the engine of loads brings from a memory."""
        engine = self.machine.engine("dma_in")
        return min(self.machine.memory(memory).read_bytes_per_s, engine.bytes_per_s)

    # ---- the program written -----------------------------------------------------------------

    def written(self) -> Program:
        """The program in which they come ahead."""
        return self.space.in_program(self.program, [item for _, item in self._numbered()])

    def _numbered(self) -> Iterator[tuple[int, Item]]:
        """The items of the program, each with the number of the one that it was or precedes."""
        before: dict[int, list[AheadTransfer]] = defaultdict(list)
        for each in self.ahead.values():
            before[each.before].append(each)
        moved: dict[int, Region] = {}
        ends: dict[int, AheadTransfer] = {}
        for each in self.ahead.values():
            for number, region in enumerate(_regions(each)):
                moved[each.transfer.at + number] = region
            ends[each.transfer.stop - 1] = each
        for at, item in enumerate(self.items):
            for each in before[at]:
                for load, region in zip(each.transfer.loads, _regions(each), strict=True):
                    yield at, replace(load, step=first_step(item), target=region)
            if at in moved and isinstance(item, Load):
                yield at, replace(item, source=moved[at])
            else:
                yield at, item
            if at in ends:
                for load, region in zip(ends[at].transfer.loads, _regions(ends[at]), strict=True):
                    yield at, Release(load.step, load.piece, region)


def _seconds(intervals: Sequence[Interval]) -> float:
    return max((each.stop_s for each in intervals), default=0.0)


def _regions(ahead: AheadTransfer) -> Iterator[Region]:
    """Where each of its loads lies in the slower memory."""
    start = 0
    for load in ahead.transfer.loads:
        yield ahead.place.part(start, load.source.size_bytes)
        start += load.source.size_bytes
