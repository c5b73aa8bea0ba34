"""Run a program on a scoreboard: which engine does what, from when until when, and why it waited.

An instruction starts when its engine is free (each engine keeps program order) and the hazards on
its address ranges are cleared. Prefetch and double buffering follow from addresses and engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from planners.core.boxes import meet
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.engines import by_direction, sharing
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import (
    AddressSpace,
    Barrier,
    Box,
    Compute,
    Instruction,
    Load,
    Operand,
    Program,
    Region,
    Release,
    Span,
    Store,
)
from planners.simulator.hazards import START, Event, Hazards
from planners.simulator.records.interval import Cause, Interval, shares
from planners.simulator.traffic import reading_sums


def schedule(
    program: Program,
    machine: Machine,
    graph: Graph | None,
    *,
    serial: bool = False,
    duration: Callable[[Instruction], float] | None = None,
    seconds: Sequence[float | None] = (),
    spread: bool = False,
) -> tuple[Interval, ...]:
    """Intervals of all loads, stores and computes, in program order.

    `serial` starts each when the one before has ended. `duration` replaces the machine's times,
    in seconds; so do `seconds`, by position in the program, wherever they are not None. Joined
    loads share their transfer's time by bytes. `graph` is what the program runs: an ideal machine
    needs none. A transfer that names no engine, or each where they
    are `spread`, goes to the one that is done first of those that may take it. Raises `BadInput`
    where the machine lacks an engine or a memory.
    """
    board = Scoreboard(program, machine, graph, serial, duration, seconds, spread)
    return tuple(board.run())


class Scoreboard:
    """Free times of engines, and last reads and writes of every byte range and home."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        graph: Graph | None,
        serial: bool,
        duration: Callable[[Instruction], float] | None,
        seconds: Sequence[float | None] = (),
        spread: bool = False,
    ) -> None:
        self.program, self.serial, self.seconds = program, serial, seconds
        self.spaces = AddressSpace(program.memories)
        self.duration = duration or Durations(machine, self.spaces, graph)
        self.machine, self.spread = machine, spread
        self.sharing: dict[str, tuple[str, ...]] = {}
        self.free: dict[str, float] = defaultdict(float)
        self.ranges: dict[str, Hazards] = defaultdict(Hazards)
        self.homes: dict[tuple[str, str], dict[Box, Event]] = defaultdict(dict)
        self.floor = START
        self.last = START

    def run(self) -> Iterator[Interval]:
        """Schedule every instruction in program order."""
        transfer: list[tuple[int, Load | Store]] = []
        for index, item in enumerate(reading_sums(self.program, self.spaces)):
            if transfer and not (isinstance(item, Load) and item.joined):
                yield from self._transfer(transfer)
                transfer = []
            match item:
                case Load() | Store():
                    transfer.append((index, item))
                case Compute():
                    reads, writes = list(item.reads), list(item.writes)
                    on = {item.engine: self._taken(index, item)}
                    yield self._issue(index, item, reads, writes, on)
                case Barrier():
                    self.floor = max(self.floor, self.last)
                case Release():
                    continue
        if transfer:
            yield from self._transfer(transfer)

    def _taken(self, index: int, item: Instruction, engine: str = "") -> float:
        given = self.seconds[index] if index < len(self.seconds) else None
        if given is not None:
            return given
        if isinstance(item, (Load, Store)) and engine != by_direction(item):
            item = replace(item, engine=engine)
        return self.duration(item)

    def _engines(self, item: Load | Store) -> tuple[str, ...]:
        """The engines that may take a transfer: the one it names, unless transfers are spread."""
        engine = by_direction(item)
        if item.engine and not self.spread:
            return (engine,)
        if engine not in self.sharing:
            self.sharing[engine] = sharing(self.machine, engine)
        return self.sharing[engine]

    def _transfer(self, items: list[tuple[int, Load | Store]]) -> Iterator[Interval]:
        """One transfer: a load or store, or several that are joined."""
        reads = [Operand(item.piece, item.source) for _, item in items]
        writes = [Operand(item.piece, item.target) for _, item in items]
        on = {
            engine: sum(self._taken(index, item, engine) for index, item in items)
            for engine in self._engines(items[0][1])
        }
        whole = self._issue(*items[0], reads, writes, on)
        if len(items) == 1:
            yield whole
            return
        parts = [(index, item.source.size_bytes, item.piece.tensor) for index, item in items]
        yield from shares(whole, on[whole.engine], parts)

    def _issue(
        self,
        index: int,
        item: Load | Store | Compute,
        reads: list[Operand],
        writes: list[Operand],
        seconds: Mapping[str, float],
    ) -> Interval:
        """Start an instruction on that of its engines, with their seconds, which ends it first."""
        ready, cause = self._ready(reads, writes)
        engine = next(iter(seconds))
        if len(seconds) > 1:
            engine = min(seconds, key=lambda e: max(self.free[e], ready.time_s) + seconds[e])
        free = self.free[engine]
        start = max(free, ready.time_s)
        if self.serial:
            start = max(start, self.last.time_s)
        end = Event(start + seconds[engine], index)
        stalled = not self.serial and ready.time_s > free
        self.free[engine] = end.time_s
        self.last = max(self.last, end)
        self._mark(reads, writes, end)
        return Interval(
            engine=engine,
            start_s=start,
            stop_s=end.time_s,
            instruction=index,
            step=item.step,
            label=item.operator if isinstance(item, Compute) else item.piece.tensor,
            stall_s=ready.time_s - free if stalled else 0.0,
            cause=cause if stalled else "",
            blocker=ready.instruction if stalled else None,
        )

    def _ready(self, reads: list[Operand], writes: list[Operand]) -> tuple[Event, Cause]:
        """The last hazard to clear, and its kind."""
        ready: Event = self.floor
        cause: Cause = "barrier"
        for operand in reads:
            event = self._last_write(operand)
            if event.time_s > ready.time_s:
                ready, cause = event, "read after write"
        for operand in writes:
            for span in self._spans(operand.region):
                hazards = self.ranges[span.memory]
                event = hazards.last_write(span.start, span.stop)
                if event.time_s > ready.time_s:
                    ready, cause = event, "write after write"
                event = hazards.last_read(span.start, span.stop)
                if event.time_s > ready.time_s:
                    ready, cause = event, "write after read"
        return ready, cause

    def _last_write(self, operand: Operand) -> Event:
        piece, region = operand
        if region.offset is None:
            stored = self.homes.get((region.memory, piece.tensor), {})
            if piece.box in stored:  # A home never changes what it has: any copy will do.
                return stored[piece.box]
            touching = [e for box, e in stored.items() if meet(piece.box, box)]
            return max(touching, default=START)
        return max(
            (self.ranges[s.memory].last_write(s.start, s.stop) for s in self._spans(region)),
            default=START,
        )

    def _mark(self, reads: list[Operand], writes: list[Operand], end: Event) -> None:
        for operand in reads:
            for span in self._spans(operand.region):
                self.ranges[span.memory].read(span.start, span.stop, end)
        for operand in writes:
            if operand.region.offset is None:
                key = (operand.region.memory, operand.piece.tensor)
                self.homes[key].setdefault(operand.piece.box, end)
            for span in self._spans(operand.region):
                self.ranges[span.memory].write(span.start, span.stop, end)

    def _spans(self, region: Region) -> tuple[Span, ...]:
        return () if region.offset is None else self.spaces.spans(region)


