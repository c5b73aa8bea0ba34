"""Groups and residency decided together: never worse than fused groups alone, or than COSMA.

First the best partition with everything off chip between groups; then the best with tensors held
on chip across groups, over bytes (`joint/search`), and addresses for it. Where these do not fit,
the search is run again with a little less room. COSMA's plan, parameters counted, is one of whole
tensors and operators alone: it is computed where it may be better than what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planners.constraints.language import Wish
from planners.core.errors import BudgetTooSmall, NoPlanFound
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.plan import Plan
from planners.core.program_size import EACH_S, OPERATOR_S, most_in_time
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
from planners.fusion.search.exact import MOST_DOWNSETS, MOST_STEPS, best_partition, find_groups
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.tile.cuts import parameter_bytes

# Of the time that is left: for groups alone, for finding all, over all downsets, along one order.
ALONE_SHARE, GROUPS_SHARE, SEARCH_SHARE, ORDER_SHARE = 0.35, 0.25, 0.6, 0.3
# Where addresses do not fit, the search goes on with this share of the budget.
LESS = (0.98, 0.95, 0.9, 0.8)
WIDTHS = (2, 12)
# COSMA has a second at least: where groups alone took the time, its plan may be much better.
COSMA_SHARE, COSMA_S = 0.25, 1.0
LOOK_S = 1.0
# The most of the time that is left for what was found to be written, checked and timed: while the
# search goes on, and at its end.
LONG_SHARE, LAST_SHARE = 0.5, 0.75
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
        found = replace(self, placed=placed)
        cost_bytes = self.objective_bytes + traffic_of(found.laid) - traffic_of(self.laid)
        if count_of(found.laid) > most or cost_bytes >= self.partition.objective_bytes:
            return None
        return replace(found, objective_bytes=cost_bytes)


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
    def of(wishes: Sequence[Wish], graph: Graph) -> Asked:
        of_groups = [wish for wish in wishes if wish.kind in ("fuse", "split")]
        of_tensors = [wish for wish in wishes if wish not in of_groups]
        fused = any(wish.kind == "fuse" for wish in wishes)
        return Asked(
            WishedGroups.of(of_groups, graph),
            WishedGroups.of(wishes, graph),
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
    part = clock.share(ALONE_SHARE, bounds=False)
    graph = model.graph
    alone = best_partition(model, graph, budget_bytes, part, wished=asked.groups)
    count = _count_alone(model, alone, budget_bytes, double_buffer)
    part = _without_writing(graph, count, clock)
    # What stays between groups may make good what is not worth it alone: all that fit are there.
    part = part.part(GROUPS_SHARE * part.left_s)
    offers = find_groups(model, graph, [budget_bytes], part, wished=asked.groups)
    low = lower_bounds(model, offers)
    if not all(asked.apart.allows(mask) for mask in alone.groups):
        alone = replace(alone, objective_bytes=NEVER)  # Used for its order only.
    return _Joint(model, offers, alone, low, clock, double_buffer, asked, count).run()


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
    more_s = EACH_S * count - OPERATOR_S * len(graph.operators)
    return clock.share(1.0 - min(1.0, max(0.0, more_s) / max(clock.left_s, 1e-9)))


class _Joint:
    def __init__(
        self,
        model: GroupModel,
        offers: Offers,
        alone: Partition,
        low: Callable[[int], int | None],
        clock: Clock,
        double_buffer: bool,
        asked: Asked,
        count: int,
    ) -> None:
        self.model, self.graph, self.offers, self.asked = model, model.graph, offers, asked
        self.groups = [mask for mask in offers.groups if asked.groups.allows(mask)]
        self.budget, self.double_buffer = offers.budgets[0], double_buffer
        # What is left in all, and what of it the best plan so far leaves for searches.
        self.whole, self.clock = clock, _without_writing(model.graph, count, clock)
        self.costs = HeldCosts(model, model.graph)
        self.low = low
        forced = forced_bytes(self.graph, offers.candidates, self.budget, stays=True)
        self.bound = min(forced, alone.objective_bytes)
        self.best = JointFusion(alone, alone.objective_bytes, self.bound)
        # No plan of COSMA's is below it, where it may do what groups cannot.
        self.least_whole = alone.objective_bytes
        self.looked = False
        # Of the routes with addresses the one of least bytes, too long as it may be.
        self.least: tuple[int, tuple[PlacedGroup, ...]] | None = None

    def run(self) -> JointFusion:
        """A quick look, COSMA, then along one order, and over all downsets where these are few."""
        self._tell("groups alone")
        few = {*self.best.partition.groups, *(m for m in self.groups if m.bit_count() < 3)}
        allowed = (mask for mask in few if self.asked.groups.allows(mask))
        self._look_along(sorted(allowed), WIDTHS[0])
        if not self._proven():  # In the graph's order, whatever was found of groups alone.
            small = [mask for mask in self.groups if mask.bit_count() < 3]
            self._look_along(small, WIDTHS[0], range(len(self.graph.operators)))
        if not self._proven() or _shares_parameters(self.model):
            self._ask_cosma()
        if not self._proven():
            self._look_along(self.groups, WIDTHS[0])
        dag = self.offers.candidates.dag
        way = None
        if not self._proven() and count_downsets(dag) <= MOST_DOWNSETS:
            way = lattice(dag, dag.downsets(), self.groups, MOST_STEPS, self.clock)
        if way is not None:
            self._search_all(way)
        if not self._proven():
            self._look_along(self.groups, WIDTHS[1])
        return self._judged()

    def _proven(self) -> bool:
        return self.best.objective_bytes <= self.bound

    def _search_all(self, way: Lattice) -> None:
        """The best of all, or a bound on it."""
        clock = self.clock.part(SEARCH_SHARE * self.clock.left_s)
        groups = self.groups
        search = self._search(way, groups, self.budget, clock)
        if self.offers.candidates.complete is None:
            least = min(search.least, self.best.objective_bytes, self.least_whole)
            self.bound = max(self.bound, least)
        if search.done:
            self._place(
                search.route(), lambda budget: self._search(way, groups, budget, clock).route()
            )
        self._tell("residency")

    def _order(self, groups: Sequence[int], order: Sequence[int]) -> Lattice:
        """Downsets of the operators in an order, or in that of the groups alone."""
        order = order or [i for mask in self.best.partition.groups for i in bits(mask)]
        way = lattice(self.offers.candidates.dag, downsets_of(order), groups, MOST_STEPS)
        assert way is not None, "an order has no more steps than groups"
        return way

    def _look_along(self, groups: Sequence[int], width: int, order: Sequence[int] = ()) -> None:
        """Narrowly, along one order, for something better soon."""
        way = self._order(groups, order)
        clock = self.clock.part(ORDER_SHARE * self.clock.left_s)
        if not self.looked:  # Even where groups alone took all of the time there is a short search.
            clock = clock if clock.left_s > LOOK_S or clock.stopped else Clock(LOOK_S)
        elif clock.expired():
            return
        self.looked = True

        def narrow(budget: int) -> GroupRoute | None:
            return self._search(way, groups, budget, clock, width).route()

        self._place(narrow(self.budget), narrow)
        self._tell(f"residency in one order, {width} states wide")

    def _search(
        self,
        way: Lattice,
        groups: Sequence[int],
        budget_bytes: int,
        clock: Clock,
        width: int = 0,
    ) -> JointSearch:
        """Search below the best so far; the bounds of the whole budget hold for less too."""
        keep, spill = (self.costs.tensors.mask(t) for t in (self.asked.keep, self.asked.spill))
        space = GroupSpace(way, groups, self.costs, budget_bytes, self.low, keep=keep, spill=spill)
        search = JointSearch(space, self.best.objective_bytes, width)
        search.run(clock, most_turns=MOST_TURNS)
        return search

    def _place(self, route: GroupRoute | None, again: Callable[[int], GroupRoute | None]) -> None:
        """Addresses for a route, or for one that needs less room."""
        for share in LESS:
            if route is None:
                return
            placed = lay_out_jointly(
                self.model,
                self.costs,
                route.legs,
                self.budget,
                self.clock,
                double_buffer=self.double_buffer,
            )
            if placed is not None:
                if self.least is None or route.cost_bytes < self.least[0]:
                    self.least = route.cost_bytes, placed
                self._take(route.cost_bytes, placed, LONG_SHARE)
                return
            if self.clock.expired():
                return
            route = again(int(share * self.budget))

    def _take(self, cost_bytes: int, placed: Sequence[PlacedGroup], share: float) -> None:
        """A route with addresses if it is better, in coarser ways where it takes more than a share
        of the time to be written."""
        model, most = self.model, int(share * most_in_time(self.whole))
        taken = shortened(model, placed, most, self.whole, double_buffer=self.double_buffer)
        laid = [each.laid for each in taken]
        cost_bytes += traffic_of(laid) - traffic_of([each.laid for each in placed])
        count = count_of(laid)
        if cost_bytes < self.best.objective_bytes and count <= most:
            self.best = JointFusion(self.best.partition, cost_bytes, self.bound, taken)
            self.clock = _without_writing(self.graph, count, self.whole)

    def _ask_cosma(self) -> None:
        late = self.clock.expired() and not _shares_parameters(self.model)
        if self.asked.cosma is None or late:
            return
        self._tell("COSMA")
        options = {
            "wishes": self.asked.cosma,
            "schedule": "joint",
            "parameters": True,
            "time_limit": max(COSMA_S, COSMA_SHARE * self.clock.left_s),
        }
        try:
            plan = PLAN_WHOLE_TENSORS.function()(
                self.graph, self.model.machine, self.budget, options, lambda _: not self._stopped()
            )
        except (BudgetTooSmall, NoPlanFound):
            return
        if _shares_parameters(self.model):
            self.least_whole = plan.claims.bound_bytes + plan.claims.compulsory_bytes
        if plan.claims.offchip_bytes < self.best.objective_bytes:
            alone, traffic = self.best.partition, plan.claims.offchip_bytes
            self.best = JointFusion(alone, traffic, self.bound, cosma=plan)

    def _stopped(self) -> bool:
        return self.clock.stopped

    def _judged(self) -> JointFusion:
        """The best; what was found in coarser ways takes most of the time that is left."""
        if self.least is not None and self.least[0] < self.best.objective_bytes:
            self._take(*self.least, LAST_SHARE)
        best = self.best
        bound = min(self.bound, best.objective_bytes)
        return replace(best, bound_bytes=bound)

    def _tell(self, stage: str) -> None:
        cost = None if self.best.objective_bytes == NEVER else self.best.objective_bytes
        self.clock.report(stage, cost, min(self.bound, self.best.objective_bytes))


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
