"""The best partition of a network into fused groups, over all that have no cycle.

Algorithm 1 (Optimus, eqs. 1 and 2) for any topology: all groups that fit are found first, each
costed once for all budgets; then the cheapest acyclic partition into them is a shortest path on
the lattice of downsets, or, where that is too wide, a search over covers with a proven bound.

Only groups whose operators share tensors are looked at where the model *splits*: the parts of
any other group are convex, no path joins them, and apart they cost no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.portfolio import Outcome, Portfolio, Strategy, Value
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.cost.incremental_bounds import one_batch
from planners.fusion.partition.constraints import WishedGroups
from planners.fusion.partition.cost_model import (
    GroupCosts,
    Partition,
    Status,
    Traits,
    least_traffic,
    require_singles,
    traits_of,
)
from planners.fusion.partition.lattice import (
    Dag,
    by_depth,
    by_levels,
    count_downsets,
    downsets_of,
    prefixes,
)
from planners.fusion.partition.shortest import Bytes, lattice
from planners.fusion.search.anytime import Anytime
from planners.fusion.search.bound import compulsory_bytes, forced_bytes
from planners.fusion.search.bounded import GROUP_RULES, GroupRules
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.column_generation import wide_cover
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.search.set_partition import PartitionFound

# Groups, downsets and steps between them that are held at most, for memory's sake.
MOST_GROUPS = 300_000
MOST_WIDE_PLACES = 12_000_000  # groups times operators, where prices are found for all of them
MOST_DOWNSETS = 20_000
MOST_STEPS = 4_000_000
FIRST_WORK = 64  # looks at the clock for each strategy in the first round


def best_partition(
    model: GroupCosts,
    graph: Graph,
    budget_bytes: int,
    clock: Clock,
    *,
    cap: int | None = None,
    traits: Traits | None = None,
    wished: WishedGroups | None = None,
    rules: GroupRules | None = GROUP_RULES,
) -> Partition:
    """The partition of least traffic within a budget, in groups of at most `cap` operators.

    `optimal` over all acyclic partitions unless the clock or the cap ends the search; then
    `feasible`, with a bound, and `cap` says up to which size of group nothing is better. Of those
    that respect what is `wished`, if there are any: else some operator is alone that should not be.
    Raises `BudgetTooSmall` where an operator alone does not fit, `BadInput` for a cap below 1.
    With `rules` None all groups that fit are looked at, else those that these leave where the model
    is of that kind.
    """
    request = PartitionRequest(model, graph, (budget_bytes,), cap, traits, wished, rules)
    return PartitionSearch(request).run(clock)[0]


def sweep_partitions(
    model: GroupCosts,
    graph: Graph,
    budgets: Sequence[int],
    clock: Clock,
    *,
    cap: int | None = None,
    traits: Traits | None = None,
    rules: GroupRules | None = GROUP_RULES,
) -> list[Partition]:
    """The best partition for each budget, as `best_partition`; groups are found and costed once.

    Raises `BudgetTooSmall` where an operator alone does not fit the smallest budget.
    """
    request = PartitionRequest(model, graph, tuple(budgets), cap, traits, None, rules)
    return PartitionSearch(request).run(clock)


@dataclass(frozen=True)
class PartitionRequest:
    """A network and what its groups cost, budgets, the most operators in a group, and wishes."""

    model: GroupCosts
    graph: Graph
    budgets: tuple[int, ...]
    cap: int | None
    traits: Traits | None
    wished: WishedGroups | None
    rules: GroupRules | None


Partitions: TypeAlias = tuple[Partition, ...]
"""The best for each budget."""


class PartitionSearch:
    """The best partitions so far, and the spaces in which the strategies look for better ones."""

    def __init__(self, request: PartitionRequest) -> None:
        self.request = request
        _require(request.model, request.graph, request.budgets, request.cap)
        self.anytime = _rising_spaces(request)
        self.complete: int | None = 0 if self.anytime is None else 1
        self.is_wide, self.is_stuck = True, False
        if self.anytime is not None:
            self.is_wide = count_downsets(self.anytime.dag) > MOST_DOWNSETS
        self.best: Partitions = ()
        self._fitting: dict[int | None, FittingGroups] = {}

    def run(self, clock: Clock) -> list[Partition]:
        """The best of all strategies; the first answer is there whatever the time."""
        if self.anytime is not None:
            least = compulsory_bytes(self.request.graph)
            clock.report("no fusion", max(self.anytime.below), least)
            self.take(self.judged(1))
        else:
            self.take(self.by_groups(clock.work(0)))
        portfolio = Portfolio(STRATEGIES, value=_total, first_work=FIRST_WORK)
        portfolio.solve(self, clock, self.best)
        if self.anytime is not None and any(each.status != "optimal" for each in self.best):
            self.take(self.judged(1, self.anytime.least_bytes()))
        return list(self.best)

    def take(self, partitions: Sequence[Partition]) -> None:
        """Keep the better ones, and the better bounds."""
        if not self.best:
            self.best = tuple(partitions)
        self.best = tuple(_best_of(one, other) for one, other in zip(partitions, self.best))

    def judged(self, complete: int | None, least: Sequence[int] = ()) -> list[Partition]:
        """The best partitions of the rising spaces, the last of which has all groups of up to
        `complete` operators that are worth it; no partition moves less than `least`."""
        anytime = self.anytime
        assert anytime is not None
        least = least or [anytime.compulsory_bytes] * len(self.request.budgets)
        return [
            _judged(best, complete, bound, anytime.considered)
            for best, bound in zip(anytime.best, least)
        ]

    def by_groups(self, clock: Clock, bands: int | None = None) -> list[Partition]:
        """The best partitions into all groups that fit, as far as these are found."""
        if bands not in self._fitting:
            self._fitting[bands] = FittingGroups(self.request, bands)
        return settle(self._fitting[bands].offers(clock), self.request.graph, clock)


class FittingGroups:
    """The groups that may fit the budgets, as far as they were found, and what is known of them."""

    def __init__(self, request: PartitionRequest, bands: int | None = None) -> None:
        traits = request.traits or traits_of(request.model)
        traits = traits if bands is None else replace(traits, bands=bands)
        self.request = request
        self.candidates = Candidates(request.model, request.graph, traits, request.wished)
        alone = [self.candidates.cost(1 << i) for i in range(len(request.graph.operators))]
        # Progress is reported for one budget; of several, for the largest.
        costs = [least_traffic(steps, max(request.budgets)) or 0 for steps in alone]
        self.alone_bytes = None if request.wished else sum(costs)
        self.is_wide = count_downsets(self.candidates.dag) > MOST_DOWNSETS
        self._offers: Offers | None = None
        self._found = 0

    def offers(self, clock: Clock) -> Offers:
        """More groups, in half of what is left of the clock, and those before."""
        offers_so_far, request = self._offers, self.request
        clock.report("no fusion", self.alone_bytes, compulsory_bytes(request.graph))
        most = MOST_WIDE_PLACES // self.candidates.dag.count if self.is_wide else MOST_GROUPS
        most = min(most, MOST_GROUPS)
        self.candidates.grow(max(request.budgets), request.cap, clock.among(2), most)
        if offers_so_far is None or len(self.candidates.masks) > self._found:
            offers_so_far = self._offers = Offers(self.candidates, request.budgets)
            self._found = len(self.candidates.masks)
        clock.report(f"{len(offers_so_far.groups)} groups", self.alone_bytes)
        return offers_so_far


def _rising_spaces(request: PartitionRequest) -> Anytime | None:
    """Where the bounds of `cost/incremental_bounds` hold for a model: it is this planner's own."""
    model, rules = request.model, request.rules
    if not rules or request.wished or not isinstance(model, GroupModel):
        return None
    same = (request.traits or model.traits) == model.traits
    if model.frees_local_layers or not same or not one_batch(model.graph):
        return None
    return Anytime(model, request.graph, request.budgets, rules)


