"""One trace of a plan on a machine: time, traffic, energy and peak from the same program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planners.core.display import Displayed, Fact
from planners.core.engines import spreads
from planners.core.gc_pause import no_collection
from planners.core.graph import Graph
from planners.core.machine import Machine, with_scratchpad
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.times import GivenTimes
from planners.core.units import format_bytes
from planners.simulator.check import CheckReport, replay
from planners.simulator.engine_assignment import on_another
from planners.simulator.given_times import seconds_of
from planners.simulator.records.interval import Interval
from planners.simulator.records.interval_columns import HeldIntervals, columns_of_intervals
from planners.simulator.records.replayed import is_long
from planners.simulator.records.traffic import joules
from planners.simulator.residencies import Residencies
from planners.simulator.timing import schedule
from planners.simulator.traffic import moved_bytes


@dataclass(frozen=True)
class Trace(Displayed):
    """What a plan does on a machine.

    `makespan_s` is when the last instruction ends; `busy_s` how long each engine works;
    `energy` the joules by where they go and `energy_j` their sum; `times` names the
    source of the instructions' times. `touched_bytes` are those read and written in each memory
    that tensors may lie in, the fastest first.
    """

    machine: str
    serial: bool
    makespan_s: float
    traffic_bytes: int
    peak_bytes: int
    extent_bytes: int
    energy: Mapping[str, float]
    busy_s: Mapping[str, float]
    intervals: Sequence[Interval]
    times: str = ""
    touched_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def energy_j(self) -> float:
        return sum(self.energy.values())

    @property
    def stall_s(self) -> Mapping[str, float]:
        """Seconds that each engine stood free because of a hazard."""
        columns = columns_of_intervals(self.intervals)
        return columns.by_engine(columns.stall_s)

    def facts(self) -> list[Fact]:
        whole = self.makespan_s or 1.0
        busy = (f"{name} {seconds / whole:.0%}" for name, seconds in self.busy_s.items())
        return [
            ("Trace", self.machine),
            ("makespan", f"{self.makespan_s:.4g} s"),
            ("times", self.times),
            ("off-chip traffic", format_bytes(self.traffic_bytes)),
            *self._through_memories(),
            ("peak", format_bytes(self.peak_bytes)),
            ("energy", f"{self.energy_j:.4g} J"),
            ("busy", ", ".join(busy)),
        ]

    def _through_memories(self) -> list[Fact]:
        """Bytes read and written in each, where there are several."""
        if len(self.touched_bytes) < 2:
            return []
        each = (f"{name} {format_bytes(n)}" for name, n in self.touched_bytes.items())
        return [("read and written", ", ".join(each))]


def simulate(plan: Plan, machine: Machine | None = None, *, serial: bool = False) -> Trace:
    """Replay and time a plan, on its own machine unless another is given.

    `serial` overlaps nothing. Instructions take the machine's roofline; where the plan's problem
    gives the times of layers (`Plan.times`), they take those on the plan's own machine.
    Raises `InvalidPlan` for a program that is not right, and `BadInput` where the machine lacks
    an engine or memory of the program.
    """
    report = replay(plan.graph, plan.program, machine=plan.machine)
    return traced(plan, report, machine or plan.machine, serial=serial)


@no_collection()
def traced(plan: Plan, report: CheckReport, machine: Machine, *, serial: bool = False) -> Trace:
    """Time a plan that was replayed already: `report` is what the replay found."""
    is_own_machine = _same(machine, plan.machine)
    given = plan.times if is_own_machine else None
    program = plan.program if is_own_machine else on_another(plan.program, plan.machine, machine)
    seconds = seconds_of(plan.program, plan.graph, given) if given else ()
    columns = report.residencies.replayed if isinstance(report.residencies, Residencies) else None
    is_checked = program is plan.program and not (spreads(machine) and not is_own_machine)
    intervals = None
    if columns is not None:
        from planners.simulator.columns.timing import moved_by_columns, timed

        intervals = timed(columns, machine, serial, seconds) if is_checked else None
    if intervals is None:
        intervals = columns_of_intervals(
            schedule(
                program,
                machine,
                plan.graph,
                serial=serial,
                seconds=seconds,
                spread=not is_own_machine,
            )
        )
    moved = (
        moved_bytes(plan.program, machine, plan.graph)
        if columns is None
        else moved_by_columns(columns, machine)
    )
    return Trace(
        machine=machine.name,
        serial=serial,
        makespan_s=intervals.makespan_s,
        traffic_bytes=report.traffic_bytes,
        peak_bytes=report.peak_bytes,
        extent_bytes=report.extent_bytes,
        energy=joules(machine, moved, intervals.makespan_s),
        touched_bytes=moved.touched(bank.name for bank in machine.banks),
        busy_s=intervals.by_engine(intervals.stop_s - intervals.start_s),
        intervals=HeldIntervals(intervals),
        times=times_text(given, machine, plan.graph),
    )


@no_collection()
def makespan_s(graph: Graph, program: Program, machine: Machine) -> float:
    """When the last instruction of a program ends, which is not replayed: it is taken as right."""
    if is_long(program):
        from planners.simulator.columns.timing import makespan_by_columns

        if (seconds := makespan_by_columns(graph, program, machine)) is not None:
            return seconds
    return max((each.stop_s for each in schedule(program, machine, graph)), default=0.0)


def _same(machine: Machine, other: Machine) -> bool:
    """Whether two machines are one, whatever the size of its on-chip memory."""
    return with_scratchpad(machine, 1) == with_scratchpad(other, 1)


def times_text(given: GivenTimes | None, machine: Machine, graph: Graph) -> str:
    """The source of the instructions' times."""
    if given is not None:
        return f"given by {given.source}, not the machine's roofline"
    if graph.is_timed:
        return (
            f"operators as given by {graph.timed_by}, transfers by the roofline of {machine.name}"
        )
    return f"roofline of {machine.name}" + ", an ideal machine" * machine.is_ideal