class Durations:
    """Seconds of an instruction on a machine.

    A transfer takes its engine's latency, once for all loads that are joined, and its bytes at the
    slowest of engine, source and target. A compute takes what `planners.core.compute_seconds` says.
    """

    def __init__(self, machine: Machine, spaces: AddressSpace, graph: Graph | None) -> None:
        self.machine, self.compute = machine, ComputeSeconds(graph, machine)
        self.level = {name: machine.memory(spaces.level(name)) for name in spaces.memories}
        self.engine = {engine.name: engine for engine in machine.engines}

    def __call__(self, item: Instruction) -> float:
        match item:
            case Load() | Store():
                name = by_direction(item)
                engine = self.engine.get(name) or self.machine.engine(name)
                rate = min(
                    engine.bytes_per_s,
                    self.level[item.source.memory].read_bytes_per_s,
                    self.level[item.target.memory].write_bytes_per_s,
                )
                joined = isinstance(item, Load) and item.joined
                return (0.0 if joined else engine.latency_s) + item.source.size_bytes / rate
            case Compute():
                busy = self.compute.array_s(item.operator, item.made, item.sums, item.macs)
                if self.compute.is_given(item.operator):
                    return busy
                read_s, written_s = self.memories(item)
                moving = seconds_by_port(read_s, written_s, self.machine, max)
                engine = self.engine.get(item.engine) or self.machine.engine(item.engine)
                return engine.latency_s + float(max(busy, moving))
            case _:
                return 0.0

    def memories(self, item: Compute) -> tuple[dict[str, float], dict[str, float]]:
        """Seconds in which a compute reads each memory, and in which it writes it."""
        read = [self._read(operand) for operand in item.reads]
        written = [(region.memory, size) for region, size in item.written]
        return self._moved(read, "read_bytes_per_s"), self._moved(written, "write_bytes_per_s")

    def _read(self, operand: Operand) -> tuple[str, float]:
        (tensor, _), (memory, _, size_bytes) = operand
        part = self.compute.crossing(tensor, self.level[memory].name)
        return memory, size_bytes if part == 1 else size_bytes * part

    def _moved(self, moved: Iterable[tuple[str, float]], rate: str) -> dict[str, float]:
        """Seconds that bytes of each memory take: all of a memory's at once."""
        bytes_of: dict[str, float] = defaultdict(int)
        for memory, size_bytes in moved:
            bytes_of[self.level[memory].name] += size_bytes
        return {
            name: size / getattr(self.machine.memory(name), rate) for name, size in bytes_of.items()
        }
