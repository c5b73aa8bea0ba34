"""Groups and residency decided together: never worse than fused groups alone, or than COSMA.

First the best partition with everything off chip between groups; then the best with tensors held
on chip across groups, over bytes (`joint/search`), and addresses for it. Where these do not fit,
the search is run again with a little less room. COSMA's plan, parameters counted, is one of whole
tensors and operators alone: it is computed where it may be better than what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import NamedTuple

from planners.core.errors import BudgetTooSmall, NoPlanFound
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.plan import Plan
from planners.core.portfolio import Portfolio, by_method
from planners.core.program_size import EACH_S, OPERATOR_S, WRITING_SHARE, most_within
from planners.core.progress import Clock
from planners.core.services import PLAN_WHOLE_TENSORS
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import PlacedGroup, count_of, shortened, traffic_of
from planners.fusion.emit.laid import LaidGroup, lay_out
from planners.fusion.joint.addresses import lay_out_jointly
from planners.fusion.joint.resident_cost import HeldCosts
from planners.fusion.joint.search import GroupRoute, JointSearch
from planners.fusion.joint.space import GroupSpace
from planners.fusion.partition.constraints import WishedGroups
from planners.fusion.partition.cost_model import Partition
from planners.fusion.partition.lattice import count_downsets, downsets_of
from planners.fusion.partition.shortest import NEVER, Lattice, lattice
from planners.fusion.search.bound import forced_bytes
from planners.fusion.search.bounded import GROUP_RULES
from planners.fusion.search.exact import (
    MOST_DOWNSETS,
    MOST_STEPS,
    FittingGroups,
    PartitionRequest,
    PartitionSearch,
)
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.tile.cuts import parameter_bytes
from planners.wishes.language import Wish

# Where addresses do not fit, the search goes on with this share of the budget.
LESS = (0.98, 0.95, 0.9, 0.8)
WIDTHS = (2, 12)
ALONE_WORK, FIRST_WORK, QUICK_WORK = 1024, 512, 256
"""Looks at the clock: for groups alone, for each strategy in the first round; and for a look even
once time is over."""
SEARCH_LOOK = 32
"""A look of the search costs dozens of groups: it counts as so many others."""
MANY_GROUPS = 10_000  # Of more, bounds are found by parameters alone.
MOST_TURNS = 1_000_000  # Of one search, for memory's sake.


@dataclass(frozen=True, slots=True)
class JointFusion:
    """The best found: groups with addresses where tensors stay between them, or a plan of COSMA's,
    or, with neither, the partition as it is. The bound holds over all of these.
    """

    partition: Partition
    objective_bytes: int
    bound_bytes: int
    placed: tuple[PlacedGroup, ...] = ()
    cosma: Plan | None = None

    @property
    def laid(self) -> tuple[LaidGroup, ...]:
        """The groups with their addresses."""
        return tuple(each.laid for each in self.placed)

    def shorter(
        self, model: GroupModel, share: float, clock: Clock, *, double_buffer: bool
    ) -> JointFusion | None:
        """The groups in that share of the instructions, in coarser ways; None where there are none
        such that are better than groups alone."""
        most = int(share * count_of(self.laid))
        placed = shortened(model, self.placed, most, clock, double_buffer=double_buffer)
        shorter_plan = replace(self, placed=placed)
        cost_bytes = self.objective_bytes + traffic_of(shorter_plan.laid) - traffic_of(self.laid)
        if count_of(shorter_plan.laid) > most or cost_bytes >= self.partition.objective_bytes:
            return None
        return replace(shorter_plan, objective_bytes=cost_bytes)


@dataclass(frozen=True, slots=True)
class Asked:
    """Wishes as the search sees them: on `groups`; on those where nothing stays between (`apart`);
    tensors by name; and COSMA's wishes, None where it has no such plans.
    """

    groups: WishedGroups
    apart: WishedGroups
    keep: frozenset[str]
    spill: frozenset[str]
    cosma: tuple[str, ...] | None

    @staticmethod
    def from_wishes(wishes: Sequence[Wish], graph: Graph) -> Asked:
        of_groups = [wish for wish in wishes if wish.kind in ("fuse", "split")]
        of_tensors = [wish for wish in wishes if wish not in of_groups]
        fused = any(wish.kind == "fuse" for wish in wishes)
        return Asked(
            WishedGroups.from_wishes(of_groups, graph),
            WishedGroups.from_wishes(wishes, graph),
            frozenset(wish.names[0] for wish in of_tensors if wish.kind == "keep"),
            frozenset(wish.names[0] for wish in of_tensors if wish.kind == "spill"),
            None if fused else tuple(str(wish) for wish in of_tensors),
        )


NOTHING_ASKED = Asked(WishedGroups(), WishedGroups(), frozenset(), frozenset(), ())


def best_joint(
    model: GroupModel,
    budget_bytes: int,
    clock: Clock,
    double_buffer: bool,
    asked: Asked = NOTHING_ASKED,
) -> JointFusion:
    """Search for the best groups and residency within a budget, under the wishes.

    Where none is found its objective is `NEVER`. Raises `BudgetTooSmall` where an operator does
    not fit alone.
    """
    search = ResidencySearch(model, budget_bytes, clock, double_buffer, asked)
    portfolio = Portfolio(
        STRATEGIES, value=lambda joint: (joint.objective_bytes,), first_work=FIRST_WORK
    )
    portfolio.solve(search, search.clock, search.best)
    return search.result()


def _count_alone(
    model: GroupModel, alone: Partition, budget_bytes: int, double_buffer: bool
) -> int:
    """Instructions of groups alone, about; none where they do not fit."""
    groups = []
    for mask in alone.groups:
        way = model.roomiest(mask, budget_bytes)
        if way is None:
            return 0
        groups.append((model.group(mask), way))
    return count_of(lay_out(model.graph, groups, budget_bytes, double_buffer=double_buffer))


def _without_writing(graph: Graph, count: int, clock: Clock) -> Clock:
    """The time that is left for a search without what so many instructions take to be written
    beyond what is kept for that, about."""
    return clock.keeping(max(0.0, EACH_S * count - OPERATOR_S * len(graph.operators)))


class ResidencySearch:
    """The best groups and residency so far, and what was learned on the way."""

    def __init__(
        self, model: GroupModel, budget_bytes: int, clock: Clock, double_buffer: bool, asked: Asked
    ) -> None:
        self.model, self.graph, self.asked = model, model.graph, asked
        self.budget, self.double_buffer = budget_bytes, double_buffer
        self.costs = HeldCosts(model, model.graph)
        wished = asked.groups
        request = PartitionRequest(
            model, self.graph, (budget_bytes,), None, None, wished, GROUP_RULES
        )
        self._alone = PartitionSearch(request)
        # What stays between groups may make good what is not worth it alone: all that fit.
        self._fitting = FittingGroups(request)
        self._exact: ExactSearch | None = None
        self.offers: Offers
        self.groups: list[int] = []
        # What is left in all, and what of it the best plan so far leaves for searches.
        self.whole = self.clock = clock
        (alone,) = self._alone.run(clock.work(ALONE_WORK, bounds=False))
        self.most = int(WRITING_SHARE * most_within(clock.whole_limit_s))
        count = _count_alone(model, alone, budget_bytes, double_buffer)
        self.clock = _without_writing(self.graph, count, clock)
        self._find_groups(self.clock.work(FIRST_WORK))
        if not all(asked.apart.allows(mask) for mask in alone.groups):
            alone = replace(alone, objective_bytes=NEVER)  # Used for its order only.
        forced = forced_bytes(self.graph, self.offers.candidates, budget_bytes, stays=True)
        self.bound = min(forced, alone.objective_bytes)
        self.best = JointFusion(alone, alone.objective_bytes, self.bound)
        # No plan of COSMA's is below it, where it may do what groups cannot.
        self.least_whole = alone.objective_bytes
        self.has_asked = self.has_looked = False
        self._tell("groups alone")

    def _find_groups(self, clock: Clock) -> None:
        """Go on finding all groups that fit."""
        offers = self._fitting.offers(clock)
        if self.groups and offers is self.offers:
            return
        self.offers = offers
        self.groups = [m for m in self.offers.groups if self.asked.groups.allows(m)]
        self.low = lower_bounds(self.model, self.offers)

    def more_groups(self, clock: Clock) -> None:
        """A better partition with all off chip in between, and more groups that fit."""
        (alone,) = self._alone.run(clock.among(2))
        allowed = all(self.asked.apart.allows(mask) for mask in alone.groups)
        if allowed and alone.objective_bytes < self.best.objective_bytes:
            self.best = JointFusion(alone, alone.objective_bytes, self.bound)
        self._find_groups(clock)

    def look_at_pairs(self, clock: Clock) -> None:
        """Groups of two at most and those of the best partition, in its order."""
        few = {*self.best.partition.groups, *(m for m in self.groups if m.bit_count() < 3)}
        allowed = (mask for mask in few if self.asked.groups.allows(mask))
        self._look_along(sorted(allowed), WIDTHS[0], clock)

    def look_in_given_order(self, clock: Clock) -> None:
        """In the graph's order, whatever was found of groups alone."""
        small = [mask for mask in self.groups if mask.bit_count() < 3]
        self._look_along(small, WIDTHS[0], clock, range(len(self.graph.operators)))

    def look_narrowly(self, clock: Clock) -> None:
        self._look_along(self.groups, WIDTHS[0], clock)

    def look_widely(self, clock: Clock) -> None:
        self._look_along(self.groups, WIDTHS[1], clock)

    def search_all(self, clock: Clock) -> None:
        """The best of all, or a bound on it."""
        dag = self.offers.candidates.dag
        if count_downsets(dag) > MOST_DOWNSETS:
            return
        groups = self.groups
        if self._exact is None or self._exact.groups is not groups:
            way = lattice(dag, dag.downsets(), groups, MOST_STEPS, clock)
            if way is None:
                return
            self._exact = ExactSearch(groups, way, self._new_search(way, groups, self.budget))
        way, search = self._exact.way, self._exact.search
        _run(search, clock)
        if self.offers.candidates.complete is None:
            least = min(search.least, self.best.objective_bytes, self.least_whole)
            self.bound = max(self.bound, least)
        if search.done:
            self._place(
                search.route(),
                lambda budget: self._search(way, groups, budget, clock).route(),
                clock,
            )
        self._tell("residency")

    @property
    def proven(self) -> bool:
        """Whether nothing moves less."""
        return self.best.objective_bytes <= self.bound

    def _order(self, groups: Sequence[int], order: Sequence[int]) -> Lattice:
        """Downsets of the operators in an order, or in that of the groups alone."""
        order = order or [i for mask in self.best.partition.groups for i in bits(mask)]
        way = lattice(self.offers.candidates.dag, downsets_of(order), groups, MOST_STEPS)
        assert way is not None, "an order has no more steps than groups"
        return way

    def _look_along(
        self, groups: Sequence[int], width: int, clock: Clock, order: Sequence[int] = ()
    ) -> None:
        """Narrowly, along one order, for something better soon."""
        self.has_looked = True
        way = self._order(groups, order)

        def narrow(budget: int) -> GroupRoute | None:
            return self._search(way, groups, budget, clock, width).route()

        self._place(narrow(self.budget), narrow, clock)
        self._tell(f"residency in one order, {width} states wide")

    def _search(
        self,
        way: Lattice,
        groups: Sequence[int],
        budget_bytes: int,
        clock: Clock,
        width: int = 0,
    ) -> JointSearch:
        search = self._new_search(way, groups, budget_bytes, width)
        _run(search, clock)
        return search

    def _new_search(
        self, way: Lattice, groups: Sequence[int], budget_bytes: int, width: int = 0
    ) -> JointSearch:
        """A search below the best so far; the bounds of the whole budget hold for less too."""
        keep, spill = (self.costs.tensors.mask(t) for t in (self.asked.keep, self.asked.spill))
        space = GroupSpace(way, groups, self.costs, budget_bytes, self.low, keep=keep, spill=spill)
        return JointSearch(space, self.best.objective_bytes, width)

    def _place(
        self,
        route: GroupRoute | None,
        again: Callable[[int], GroupRoute | None],
        clock: Clock,
    ) -> None:
        """Addresses for a route, or for one that needs less room."""
        for share in LESS:
            if route is None:
                return
            placed = lay_out_jointly(
                self.model,
                self.costs,
                route.legs,
                self.budget,
                clock,
                double_buffer=self.double_buffer,
            )
            if placed is not None:
                self._take(route.cost_bytes, placed)
                return
            if clock.expired():
                return
            route = again(int(share * self.budget))

    def _take(self, cost_bytes: int, placed: Sequence[PlacedGroup]) -> None:
        """A route with addresses if it is better, in coarser ways where it is too long."""
        model, most = self.model, self.most
        taken = shortened(model, placed, most, self.whole, double_buffer=self.double_buffer)
        laid = [each.laid for each in taken]
        cost_bytes += traffic_of(laid) - traffic_of([each.laid for each in placed])
        if cost_bytes < self.best.objective_bytes and count_of(laid) <= most:
            self.best = JointFusion(self.best.partition, cost_bytes, self.bound, taken)

    def ask_cosma(self, clock: Clock) -> None:
        """The best plan of whole tensors and operators alone, within the work of the clock."""
        self.has_asked = True
        if self.asked.cosma is None or (self.proven and not _shares_parameters(self.model)):
            return
        self._tell("COSMA")
        options = {
            "wishes": self.asked.cosma,
            "schedule": "joint",
            "parameters": True,
            "time_limit": clock.option_s,
        }
        try:
            plan = PLAN_WHOLE_TENSORS.function()(
                self.graph, self.model.machine, self.budget, options, clock.within
            )
        except (BudgetTooSmall, NoPlanFound):
            return
        if _shares_parameters(self.model):
            self.least_whole = plan.claims.bound_bytes + plan.claims.compulsory_bytes
        if plan.claims.offchip_bytes < self.best.objective_bytes:
            alone, traffic = self.best.partition, plan.claims.offchip_bytes
            self.best = JointFusion(alone, traffic, self.bound, cosma=plan)

    def result(self) -> JointFusion:
        """The best; of tensors that stay, and of COSMA's plans, there is a look at least, even
        where groups alone took all of the time."""
        if not (self.has_looked or self.proven or self.whole.stopped):
            self.look_at_pairs(Clock(inf).work(QUICK_WORK))
        if not (self.has_asked or self.whole.stopped):
            self.ask_cosma(Clock(self.whole.whole_limit_s).work(QUICK_WORK))
        bound = min(self.bound, self.best.objective_bytes)
        return replace(self.best, bound_bytes=bound)

    def _tell(self, stage: str) -> None:
        cost = None if self.best.objective_bytes == NEVER else self.best.objective_bytes
        self.clock.report(stage, cost, min(self.bound, self.best.objective_bytes))


