"""Divide and conquer (IV): parts between break nodes, each in its best order, joined.

First come plans of the whole, in the order given and in the one of least peak. Then each part is
planned by the search over orders, with what crosses it in its place; the joined order is solved as
a whole, so the plan is valid and its replacement the best for that order. What is lost is only
what orders across the break nodes could have saved. With `auto`, break nodes are found for larger
and larger parts, as time allows: fewer cuts lose less. Each starts from the best order so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from planners.core.errors import BudgetTooSmall, NoPlanFound
from planners.core.progress import Clock
from planners.cosma.model.constraints import NO_WISHES
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.breaks import Part, find_breaks, parts_at
from planners.cosma.order.joint import NOTHING, no_plan, solve_all_orders
from planners.cosma.order.parts import Boundary, boundary_after, induced, order_of, part_problem
from planners.cosma.order.peak import least_for_kept, minimum_peak
from planners.cosma.replace.optimal import NEVER, Solution, solve_fixed

# Operators in a part, first: what the search over orders settles in a moment.
FIRST_OPERATORS = 48
# Shares of the time: for orders and plans, the rest for bounds; and of what is left of the former
# for the order of least peak, for one order of the whole, for one choice of parts, and for the
# orders of its parts.
ORDERS_SHARE, PEAK_SHARE, WHOLE_SHARE, LEVEL_SHARE, PARTS_SHARE = 0.7, 0.1, 0.15, 0.6, 0.7
# Of the time left for parts, the least share of one: few are hard, and it is not known which.
PART_SHARE = 0.4
# Operators in the parts that bounds are sought on; larger ones are rarely solved.
BOUND_OPERATORS = 200


@dataclass(frozen=True, slots=True)
class Divided:
    """The best plan, under a bound over all orders; and its break nodes, or those first tried."""

    problem: ScheduleProblem
    solution: Solution
    breaks: tuple[str, ...]


def solve_parts(
    problem: ScheduleProblem, clock: Clock, breaks: Sequence[str] | None = None
) -> Divided:
    """The best joined order of the parts between `breaks` (found where None), solved as a whole.

    The order given, or the one of least peak, where parts save nothing. Raises `BadInput` for
    break nodes that are none, and `BudgetTooSmall`.
    """
    replace(problem, wished=NO_WISHES).assert_feasible()
    levels = _levels(problem) if breaks is None else iter([tuple(breaks)])
    bounding = next(levels)
    _parts(problem, bounding)  # wrong names are reported at once
    working = clock.part(ORDERS_SHARE * clock.left_s)
    best = _solve_uncut(problem, bounding, working, clock)
    cuts: list[Divided] = []
    for names in chain([bounding], levels):
        if best.solution.cost_bytes == 0 or working.expired():
            break
        clock.report("parts", _told(best), 0)
        # Not from the order of least peak: where that is better so far, parts would end there.
        start = min(cuts, key=_cost).problem if cuts else problem
        cuts.append(_solve_level(start, names, working.part(LEVEL_SHARE * working.left_s)))
        best = min(best, cuts[-1], key=_cost)
        if max(map(len, _parts(problem, names))) <= BOUND_OPERATORS:
            bounding = names
    cost = best.solution.cost_bytes
    if cost == NEVER:
        raise no_plan(best.problem)
    bound = min(cost, _bound(problem, bounding, cost, clock))
    return replace(best, solution=replace(best.solution, bound_bytes=bound))


def _solve_uncut(
    problem: ScheduleProblem, names: tuple[str, ...], working: Clock, clock: Clock
) -> Divided:
    """The better of two plans for orders of the whole, after an immediate one."""
    best = _uncut(problem, names, clock.part(0.0))
    for ordered in _known_orders(problem, working):
        if best.solution.cost_bytes == 0:
            break
        clock.report("an order of the whole", _told(best), 0)
        candidate = _uncut(ordered, names, working.part(WHOLE_SHARE * working.left_s))
        best = min(best, candidate, key=_cost)
    return best


def _known_orders(problem: ScheduleProblem, clock: Clock) -> Iterator[ScheduleProblem]:
    yield problem
    if problem.wished.keep:
        part = clock.part(PEAK_SHARE * clock.left_s)
        kept = least_for_kept(problem.graph, problem.parameters, problem.wished, part)
        yield replace(problem, schedule=kept.schedule)
    limited = clock.part(PEAK_SHARE * clock.left_s)
    before = problem.wished.before
    least = minimum_peak(problem.graph, problem.parameters, clock=limited, before=before)
    yield replace(problem, schedule=least.schedule)


def _uncut(ordered: ScheduleProblem, names: tuple[str, ...], clock: Clock) -> Divided:
    solution = _solved(ordered, clock)
    solver = f"divide and conquer (an order of the whole), {solution.solver}"
    return Divided(ordered, replace(solution, bound_bytes=0, solver=solver), names)


def _solved(ordered: ScheduleProblem, clock: Clock) -> Solution:
    """The plan of an order; nothing where what must be kept cannot be placed in it."""
    try:
        return solve_fixed(ordered, clock)
    except (BudgetTooSmall, NoPlanFound):
        return NOTHING


def _parts(problem: ScheduleProblem, names: Sequence[str]) -> tuple[Part, ...]:
    return parts_at(problem.graph, names, problem.wished.before)


def _told(divided: Divided) -> int | None:
    return None if _cost(divided) == NEVER else _cost(divided)


def _cost(divided: Divided) -> int:
    return divided.solution.cost_bytes


def _levels(problem: ScheduleProblem) -> Iterator[tuple[str, ...]]:
    """Break nodes for parts of twice as many operators each time, until there are none."""
    most = FIRST_OPERATORS
    before = problem.wished.before
    names = find_breaks(problem.graph, most, before)
    yield names
    while names:
        most *= 2
        names = find_breaks(problem.graph, most, before)
        if names:
            yield names


def _solve_level(problem: ScheduleProblem, names: tuple[str, ...], clock: Clock) -> Divided:
    at = {position: step for step, position in enumerate(problem.schedule)}
    parts = [tuple(sorted(part, key=at.__getitem__)) for part in _parts(problem, names)]
    ordered = replace(problem, schedule=_joined(problem, parts, clock))
    clock.report("the joined order")
    solution = _solved(ordered, clock)
    count = "1 part" if len(parts) == 1 else f"{len(parts)} parts"
    solver = f"divide and conquer ({count}), {solution.solver}"
    return Divided(ordered, replace(solution, bound_bytes=0, solver=solver), names)


def _joined(problem: ScheduleProblem, parts: Sequence[Part], clock: Clock) -> tuple[int, ...]:
    """The best orders found for the parts one after the other; the known ones once time is over."""
    until_s = clock.elapsed_s + PARTS_SHARE * clock.left_s
    boundary, order = Boundary(), list[int]()
    for at, part in enumerate(parts):
        rest = [position for later in parts[at + 1 :] for position in later]
        clock.report(f"part {at + 1} of {len(parts)}")
        share = max(PART_SHARE, len(part) / (len(part) + len(rest)))
        planned = part_problem(problem, part, boundary, rest)
        part_clock = clock.part(max(0.0, until_s - clock.elapsed_s) * share)
        solved, solution = _all_orders(planned.problem, part_clock)
        order += [problem.graph.index[name] for name in order_of(planned, solved)]
        boundary = boundary_after(planned, solved, solution, boundary)
    return tuple(order)


def _bound(problem: ScheduleProblem, names: Sequence[str], cost_bytes: int, clock: Clock) -> int:
    """A bound on every order: the largest of any part, or the sum over parts that share nothing.

    To add up, each tensor counts in the first part that uses it, and is gone from all others.
    """
    if cost_bytes == 0:
        return 0
    parts = _parts(problem, names)
    dearest = total = 0
    for at, (part, used) in enumerate(_with_used(problem, parts)):
        share = max(PART_SHARE, 1 / (len(parts) - at)) * clock.left_s
        alone = _least(induced(problem, part), clock.part(share / 2))
        dearest = max(dearest, alone)
        if used and alone:
            alone = min(alone, _least(induced(problem, part, used), clock.part(share / 2)))
        total += alone
        clock.report("bounds of the parts", cost_bytes, min(cost_bytes, max(dearest, total)))
        if clock.expired():
            break
    return max(dearest, total)


def _with_used(
    problem: ScheduleProblem, parts: Sequence[Part]
) -> Iterator[tuple[Part, frozenset[str]]]:
    """Each part with the tensors that earlier ones use."""
    used: frozenset[str] = frozenset()
    for part in parts:
        yield part, used
        ops = [problem.graph.operators[i] for i in part]
        used |= {t for op in ops for t in (*op.inputs, *op.outputs, *op.parameters)}


def _least(problem: ScheduleProblem, clock: Clock) -> int:
    return 0 if clock.expired() else _all_orders(problem, clock)[1].bound_bytes


def _all_orders(problem: ScheduleProblem, clock: Clock) -> tuple[ScheduleProblem, Solution]:
    """The best order of a part; what must be kept is ignored where no place is found for it."""
    try:
        return solve_all_orders(problem, clock)
    except (BudgetTooSmall, NoPlanFound):
        wished = replace(problem.wished, keep=frozenset())
        return solve_all_orders(replace(problem, wished=wished), clock)
