"""Replay a program on symbolic bytes: is every byte right, and do the claims hold?

Nothing here knows of planners. Long programs are replayed in columns; short ones, and those of
which columns do not say that they are right, one instruction after the other (`symbolic`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from planners.core.boxes import volume
from planners.core.caches import IdentityCache
from planners.core.display import Displayed, Fact
from planners.core.errors import InvalidPlan
from planners.core.gc_pause import no_collection
from planners.core.graph import Graph
from planners.core.loops import MOST_INSTRUCTIONS, cannot_change, held, is_longer
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import AddressSpace, Box, Program
from planners.core.progress import Progress, ProgressCallback
from planners.core.units import format_bytes
from planners.simulator.memories import check_levels, check_memories, onchip_bytes
from planners.simulator.records.replayed import Replayed, is_long
from planners.simulator.records.residency import Residency
from planners.simulator.residencies import Residencies
from planners.simulator.symbolic import Replay
from planners.simulator.traffic import moved_bytes


@dataclass(frozen=True, slots=True)
class CheckReport(Displayed):
    """What a valid program really does, in bytes.

    `compulsory_bytes` is one load of what is read of each graph input (and parameter, where
    counted) and one store of each output; the rest of the traffic is non-compulsory. `occupancy`
    holds the most bytes resident on chip in each step; `peak_step` is the first at the peak.
    """

    loaded_bytes: int
    stored_bytes: int
    compulsory_bytes: int
    peak_bytes: int
    peak_step: int
    extent_bytes: int
    macs: int
    instructions: int
    occupancy: tuple[int, ...]
    residencies: Sequence[Residency]

    @property
    def traffic_bytes(self) -> int:
        return self.loaded_bytes + self.stored_bytes

    @property
    def noncompulsory_bytes(self) -> int:
        return self.traffic_bytes - self.compulsory_bytes

    def facts(self) -> list[Fact]:
        return [
            ("Report", "every byte replayed"),
            ("instructions", f"{self.instructions:,}"),
            ("steps", f"{len(self.occupancy):,}"),
            ("off-chip traffic", format_bytes(self.traffic_bytes)),
            ("of it not compulsory", format_bytes(self.noncompulsory_bytes)),
            ("peak", f"{format_bytes(self.peak_bytes)} in step {self.peak_step + 1}"),
            ("extent", format_bytes(self.extent_bytes)),
            ("MACs", f"{self.macs:,}"),
        ]


_last = IdentityCache[CheckReport]()
_figures = IdentityCache[CheckReport](size=16)
"""The same without residencies, which take much room where there are many."""


def require_valid(plan: Plan, progress: ProgressCallback | None = None) -> None:
    """Compare what a plan's program does with the bytes that its planner claims; one that was
    replayed some time ago is not again. Raises `InvalidPlan`."""
    onchip = _onchip_bytes(plan)
    _check_claims(plan, figures(plan.graph, plan.program, progress, plan.machine), onchip)


def replay_claimed(plan: Plan, progress: ProgressCallback | None = None) -> CheckReport:
    """Replay a plan and compare the bytes. Raises `InvalidPlan`."""
    onchip = _onchip_bytes(plan)
    report = replay(plan.graph, plan.program, progress, plan.machine)
    _check_claims(plan, report, onchip)
    return report


def _onchip_bytes(plan: Plan) -> int:
    """What a program's memories on chip hold, which the budget must too. Raises `InvalidPlan`."""
    check_memories(plan.program)
    check_levels(plan.program, plan.machine)
    if (onchip := onchip_bytes(plan.program, plan.machine)) > plan.budget_bytes:
        raise InvalidPlan(
            f"the program's memories hold {onchip} bytes, the budget is {plan.budget_bytes}",
            kind="budget",
        )
    return onchip


def _check_claims(plan: Plan, report: CheckReport, onchip: int) -> None:
    claims = plan.claims
    for name in ("peak_bytes", "extent_bytes", "compulsory_bytes", "noncompulsory_bytes"):
        claimed, actual = getattr(claims, name), getattr(report, name)
        if claimed != actual:
            raise InvalidPlan(
                f"{name}: the plan claims {claimed}, the program has {actual}", kind="claims"
            )
    # What was minimised is the planner's choice, but it is a number that the replay has too.
    minimised = ("noncompulsory_bytes", "traffic_bytes", "peak_bytes", "extent_bytes")
    others = [onchip, *_slow_bytes(plan)]
    if claims.objective_bytes not in [*others, *(getattr(report, name) for name in minimised)]:
        raise InvalidPlan(
            f"objective_bytes: the plan claims {claims.objective_bytes}, which is none of the "
            f"program's {', '.join(minimised)}, nor the size of its memories",
            kind="claims",
        )
    if not 0 <= claims.bound_bytes <= claims.objective_bytes or (
        claims.status == "optimal" and plan.gap
    ):
        raise InvalidPlan(
            f"status {claims.status!r} does not agree with objective {claims.objective_bytes} "
            f"and bound {claims.bound_bytes}"
            + ("" if plan.details.latency is None else " or its seconds"),
            kind="claims",
        )


