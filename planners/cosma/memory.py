"""Objective `peak`: no spilling, and the least on-chip memory that the network runs in (III-E1).

The paper minimises the bytes that are live; addresses are packed into as few bytes as possible on
top, so what is minimised is a memory that is really enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

from planners.allocation.min_capacity import pack_tightest
from planners.core.errors import Cancelled, SpillwayError, refusal
from planners.core.portfolio import Outcome, Portfolio, Strategy
from planners.core.progress import Clock
from planners.cosma.ilp.plan import schedule_of_least_peak
from planners.cosma.model.problem import ScheduleProblem, runs
from planners.cosma.order.peak import minimum_peak, order_peak
from planners.cosma.place.placement import lifetimes
from planners.cosma.replace.optimal import Solution

FIRST_WORK = 1024
"""Looks at the clock for each order in the first round."""

OrderedSolution: TypeAlias = tuple[ScheduleProblem, Solution]


class MemoryRequest(NamedTuple):
    """A problem in its own order or in any; and the ILP's solver where that is to find the order of
    least peak, by (13)-(15), in place of the search."""

    problem: ScheduleProblem
    any_order: bool
    solver: str | None


def least_memory(
    problem: ScheduleProblem, clock: Clock, *, any_order: bool, solver: str | None = None
) -> OrderedSolution:
    """A plan without spills; cost and bound are bytes of memory, in the problem's order or in any.

    Raises `BudgetTooSmall`, or `NoPlanFound` where that is not proven, with the least memory found
    where it is more than the budget.
    """
    orders = Portfolio(
        STRATEGIES if any_order else (GIVEN,),
        value=lambda found: (found[1].cost_bytes,),
        first_work=FIRST_WORK,
    )
    request = MemoryRequest(problem, any_order, solver)
    result = orders.solve(request, clock, _by_best_fit(problem, clock))
    assert result.best is not None
    ordered, solution = result.best
    bound = min(solution.cost_bytes, int(max(result.bound, default=0)))
    best = ordered, replace(solution, bound_bytes=bound)
    if solution.cost_bytes > problem.budget_bytes:
        raise _too_small(*best)
    return best


def _by_least_peak(
    request: MemoryRequest, best: OrderedSolution | None, clock: Clock
) -> Outcome[OrderedSolution]:
    """The order of least peak, in half of the work, and its packing; the peak bounds all orders."""
    problem = request.problem
    need, part = max(problem.required, default=0), clock.share(0.5)
    clock.report("schedule of least peak")
    if request.solver is None:
        before = problem.wished.before
        peak = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
        schedule, bound = peak.schedule, peak.bound_bytes
    else:
        try:
            schedule, proven = schedule_of_least_peak(problem, part, request.solver)
        except Cancelled:
            schedule, proven = problem.schedule, False
        bound = order_peak(problem.graph, schedule, problem.parameters) if proven else 0
    bound = max(bound, need)
    ordered = replace(problem, schedule=schedule)
    return Outcome((ordered, _packed(ordered, clock)), bound=(bound,))


def _in_given_order(
    request: MemoryRequest, best: OrderedSolution | None, clock: Clock
) -> Outcome[OrderedSolution]:
    """The problem's own order; what its packing needs bounds that order alone."""
    solution = _packed(request.problem, clock)
    bound = (solution.bound_bytes,)
    if request.any_order:
        return Outcome((request.problem, solution), reach=bound)
    return Outcome((request.problem, solution), bound=bound)


OF_LEAST_PEAK = Strategy(
    "least peak", "needs least by bytes, and bounds all orders", _by_least_peak
)
GIVEN = Strategy("given order", "may be packed as tightly, or tighter", _in_given_order)
STRATEGIES = (OF_LEAST_PEAK, GIVEN)


def _packed(problem: ScheduleProblem, clock: Clock) -> Solution:
    """The tightest packing in the order, with its own bound."""
    stays = runs(problem, frozenset())
    clock.report("packing")
    packed = pack_tightest(lifetimes(problem, stays), clock=clock)
    clock.report("packing", packed.extent_bytes, min(packed.bound_bytes, packed.extent_bytes))
    offsets = {run: packed.offsets[str(i)] for i, run in enumerate(stays)}
    solver = "least peak, tightest packing"
    return Solution(offsets, packed.extent_bytes, packed.bound_bytes, solver)


def _by_best_fit(problem: ScheduleProblem, clock: Clock) -> OrderedSolution:
    """The problem's own order, packed without a search: there is always a plan."""
    return problem, _packed(problem, clock.work(0))


def _too_small(problem: ScheduleProblem, solution: Solution) -> SpillwayError:
    """The memory needed without spills, and the operator that needs the most."""
    stays = list(solution.offsets)
    live = [
        [run for run in stays if run.first <= step <= run.last]
        for step in range(len(problem.schedule))
    ]
    load = [sum(problem.lines[run.line].size_bytes for run in there) for there in live]
    step = load.index(max(load))
    bound = solution.bound_bytes
    proof = "no less is enough" if solution.cost_bytes == bound else f"and at least {bound}"
    return refusal(
        solution.cost_bytes,
        bound,
        problem.budget_bytes,
        problem.graph.operators[problem.schedule[step]].name,
        tuple(problem.lines[run.line].tensor for run in live[step]),
        f"without spills it takes {solution.cost_bytes}, {proof}; "
        "a smaller budget needs objective='traffic'",
    )
