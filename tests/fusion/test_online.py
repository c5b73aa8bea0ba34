"""The online variant: its rules, its table, and how near to the best it comes."""

from __future__ import annotations

import pytest

from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import no_fusion
from planners.fusion.partition.cost_model import Traits
from planners.fusion.partition.lattice import Dag
from planners.fusion.search.exact import best_partition
from planners.fusion.search.online import (
    SizeTable,
    allowed_groups,
    completed,
    obeys,
    online_partition,
    size_table,
)
from planners.papers.optimus.workloads import workload
from tests.fusion.models import LineModel, subsets
from tests.random_graphs import random_graph

GROWS = Traits("grows")


def is_allowed(dag: Dag, mask: int) -> bool:
    """The rules as section 6 states them, without the code under test."""
    for i in bits(mask):
        readers = dag.successors[i]
        if readers & mask and readers & ~mask:
            return False
        if mask != 1 << i and not dag.relatives[i] & mask:
            return False
    return dag.is_convex(mask)


@pytest.mark.parametrize("seed", range(20))
def test_groups_obey_the_rules(seed: int) -> None:
    dag = Dag.from_graph(random_graph(seed, 8))
    groups = list(allowed_groups(dag, 5))
    assert len(set(groups)) == len(groups)
    assert {1 << i for i in range(8)} <= set(groups)
    assert all(is_allowed(dag, mask) and mask.bit_count() <= 5 for mask in groups)


@pytest.mark.parametrize("seed", range(20))
def test_a_completed_set_is_the_least_that_obeys(seed: int) -> None:
    dag = Dag.from_graph(random_graph(seed, 7))
    lawful = [m for m in subsets(dag.everything) if obeys(dag, m) and dag.is_convex(m)]
    for mask in subsets(dag.everything):
        around = [m for m in lawful if not mask & ~m]
        least = completed(dag, mask, 7)
        if least is not None:
            assert least in around
            assert all(not least & ~m for m in around)
        else:
            assert around == []


def test_vgg_s_groups_are_those_of_table_5() -> None:
    # 80 groups of the chain of 18: all of up to five operators.
    dag = Dag.from_graph(workload("vgg16"))
    assert len(list(allowed_groups(dag, 5))) == 80


def test_the_table_limits_groups_by_buffer() -> None:
    table = SizeTable((0, 10, 20, 20, 50))
    assert [table.limit(b) for b in (5, 10, 19, 20, 49, 50, 999)] == [1, 1, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("seed", range(10))
def test_the_table_rises(seed: int) -> None:
    graph = random_graph(seed, 9)
    table = size_table(LineModel(graph), graph, Clock(60))
    assert table.memo[0] == 0
    assert list(table.memo) == sorted(table.memo)
    assert len(table.memo) > 1


@pytest.mark.parametrize("seed", range(20))
def test_online_lies_between_the_best_and_no_fusion(seed: int) -> None:
    graph = random_graph(seed, 12)
    dag, model = Dag.from_graph(graph), LineModel(graph)
    budget = 2 * max(model.staircase(1 << i)[0].buffer_bytes for i in range(12))
    table = size_table(model, graph, Clock(60))
    found = online_partition(model, graph, budget, Clock(60), table)
    assert sum(found.groups) == dag.everything
    done = 0
    for mask in found.groups:
        assert is_allowed(dag, mask)
        assert mask.bit_count() <= table.limit(budget)
        done |= mask
        assert all(not dag.predecessors[i] & ~done for i in bits(mask))
    best = best_partition(model, graph, budget, Clock(60), traits=GROWS)
    assert best.objective_bytes <= found.objective_bytes
    assert found.objective_bytes <= no_fusion(model, graph, budget, traits=GROWS).objective_bytes
    assert found.considered <= best.considered
