"""Of placements of a problem's stays, one that takes least time on the scoreboard.

A load starts when the bytes that it goes to are free, so what lies where decides how early it can
come. Candidates have their loads moved to where bytes are free earlier (`shifted`), are packed anew
with room ahead of loads and behind stores (`ahead`), and store early; the best is varied further.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planners.allocation import Lifetime
from planners.allocation.portfolio import QUICK_WORK, pack
from planners.core.machine import Machine
from planners.core.program import Program
from planners.core.progress import Clock
from planners.cosma.emit.program import emit
from planners.cosma.latency.bound import ScheduleSeconds
from planners.cosma.latency.shifted import LoadShifter, Placement, is_loaded
from planners.cosma.model.problem import ScheduleProblem, TensorStay
from planners.simulator.timing import schedule

# ---- Loads as early as bytes allow: how long before its use each can have its place --------------
# Loads go in the order in which they are needed. Each takes its bytes from the first step on, not
# before the load in front of it, from which they are free until it is used: for given stays
# nothing can come earlier. Stores keep theirs for as long after as bytes are left.


def early(
    seconds: ScheduleSeconds, stays: Sequence[TensorStay], capacity_bytes: int
) -> list[Lifetime]:
    """Lifetimes of stays, by position, with room for loads ahead of them and for stores behind.

    Together they hold no more than the capacity at any step where the stays themselves do not.
    """
    problem = seconds.problem
    lines, steps = problem.lines, len(problem.schedule)
    held_bytes = [0] * steps
    for run in stays:
        for step in range(run.first, run.last + 1):
            held_bytes[step] += lines[run.line].size_bytes
    first = [run.first for run in stays]
    last = [run.last for run in stays]
    loads = [k for k, run in enumerate(stays) if is_loaded(seconds, run)]
    not_before = 0
    for k in sorted(loads, key=lambda k: (stays[k].first, -lines[stays[k].line].size_bytes)):
        size = lines[stays[k].line].size_bytes
        while first[k] > not_before and held_bytes[first[k] - 1] + size <= capacity_bytes:
            first[k] -= 1
            held_bytes[first[k]] += size
        not_before = first[k]
    for k, run in sorted(enumerate(stays), key=lambda item: item[1].last):
        line = lines[run.line]
        stored = run.last < line.uses[-1] or seconds.leaves(run.line)
        written = not is_loaded(seconds, run)
        fits = last[k] + 1 < steps and held_bytes[last[k] + 1] + line.size_bytes <= capacity_bytes
        if written and stored and fits:
            last[k] += 1
            held_bytes[last[k]] += line.size_bytes
    return [
        Lifetime(str(k), first[k], last[k] + 1, lines[run.line].size_bytes)
        for k, run in enumerate(stays)
    ]


def roomy(problem: ScheduleProblem, stays: Sequence[TensorStay], ahead: int) -> list[Lifetime]:
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


# --------------------------------------------------------------------------------------------------

# Steps that loads may come before their use, and stores may last after it.
AHEAD = (1, 2, 3, 4, 6, 8, 12, 16)
CAPACITIES = (1.0, 0.93, 0.85, 0.75)
"""Shares of the budget that loads may fill as they come early: the fuller, the harder to pack."""
ROUNDS = 60
"""Variations of the best, one after the other."""
CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Timed:
    """A placement of a problem's stays, as a program, and the seconds that it takes."""

    problem: ScheduleProblem
    offsets: Mapping[TensorStay, int]
    program: Program
    makespan_s: float


class Fastest:
    """The fastest candidate so far, the first one's seconds, and how many there were.

    It can be asked again, with a clock more: it goes on with the candidates after the last, unless
    it was `broken_off` inside of one.
    """

    def __init__(self, machine: Machine, bound_s: float) -> None:
        self.machine, self.bound_s, self.clock = machine, bound_s, Clock(0.0)
        self.best: Timed | None = None
        self.first_s, self.candidates = 0.0, 0
        self.broken_off = False

    @property
    def done(self) -> bool:
        """Whether nothing is faster than the best, or the time is over."""
        return self.proven or (self.best is not None and self.clock.expired())

    @property
    def proven(self) -> bool:
        """Whether the best takes as long as the bound says that all must."""
        return self.best is not None and self.best.makespan_s <= self.bound_s * (1 + CLOSE)

    def look_on(self, candidates: Iterator[None], clock: Clock) -> Timed:
        """The best, once these are looked at or the time is over; the first is always timed."""
        self.clock, self.broken_off = clock, True
        while not self.done:
            if next(candidates, self) is self:  # there are no more
                break
        self.broken_off = False
        assert self.best is not None
        return self.best

    def offer(self, problem: ScheduleProblem, offsets: Placement) -> bool:
        """Time a placement, with stores late and early; whether it is the best now."""
        better = False
        for early_stores in (False, True):
            if self.done:
                return better
            program = emit(problem, self.machine, offsets, early_stores=early_stores)
            intervals = schedule(program, self.machine, problem.graph)
            ends = (interval.stop_s for interval in intervals)
            timed = Timed(problem, offsets, program, max(ends, default=0.0))
            self.candidates += 1
            if self.best is None:
                self.first_s = timed.makespan_s
            if self.best is None or timed.makespan_s < self.best.makespan_s:
                self.best, better = timed, True
        return better

    def candidates_of(
        self, placements: Iterable[tuple[ScheduleProblem, Placement]]
    ) -> Iterator[None]:
        """Placements and all that is made of them, one after the other."""
        for problem, offsets in placements:
            self.offer(problem, offsets)
            yield
            yield from self._vary(problem, offsets)
        yield from self._vary_best()

    def _vary(self, problem: ScheduleProblem, offsets: Placement) -> Iterator[None]:
        seconds = ScheduleSeconds(problem, self.machine)
        shifter = LoadShifter(seconds, sorted(offsets))
        for placement in self._packed(seconds, offsets):
            for in_time in (False, True):
                self.clock.report("latency")
                self.offer(problem, shifter.shifted(placement, in_time=in_time))
                yield
            if placement is not offsets:
                self.offer(problem, placement)
                yield

    def _packed(self, seconds: ScheduleSeconds, offsets: Placement) -> Iterator[Placement]:
        """The placement, and its stays packed anew with room for transfers."""
        yield offsets
        stays, budget = sorted(offsets), seconds.problem.budget_bytes
        rooms = (
            *(early(seconds, stays, int(share * budget)) for share in CAPACITIES),
            *(roomy(seconds.problem, stays, ahead) for ahead in AHEAD),
        )
        for lifetimes in rooms:
            self.clock.report("latency")
            packing = pack(lifetimes, budget, explain=False, clock=self.clock.work(QUICK_WORK))
            if packing.status == "packed":
                yield {stay: packing.offsets[str(k)] for k, stay in enumerate(stays)}

    def _vary_best(self) -> Iterator[None]:
        """Move loads of the best to other offsets that are as good, for as long as that helps."""
        assert self.best is not None
        rng, problem, offsets = random.Random(0), self.best.problem, self.best.offsets
        shifter = LoadShifter(ScheduleSeconds(problem, self.machine), sorted(offsets))
        for _ in range(ROUNDS):
            self.clock.report("latency")
            moved = shifter.shifted(offsets, in_time=rng.random() < 0.5, rng=rng)
            if self.offer(problem, moved):
                offsets = moved
            yield
