"""A lower bound on the seconds of every plan of one schedule within its budget.

Operators run one after the other. What a later one reads and does not find on chip as an earlier
one ends has to come in between; what it can find there is what fits beside that operator's own
tensors. So each pair of steps has a least distance, and the bound is the longest way over them.
Likewise for what has to leave. Loads of one engine do not overlap, nor stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import add

from planners.core.bounds.floors import ProblemFloors
from planners.core.engines import spreads
from planners.core.machine import Machine
from planners.core.program import AddressSpace
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT
from planners.cosma.emit.program import TensorPlaces, make_program
from planners.cosma.model.problem import ScheduleProblem
from planners.simulator.timing import Durations

# ---- What takes how long: the seconds of a schedule's operators, and of its tensors' transfers ---


@dataclass(frozen=True)
class ScheduleSeconds:
    """A problem on a machine: what each step computes, and each line's load and store, in seconds.

    `machine` has the budget's scratchpad. The scoreboard's own times, of whole tensors.
    """

    problem: ScheduleProblem
    machine: Machine

    @cached_property
    def _durations(self) -> Durations:
        memories = make_program(self.problem, self.machine, ()).memories
        return Durations(self.machine, AddressSpace(memories), self.problem.graph)

    @cached_property
    def _places(self) -> TensorPlaces:
        return TensorPlaces(self.problem, self.machine)

    @cached_property
    def compute(self) -> tuple[float, ...]:
        """By step."""
        anywhere: Mapping[str, int] = dict.fromkeys(self.problem.graph.tensors, 0)
        return tuple(
            self._durations(self._places.compute(step, position, anywhere))
            for step, position in enumerate(self.problem.schedule)
        )

    @cached_property
    def load(self) -> tuple[float, ...]:
        """By line."""
        lines = self.problem.lines
        return tuple(self._durations(self._places.load(0, line.tensor, 0)) for line in lines)

    @cached_property
    def store(self) -> tuple[float, ...]:
        """By line."""
        lines = self.problem.lines
        return tuple(self._durations(self._places.store(0, line.tensor, 0)) for line in lines)

    @cached_property
    def needed(self) -> tuple[frozenset[int], ...]:
        """The lines that must be there as each step runs."""
        lines_at: list[set[int]] = [set() for _ in self.problem.schedule]
        for i, line in enumerate(self.problem.lines):
            for step in line.uses:
                lines_at[step].add(i)
        return tuple(map(frozenset, lines_at))

    def made(self, line: int) -> bool:
        """Whether an operator makes it: else it must be loaded before its first use."""
        return self.problem.lines[line].produced

    def leaves(self, line: int) -> bool:
        """Whether it is an output of the graph that an operator makes: it is stored."""
        used_line = self.problem.lines[line]
        return used_line.produced and used_line.tensor in self.problem.graph.outputs


# --------------------------------------------------------------------------------------------------

FAR = 64
"""How many steps ahead distances are worked out."""


def order_bound_s(seconds: ScheduleSeconds) -> float:
    """The bound, in seconds, for the problem's schedule; zero for no operators.

    Where engines share transfers, they overlap: only what holds in any order is left.
    """
    if spreads(seconds.machine):
        return any_order_bound_s(seconds)
    _, stores = _compulsory(seconds)
    gone = list(accumulate(reversed(stores)))[::-1]
    ends = map(add, earliest_starts(seconds), seconds.compute)
    return max(map(add, ends, gone), default=0.0)


def any_order_bound_s(seconds: ScheduleSeconds, transferred_bytes: int = 0) -> float:
    """A bound in seconds on every plan of the graph, in any order, that moves so many bytes.

    All operators one after the other, or all bytes over both directions at their full rate.
    """
    problem = seconds.problem
    graph, machine = problem.graph, seconds.machine
    weights = COUNTED if problem.parameters else IN_PLACE if problem.in_place else LEFT_OUT
    floors = ProblemFloors(graph, machine, weights, machine.parameters)
    bounds = [floors.latency_of(transferred_bytes), sum(seconds.compute)]
    if not spreads(machine):
        bounds += [*map(sum, _compulsory(seconds))]
    return max(bounds)


def earliest_starts(seconds: ScheduleSeconds) -> list[float]:
    """Least seconds from the beginning until each step can start."""
    steps = len(seconds.problem.schedule)
    loads, _ = _compulsory(seconds)
    start = list(accumulate(loads))
    for step in range(steps):
        if step:
            ended = start[step - 1] + seconds.compute[step - 1]
            start[step] = max(start[step], ended + _leaving_s(seconds, step - 1))
        ends = start[step] + seconds.compute[step]
        for later, between in _between(seconds, step):
            start[later] = max(start[later], ends + between)
    return start


def _compulsory(seconds: ScheduleSeconds) -> tuple[list[float], list[float]]:
    """By step: seconds to load what is first used there, to store outputs that are made there."""
    steps = len(seconds.problem.schedule)
    loads, stores = [0.0] * steps, [0.0] * steps
    for i, line in enumerate(seconds.problem.lines):
        if not line.produced:
            loads[line.uses[0]] += seconds.load[i]
        if seconds.leaves(i):
            stores[line.uses[0]] += seconds.store[i]
    return loads, stores


def _between(seconds: ScheduleSeconds, step: int) -> Iterator[tuple[int, float]]:
    """Steps after this one, and the seconds of loads that must lie between its end and theirs.

    Their tensors that are made in between need none. Of the others as many bytes may be there, or
    on their way, as this step leaves room for: those that take longest a byte, cut where they must
    be, but none that is larger than that room.
    """
    lines, budget = seconds.problem.lines, seconds.problem.budget_bytes
    here = seconds.needed[step]
    room = budget - sum(lines[i].size_bytes for i in here)
    seen, total, size = set(here), 0.0, 0
    slow: list[tuple[float, int]] = []  # seconds a byte, and bytes
    for later in range(step + 1, min(len(seconds.problem.schedule), step + 1 + FAR)):
        for i in seconds.needed[later]:
            if i in seen:
                continue
            seen.add(i)
            line = lines[i]
            if not line.produced or line.uses[0] <= step:
                total += seconds.load[i]
                size += line.size_bytes
                if line.size_bytes <= room:
                    slow.append((seconds.load[i] / line.size_bytes, line.size_bytes))
        if size > room:
            slow.sort(reverse=True)
            yield later, total - _filled(slow, room)


def _filled(items: Iterable[tuple[float, int]], room: int) -> float:
    """Seconds of as many bytes as there is room for, of those that come first."""
    spared = 0.0
    for each, size in items:
        taken = min(size, room)
        spared += each * taken
        room -= taken
        if not room:
            break
    return spared


def _leaving_s(seconds: ScheduleSeconds, step: int) -> float:
    """Seconds of stores between a step's end and the next one's start.

    What a step makes cannot have left before; what is wanted later or is an output must be stored,
    unless it fits beside all that the next step has.
    """
    lines, budget = seconds.problem.lines, seconds.problem.budget_bytes
    here, there = seconds.needed[step], seconds.needed[step + 1]
    going = [
        i
        for i in here - there
        if lines[i].produced
        and lines[i].uses[0] == step
        and (lines[i].uses[-1] > step or seconds.leaves(i))
    ]
    room = budget - sum(lines[i].size_bytes for i in there)
    if sum(lines[i].size_bytes for i in going) <= room:
        return 0.0
    slow = sorted(
        (
            (seconds.store[i] / lines[i].size_bytes, lines[i].size_bytes)
            for i in going
            if lines[i].size_bytes <= room
        ),
        reverse=True,
    )
    return sum(seconds.store[i] for i in going) - _filled(slow, room)