def _total(partitions: Partitions) -> Value:
    return (sum(each.objective_bytes for each in partitions),)


def _outcome(search: PartitionSearch) -> Outcome[Partitions]:
    return Outcome(search.best, bound=(sum(each.bound_bytes for each in search.best),))


def _chains(search: PartitionSearch, best: Partitions | None, clock: Clock) -> Outcome[Partitions]:
    if search.anytime is None:
        return Outcome(finished=True)
    search.anytime.look_at_chains(search.request.cap, clock)
    search.take(search.judged(1))
    return _outcome(search)


def _runs(search: PartitionSearch, best: Partitions | None, clock: Clock) -> Outcome[Partitions]:
    if search.anytime is None:
        return Outcome(finished=True)
    complete = search.anytime.look_at_runs(search.request.cap, clock)
    if search.anytime.one_order:
        search.complete = complete
    search.take(search.judged(complete))
    return _outcome(search)


def _all_groups(
    search: PartitionSearch, best: Partitions | None, clock: Clock
) -> Outcome[Partitions]:
    anytime = search.anytime
    if anytime is None or anytime.one_order or search.is_wide:
        return Outcome(finished=True)
    search.complete = anytime.look_at_all(search.request.cap, clock, MOST_GROUPS, MOST_STEPS)
    search.is_stuck = search.complete is not None and not clock.cut
    search.take(search.judged(search.complete))
    return _outcome(search)


def _fitting_groups(
    search: PartitionSearch, best: Partitions | None, clock: Clock
) -> Outcome[Partitions]:
    if search.anytime is not None:
        if search.request.cap is not None or search.complete is None:
            return Outcome(finished=True)
        if not (search.is_wide or search.is_stuck):
            return Outcome(finished=False)  # It waits for those that are worth it.
    search.take(search.by_groups(clock))
    return _outcome(search)


