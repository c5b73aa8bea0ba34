"""What takes how long: the seconds of a schedule's operators, and of its tensors' transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from planners.core.machine import Machine
from planners.core.program import AddressSpace
from planners.cosma.emit.program import TensorPlaces, make_program
from planners.cosma.model.problem import ScheduleProblem
from planners.simulator.timing import Durations


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
        held: list[set[int]] = [set() for _ in self.problem.schedule]
        for i, line in enumerate(self.problem.lines):
            for step in line.uses:
                held[step].add(i)
        return tuple(map(frozenset, held))

    def made(self, line: int) -> bool:
        """Whether an operator makes it: else it must be loaded before its first use."""
        return self.problem.lines[line].produced

    def leaves(self, line: int) -> bool:
        """Whether it is an output of the graph that an operator makes: it is stored."""
        known = self.problem.lines[line]
        return known.produced and known.tensor in self.problem.graph.outputs
