"""What a plan is asked for, as one value that a planner hands on to its rooms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from planners.core.details import Details
from planners.core.graph import Graph
from planners.core.machine import Machine, with_scratchpad
from planners.core.options import Options
from planners.core.plan import Claims, Plan
from planners.core.program import Program
from planners.core.progress import Clock, ProgressCallback
from planners.core.times import GivenTimes

Chosen = TypeVar("Chosen", bound=Options, covariant=True)


@dataclass(frozen=True, slots=True)
class Problem(Generic[Chosen]):
    """A network on a machine within a budget, by a planner's options, in the time of a clock.

    `machine` is as it was given; `sized` has a scratchpad of `budget_bytes`. `options` are
    complete: what weights do, wishes and the objective are among them.
    """

    graph: Graph
    machine: Machine
    budget_bytes: int
    options: Chosen
    clock: Clock

    @classmethod
    def start(
        cls,
        graph: Graph,
        machine: Machine,
        budget_bytes: int,
        options: Chosen,  # type: ignore[misc]
        progress: ProgressCallback | None = None,
    ) -> Problem[Chosen]:
        """The problem, whose time begins now."""
        return cls(graph, machine, budget_bytes, options, Clock(options.time_limit, progress))

    @property
    def sized(self) -> Machine:
        """The machine with a scratchpad of the budget."""
        return with_scratchpad(self.machine, self.budget_bytes)

    def plan(
        self,
        program: Program,
        claims: Claims,
        notes: Sequence[str],
        details: Details = Details(),  # noqa: B008 - frozen
        times: GivenTimes | None = None,
    ) -> Plan:
        """The plan that a program is of the problem; what the clock has to say comes after the
        notes."""
        proven = claims.status == "optimal"
        return Plan(
            planner=self.options.planner(),
            graph=self.graph,
            machine=self.sized,
            budget_bytes=self.budget_bytes,
            program=program,
            claims=claims,
            options=self.options.values(),
            notes=(*notes, *self.clock.notes(proven=proven)),
            details=details,
            times=times,
        )
