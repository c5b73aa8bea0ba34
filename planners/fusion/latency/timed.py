"""Chains of groups with addresses, as programs, and the seconds that the scoreboard says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from planners.core.graph import Graph
from planners.core.loops import held
from planners.core.machine import Machine
from planners.core.program import Program
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.program import emit
from planners.fusion.latency.chains import Link
from planners.fusion.latency.ends import at_an_end, may_be_early
from planners.fusion.latency.ways import TimedWays
from planners.simulator.check import replay
from planners.simulator.columns.timing import timed
from planners.simulator.residencies import Residencies
from planners.simulator.spread import by_directions
from planners.simulator.timing import schedule

MOST_KEPT = 50_000
"""Items of a program that is held: the best of a few searches stay, and each takes a thousand
bytes an item. Longer ones are written anew where they are read."""


@dataclass(frozen=True)
class TimedGroups:
    """Groups with addresses, their program and its makespan in seconds."""

    laid: tuple[LaidGroup, ...]
    program: Program
    seconds: float


def timed_plan(
    graph: Graph, machine: Machine, laid: Sequence[LaidGroup], budget_bytes: int
) -> TimedGroups:
    """The program of groups with addresses, timed.

    It is held, with its engines, as it will be in the plan: what is found of it here is known when
    the plan is checked and simulated.
    """
    program = held(by_directions(emit(graph, machine, laid, budget_bytes)), MOST_KEPT)
    return TimedGroups(tuple(laid), program, makespan_s(graph, machine, program))


def makespan_s(graph: Graph, machine: Machine, program: Program) -> float:
    """Seconds until a program's last instruction ends, on the scoreboard."""
    found = replay(graph, program, machine=machine).residencies
    columns = found.replayed if isinstance(found, Residencies) else None
    intervals = timed(columns, machine, False, ()) if columns else None
    if intervals is not None:
        return float(intervals.stop_s.max(initial=0.0))
    return max((each.stop_s for each in schedule(program, machine, graph)), default=0.0)


def laid_at_ends(ways: TimedWays, links: Sequence[Link]) -> list[LaidGroup]:
    """The groups of a chain at the two ends of the memory by turns."""
    done: list[LaidGroup] = []
    for number, link in enumerate(links):
        laid = ways.laid(f"g{number}", link.mask, link.way)
        high = bool(number % 2)
        layout = at_an_end(laid.arranger, laid.layout, ways.budget_bytes, high=high)
        laid = replace(laid, layout=layout)
        if link.early and number:
            at = early_at(links[number - 1], link.way.pace.early_s)
            laid = replace(laid, early=may_be_early(done[-1], laid), early_at=at)
        done.append(laid)
    return done


def early_at(before: Link, early_s: float) -> int:
    """The step of a group after whose loads those of so many seconds come: the last one that
    leaves them time enough; the very last where there is none."""
    pace, steps = before.way.pace, before.way.plan.strips
    idle_s = pace.alone_s - pace.in_s
    if idle_s <= early_s:
        return steps - 1
    return max(0, steps - 1 - ceil(steps * early_s / idle_s))
