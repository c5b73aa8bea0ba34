"""The best partition of a network into fused groups, over all that have no cycle.

Algorithm 1 (Optimus, eqs. 1 and 2) for any topology: all groups that fit are found first, each
costed once for all budgets; then the cheapest acyclic partition into them is a shortest path on
the lattice of downsets, or, where that is too wide, a search over covers with a proven bound.

Only groups whose operators share tensors are looked at where the model *splits*: the parts of
any other group are convex, no path joins them, and apart they cost no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from planners.core.errors import BadInput
from planners.core.graph import Graph
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
# Of the time that is left, what finding groups may take before the search begins.
SHARE = 0.6
WIDE_SHARE = 0.2
BANDED_SHARE = 0.5  # the search with all groups that bands of columns let in


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
    if rules and not wished and _goes_by_lines(model, traits):
        return _in_rising_spaces(model, [budget_bytes], clock, cap, rules)[0]
    offers = find_groups(model, graph, [budget_bytes], clock, cap=cap, traits=traits, wished=wished)
    return settle(offers, graph, clock)[0]


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
    if rules and _goes_by_lines(model, traits):
        return _in_rising_spaces(model, budgets, clock, cap, rules)
    offers = find_groups(model, graph, budgets, clock, cap=cap, traits=traits)
    return settle(offers, graph, clock)


def _goes_by_lines(model: GroupCosts, traits: Traits | None) -> TypeGuard[GroupModel]:
    """Whether the bounds of `cost/growing` hold for a model: it is this planner's own."""
    if not isinstance(model, GroupModel) or model.frees_local_layers:
        return False
    return (traits or model.traits) == model.traits and one_batch(model.graph)


def _in_rising_spaces(
    model: GroupModel, budgets: Sequence[int], clock: Clock, cap: int | None, rules: GroupRules
) -> list[Partition]:
    """The best partition for each budget: no fusion, runs in some orders, all groups."""
    graph = model.graph
    _require(model, graph, budgets, cap)
    known = Anytime(model, graph, budgets, rules)
    clock.report("no fusion", max(known.below), compulsory_bytes(graph))
    known.look_at_chains(cap, clock)
    complete = known.look_at_runs(cap, clock)
    if not known.one_order and count_downsets(known.dag) <= MOST_DOWNSETS:
        complete = known.look_at_all(cap, clock, MOST_GROUPS, MOST_STEPS)
    least = [known.compulsory_bytes] * len(budgets) if complete is None else known.least_bytes()
    proven = [
        _judged(best, complete, bound, known.considered) for best, bound in zip(known.best, least)
    ]
    if complete is None or cap is not None:
        return proven
    offers = find_groups(model, graph, budgets, clock)
    return [_best_of(one, other) for one, other in zip(settle(offers, graph, clock), proven)]


def _best_of(one: Partition, other: Partition) -> Partition:
    """The cheaper of two partitions, with the better of their bounds."""
    best = min(one, other, key=lambda partition: partition.objective_bytes)
    bound = min(best.objective_bytes, max(one.bound_bytes, other.bound_bytes))
    status: Status = "optimal" if bound == best.objective_bytes else "feasible"
    return replace(best, bound_bytes=bound, status=status, considered=one.considered)


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
    candidates = Candidates(model, graph, traits or traits_of(model), wished)
    alone = [candidates.cost(1 << i) for i in range(len(graph.operators))]
    # Progress is reported for one budget; of several, for the largest.
    known = None if wished else sum(least_traffic(steps, max(budgets)) or 0 for steps in alone)
    clock.report("no fusion", known, compulsory_bytes(graph))
    wide = count_downsets(candidates.dag) > MOST_DOWNSETS
    share = WIDE_SHARE if wide else SHARE
    share *= BANDED_SHARE if candidates.traits.bands > 1 else 1
    most = MOST_WIDE_PLACES // candidates.dag.count if wide else MOST_GROUPS
    candidates.grow(max(budgets), cap, clock.part(share * clock.left_s), min(most, MOST_GROUPS))
    offers = Offers(candidates, budgets)
    clock.report(f"{len(offers.groups)} groups", known)
    return offers


def _require(model: GroupCosts, graph: Graph, budgets: Sequence[int], cap: int | None) -> None:
    if cap is not None and cap < 1:
        raise BadInput(f"cap must be operators in a group, 1 or more, not {cap}")
    require_singles(model, graph, min(budgets))


def settle(offers: Offers, graph: Graph, clock: Clock) -> list[Partition]:
    """The best partition into these groups for each of their budgets."""
    candidates = offers.candidates
    banded = candidates.traits.bands > 1
    covers = solve(offers, clock.part(BANDED_SHARE * clock.left_s) if banded else clock)
    judged = [
        _judged(
            cover,
            candidates.complete,
            forced_bytes(graph, candidates, budget),
            len(offers.groups),
        )
        for cover, budget in zip(covers, offers.budgets, strict=True)
    ]
    if not banded or all(partition.status == "optimal" for partition in judged):
        return judged
    # Bands allow far more groups than time does: those that fit without bands come first.
    traits = replace(candidates.traits, bands=1)
    few = Candidates(candidates.model, graph, traits, candidates.wished)
    few.grow(max(offers.budgets), None, clock.part(SHARE * clock.left_s), MOST_GROUPS)
    others = solve(Offers(few, offers.budgets), clock)
    return [_better(one, other) for one, other in zip(judged, others, strict=True)]


def _better(found: Partition, other: PartitionFound) -> Partition:
    """A partition, or a cheaper cover of which nothing is proven."""
    if other.groups is None or other.objective >= found.objective_bytes:
        return found
    proven = other.objective == found.bound_bytes
    status: Status = "optimal" if proven else "feasible"
    return replace(found, groups=other.groups, objective_bytes=other.objective, status=status)


def solve(offers: Offers, clock: Clock) -> list[PartitionFound]:
    """The best partitions, one a budget: exact while the clock allows."""
    dag = offers.candidates.dag
    if count_downsets(dag) <= MOST_DOWNSETS:
        soon = clock.part(0.5 * clock.left_s)
        way = lattice(dag, dag.downsets(), offers.groups, MOST_STEPS, soon)
        if way is not None:
            offers.sharpen(range(len(offers.groups)), clock.part(0.5 * clock.left_s))
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
