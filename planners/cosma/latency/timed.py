"""A schedule in time: when each operator, load and store runs, and where each stay lies.

What it says in seconds need not be to the point: the program has its order, and the scoreboard
starts everything as early as that allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planners.core.machine import Machine
from planners.core.program import Instruction, Program
from planners.cosma.emit.program import TensorPlaces, make_program
from planners.cosma.model.problem import ScheduleProblem

RELEASE, STORE, LOAD, COMPUTE = range(4)
"""What comes first of what begins at one time: bytes are free before others come."""


@dataclass(frozen=True, slots=True)
class TimedStay:
    """A line's bytes at an offset, `start` to `stop`; loaded as it begins unless it is made."""

    line: int
    offset: int
    start: float
    stop: float
    loaded: bool


@dataclass(frozen=True)
class TimedPlan:
    """Seconds at which each step starts and each stored line's store does, and all stays."""

    problem: ScheduleProblem
    steps: tuple[float, ...]
    stays: tuple[TimedStay, ...]
    stores: dict[int, float] = field(default_factory=dict)

    def program(self, machine: Machine) -> Program:
        """Its instructions, in the order in which they begin."""
        return make_program(self.problem, machine, tuple(self._instructions(machine)))

    @property
    def peak_bytes(self) -> int:
        """Bytes held at the fullest moment, counted as the program has them."""
        held_bytes = peak = 0
        for _, kind, stay in self._moments():
            if kind != STORE and isinstance(stay, TimedStay):
                size = self.problem.lines[stay.line].size_bytes
                held_bytes += -size if kind == RELEASE else size
                peak = max(peak, held_bytes)
        return peak

    @property
    def extent_bytes(self) -> int:
        """The highest address in use."""
        sizes = self.problem.lines
        return max((s.offset + sizes[s.line].size_bytes for s in self.stays), default=0)

    @property
    def cost_bytes(self) -> int:
        """Non-compulsory bytes: loads of what was there before, and stores of no output."""
        lines, outputs = self.problem.lines, self.problem.graph.outputs
        loaded = [stay.line for stay in self.stays if stay.loaded]
        first = {i for i in loaded if not lines[i].produced}
        cost = sum(lines[i].size_bytes for i in loaded)
        cost -= sum(lines[i].size_bytes for i in first)
        return cost + sum(
            lines[i].size_bytes for i in self.stores if lines[i].tensor not in outputs
        )

    def _moments(self) -> Iterator[tuple[float, int, TimedStay | int]]:
        """What begins when, in order; a stay that is made begins with the step that makes it."""
        moments: list[tuple[float, int, TimedStay | int]] = []
        for stay in self.stays:
            moments.append((stay.start, LOAD, stay))
            moments.append((stay.stop, RELEASE, stay))
        moments += [(at, STORE, line) for line, at in self.stores.items()]
        moments += [(at, COMPUTE, step) for step, at in enumerate(self.steps)]
        return iter(sorted(moments, key=lambda m: m[:2]))

    def _instructions(self, machine: Machine) -> Iterator[Instruction]:
        places, lines = TensorPlaces(self.problem, machine), self.problem.lines
        at: dict[str, int] = {}
        ran = -1
        for _, kind, what in self._moments():
            if kind == COMPUTE:
                assert isinstance(what, int)
                ran = what
                yield places.compute(ran, self.problem.schedule[ran], at)
            elif kind == STORE:
                assert isinstance(what, int)
                name = lines[what].tensor
                yield places.store(max(ran, 0), name, at[name])
            else:
                assert isinstance(what, TimedStay)
                name = lines[what.line].tensor
                if kind == RELEASE:
                    yield places.release(max(ran, 0), name, at.pop(name))
                    continue
                at[name] = what.offset
                if what.loaded:
                    yield places.load(max(ran, 0), name, what.offset)
