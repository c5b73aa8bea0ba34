"""Baselines: each the best of its own space, none better than the best of all."""

from __future__ import annotations

from itertools import pairwise

import pytest

import planners as sp
from planners.core.errors import BudgetTooSmall
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import (
    BASELINES,
    ResidentGroups,
    by_levels,
    dnnvm,
    efficient_s,
    fused_layer,
    no_fusion,
    oracle,
)
from planners.fusion.partition.cost_model import Traits, least_traffic
from planners.fusion.partition.lattice import Dag
from planners.fusion.search.exact import best_partition
from tests.cases import cases
from tests.fusion.models import LineModel
from tests.random_graphs import random_graph

GROWS = Traits("grows")


def wired(*edges: str, ends: str = "") -> sp.Graph:
    """A graph of operators a, b, …: "ab" is an edge; what reads nothing reads the input."""
    names = sorted({name for edge in edges for name in edge})
    tensors = {"x": sp.Tensor("x", (40,), "input")}
    ops = []
    for name in names:
        reads = tuple(edge[0] for edge in edges if edge[1] == name) or ("x",)
        tensors[f"w{name}"] = sp.Tensor(f"w{name}", (7,), "parameter")
        tensors[name] = sp.Tensor(name, (40,))
        ops.append(sp.Operator(name, "conv2d", reads, (name,), (f"w{name}",)))
    return sp.Graph("wired", tensors, tuple(ops), ("x",), (names[-1],))


def letters(mask: int) -> str:
    return "".join("abcdefghij"[i] for i in bits(mask))


# a branches to two paths, b-d and c-e, that f joins; g follows.
BRANCHED = wired("ab", "ac", "bd", "ce", "df", "ef", "fg", "gh")


def found_groups(baseline: str) -> set[str]:
    partition = BASELINES[baseline](LineModel(BRANCHED), BRANCHED, 10**6, traits=GROWS)
    return {letters(mask) for mask in partition.groups}


def test_each_has_the_groups_of_its_kind() -> None:
    assert found_groups("no_fusion") == set("abcdefgh")
    # The default order is a b c d …: no layer of the branches follows the one before it.
    assert found_groups("fused_layer") == {"a", "b", "c", "d", "e", "fgh"}
    # a and f are barriers: each waits for several, or several wait for it.
    assert found_groups("dnnvm") == {"a", "bd", "ce", "f", "gh"}
    assert found_groups("efficient_s") == {"abcdefgh"}


def test_levels_put_branches_side_by_side() -> None:
    dag = Dag.from_graph(wired("ab", "bc", "ad", "ce", "de"))
    assert by_levels(dag) == [0, 1, 3, 2, 4]


@pytest.mark.parametrize("seed", range(cases(8, 25)))
@pytest.mark.parametrize("name", list(BASELINES))
def test_a_baseline_is_a_partition_between_the_oracle_and_no_fusion(seed: int, name: str) -> None:
    graph = random_graph(seed, 9)
    dag, model = Dag.from_graph(graph), LineModel(graph)
    low = max(model.staircase(1 << i)[0].buffer_bytes for i in range(9))
    budget = low + 2 * seed
    found = BASELINES[name](model, graph, budget, traits=GROWS)
    done = total = 0
    for mask in found.groups:
        assert not mask & done
        done |= mask
        assert all(not dag.predecessors[i] & ~done for i in bits(mask))
        points = [(p.buffer_bytes, p.traffic_bytes) for p in model.staircase(mask)]
        total += least_traffic(points, budget) or 0
    assert done == dag.everything
    assert total == found.objective_bytes
    best = best_partition(model, graph, budget, Clock(60), traits=GROWS).objective_bytes
    unfused = no_fusion(model, graph, budget, traits=GROWS).objective_bytes
    assert oracle(graph).objective_bytes <= best <= found.objective_bytes <= unfused
    assert found.bound_bytes <= best


@pytest.mark.parametrize("seed", range(cases(8, 25)))
def test_an_order_s_best_intervals(seed: int) -> None:
    graph = random_graph(seed, 8)
    model = LineModel(graph)
    budget = 2 * max(model.staircase(1 << i)[0].buffer_bytes for i in range(8))
    dag = Dag.from_graph(graph)
    best = []
    for order in (list(range(8)), by_levels(dag)):
        least = []
        for cuts in range(1 << 7):
            ends = [0, *(i + 1 for i in bits(cuts)), 8]
            costs = [
                cost_of(model, sum(1 << order[k] for k in range(start, stop)), budget)
                for start, stop in pairwise(ends)
            ]
            if None not in costs:
                least.append(sum(cost or 0 for cost in costs))
        best.append(min(least))
    assert efficient_s(model, graph, budget, traits=GROWS).objective_bytes == min(best)


def cost_of(model: LineModel, mask: int, budget: int) -> int | None:
    return least_traffic(((p.buffer_bytes, p.traffic_bytes) for p in model.staircase(mask)), budget)


def test_a_chain_has_one_answer() -> None:
    graph = wired("ab", "bc", "cd", "de", "ef")
    model = LineModel(graph)
    for budget in (90, 120, 150, 400):
        best = best_partition(model, graph, budget, Clock(60), traits=GROWS).objective_bytes
        for baseline in (fused_layer, dnnvm, efficient_s):
            assert baseline(model, graph, budget, traits=GROWS).objective_bytes == best


def test_parameters_that_must_stay_leave_fewer_groups() -> None:
    graph = wired("ab", "bc", "cd", "de", "ef")
    model = LineModel(graph)
    budgets = range(30, 300, 5)
    free = [fused_layer(model, graph, b, traits=GROWS).objective_bytes for b in budgets]
    kept = ResidentGroups(model)
    resident = [fused_layer(kept, graph, b, traits=GROWS).objective_bytes for b in budgets]
    assert all(a <= b for a, b in zip(free, resident))
    assert free != resident
    assert free[-1] == resident[-1]


def test_the_oracle_is_a_bound_and_says_so() -> None:
    found = oracle(BRANCHED)
    # The input, the output and eight parameters, once each.
    assert found.objective_bytes == found.bound_bytes == 40 + 40 + 8 * 7
    assert found.status == "bound"


@pytest.mark.parametrize("name", list(BASELINES))
def test_a_budget_too_small_is_said(name: str) -> None:
    with pytest.raises(BudgetTooSmall):
        BASELINES[name](LineModel(BRANCHED), BRANCHED, 5, traits=GROWS)
