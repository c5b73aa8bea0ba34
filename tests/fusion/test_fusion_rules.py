"""Searches over groups without their rules: the same, in more states."""

from __future__ import annotations

import random

import pytest

from planners.core.progress import Clock
from planners.core.rules import names, without, without_any
from planners.fusion.joint.resident_cost import HeldCosts
from planners.fusion.joint.search import JointSearch
from planners.fusion.joint.space import JOINT_RULES, GroupSpace
from planners.fusion.partition.cost_model import executable
from planners.fusion.partition.lattice import Dag
from planners.fusion.partition.shortest import lattice
from planners.fusion.search.set_partition import COVER_RULES, cheapest_cover
from tests.cases import cases
from tests.fusion.models import subsets
from tests.fusion.test_joint_search import HeldLines, brute_force, least_budget
from tests.random_graphs import random_graph


@pytest.mark.parametrize("odd", [False, True], ids=["lines", "odd"])
@pytest.mark.parametrize("seed", range(cases(8)))
def test_no_rule_of_groups_and_residency_decides_what_is_found(seed: int, odd: bool) -> None:
    graph = random_graph(seed, 2 + seed % 3)
    model = HeldLines(graph, seed, odd)
    low = least_budget(graph, model)
    budget = low + sum(graph.size_bytes(t) for t in graph.tensors) // 3
    dag = Dag.from_graph(graph)
    groups = [mask for mask in subsets(dag.everything) if dag.is_convex(mask)]
    way = lattice(dag, dag.downsets(), groups, 1_000_000)
    assert way is not None
    costs = HeldCosts(model, graph, local=False)
    best = brute_force(graph, model, budget)
    one_less = [without(JOINT_RULES, name) for name in names(JOINT_RULES)]
    for rules in (JOINT_RULES, without_any(JOINT_RULES), *one_less):
        search = JointSearch(GroupSpace(way, groups, costs, budget, rules=rules), 10**9)
        search.run(Clock(60))
        route = search.route()
        assert route is not None
        assert route.cost_bytes == search.least == best, rules


@pytest.mark.parametrize("seed", range(cases(20)))
def test_no_rule_of_covers_decides_what_is_found(seed: int) -> None:
    rng = random.Random(seed)
    dag = Dag.from_graph(random_graph(seed, 3 + seed % 4))
    groups = [mask for mask in subsets(dag.everything) if dag.is_convex(mask)]
    groups = [mask for mask in groups if mask.bit_count() == 1 or rng.random() < 0.7]
    costs = [2 * rng.randint(1, 9) for _ in groups]
    best = _cheapest(dag, dict(zip(groups, costs, strict=True)), [], 0)
    one_less = [without(COVER_RULES, name) for name in names(COVER_RULES)]
    for rules in (COVER_RULES, without_any(COVER_RULES), *one_less):
        found = cheapest_cover(dag, groups, costs, Clock(60), known=10**6, rules=rules)
        assert found.objective == found.bound == best, rules


def _cheapest(dag: Dag, costs: dict[int, int], chosen: list[int], covered: int) -> float:
    """The cheapest partition into groups that can run, of all that begin with these."""
    if covered == dag.everything:
        runs = executable(dag, chosen) is not None
        return sum(costs[mask] for mask in chosen) if runs else float("inf")
    first = ~covered & (covered + 1)
    return min(
        (
            _cheapest(dag, costs, [*chosen, mask], covered | mask)
            for mask in costs
            if mask & first and not mask & covered
        ),
        default=float("inf"),
    )
