"""Latency as the objective: the fastest plan found, of one traffic or of any, with a bound.

It begins with the plan of least traffic and is never slower. Where any traffic may be, less of the
budget is tried too for what stays: what is spilled for it leaves room for loads to come early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planners.allocation import load_lower_bound
from planners.allocation.portfolio import LONG_WORK
from planners.core.caches import RecentObjects
from planners.core.details import LatencyClaim
from planners.core.engines import spreads
from planners.core.errors import BudgetTooSmall
from planners.core.machine import Machine
from planners.core.program import Program
from planners.core.progress import Clock
from planners.cosma.latency.bound import ScheduleSeconds, any_order_bound_s, order_bound_s
from planners.cosma.latency.exact import least_makespan
from planners.cosma.latency.shifted import Placement
from planners.cosma.latency.variants import Fastest
from planners.cosma.model.constraints import NO_WISHES
from planners.cosma.model.problem import ScheduleProblem, cost_of, extent_of
from planners.cosma.order.peak import PEAK_WORK, minimum_peak
from planners.cosma.place.placement import lifetimes
from planners.cosma.replace.optimal import Solution, solve_fixed
from planners.simulator.timing import schedule

AGAIN = 1e-9
STAYING = (0.9, 0.8, 0.65)
"""Shares of the budget for what stays, where latency alone counts."""


@dataclass(frozen=True, slots=True)
class Quickest:
    """The fastest plan found, with what it holds and moves, and a bound in seconds on all.

    `first_s` are the seconds of the plan that it began with, `candidates` how many were timed.
    """

    problem: ScheduleProblem
    program: Program
    makespan_s: float
    cost_bytes: int
    peak_bytes: int
    extent_bytes: int
    bound_s: float
    first_s: float
    candidates: int
    of_this_traffic: bool

    @property
    def note(self) -> str:
        which = "of this traffic " if self.of_this_traffic else ""
        first = "plan of this traffic" if self.of_this_traffic else "plan of least traffic"
        return (
            f"latency: {self.first_s * 1e3:.6g} ms for the first {first}, "
            f"{self.makespan_s * 1e3:.6g} ms for the best of {self.candidates}; no plan "
            f"{which}takes less than {self.bound_s * 1e3:.6g} ms"
        )

    def claim(self, scope: str) -> LatencyClaim:
        """What is claimed of the seconds, and in which space."""
        return LatencyClaim(self.makespan_s, min(self.bound_s, self.makespan_s), scope)


def quickest(
    start: tuple[ScheduleProblem, Solution],
    machine: Machine,
    clock: Clock,
    *,
    any_order: bool,
    any_traffic: bool,
) -> Quickest:
    """The fastest variant of a solution and of others, on the machine with the budget's memory.

    `any_order`: of other orders too; `any_traffic`: also of plans that move more. Without it all
    move as many bytes as the solution.
    """
    problem, _ = start
    search_before = _known_of(start, machine, any_order=any_order, any_traffic=any_traffic)
    search, bound = search_before.search, search_before.search.bound_s
    search_before.clock = clock
    best = search.look_on(search_before.candidates, clock)
    quickest_plan = Quickest(
        problem=best.problem,
        program=best.program,
        makespan_s=best.makespan_s,
        cost_bytes=cost_of(best.problem, dict(best.offsets)),
        peak_bytes=load_lower_bound(lifetimes(best.problem, best.offsets)),
        extent_bytes=extent_of(best.problem, best.offsets),
        bound_s=bound,
        first_s=search.first_s,
        candidates=search.candidates,
        of_this_traffic=not any_traffic,
    )
    if not any_traffic or search.proven or problem.paper_strict or problem.wished != NO_WISHES:
        return quickest_plan
    return _tried_all(quickest_plan, search_before.seconds, clock, any_order)


class KnownVariants:
    """The variants of a solution that were looked at, and those that are left to look at."""

    def __init__(
        self,
        start: tuple[ScheduleProblem, Solution],
        machine: Machine,
        any_order: bool,
        any_traffic: bool,
    ) -> None:
        problem, solution = self.start = start
        self.asked = (machine, any_order, any_traffic)
        self.clock = Clock(0.0)
        self.seconds = ScheduleSeconds(problem, machine)
        moved = 0 if any_traffic else _transferred_bytes(problem, solution)
        bound = any_order_bound_s(self.seconds, moved)
        if not any_order:
            bound = max(bound, order_bound_s(self.seconds))
        self.search = Fastest(machine, bound)
        self.candidates = self.search.candidates_of(self._placements(any_order, any_traffic))

    def _placements(
        self, any_order: bool, any_traffic: bool
    ) -> Iterator[tuple[ScheduleProblem, Placement]]:
        """The solution's own placement, then those of other orders, and of stays that leave
        room."""
        problem, first = self.start
        yield problem, first.offsets
        problems = [problem]
        for ordered in _orders(problem, self.clock) if any_order else ():
            solution = _solved(ordered, self.clock)
            if solution and (any_traffic or solution.cost_bytes == first.cost_bytes):
                problems.append(ordered)
                yield ordered, solution.offsets
        if not any_traffic:
            return
        for ordered in problems:
            for share in STAYING:
                less = replace(ordered, budget_bytes=int(share * problem.budget_bytes))
                solution = _solved(less, self.clock)
                if solution and solution.cost_bytes > first.cost_bytes:
                    yield ordered, solution.offsets


_recent = RecentObjects[KnownVariants](2)


def _known_of(
    start: tuple[ScheduleProblem, Solution],
    machine: Machine,
    *,
    any_order: bool,
    any_traffic: bool,
) -> KnownVariants:
    """What is known of the variants of this very solution: a longer search goes on from there."""
    problem, solution = start

    def is_it(known: KnownVariants) -> bool:
        before, known_solution = known.start
        alike = known.asked == (machine, any_order, any_traffic) and before.graph is problem.graph
        same = alike and before == problem and known_solution.offsets == solution.offsets
        return same and not known.search.broken_off

    return _recent.get(is_it, lambda: KnownVariants(start, machine, any_order, any_traffic))


def _tried_all(
    found: Quickest, seconds: ScheduleSeconds, clock: Clock, any_order: bool
) -> Quickest:
    """The best of all plans where the problem is small enough to try them; else what was found."""
    if spreads(seconds.machine):
        return found
    clock.report("every start of every transfer")
    # What is known is found anew, or something better: else nothing is proven.
    timed = least_makespan(seconds, found.makespan_s * (1 + AGAIN), clock, any_order)
    if timed is None:
        return found
    program = timed.program(seconds.machine)
    intervals = schedule(program, seconds.machine, seconds.problem.graph)
    makespan_s = max(interval.stop_s for interval in intervals)
    if makespan_s >= found.makespan_s:
        return replace(found, bound_s=found.makespan_s)
    return replace(
        found,
        problem=timed.problem,
        program=program,
        makespan_s=makespan_s,
        cost_bytes=timed.cost_bytes,
        peak_bytes=timed.peak_bytes,
        extent_bytes=timed.extent_bytes,
        bound_s=makespan_s,
        candidates=found.candidates + 1,
    )


def _orders(problem: ScheduleProblem, clock: Clock) -> Iterator[ScheduleProblem]:
    """The graph's own order and that of least peak, where they are others."""
    part, before = clock.work(PEAK_WORK), problem.wished.before
    least = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
    for order in (tuple(range(len(problem.schedule))), least.schedule):
        if order != problem.schedule:
            yield replace(problem, schedule=order)


def _solved(problem: ScheduleProblem, clock: Clock) -> Solution | None:
    """Stays of least traffic; None where what must be kept does not fit."""
    try:
        return solve_fixed(problem, clock.work(LONG_WORK), quick=True)
    except BudgetTooSmall:
        return None


def _transferred_bytes(problem: ScheduleProblem, solution: Solution) -> int:
    """Bytes that the plan loads and stores."""
    outputs = problem.graph.outputs
    compulsory = sum(
        line.size_bytes for line in problem.lines if not line.produced or line.tensor in outputs
    )
    return compulsory + solution.cost_bytes
