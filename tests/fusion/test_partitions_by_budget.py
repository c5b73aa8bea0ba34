"""Partitions for one budget after the other are those of the planner."""

from __future__ import annotations

from typing import Any

import pytest

import planners as sp
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FusionOptions
from planners.fusion.partitions_by_budget import PartitionsByBudget
from planners.fusion.search.exact import best_partition
from tests.cases import cases
from tests.fusion.families import MODULES, family
from tests.fusion.networks import FEWER_CASES, graph_of
from tests.plans import graph_of as graph_named
from tests.random_graphs import random_graph

MACHINE = sp.load_machine("npu_small")


def budgets(partitions: PartitionsByBudget, graph: sp.Graph) -> list[int]:
    least, most = partitions.least_bytes, 2 * sum(graph.size_bytes(t) for t in graph.tensors)
    return [least + (most - least) * k // 6 for k in range(7)]


def agrees(graph: sp.Graph) -> None:
    partitions = PartitionsByBudget(graph, MACHINE, {})
    sizes = budgets(partitions, graph)
    partitions.reach(sizes[-1], Clock(60))
    for budget in (*sizes[::-1], *sizes):
        found = partitions.partition(budget, Clock(60))
        model = GroupModel(graph, MACHINE, FusionOptions().values())
        wanted = best_partition(model, graph, budget, Clock(60))
        assert found.objective_bytes == wanted.objective_bytes
        assert found.status == wanted.status == "optimal"
        ways = [model.best(mask, budget) for mask in found.groups]
        assert sum(way.traffic_bytes for way in ways if way) == found.objective_bytes


@pytest.mark.parametrize("name", FEWER_CASES)
def test_every_budget_has_the_planners_partition(name: str) -> None:
    agrees(graph_of(name, 1))


@pytest.mark.parametrize("seed", range(cases(2, 6)))
def test_random_graphs_too(seed: int) -> None:
    agrees(random_graph(seed, 7))


def test_a_larger_budget_than_before_finds_the_groups_anew() -> None:
    graph = graph_of("chain", 1)
    partitions = PartitionsByBudget(graph, MACHINE, {})
    low, *_, high = budgets(partitions, graph)
    small, large = partitions.partition(low, Clock(60)), partitions.partition(high, Clock(60))
    assert partitions.reach_bytes == high
    assert large.objective_bytes < small.objective_bytes
    assert partitions.partition(low, Clock(60)).groups == small.groups


def test_below_what_an_operator_needs_there_is_none() -> None:
    graph = graph_of("chain", 1)
    partitions = PartitionsByBudget(graph, MACHINE, {})
    partitions.partition(partitions.least_bytes, Clock(60))
    with pytest.raises(sp.BudgetTooSmall):
        partitions.partition(partitions.least_bytes - 1, Clock(60))


def network(name: str) -> sp.Graph:
    return family(name) if name in MODULES else graph_named(name)


def small_or_large(name: str, small: int, large: int) -> Any:
    """A small family within some bytes, and SqueezeNet within more."""
    squeezenet = pytest.param("squeezenet1_0", large, marks=pytest.mark.long)
    return pytest.mark.parametrize(("name", "budget"), [(name, small), squeezenet])


@small_or_large("inceptions", 2**14, 2**20)
def test_early_stops_are_not_told_as_proven(name: str, budget: int) -> None:
    graph = network(name)
    partitions = PartitionsByBudget(graph, MACHINE, {})
    partitions.reach(budget, Clock(60, lambda moment: "3 operators" not in moment.stage))
    assert partitions.partition(budget, Clock(60)).status == "feasible"
    best = sp.plan(graph, "fusion", budget).claims
    found = partitions.partition(budget, Clock(60))
    assert found.bound_bytes <= best.objective_bytes <= found.objective_bytes
    low = partitions.partition(partitions.least_bytes, Clock(60))
    assert low.bound_bytes <= low.objective_bytes


@small_or_large("fires", 3001, 150_001)
def test_an_answer_in_no_time_is_improved_by_asking_again(name: str, budget: int) -> None:
    graph = network(name)
    partitions = PartitionsByBudget(graph, MACHINE, {})
    partitions.reach(7 * budget, Clock(60))
    best = sp.plan(graph, "fusion", budget).claims.objective_bytes
    told = [partitions.partition(budget, Clock(0)) for _ in range(3)]
    assert all(found.bound_bytes <= best <= found.objective_bytes for found in told)
    found = partitions.partition(budget, Clock(60))
    assert (found.objective_bytes, found.status) == (best, "optimal")
    assert partitions.partition(budget, Clock(0)) == found


@pytest.mark.parametrize("options", [{"online": True}, {"baseline": "dnnvm"}])
@small_or_large("fires", 3001, 2**18)
def test_other_searches_are_theirs(name: str, budget: int, options: dict[str, object]) -> None:
    graph = network(name)
    partitions = PartitionsByBudget(graph, MACHINE, options)
    found = partitions.partition(budget, Clock(60))
    made = sp.plan(graph, "fusion", budget, **options)
    assert found.objective_bytes == made.claims.objective_bytes


@small_or_large("fires", 3001, 2**18)
def test_operators_alone_cost_what_no_fusion_does(name: str, budget: int) -> None:
    graph = network(name)
    partitions = PartitionsByBudget(graph, MACHINE, {})
    alone = partitions.alone_bytes(budget)
    made = sp.plan(graph, "fusion", budget, baseline="no_fusion")
    assert sum(filter(None, alone)) == made.claims.objective_bytes
    assert None in partitions.alone_bytes(partitions.least_bytes - 1)
