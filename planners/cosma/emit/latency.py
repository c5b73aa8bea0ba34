"""Objective `traffic_then_latency`: of the plans of one traffic, one that takes less time.

A load starts when the bytes that it goes to are free, so what lies where decides how early it can
be fetched. Candidates keep room free ahead of loads and behind stores, store early, and lie in
other orders of placement or in another schedule; the scoreboard times each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planners.allocation import Lifetime, pack
from planners.core.engines import by_direction, sharing
from planners.core.machine import Machine
from planners.core.program import AddressSpace, Compute, Load, Program, Store
from planners.core.progress import Clock
from planners.cosma.emit.program import emit
from planners.cosma.model.problem import ScheduleProblem, TensorStay
from planners.simulator.timing import Durations, schedule

# Steps that loads may come before their use, and stores may last after it.
AHEAD = (1, 2, 3, 4, 6, 8, 12, 16)
PACKING_S = 0.2


@dataclass(frozen=True, slots=True)
class Timed:
    """A placement of a problem's stays, as a program, and the seconds that it takes."""

    problem: ScheduleProblem
    offsets: Mapping[TensorStay, int]
    program: Program
    makespan_s: float


@dataclass(frozen=True, slots=True)
class Fastest:
    """The fastest candidate beside the first, how many there were, and a bound on all plans."""

    best: Timed
    first_s: float
    candidates: int
    bound_s: float

    @property
    def note(self) -> str:
        return (
            f"latency: {self.first_s * 1e3:.6g} ms for the first plan of this traffic, "
            f"{self.best.makespan_s * 1e3:.6g} ms for the best of {self.candidates}; no plan of "
            f"this traffic takes less than {self.bound_s * 1e3:.6g} ms"
        )


def fastest(
    placements: Sequence[tuple[ScheduleProblem, Mapping[TensorStay, int]]],
    machine: Machine,
    clock: Clock,
) -> Fastest:
    """The fastest variant of placements of equal traffic, the first of which is always timed."""
    problem, offsets = placements[0]
    best = first = _timed(problem, offsets, machine, early_stores=False)
    bound = bound_s(first.program, machine)
    count = 1
    for problem, offsets in placements:
        for variant in _variants(problem, offsets, machine, clock):
            for early in (False, True):
                if clock.expired() or best.makespan_s <= bound:
                    return Fastest(best, first.makespan_s, count, bound)
                timed = _timed(problem, variant, machine, early)
                count += 1
                best = min(best, timed, key=lambda item: item.makespan_s)
    return Fastest(best, first.makespan_s, count, bound)


def _timed(
    problem: ScheduleProblem,
    offsets: Mapping[TensorStay, int],
    machine: Machine,
    early_stores: bool,
) -> Timed:
    program = emit(problem, machine, offsets, early_stores=early_stores)
    ends = (interval.stop_s for interval in schedule(program, machine))
    return Timed(problem, offsets, program, max(ends, default=0.0))


def _variants(
    problem: ScheduleProblem, offsets: Mapping[TensorStay, int], machine: Machine, clock: Clock
) -> Iterator[Mapping[TensorStay, int]]:
    """The placement itself, and placements of its stays that leave room around transfers."""
    yield offsets
    stays = sorted(offsets)
    for ahead in AHEAD:
        clock.report("latency")
        packing = pack(
            _roomy(problem, stays, ahead),
            problem.budget_bytes,
            time_limit_s=min(PACKING_S, clock.left_s),
            explain=False,
        )
        if packing.status == "packed":
            yield {run: packing.offsets[str(i)] for i, run in enumerate(stays)}


def _roomy(problem: ScheduleProblem, stays: Sequence[TensorStay], ahead: int) -> list[Lifetime]:
    """Lifetimes that begin up to `ahead` steps before loads and end up to as many after stores.

    As far as the memory holds them all; large ones first.
    """
    steps = len(problem.schedule)
    load = [0] * steps
    for run in stays:
        for step in range(run.first, run.last + 1):
            load[step] += problem.lines[run.line].size_bytes
    extended: dict[int, Lifetime] = {}
    order = sorted(range(len(stays)), key=lambda i: -problem.lines[stays[i].line].size_bytes)
    for i in order:
        run, line = stays[i], problem.lines[stays[i].line]
        first, last = run.first, run.last
        room = problem.budget_bytes - line.size_bytes
        loaded = not line.produced or run.first > line.uses[0]
        stored = run.last < line.uses[-1] or line.tensor in problem.graph.outputs
        while loaded and first > max(0, run.first - ahead) and load[first - 1] <= room:
            first -= 1
            load[first] += line.size_bytes
        while stored and last < min(steps - 1, run.last + ahead) and load[last + 1] <= room:
            last += 1
            load[last] += line.size_bytes
        extended[i] = Lifetime(str(i), first, last + 1, line.size_bytes)
    return [extended[i] for i in range(len(stays))]


def bound_s(program: Program, machine: Machine) -> float:
    """A lower bound in seconds on every plan of a program's graph and traffic.

    All operators one after the other; or all bytes, over both directions at their full rate.
    """
    durations = Durations(machine, AddressSpace(program.memories))
    computing = transferred = 0.0
    rates: dict[str, float] = {}
    for item in program.instructions:
        if isinstance(item, Compute):
            computing += durations(item)
        elif isinstance(item, (Load, Store)):
            size = item.source.size_bytes
            transferred += size
            for engine in sharing(machine, by_direction(item)):
                seconds = durations(replace(item, engine=engine))
                seconds -= machine.engine(engine).latency_s
                rates[engine] = max(rates.get(engine, 0.0), size / seconds)
    return max(computing, transferred / sum(rates.values()) if rates else 0.0)
