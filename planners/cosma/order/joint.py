"""Order, replacement and addresses together, with one bound over all schedules.

Fixed schedules give plans at once; a search over orders proves one of them best or finds a better
order, whose runs are then given addresses. It is tried with ever more expensive bounds on the cost
to go. The search knows sizes only: where its order cannot be placed at its cost, the gap that is
left is due to fragmentation, and is reported.

Where tensors must be kept, an order may have no plan at all; then there is none to begin with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import inf
from typing import TypeAlias

from planners.core.errors import BudgetTooSmall, NoPlanFound
from planners.core.portfolio import Outcome, Portfolio, Strategy, Value
from planners.core.progress import Clock
from planners.cosma.model.net import Net, net_of
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.bounds import Bound, Largest, Overflow
from planners.cosma.order.peak import PEAK_WORK, least_for_kept, minimum_peak
from planners.cosma.order.shortest_path import OrderRoute, OrderSearch, beam
from planners.cosma.order.space import OrderSpace
from planners.cosma.order.suffix_bounds import Tails
from planners.cosma.replace.optimal import NEVER, Solution, solve_fixed
from planners.cosma.replace.relaxation import relax

Candidate: TypeAlias = tuple[ScheduleProblem, Solution]
Order: TypeAlias = tuple[int, ...]

# Where there is no plan yet; and where it is proven that an order has none.
NOTHING = Solution({}, NEVER, 0, "nothing")
NOWHERE = Solution({}, NEVER, NEVER, "nothing")
# States expanded before more expensive bounds are tried; and between two reports.
FIRST_STATES, REPORT_STATES = 2000, 512
# With the bound of the largest tensors: where it is at once a large share of the cost, and else.
LARGEST_STATES, DOUBTFUL_STATES, GOOD_SHARE = 40_000, 1000, 0.4
# How many tensors that bound considers, coarse and fine.
COARSE, FINE = 12, 50
# Widths of beams, and their weights of live bytes: none is best everywhere.
BEAMS = ((3, 0.0), (10, 0.0), (10, 1.0))
GUIDED_WIDTH, NARROW_WIDTH, NEAR_SHARE = 10, 3, 0.85
# Where the best order cannot be placed: how many others are tried, each for so many states; and
# up to how many operators each is placed with full effort.
PLACINGS, PLACING_STATES, SMALL = 8, 5000, 60
# All orders are placed where there are no more than so many.
MAX_ORDERS = 1000
# Looks at the clock: for each strategy in the first round, and for a plan on the way.
FIRST_WORK, QUICK_TRY = 1024, 512


def solve_all_orders(problem: ScheduleProblem, clock: Clock) -> Candidate:
    """The best plan over all schedules, as time allows, by the strategies of `STRATEGIES`."""
    best = _first(problem, clock.work(QUICK_TRY, bounds=False))
    if best[1].cost_bytes == 0:
        return best
    search = AllOrdersSearch(problem, best, clock)
    portfolio = Portfolio(STRATEGIES, value=_cost, first_work=FIRST_WORK)
    portfolio.solve(search, clock, None if best[1] is NOTHING else best)
    return search.result()


def _cost(candidate: Candidate) -> Value:
    return (candidate[1].cost_bytes,)


def _first(problem: ScheduleProblem, clock: Clock) -> Candidate:
    """A plan in the problem's own order; or in the one that fits best what must be kept.

    None where that has no place either. Raises `BudgetTooSmall` where that is proven for any order.
    """
    try:
        return _solved(problem, problem.schedule, clock, quick=True)
    except (BudgetTooSmall, NoPlanFound):
        if not problem.wished.keep:
            raise
    peak = least_for_kept(problem.graph, problem.parameters, problem.wished, clock)
    try:
        return _solved(problem, peak.schedule, clock, quick=True)
    except (BudgetTooSmall, NoPlanFound):
        if peak.bound_bytes > problem.budget_bytes:
            raise
        return replace(problem, schedule=peak.schedule), NOTHING


class AllOrdersSearch:
    """The best plan so far, the proven bound, and what was learned on the way: each strategy goes
    on from there."""

    def __init__(self, problem: ScheduleProblem, best: Candidate, clock: Clock) -> None:
        self.problem, self.best, self.whole = problem, best, clock
        self.clock = clock  # Of the turn.
        self.net = net_of(problem.graph, problem.parameters, problem.budget_bytes, problem.wished)
        # The cheapest schedule by sizes; its plan may cost more.
        self.route = OrderRoute(best[0].schedule, best[1].cost_bytes)
        self.beamed: OrderRoute | None = (
            None  # The best that beams found: a good line to search along.
        )
        self.bound_bytes = 0
        self.states = 0
        # The last search, to be run again, and the order that its operators are numbered along.
        self._again: Callable[..., OrderSearch] | None = None
        self._along: Order | None = None
        self._searches: dict[str, OrderSearch] = {}
        self._beams = list(BEAMS)
        self._tails: TailBounds | None = None
        self._peak: Order | None = None
        self._seeds = iter(range(PLACINGS))
        self._unplaceable: set[Order] = set()

    @property
    def proven(self) -> bool:
        """Whether no schedule costs less by sizes than the best; its addresses may be open."""
        return self.bound_bytes >= self.route.cost_bytes

    def in_given_order(self) -> None:
        """The problem's own order."""
        self._try(self.problem.schedule, quick=False)

    def by_least_peak(self) -> None:
        """The schedule of least peak, with the effort that it would have by itself."""
        if self._peak is None:
            graph, parameters = self.problem.graph, self.problem.parameters
            clock, before = self.clock.work(PEAK_WORK), self.problem.wished.before
            self._peak = minimum_peak(graph, parameters, clock=clock, before=before).schedule
        self._try(self._peak, quick=False)

    def plainly(self) -> None:
        """No bound but that of bytes that do not fit."""
        self._search("plain", self.net, lambda space: None, FIRST_STATES)

    def by_largest(self) -> None:
        """Bounds from the largest tensors: strong where large branches compete for the room."""
        space, largest = OrderSpace(self.net), _largest(self.net)
        at_once = largest(space.settle(space.start(), []))
        good = at_once * self.net.unit > GOOD_SHARE * self.route.cost_bytes
        if good and "largest" not in self._searches:
            self._beam(self.net, GUIDED_WIDTH, bound=_best_of(Overflow(space), largest))
        states = LARGEST_STATES if good else DOUBTFUL_STATES
        self._search("largest", self.net, lambda space: largest, states)

    def by_beams(self) -> None:
        """A few states for each number of operators: schedules soon, and no bound."""
        while self._beams and not self.proven and not self.clock.expired():
            width, live_weight = self._beams[0]
            self._beam(self.net, width, live_weight)
            if not self.clock.cut:
                self._beams.pop(0)

    def by_tails(self) -> None:
        """Bounds from the end of an order: strong where cost comes up all along it."""
        if self._tails is None:
            self._tails = TailBounds.along((self.beamed or self.route).schedule, self.net)
        tails, net, order = self._tails.tails, self._tails.net, self._tails.order
        space, clock = self._tails.space, self.clock
        while tails.first > 0 and not self.proven and not clock.expired():
            before = tails.least
            tails.extend(clock)
            self._prove(tails.least)
            self._tell("bounds from the end")
            if tails.least > before and not self.proven:
                near = tails.least * net.unit > NEAR_SHARE * self.route.cost_bytes
                width = GUIDED_WIDTH if near else NARROW_WIDTH
                self._beam(net, width, bound=tails.bound_for(space), order=order)
        self.states += tails.states - self._tails.states
        self._tails.states = tails.states
        if tails.first == 0 and not self.proven:
            largest = _largest(net)
            self._search("tails", net, lambda s: _best_of(tails.bound_for(s), largest), None, order)

    def result(self) -> Candidate:
        """The best plan under the bound over all schedules, in place of its own schedule's."""
        if self.route.cost_bytes < self.best[1].cost_bytes and not self.best_is_placed:
            self.clock = self.whole
            self._try(self.route.schedule)
        problem, solution = self.best
        if solution is NOTHING:
            raise no_plan(problem)
        bound = min(self.bound_bytes, solution.cost_bytes)
        solver = f"search over orders ({self.states} states), {solution.solver}"
        return problem, replace(solution, bound_bytes=bound, solver=solver)

    def by_placing(self) -> None:
        """Addresses for the best schedule by sizes, or for others that cost as much."""
        first, small = self.route.schedule, len(self.net.ops) <= SMALL
        if self.best_is_placed or first in self._unplaceable:
            return  # It waits for another.
        self._try(first, quick=not small)
        limit = self.route.cost_bytes // self.net.unit + 1
        while not (self.best_is_placed or self._again is None or self.clock.expired()):
            seed = next(self._seeds, None)
            if seed is None:
                break
            self._tell("other orders of the same cost")
            search = self._again(limit, seed=seed)
            search.run(self.clock, PLACING_STATES)
            if route := search.route():
                full_route = route if self._along is None else route.along(self._along)
                self._try(full_route.schedule, quick=not small)
        if not (self.best_is_placed or small):
            self._try(first, quick=False)
        if self.proven and not self.best_is_placed:
            self._place_every_order()
        if not (self.clock.cut or self.proven):
            self._unplaceable.add(first)

    def _place_every_order(self) -> None:
        """What addresses cost at least: the least over all orders, where these are few."""
        orders = list(islice(self.net.orders(), MAX_ORDERS + 1))
        if len(orders) > MAX_ORDERS:
            return
        least = self.best[1].cost_bytes
        for order in orders:
            self._tell("addresses for every order")
            if self.clock.expired():
                return
            ordered = replace(self.problem, schedule=order)
            if max(ordered.needed) > ordered.budget_bytes:
                continue
            relaxed = relax(ordered, self.clock)
            bound = 0 if relaxed is None else relaxed.bound_bytes
            if bound < self.best[1].cost_bytes:
                bound = max(bound, self._try(order, quick=False).bound_bytes)
            least = min(least, bound)
        self.bound_bytes = max(self.bound_bytes, least)

    @property
    def best_is_placed(self) -> bool:
        """Whether the best plan costs what the best schedule by sizes does."""
        return self.best[1].cost_bytes <= max(self.route.cost_bytes, self.bound_bytes)

    def _beam(
        self,
        net: Net,
        width: int,
        live_weight: float = 0.0,
        bound: Bound | None = None,
        order: Order | None = None,
    ) -> None:
        self._tell("beam over orders")
        route = beam(OrderSpace(net), width, self.clock, live_weight, bound)
        if route is not None:
            route = route if order is None else route.along(order)
            self.beamed = min(self.beamed or route, route, key=lambda found: found.cost_bytes)
            self._take(route)

    def _search(
        self,
        name: str,
        net: Net,
        bound_of: Callable[[OrderSpace], Bound | None],
        max_states: int | None,
        order: Order | None = None,
    ) -> None:
        """Go on with a search for less than the best plan costs; what is found is numbered along
        `order`."""
        if self.proven:
            return
        if name not in self._searches:
            space = OrderSpace(net)
            bound = bound_of(space)
            left = None if bound is None else _best_of(Overflow(space), bound)
            self._searches[name] = OrderSearch(space, self.route.cost_bytes // net.unit, left)
            self._again = partial(OrderSearch, space, bound=left)
            self._along = order
        search = self._searches[name]
        before = search.states
        while not (self.proven or search.done or self.clock.expired()):
            if search.states == max_states:
                break
            rest = REPORT_STATES if max_states is None else max_states - search.states
            search.run(self.clock, min(rest, REPORT_STATES))
            self._prove(search.least)
            self._tell("search over orders")
        self.states += search.states - before
        self._prove(search.least)
        route = search.route()
        self._take(route if route is None or order is None else route.along(order))

    def _prove(self, least: int) -> None:
        self.bound_bytes = max(self.bound_bytes, least * self.net.unit)

    def _take(self, route: OrderRoute | None) -> None:
        if route is not None and route.cost_bytes < self.route.cost_bytes:
            self.route = route
            if not self.proven:
                self._try(route.schedule)

    def _try(self, schedule: Order, *, quick: bool = True) -> Solution:
        """Replacement and addresses for a schedule: at once, or with what is left of the turn."""
        clock = self.clock.work(QUICK_TRY if quick else inf, bounds=False)
        try:
            solved = _solved(self.problem, schedule, clock, quick=quick)
        except BudgetTooSmall:  # What must be kept is proven to have no place in this order.
            return NOWHERE
        except NoPlanFound:
            return NOTHING
        if solved[1].cost_bytes < self.best[1].cost_bytes:
            self.best = solved
        if solved[1].cost_bytes < self.route.cost_bytes:
            self.route = OrderRoute(schedule, solved[1].cost_bytes)
        return solved[1]

    def _tell(self, stage: str) -> None:
        cost = self.best[1].cost_bytes
        if cost < NEVER:
            self.clock.report(stage, cost, min(self.bound_bytes, cost))
        else:
            self.clock.report(stage)


@dataclass
class TailBounds:
    """Bounds from the end of an order, as far as they go, and the states that they took."""

    order: Order
    net: Net
    tails: Tails
    space: OrderSpace
    states: int = 0

    @classmethod
    def along(cls, order: Order, net: Net) -> TailBounds:
        ordered = net.ordered(order)
        return cls(order, ordered, Tails(ordered), OrderSpace(ordered))


def _strategy(
    name: str, reason: str, method: Callable[[AllOrdersSearch], None], *, last: bool = False
) -> Strategy[AllOrdersSearch, Candidate]:
    """A method of the search. All but the `last` are over once the best by sizes is proven."""

    def run(search: AllOrdersSearch, best: Candidate | None, clock: Clock) -> Outcome[Candidate]:
        search.clock = clock
        method(search)
        best_found = None if search.best[1] is NOTHING else search.best
        finished = False if last and not search.proven else None
        return Outcome(best_found, bound=(search.bound_bytes,), finished=finished)

    def can_still_win(search: AllOrdersSearch, best: Candidate) -> bool:
        return last or not search.proven

    return Strategy(name, reason, run, can_still_win)


STRATEGIES = (
    _strategy("given order", "often as good as any", AllOrdersSearch.in_given_order),
    _strategy(
        "least peak", "spills little where the given order spills", AllOrdersSearch.by_least_peak
    ),
    _strategy("plain", "small networks are soon settled", AllOrdersSearch.plainly),
    _strategy("largest", "large branches compete for the room", AllOrdersSearch.by_largest),
    _strategy("beams", "a schedule soon where no search ends", AllOrdersSearch.by_beams),
    _strategy("tails", "cost comes up all along the order", AllOrdersSearch.by_tails),
    _strategy("placing", "the best by sizes may not fit", AllOrdersSearch.by_placing, last=True),
)


def no_plan(problem: ScheduleProblem) -> NoPlanFound:
    """What must be kept leaves no place in any order that was tried."""
    step = problem.needed.index(max(problem.needed))
    name = problem.graph.operators[problem.schedule[step]].name
    names = ", ".join(problem.held_at(step))
    return NoPlanFound(
        f"none found: no order that was tried leaves a place for what must be kept, operator "
        f"{name!r} ({names}) among the rest, in {problem.budget_bytes} bytes: keep less, or allow "
        "more time or a larger budget",
        have_bytes=problem.budget_bytes,
    )


def _largest(net: Net) -> Largest:
    net = net.without_wishes()  # Then every state can be finished.
    sizes = sorted(
        (
            net.sizes[t]
            for t, producer in enumerate(net.producer)
            if producer >= 0 and net.consumers[t]
        ),
        reverse=True,
    )
    coarse, fine = (_threshold(sizes, count) for count in (COARSE, FINE))
    return Largest(net, fine, Largest(net, coarse) if coarse > fine else None)


def _threshold(falling: list[int], most: int) -> int:
    """The least size that at most so many have, or the largest there is."""
    if len(falling) <= most:
        return falling[-1] if falling else 0
    return next((size for size in reversed(falling[:most]) if size > falling[most]), falling[0])


def _best_of(*bounds: Bound) -> Bound:
    return lambda state: max(bound(state) for bound in bounds)


def _solved(
    problem: ScheduleProblem, schedule: tuple[int, ...], clock: Clock, *, quick: bool
) -> Candidate:
    ordered = replace(problem, schedule=schedule)
    return ordered, solve_fixed(ordered, clock, quick=quick)
