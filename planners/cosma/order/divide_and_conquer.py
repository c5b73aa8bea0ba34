"""Divide and conquer (IV): parts between break nodes, each in its best order, joined.

The strategies are in `STRATEGIES`. Plans of the whole come in the order given and in the one of
least peak. Each part is planned by the search over orders, with what crosses it in its place; the
joined order is solved as a whole, so the plan is valid and its replacement the best for that order.
What is lost is only what orders across the break nodes could have saved. With `auto`, break nodes
are found for larger and larger parts, as time allows: fewer cuts lose less. Each starts from the
best order so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from planners.core.errors import BudgetTooSmall, NoPlanFound
from planners.core.portfolio import Outcome, Portfolio, Strategy
from planners.core.progress import MOST_SHARE, TRIAL_SHARE, Clock
from planners.cosma.model.constraints import NO_WISHES
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.breaks import Part, find_breaks, parts_at
from planners.cosma.order.joint import NOTHING, no_plan, solve_all_orders
from planners.cosma.order.parts import Boundary, boundary_after, induced, order_of, part_problem
from planners.cosma.order.peak import PEAK_WORK, least_for_kept, minimum_peak
from planners.cosma.replace.optimal import NEVER, Solution, solve_fixed

# Operators in a part, first: what the search over orders settles in a moment.
FIRST_OPERATORS = 48
FIRST_WORK = 1024  # looks at the clock for each strategy in the first round
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
    search = DividedSearch(problem, breaks)
    at_once = _uncut(problem, search.levels[0], clock.work(0))
    best = None if _cost(at_once) == NEVER else at_once
    portfolio = Portfolio(STRATEGIES, lambda divided: (_cost(divided),), first_work=FIRST_WORK)
    result = portfolio.solve(search, clock, best)
    if result.best is None:
        raise no_plan(problem)
    cost = _cost(result.best)
    bound = min(cost, int(max(result.bound, default=0)))
    return replace(result.best, solution=replace(result.best.solution, bound_bytes=bound))


class DividedSearch:
    """A problem, break nodes for larger and larger parts, and those that bounds are sought on."""

    def __init__(self, problem: ScheduleProblem, breaks: Sequence[str] | None) -> None:
        self.problem = problem
        self._bounds: dict[tuple[Part, frozenset[str]], int] = {}
        self._settled: set[tuple[Part, frozenset[str]]] = set()
        self.levels = list(_levels(problem)) if breaks is None else [tuple(breaks)]
        self.bounding = self.levels[0]
        _parts(problem, self.bounding)  # Wrong names are reported at once.
        for names in self.levels:
            if max(map(len, _parts(problem, names))) <= BOUND_OPERATORS:
                self.bounding = names

    def bound_of_part(self, part: Part, used: frozenset[str], clock: Clock) -> int:
        """What a part without tensors that are `used` before costs at least: the best bound of all
        turns, and of this one where it is not settled."""
        key = part, used
        if key not in self._settled and not clock.expired():
            bound = _all_orders(induced(self.problem, part, used), clock)[1].bound_bytes
            self._bounds[key] = max(bound, self._bounds.get(key, 0))
            if not clock.cut:
                self._settled.add(key)
        return self._bounds.get(key, 0)


def _outcome(divided: Divided) -> Outcome[Divided]:
    return Outcome(None if _cost(divided) == NEVER else divided)


def _given_order(search: DividedSearch, best: Divided | None, clock: Clock) -> Outcome[Divided]:
    return _outcome(_uncut(search.problem, search.levels[0], clock))


def _least_peak(search: DividedSearch, best: Divided | None, clock: Clock) -> Outcome[Divided]:
    problem = search.problem
    part, before = clock.work(PEAK_WORK), problem.wished.before
    if problem.wished.keep:
        peak = least_for_kept(problem.graph, problem.parameters, problem.wished, part)
    else:
        peak = minimum_peak(problem.graph, problem.parameters, clock=part, before=before)
    ordered = replace(problem, schedule=peak.schedule)
    return _outcome(_uncut(ordered, search.levels[0], clock))


def _by_parts(search: DividedSearch, best: Divided | None, clock: Clock) -> Outcome[Divided]:
    """Fewer and fewer cuts, each from the best order of those before: not from that of least peak,
    where parts would end if it were better so far."""
    cuts: list[Divided] = []
    for names in search.levels:
        if clock.expired():
            break
        clock.report("parts")
        start = min(cuts, key=_cost).problem if cuts else search.problem
        cuts.append(_solve_level(start, names, clock.share(MOST_SHARE)))
        if _cost(cuts[-1]) == 0:
            break
    return _outcome(min(cuts, key=_cost)) if cuts else Outcome()


def _by_bounds(search: DividedSearch, best: Divided | None, clock: Clock) -> Outcome[Divided]:
    if best is None:
        return Outcome()
    return Outcome(bound=(_bound(search, _cost(best), clock),))


Run: TypeAlias = Callable[[DividedSearch, Divided | None, Clock], Outcome[Divided]]


def _strategy(name: str, reason: str, run: Run) -> Strategy[DividedSearch, Divided]:
    """A strategy that reports the best plan of the whole after its turn, and none of a part."""

    def silently(search: DividedSearch, best: Divided | None, clock: Clock) -> Outcome[Divided]:
        outcome = run(search, best, clock.silent())
        costs = [_cost(each) for each in (best, outcome.best) if each is not None]
        bound = min([*costs, *map(int, outcome.bound or (0,))])
        clock.report(name, min(costs, default=None), bound)
        return outcome

    return Strategy(name, reason, silently)


STRATEGIES = (
    _strategy("given order", "where parts save nothing", _given_order),
    _strategy("least peak", "another order of the whole", _least_peak),
    _strategy("bounds", "what the parts cost at least in any order", _by_bounds),
    _strategy("parts", "the best order of each part, joined", _by_parts),
)


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
    clock = clock.share(MOST_SHARE)
    boundary, order = Boundary(), list[int]()
    for at, part in enumerate(parts):
        rest = [position for later in parts[at + 1 :] for position in later]
        clock.report(f"part {at + 1} of {len(parts)}")
        share = max(TRIAL_SHARE, len(part) / (len(part) + len(rest)))
        planned = part_problem(problem, part, boundary, rest)
        solved, solution = _all_orders(planned.problem, clock.share(share))
        order += [problem.graph.index[name] for name in order_of(planned, solved)]
        boundary = boundary_after(planned, solved, solution, boundary)
    return tuple(order)


def _bound(search: DividedSearch, cost_bytes: int, clock: Clock) -> int:
    """A bound on every order: the largest of any part, or the sum over parts that share nothing.

    To add up, each tensor counts in the first part that uses it, and is gone from all others.
    """
    if cost_bytes == 0:
        return 0
    parts = _parts(search.problem, search.bounding)
    dearest = total = 0
    for at, (part, used) in enumerate(_with_used(search.problem, parts)):
        share = max(TRIAL_SHARE, 1 / (len(parts) - at)) / 2
        alone = search.bound_of_part(part, frozenset(), clock.share(share))
        dearest = max(dearest, alone)
        if used and alone:
            alone = min(alone, search.bound_of_part(part, used, clock.share(share)))
        total += alone
        clock.report("bounds of the parts", cost_bytes, min(cost_bytes, max(dearest, total)))
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


def _all_orders(problem: ScheduleProblem, clock: Clock) -> tuple[ScheduleProblem, Solution]:
    """The best order of a part; what must be kept is ignored where no place is found for it."""
    try:
        return solve_all_orders(problem, clock)
    except (BudgetTooSmall, NoPlanFound):
        wished = replace(problem.wished, keep=frozenset())
        return solve_all_orders(replace(problem, wished=wished), clock)
