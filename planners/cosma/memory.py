"""Objective `peak`: no spilling, and the least on-chip memory that the network runs in (III-E1).

The paper minimises the bytes that are live; addresses are packed into as few bytes as possible on
top, so what is minimised is a memory that is really enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from planners.allocation.min_capacity import pack_tightest
from planners.core.errors import Cancelled, SpillwayError, refusal
from planners.core.progress import Clock
from planners.cosma.ilp.plan import schedule_of_least_peak
from planners.cosma.model.problem import ScheduleProblem, runs
from planners.cosma.order.peak import minimum_peak, order_peak
from planners.cosma.place.placement import lifetimes
from planners.cosma.replace.optimal import Solution

PEAK_SHARE = 0.5  # of the time, for the order


@dataclass(frozen=True, slots=True)
class Order:
    """A schedule to be packed; `bound_bytes` holds for all that it stands for."""

    schedule: tuple[int, ...]
    bound_bytes: int


def least_memory(
    problem: ScheduleProblem, clock: Clock, *, any_order: bool, solver: str | None = None
) -> tuple[ScheduleProblem, Solution]:
    """A plan without spills; cost and bound are bytes of memory, in the problem's order or in any.

    `solver` finds the order of least peak by the paper's ILP (13)–(15) in place of the search.
    Raises `BudgetTooSmall`, or `NoPlanFound` where that is not proven, with the least memory found
    where it is more than the budget.
    """
    orders = _orders(problem, clock, any_order, solver)
    best: tuple[ScheduleProblem, Solution] | None = None
    for order in orders:
        ordered = replace(problem, schedule=order.schedule)
        solution = _packed(ordered, order.bound_bytes, clock)
        if best is None or solution.cost_bytes < best[1].cost_bytes:
            best = ordered, solution
        if solution.cost_bytes == order.bound_bytes:
            break
    assert best is not None
    if best[1].cost_bytes > problem.budget_bytes:
        raise _too_small(*best)
    return best


def _orders(
    problem: ScheduleProblem, clock: Clock, any_order: bool, solver: str | None
) -> Iterable[Order]:
    """The problem's own order; or the one of least peak, and its own beside it."""
    need = max(problem.required, default=0)
    if not any_order:
        yield Order(problem.schedule, 0)
        return
    part = clock.part(PEAK_SHARE * clock.left_s)
    clock.report("schedule of least peak")
    if solver is None:
        before = problem.wished.before
        peak = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
        schedule, bound = peak.schedule, peak.bound_bytes
    else:
        try:
            schedule, proven = schedule_of_least_peak(problem, part, solver)
        except Cancelled:
            schedule, proven = problem.schedule, False
        bound = order_peak(problem.graph, schedule, problem.parameters) if proven else 0
    bound = max(bound, need)
    yield Order(schedule, bound)
    if schedule != problem.schedule:
        yield Order(problem.schedule, bound)


def _packed(problem: ScheduleProblem, bound_bytes: int, clock: Clock) -> Solution:
    """The tightest packing in the order; its own bound where no other is given."""
    stays = runs(problem, frozenset())
    clock.report("packing")
    packed = pack_tightest(
        lifetimes(problem, stays), time_limit_s=clock.left_s, should_stop=clock.expired
    )
    bound = bound_bytes or packed.bound_bytes
    clock.report("packing", packed.extent_bytes, min(bound, packed.extent_bytes))
    offsets = {run: packed.offsets[str(i)] for i, run in enumerate(stays)}
    return Solution(offsets, packed.extent_bytes, bound, "least peak, tightest packing")


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