def _without_bands(
    search: PartitionSearch, best: Partitions | None, clock: Clock
) -> Outcome[Partitions]:
    request = search.request
    if (request.traits or traits_of(request.model)).bands == 1:
        return Outcome(finished=True)
    if search.anytime is not None and not (search.is_wide or search.is_stuck):
        return Outcome(finished=search.complete is None or request.cap is not None)
    partitions = search.by_groups(clock, bands=1)
    search.take([_unproven(each) for each in partitions])
    return _outcome(search)


STRATEGIES = (
    Strategy("chains", "a few operators one after the other: soon much better", _chains),
    Strategy("runs", "groups along some orders: few, and mostly the best", _runs),
    Strategy("all groups", "those that the rules leave: the best, proven", _all_groups),
    Strategy("fitting groups", "all that fit: wide networks, by prices", _fitting_groups),
    Strategy("without bands", "bands allow far more groups than time does", _without_bands),
)


def _unproven(partition: Partition) -> Partition:
    """A partition of which nothing is proven: in a part of the space."""
    return replace(partition, bound_bytes=0, status="feasible", cap=None)


def _best_of(one: Partition, other: Partition) -> Partition:
    """The cheaper of two partitions, with the better of their bounds."""
    best = min(one, other, key=lambda partition: partition.objective_bytes)
    bound = min(best.objective_bytes, max(one.bound_bytes, other.bound_bytes))
    status: Status = "optimal" if bound == best.objective_bytes else "feasible"
    considered = max(one.considered, other.considered)
    return replace(best, bound_bytes=bound, status=status, considered=considered)


def find_groups(
    model: GroupCosts,
    graph: Graph,
    budgets: Sequence[int],
    clock: Clock,
    *,
    cap: int | None = None,
    traits: Traits | None = None,
    wished: WishedGroups | None = None,
) -> Offers:
    """The groups of at most `cap` operators within some budgets, as far as the clock allows.

    Raises as `sweep_partitions`.
    """
    _require(model, graph, budgets, cap)
    request = PartitionRequest(model, graph, tuple(budgets), cap, traits, wished, None)
    return FittingGroups(request).offers(clock)


def _require(model: GroupCosts, graph: Graph, budgets: Sequence[int], cap: int | None) -> None:
    if cap is not None and cap < 1:
        raise BadInput(f"cap must be operators in a group, 1 or more, not {cap}")
    require_singles(model, graph, min(budgets))


def settle(offers: Offers, graph: Graph, clock: Clock) -> list[Partition]:
    """The best partition into these groups for each of their budgets."""
    candidates = offers.candidates
    return [
        _judged(
            cover,
            candidates.complete,
            forced_bytes(graph, candidates, budget),
            len(offers.groups),
        )
        for cover, budget in zip(solve(offers, clock), offers.budgets, strict=True)
    ]


def solve(offers: Offers, clock: Clock) -> list[PartitionFound]:
    """The best partitions, one a budget: exact while the clock allows."""
    dag = offers.candidates.dag
    if count_downsets(dag) <= MOST_DOWNSETS:
        soon = clock.among(2)
        way = lattice(dag, dag.downsets(), offers.groups, MOST_STEPS, soon)
        if way is not None:
            offers.sharpen(range(len(offers.groups)), clock.among(2))
            return _covers(offers, *offers.shortest(way, clock))
    linear = _in_an_order(dag, offers, prefixes(dag), clock)
    for order in (by_levels(dag), by_depth(dag)):
        other = _in_an_order(dag, offers, downsets_of(order), clock)
        linear = [min(pair, key=lambda cover: cover.objective) for pair in zip(linear, other)]
    clock.report("groups of three orders", min(cover.objective for cover in linear))
    return [wide_cover(offers, k, clock, cover) for k, cover in enumerate(linear)]


def _in_an_order(
    dag: Dag, offers: Offers, downsets: list[int], clock: Clock
) -> list[PartitionFound]:
    """The best partitions into groups of operators that follow each other in one order."""
    way = lattice(dag, downsets, offers.groups, MOST_STEPS)
    assert way is not None, "an order has no more steps than groups"
    least, paths, _ = offers.shortest(way, clock)
    return _covers(offers, least, paths, 0 * least)


def _covers(
    offers: Offers, least: Bytes, paths: list[list[int]], bounds: Bytes
) -> list[PartitionFound]:
    groups = [tuple(offers.groups[row] for row in path) for path in paths]
    return [
        PartitionFound(masks, int(cost), int(bound))
        for masks, cost, bound in zip(groups, least, bounds, strict=True)
    ]


def _judged(cover: PartitionFound, complete: int | None, forced: int, considered: int) -> Partition:
    """What was found, with the bound that it deserves and how far it is proven.

    `complete`: up to which size of groups the bound of the cover holds; None for all.
    """
    assert cover.groups is not None
    proven = cover.bound == cover.objective
    bound = min(cover.objective, max(forced, cover.bound) if complete is None else forced)
    return Partition(
        groups=cover.groups,
        objective_bytes=cover.objective,
        bound_bytes=bound,
        status="optimal" if bound == cover.objective else "feasible",
        cap=complete if proven else None,
        considered=considered,
    )