class ExactSearch(NamedTuple):
    """The search over all orders of some groups, which is gone on with while these are all."""

    groups: Sequence[int]
    way: Lattice
    search: JointSearch


def _run(search: JointSearch, clock: Clock) -> None:
    """Go on with a search within the work of a clock, as its looks count."""
    part = clock.work(ceil(clock.looks_left / SEARCH_LOOK))
    search.run(part, most_turns=MOST_TURNS)
    clock.spend((SEARCH_LOOK - 1) * part.looks)


STRATEGIES = (
    by_method(
        "pairs", "groups alone with what may stay between them", ResidencySearch.look_at_pairs
    ),
    by_method("given order", "whatever groups alone say", ResidencySearch.look_in_given_order),
    by_method("whole tensors", "COSMA: no fusion, other orders", ResidencySearch.ask_cosma),
    by_method("narrow", "all groups in one order: soon", ResidencySearch.look_narrowly),
    by_method("all orders", "the best, proven", ResidencySearch.search_all),
    by_method("wide", "one order, more states", ResidencySearch.look_widely),
    by_method("more groups", "where time did not find all", ResidencySearch.more_groups),
)


def lower_bounds(model: GroupModel, offers: Offers) -> Callable[[int], int | None]:
    """What a group moves at least beside the maps around it: parameters, and outputs of the graph.

    A way with tensors held whole is a way without, in no more room than they and its buffer take
    together; so what parameters cost at least in the budget (`refills`) holds for it too. That is
    not worked out where there are very many groups.
    """
    graph, candidates, budgets = model.graph, offers.candidates, offers.budgets
    again: dict[object, int | None] = {}

    def refills(mask: int) -> int | None:
        key = candidates.key(mask)
        if key not in again:
            (least,) = candidates.least_traffic(mask, budgets)
            again[key] = None if least is None else least - model.least_traffic(mask)
        return again[key]

    quick = len(offers.groups) > MANY_GROUPS
    outputs = set(graph.outputs)
    always = [parameter_bytes(graph, op) for op in graph.operators]
    ends = [
        [
            (graph.size_bytes(t), sum(1 << i for i in graph.consumers[t]))
            for t in op.outputs
            if t in outputs
        ]
        for op in graph.operators
    ]

    def low(mask: int) -> int | None:
        total = 0 if quick else refills(mask)
        if total is None:
            return None
        for i in bits(mask):
            total += always[i] + sum(size for size, readers in ends[i] if not readers & ~mask)
        return total

    return low


def _shares_parameters(model: GroupModel) -> bool:
    """Whether operators share parameters: COSMA may keep these on chip in between."""
    graph = model.graph
    return any(
        x.kind == "parameter" and len(graph.consumers[t]) > 1 for t, x in graph.tensors.items()
    )
