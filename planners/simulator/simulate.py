"""One trace of a plan on a machine: time, traffic, energy and peak from the same program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planners.display import Displayed, Fact
from planners.errors import BadInput
from planners.garbage import no_collection
from planners.machine import Machine, with_scratchpad
from planners.plan import Plan
from planners.simulator.check import CheckReport, replay
from planners.simulator.energy import energy
from planners.simulator.timing import Interval, schedule
from planners.units import format_bytes


@dataclass(frozen=True)
class Trace(Displayed):
    """What a plan does on a machine.

    `makespan_s` is when the last instruction ends; `busy_s` how long each engine works;
    `energy` the joules by where they go and `energy_j` their sum.
    """

    machine: str
    serial: bool
    makespan_s: float
    traffic_bytes: int
    peak_bytes: int
    extent_bytes: int
    energy: Mapping[str, float]
    busy_s: Mapping[str, float]
    intervals: tuple[Interval, ...]

    @property
    def energy_j(self) -> float:
        return sum(self.energy.values())

    @property
    def stall_s(self) -> Mapping[str, float]:
        """Seconds that each engine stood free because of a hazard."""
        found: dict[str, float] = defaultdict(float)
        for interval in self.intervals:
            found[interval.engine] += interval.stall_s
        return dict(found)

    def facts(self) -> list[Fact]:
        whole = self.makespan_s or 1.0
        busy = (f"{name} {seconds / whole:.0%}" for name, seconds in self.busy_s.items())
        return [
            ("Trace", self.machine),
            ("makespan", f"{self.makespan_s:.4g} s"),
            ("off-chip traffic", format_bytes(self.traffic_bytes)),
            ("peak", format_bytes(self.peak_bytes)),
            ("energy", f"{self.energy_j:.4g} J"),
            ("busy", ", ".join(busy)),
        ]


def simulate(plan: Plan, machine: Machine | None = None, *, serial: bool = False) -> Trace:
    """Replay and time a plan, on its own machine unless another is given.

    `serial` overlaps nothing. A plan that says how long its instructions take
    (`details["seconds"]`, by position in the program) takes those times on its own machine.
    Raises `InvalidPlan` for a program that is not right, and `BadInput` where the machine lacks
    an engine or memory of the program.
    """
    return traced(plan, replay(plan.graph, plan.program), machine or plan.machine, serial=serial)


@no_collection()
def traced(plan: Plan, report: CheckReport, machine: Machine, *, serial: bool = False) -> Trace:
    """Time a plan that was replayed already: `report` is what the replay found."""
    seconds = own_seconds(plan) if _same(machine, plan.machine) else ()
    intervals = schedule(plan.program, machine, serial=serial, seconds=seconds)
    busy: dict[str, float] = defaultdict(float)
    for interval in intervals:
        busy[interval.engine] += interval.stop_s - interval.start_s
    return Trace(
        machine=machine.name,
        serial=serial,
        makespan_s=max((interval.stop_s for interval in intervals), default=0.0),
        traffic_bytes=report.traffic_bytes,
        peak_bytes=report.peak_bytes,
        extent_bytes=report.extent_bytes,
        energy=energy(plan.program, machine),
        busy_s=dict(busy),
        intervals=intervals,
    )


def _same(machine: Machine, other: Machine) -> bool:
    """Whether two machines are one, whatever the size of its on-chip memory."""
    return with_scratchpad(machine, 1) == with_scratchpad(other, 1)


def own_seconds(plan: Plan) -> Sequence[float | None]:
    """The times that a plan gives its instructions, by position. Raises `BadInput` for others."""
    given = plan.details.get("seconds", ())
    if not isinstance(given, (list, tuple)):
        raise BadInput(f"details: seconds must be a list, not {given!r:.40}")
    for value in given:
        # Written so that NaN fails.
        if value is not None and not (type(value) in (int, float) and 0 <= value < 1e30):
            raise BadInput(f"details: seconds must be numbers, zero or above, not {value!r:.40}")
    return given