def _slow_bytes(plan: Plan) -> list[int]:
    """Bytes read and written in memories slower than the fastest, where the program has any."""
    if not plan.slow_memories:
        return []
    return [sum(moved_bytes(plan.program, plan.machine).touched(plan.slow_memories).values())]


@no_collection()
def replay(
    graph: Graph,
    program: Program,
    progress: ProgressCallback | None = None,
    machine: Machine | None = None,
) -> CheckReport:
    """Replay a program without a plan's claims, on the engines of a machine where one is given.

    Raises `InvalidPlan`.
    """
    report = _last.get(program, graph, machine)
    if report is None:
        report = _replay(graph, held(program), progress, machine)
        if _is_in_columns(report) and cannot_change(program):
            _last.keep(report, program, graph, machine)
            _figures.keep(replace(report, residencies=()), program, graph, machine)
    return report


def figures(
    graph: Graph,
    program: Program,
    progress: ProgressCallback | None = None,
    machine: Machine | None = None,
) -> CheckReport:
    """The same as `replay`, but for the residencies, which may be left out."""
    cached = _figures.get(program, graph, machine)
    return replay(graph, program, progress, machine) if cached is None else cached


def known_figures(graph: Graph, program: Program) -> CheckReport | None:
    """What a replay of this very program found, if it was one of the last, on whatever machine;
    without residencies."""
    entry = _figures.entry(program)
    return entry[1] if entry is not None and entry[0][0] is graph else None


def _is_in_columns(report: CheckReport) -> bool:
    """Whether the program was a long one, worth being known."""
    residencies = report.residencies
    return isinstance(residencies, Residencies) and residencies.replayed is not None


def _replay(
    graph: Graph, program: Program, progress: ProgressCallback | None, machine: Machine | None
) -> CheckReport:
    check_memories(program)
    if is_long(program):
        from planners.simulator.columns.replay import replayed  # and numpy, for long ones alone

        if progress is not None:
            progress(Progress("checking every byte", 0.0))
        replayed_program = replayed(graph, program, machine)
        if replayed_program is None and is_longer(program):
            raise InvalidPlan(
                f"the program has more than {MOST_INSTRUCTIONS:,} instructions, and longer ones "
                "are not replayed",
                kind="length",
            )
        from planners.simulator.locate_error import replay_from

        replayed_program = replayed_program or replay_from(graph, program, progress, machine).run()
    else:
        replayed_program = Replay(
            graph, program, AddressSpace(program.memories), progress, machine
        ).run()
    return report_of(graph, program, replayed_program)


def report_of(graph: Graph, program: Program, found: Replayed) -> CheckReport:
    """What was found in columns, as the report."""
    peak = max(found.occupancy, default=0)
    return CheckReport(
        loaded_bytes=found.loaded_bytes,
        stored_bytes=found.stored_bytes,
        compulsory_bytes=compulsory_bytes(graph, found.fetched),
        peak_bytes=peak,
        peak_step=found.occupancy.index(peak) if found.occupancy else 0,
        extent_bytes=found.extent_bytes,
        macs=found.macs,
        instructions=found.instructions,
        occupancy=found.occupancy,
        residencies=Residencies(graph, program, found.columns),
    )


def compulsory_bytes(graph: Graph, fetched: Mapping[str, Collection[Box]]) -> int:
    """Bytes that a program must move to read what it reads, and to store the outputs, once each.

    `fetched` are the boxes that it loads, by tensor. A window may never touch the last rows of an
    input, or rows between its strides: a program over rows leaves them where they are.
    """
    loads = sum(
        graph.bytes_of(name, volume(boxes))
        for name, boxes in fetched.items()
        if graph.tensors[name].kind != "activation"
    )
    return loads + sum(graph.size_bytes(name) for name in set(graph.outputs) - set(graph.inputs))
