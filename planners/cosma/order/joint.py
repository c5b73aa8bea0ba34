"""Order, replacement and addresses together, with one bound over all schedules.

Fixed schedules give plans at once; a search over orders proves one of them best or finds a better
order, whose runs are then given addresses. It is tried with ever more expensive bounds on the cost
to go. The search knows sizes only: where its order cannot be placed at its cost, the gap that is
left is due to fragmentation, and is reported.

Where tensors must be kept, an order may have no plan at all; then there is none to begin with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeAlias

from planners.core.errors import BudgetTooSmall, NoPlanFound
from planners.core.progress import Clock
from planners.cosma.model.net import Net, net_of
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.bounds import Bound, Largest, Overflow
from planners.cosma.order.peak import least_for_kept, minimum_peak
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
# Seconds for a schedule on the way. Shares of the time left at most: for one, for finding that of
# least peak, mostly a second's work, and for planning it, for a beam, the tails.
QUICK_S = 1.5
FIXED_SHARE, PEAK_SHARE, LEAST_SHARE, BEAM_SHARE, TAILS_SHARE = 0.2, 0.5, 0.4, 0.2, 0.6
PEAK_STATES = 60_000


def solve_all_orders(problem: ScheduleProblem, clock: Clock) -> Candidate:
    """The best plan over all schedules, as time allows; no worse than what the problem's own and
    that of least peak have in their shares of it."""
    best = _first(problem, clock.share(FIXED_SHARE, bounds=False))
    if best[1].cost_bytes == 0:
        return best
    hunt = _Hunt(problem, best, clock)
    attempts = (hunt.by_least_peak, hunt.plainly, hunt.by_largest, hunt.by_beams, hunt.by_tails)
    for attempt in attempts:
        attempt()
        if hunt.proven or clock.expired():
            break
    return hunt.result()


def _first(problem: ScheduleProblem, clock: Clock) -> Candidate:
    """A plan in the problem's own order; or in the one that fits best what must be kept.

    None where that has no place either. Raises `BudgetTooSmall` where that is proven for any order.
    """
    try:
        return _solved(problem, problem.schedule, clock, quick=False)
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


class _Hunt:
    """The best plan so far, the proven bound, and what was learned on the way."""

    def __init__(self, problem: ScheduleProblem, best: Candidate, clock: Clock) -> None:
        self.problem, self.best, self.clock = problem, best, clock
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

    @property
    def proven(self) -> bool:
        """Whether no schedule costs less by sizes than the best; its addresses may be open."""
        return self.bound_bytes >= self.route.cost_bytes

    def by_least_peak(self) -> None:
        """The schedule of least peak, with the effort that it would have by itself."""
        graph, parameters = self.problem.graph, self.problem.parameters
        clock, before = self.clock.part(PEAK_SHARE * self.clock.left_s), self.problem.wished.before
        peak = minimum_peak(graph, parameters, clock=clock, max_states=PEAK_STATES, before=before)
        self._try(peak.schedule, quick=False, share=LEAST_SHARE)

    def plainly(self) -> None:
        self._search(self.net, None, FIRST_STATES)

    def by_beams(self) -> None:
        for width, live_weight in BEAMS:
            if not self.proven:
                self._beam(self.net, width, live_weight)

    def by_largest(self) -> None:
        """Bounds from the largest tensors: strong where large branches compete for the room."""
        space, largest = OrderSpace(self.net), _largest(self.net)
        at_once = largest(space.settle(space.start(), []))
        good = at_once * self.net.unit > GOOD_SHARE * self.route.cost_bytes
        if good and not self.proven:
            self._beam(self.net, GUIDED_WIDTH, bound=_best_of(Overflow(space), largest))
        self._search(self.net, largest, LARGEST_STATES if good else DOUBTFUL_STATES)

    def by_tails(self) -> None:
        """Bounds from the end of an order: strong where cost comes up all along it."""
        order = (self.beamed or self.route).schedule
        net = self.net.ordered(order)
        tails = Tails(net)
        clock = self.clock.part(TAILS_SHARE * self.clock.left_s)
        space, known = OrderSpace(net), 0
        while tails.first > 0 and not self.proven and not clock.expired():
            tails.extend(clock)
            self._prove(tails.least)
            self._tell("bounds from the end")
            if tails.least > known and not self.proven:
                near = tails.least * net.unit > NEAR_SHARE * self.route.cost_bytes
                width = GUIDED_WIDTH if near else NARROW_WIDTH
                self._beam(net, width, bound=tails.bound_for(space), order=order)
            known = tails.least
        self.states += tails.states
        if not self.proven:
            self._search(net, _best_of(tails.bound_for(space), _largest(net)), None, order)

    def result(self) -> Candidate:
        """The best plan under the bound over all schedules, in place of its own schedule's."""
        if self.route.cost_bytes < self.best[1].cost_bytes:
            self._place()
        problem, solution = self.best
        if solution is NOTHING:
            raise no_plan(problem)
        bound = min(self.bound_bytes, solution.cost_bytes)
        solver = f"search over orders ({self.states} states), {solution.solver}"
        return problem, replace(solution, bound_bytes=bound, solver=solver)

    def _place(self) -> None:
        """Addresses for the best schedule by sizes, or for others that cost as much."""
        first, small = self.route.schedule, len(self.net.ops) <= SMALL
        self._try(first, quick=not small)
        limit = self.route.cost_bytes // self.net.unit + 1
        for seed in range(PLACINGS):
            if self._placed or self._again is None or self.clock.expired():
                break
            self._tell("other orders of the same cost")
            search = self._again(limit, seed=seed)
            search.run(self.clock, PLACING_STATES)
            if route := search.route():
                full_route = route if self._along is None else route.along(self._along)
                self._try(full_route.schedule, quick=not small)
        if not (self._placed or small):
            self._try(first, quick=False)
        if self.proven and not self._placed:
            self._place_every_order()

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
            relaxed = relax(ordered, time_limit_s=self.clock.left_s)
            bound = 0 if relaxed is None else relaxed.bound_bytes
            if bound < self.best[1].cost_bytes:
                bound = max(bound, self._try(order, quick=False).bound_bytes)
            least = min(least, bound)
        self.bound_bytes = max(self.bound_bytes, least)

    @property
    def _placed(self) -> bool:
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
        clock = self.clock.part(BEAM_SHARE * self.clock.left_s)
        route = beam(OrderSpace(net), width, clock, live_weight, bound)
        if route is not None:
            route = route if order is None else route.along(order)
            self.beamed = min(self.beamed or route, route, key=lambda found: found.cost_bytes)
            self._take(route)

    def _search(
        self,
        net: Net,
        bound: Bound | None,
        max_states: int | None,
        order: Order | None = None,
    ) -> None:
        """Search for less than the best plan costs; what is found is numbered along `order`."""
        space = OrderSpace(net)
        left = None if bound is None else _best_of(Overflow(space), bound)
        search = OrderSearch(space, self.route.cost_bytes // net.unit, left)
        self._again = partial(OrderSearch, space, bound=left)
        self._along = order
        while not (self.proven or search.done or self.clock.expired()):
            if search.states == max_states:
                break
            rest = REPORT_STATES if max_states is None else max_states - search.states
            search.run(self.clock, min(rest, REPORT_STATES))
            self._prove(search.least)
            self._tell("search over orders")
        self.states += search.states
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

    def _try(self, schedule: Order, *, quick: bool = True, share: float = 1.0) -> Solution:
        """Replacement and addresses for a schedule; at once, or in a share of the time."""
        left_s = max(self.clock.left_s, 1e-9)
        share = min(FIXED_SHARE, QUICK_S / left_s) if quick else share
        clock = self.clock.share(share, bounds=False)
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


def no_plan(problem: ScheduleProblem) -> NoPlanFound:
    """What must be kept leaves no place in any order that was tried."""
    step = problem.needed.index(max(problem.needed))
    name = problem.graph.operators[problem.schedule[step]].name
    held = ", ".join(problem.held_at(step))
    return NoPlanFound(
        f"none found: no order that was tried leaves a place for what must be kept, operator "
        f"{name!r} ({held}) among the rest, in {problem.budget_bytes} bytes: keep less, or allow "
        "more time or a larger budget",
        have_bytes=problem.budget_bytes,
    )


def _largest(net: Net) -> Largest:
    net = net.without_wishes()  # Then every state can be finished.
    sizes = sorted(
        (net.sizes[t] for t, made in enumerate(net.producer) if made >= 0 and net.consumers[t]),
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
