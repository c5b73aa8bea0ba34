"""Which planners are tried, with which options, in which order; a plan's value by an objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.registry import planners
from planners.simulator.simulate import Trace

AUTO = "auto"
SIMULATED = ("latency", "energy")
UNITS = {"latency": "s", "traffic": "bytes", "energy": "J", "memory": "bytes"}


@dataclass(frozen=True, slots=True)
class PlannerCandidate:
    """A planner with options; quick ones come first, so that the others have a value to beat."""

    planner: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name and what is set: `cosma schedule=joint`."""
        told = (f"{k}={v}" for k, v in self.options.items() if k != "weights")
        return " ".join([self.planner, *told])


OVERLAP = tuple(
    PlannerCandidate("overlap", {"objective": objective}) for objective in ("macs", "ram")
)
QUICK = (PlannerCandidate("overlap", {"objective": "latency"}),)
"""In place of those, where a program is timed: by pixels it would be no match, and long."""
OURS = (
    PlannerCandidate("cosma"),
    PlannerCandidate("streaming", {"joint": True}),
    PlannerCandidate("cosma", {"schedule": "joint"}),
    PlannerCandidate("fusion"),
    PlannerCandidate("streaming"),
    PlannerCandidate("fusion", {"joint": True}),
)


def candidates(objective: str, weights: str) -> list[PlannerCandidate]:
    """Ours, and then third-party planners, with their defaults; weights do the same in all."""
    ours = (*OURS, *(QUICK if objective in SIMULATED else OVERLAP))
    known = {c.planner for c in ours} | {AUTO}
    theirs = (PlannerCandidate(name) for name in planners() if name not in known)
    return [replace(c, options={**c.options, "weights": weights}) for c in (*ours, *theirs)]


def value_of(objective: str, plan: Plan, trace: Trace | None) -> float:
    """A plan's value by an objective: seconds, bytes or joules. Less is better."""
    if objective == "traffic":
        return plan.claims.offchip_bytes
    if objective == "memory":
        return plan.claims.extent_bytes
    assert trace is not None
    return trace.makespan_s if objective == "latency" else trace.energy_j


def floor_of(objective: str, plan: Plan, machine: Machine) -> float:
    """A lower bound on a plan's value, from what it claims to move: no replay is needed.

    Latency: no faster than all memories off chip, read and written at once, can move its bytes.
    Energy: each of these bytes at the cheapest of their energies, and the graph's MACs once.
    """
    moved = plan.claims.offchip_bytes
    outside = [m for m in machine.memories if m.name != machine.onchip]
    if objective == "latency":
        rate = sum(m.read_bytes_per_s + m.write_bytes_per_s for m in outside)
        return moved / rate if rate else 0.0
    if objective == "energy":
        each = min((min(m.read_pj_per_byte, m.write_pj_per_byte) for m in outside), default=0.0)
        return (moved * each + plan.graph.macs * machine.mac_pj) * 1e-12
    return value_of(objective, plan, None)
