"""Order, replacement and addresses together, with one bound over all schedules.

Fixed schedules give plans at once; the search over orders proves one of them best or finds a
better order, whose runs are then given addresses. The search knows sizes only: where its order
cannot be placed for its cost, the gap that is left is due to fragmentation, and is stated.
"""

from __future__ import annotations

from dataclasses import replace

from planners.cosma.fixed import Solution, solve_fixed
from planners.cosma.joint import Found, Route, beam, search
from planners.cosma.peak import minimum_peak
from planners.cosma.problem import Problem
from planners.cosma.space import Space
from planners.progress import Clock

Candidate = tuple[Problem, Solution]

# What a search may cost before anything dearer is tried, in states.
FIRST_STATES = 2000
# Widths of beams, and how much they mind what is live: none is best everywhere.
BEAMS = ((3, 0.0), (10, 0.0), (10, 1.0))
# Shares of the time left for one fixed schedule, and for the beams.
FIXED_SHARE, BEAM_SHARE = 0.2, 0.2


def solve_all_orders(problem: Problem, clock: Clock) -> Candidate:
    """The best plan over all schedules, starting from the problem's own, as time allows."""
    best = _solved(problem, problem.schedule, clock)
    if best[1].cost_bytes == 0:
        return _bounded(best, 0)
    space = Space(problem.graph, problem.parameters, problem.budget_bytes)
    found = search(space, _route(best), clock, FIRST_STATES)
    if found.bound_bytes < found.route.cost_bytes:
        best = _better_orders(problem, space, best, clock)
        found = search(space, _route(best), clock)
    if found.route.schedule != best[0].schedule:
        best = min(best, _solved(problem, found.route.schedule, clock), key=_cost)
    return _bounded(best, found.bound_bytes, found)


def _better_orders(problem: Problem, space: Space, best: Candidate, clock: Clock) -> Candidate:
    """The best of the schedule of least peak and of what beams find."""
    peak = minimum_peak(problem.graph, problem.parameters, clock=clock.part(0.1 * clock.left_s))
    best = min(best, _solved(problem, peak.schedule, clock), key=_cost)
    for width, live_weight in BEAMS:
        clock.report("beam over orders", best[1].cost_bytes)
        route = beam(space, width, clock.part(BEAM_SHARE * clock.left_s), live_weight)
        if route is not None and route.cost_bytes < best[1].cost_bytes:
            best = min(best, _solved(problem, route.schedule, clock), key=_cost)
    return best


def _solved(problem: Problem, schedule: tuple[int, ...], clock: Clock) -> Candidate:
    ordered = replace(problem, schedule=schedule)
    return ordered, solve_fixed(ordered, clock.part(FIXED_SHARE * clock.left_s))


def _cost(candidate: Candidate) -> int:
    return candidate[1].cost_bytes


def _route(candidate: Candidate) -> Route:
    return Route(candidate[0].schedule, candidate[1].cost_bytes)


def _bounded(candidate: Candidate, bound_bytes: int, found: Found | None = None) -> Candidate:
    """The candidate under the bound over all schedules, in place of its own schedule's."""
    problem, solution = candidate
    bound = min(bound_bytes, solution.cost_bytes)
    solver = solution.solver
    if found is not None:
        solver = f"search over orders ({found.states} states), {solver}"
    return problem, replace(solution, bound_bytes=bound, solver=solver)
