"""What a plan is worth by an objective, and what it is worth at best, by what must be moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from planners.core.bounds.floors import ProblemFloors
from planners.core.bounds.late_loads import late_loads_s
from planners.core.plan import Plan
from planners.core.weights import IN_PLACE

SIMULATED = ("latency", "energy")
UNITS: Mapping[str, str] = {"latency": "s", "traffic": "bytes", "energy": "J", "memory": "bytes"}
CLOSE = 1e-9
"""Values that are this close, as a share, are equal."""


class Simulated(Protocol):
    """What a simulation says of a plan."""

    @property
    def makespan_s(self) -> float: ...

    @property
    def energy_j(self) -> float: ...


@dataclass(frozen=True)
class Objective:
    """An objective on a problem. Values are seconds, bytes or joules: less is better.

    `budget_bytes`: of the memory on chip, where it is one of the problem's numbers; else None.
    """

    name: str
    floors: ProblemFloors
    budget_bytes: int | None = None

    @property
    def unit(self) -> str:
        return UNITS[self.name]

    @property
    def simulated(self) -> bool:
        """Whether a plan's value is known only once its program is timed."""
        return self.name in SIMULATED

    @cached_property
    def floor(self) -> float:
        """What no plan of the problem is better than; zero where nothing is known."""
        return self.of_traffic(self.floors.compulsory_bytes)

    def of_traffic(self, moved_bytes: int) -> float:
        """The least value of a plan that moves at least so many bytes off chip."""
        if self.name == "traffic":
            return moved_bytes
        if self.name == "latency":
            # What is read in place, the first time or again, is no transfer.
            if self.floors.weights == IN_PLACE:
                return self.floors.latency_s
            return max(self.floors.latency_of(moved_bytes), self._late_s)
        if self.name == "energy":
            more = max(0, moved_bytes - self.floors.compulsory_bytes)
            return self.floors.energy_j + more * self._cheapest_pj * 1e-12
        return 0.0

    def value(self, plan: Plan, trace: Simulated | None) -> float:
        """A plan's value; `trace` where it is to be timed."""
        if self.name == "traffic":
            return plan.claims.offchip_bytes
        if self.name == "memory":
            return plan.claims.extent_bytes
        assert trace is not None
        return trace.makespan_s if self.name == "latency" else trace.energy_j

    def better(self, value: float, than: float) -> bool:
        """Whether a value is less, by more than rounding."""
        return value < than * (1 - CLOSE)

    @cached_property
    def _late_s(self) -> float:
        """Seconds for want of memory: what is read last cannot all have come before."""
        return 0.0 if self.budget_bytes is None else late_loads_s(self.floors, self.budget_bytes)

    @property
    def _cheapest_pj(self) -> float:
        machine = self.floors.machine
        outside = [m for m in machine.memories if m.name != machine.onchip]
        return min((min(m.read_pj_per_byte, m.write_pj_per_byte) for m in outside), default=0.0)
