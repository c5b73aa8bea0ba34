"""The best partition of a network into fused groups, over all that have no cycle.

Algorithm 1 (Optimus, eqs. 1 and 2) for any topology: all groups that fit are found first, each
costed once for all budgets; then the cheapest acyclic partition into them is a shortest path on
the lattice of downsets, or, where that is too wide, a search over covers with a proven bound.

Only groups whose operators share tensors are looked at where the model *splits*: the parts of
any other group are convex, no path joins them, and apart they cost no more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planners.errors import BadInput
from planners.fusion.bound import compulsory_bytes, forced_bytes
from planners.fusion.candidates import Candidates
from planners.fusion.cover import Cover, cheapest_cover
from planners.fusion.lattice import Dag, count_downsets
from planners.fusion.offers import Offers
from planners.fusion.partition import (
    GroupModel,
    Partition,
    Traits,
    executable,
    least_traffic,
    require_singles,
)
from planners.fusion.shortest import NEVER, Bytes, lattice
from planners.graph.model import Graph
from planners.progress import Clock

# Groups, downsets and steps between them that are held at most, for memory's sake.
MOST_GROUPS = 300_000
MOST_DOWNSETS = 20_000
MOST_STEPS = 4_000_000
# Of the time that is left, what finding groups may take before the search begins.
SHARE = 0.6


def best_partition(
    model: GroupModel,
    graph: Graph,
    budget_bytes: int,
    clock: Clock,
    *,
    cap: int | None = None,
    traits: Traits | None = None,
) -> Partition:
    """The partition of least traffic within a budget, in groups of at most `cap` operators.

    `optimal` over all acyclic partitions unless the clock or the cap ends the search; then
    `feasible`, with a bound, and `cap` says up to which size of group nothing is better.
    Raises `BudgetTooSmall` where an operator alone does not fit, `BadInput` for a cap below 1.
    """
    return sweep_partitions(model, graph, [budget_bytes], clock, cap=cap, traits=traits)[0]


def sweep_partitions(
    model: GroupModel,
    graph: Graph,
    budgets: Sequence[int],
    clock: Clock,
    *,
    cap: int | None = None,
    traits: Traits | None = None,
) -> list[Partition]:
    """The best partition for each budget, as `best_partition`; groups are found and costed once.

    Raises `BudgetTooSmall` where an operator alone does not fit the smallest budget.
    """
    offers = find_groups(model, graph, budgets, clock, cap=cap, traits=traits)
    return settle(offers, graph, clock)


def find_groups(
    model: GroupModel,
    graph: Graph,
    budgets: Sequence[int],
    clock: Clock,
    *,
    cap: int | None = None,
    traits: Traits | None = None,
) -> Offers:
    """The groups of at most `cap` operators within some budgets, as far as the clock allows.

    Raises as `sweep_partitions`.
    """
    if cap is not None and cap < 1:
        raise BadInput(f"cap must be operators in a group, 1 or more, not {cap}")
    require_singles(model, graph, min(budgets))
    candidates = Candidates(model, graph, traits or Traits())
    alone = [candidates.cost(1 << i) for i in range(len(graph.operators))]
    # What is told is one budget's; of several it is the largest's.
    unfused = sum(least_traffic(steps, max(budgets)) or 0 for steps in alone)
    clock.report("no fusion", unfused, compulsory_bytes(graph))
    candidates.grow(max(budgets), cap, clock.part(SHARE * clock.left_s), MOST_GROUPS)
    offers = Offers(candidates, budgets)
    clock.report(f"{len(offers.groups)} groups", unfused)
    return offers


def settle(offers: Offers, graph: Graph, clock: Clock) -> list[Partition]:
    """The best partition into these groups for each of their budgets."""
    candidates = offers.candidates
    found = solve(offers, clock)
    return [
        _judged(cover, candidates, forced_bytes(graph, candidates, budget), len(offers.groups))
        for cover, budget in zip(found, offers.budgets, strict=True)
    ]


def solve(offers: Offers, clock: Clock) -> list[Cover]:
    """The best partitions, one a budget: exact while the clock allows."""
    dag = offers.candidates.dag
    if count_downsets(dag) <= MOST_DOWNSETS:
        way = lattice(dag, dag.downsets(), offers.groups, MOST_STEPS)
        if way is not None:
            return _covers(offers, *offers.shortest(way, clock))
    way = lattice(dag, prefixes(dag), offers.groups, MOST_STEPS)
    assert way is not None, "an order has no more steps than groups"
    least, paths, _ = offers.shortest(way, clock)
    linear = _covers(offers, least, paths, 0 * least)
    clock.report("groups of the default order", min(cover.objective for cover in linear))
    offers.ask_all(clock)
    return [_wide(dag, offers, k, clock, cover) for k, cover in enumerate(linear)]


def _covers(offers: Offers, least: Bytes, paths: list[list[int]], bounds: Bytes) -> list[Cover]:
    groups = [tuple(offers.groups[row] for row in path) for path in paths]
    return [
        Cover(masks, int(cost), int(bound))
        for masks, cost, bound in zip(groups, least, bounds, strict=True)
    ]


def _wide(dag: Dag, offers: Offers, column: int, clock: Clock, known: Cover) -> Cover:
    costs = offers.costs[:, column]
    fits = [int(row) for row in np.flatnonzero(costs < NEVER)]
    usable = [offers.groups[row] for row in fits]
    best = cheapest_cover(dag, usable, [int(costs[row]) for row in fits], clock, known.objective)
    if best.groups is None:
        return Cover(known.groups, known.objective, best.bound)
    order = executable(dag, best.groups)
    assert order is not None, "a cover without cycles has an order"
    return Cover(order, best.objective, best.bound)


def prefixes(dag: Dag) -> list[int]:
    """The downsets of the default order of operators."""
    return [(1 << k) - 1 for k in range(dag.count + 1)]


def _judged(cover: Cover, candidates: Candidates, forced: int, considered: int) -> Partition:
    """What was found, with the bound that it deserves and how far it is proven."""
    assert cover.groups is not None
    everything = candidates.complete is None
    proven = cover.bound == cover.objective
    bound = min(cover.objective, max(forced, cover.bound) if everything else forced)
    return Partition(
        groups=cover.groups,
        objective_bytes=cover.objective,
        bound_bytes=bound,
        status="optimal" if bound == cover.objective else "feasible",
        cap=candidates.complete if proven and not everything else None,
        considered=considered,
    )
