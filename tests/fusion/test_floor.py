"""The bound that groups are pruned by, and the search, with the planner's own cost model."""

from __future__ import annotations

from functools import cache

import pytest

from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.cost.floor import Floors
from planners.fusion.cost.group import GroupModel
from planners.fusion.partition.cost_model import Traits, least_traffic
from planners.fusion.partition.lattice import Dag
from planners.fusion.search.bound import compulsory_bytes
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import best_partition, sweep_partitions
from planners.fusion.tile.rows import RowTables
from planners.papers.optimus.workloads import cut, workload
from tests.fusion.models import brute_force, subsets

KIB = 1024
TRAITS = Traits(least_channels=16)


def model_of(graph: Graph, tile: int = 16) -> GroupModel:
    return GroupModel(graph, load_machine("optimus"), {"channel_tile": tile})


def start_of(name: str, operators: int) -> Graph:
    graph = workload(name)
    return cut(graph, graph.operators[operators].name)


@pytest.mark.parametrize("name", ["squeezenet1_0", "resnet18", "mobilenet_v2"])
@pytest.mark.parametrize("tile", [1, 16])
def test_the_floor_lies_below_and_grows(name: str, tile: int) -> None:
    graph = workload(name)
    found = Candidates(model_of(graph, tile), graph, Traits("any"))
    found.grow(0, 4, Clock(60), 10**6)
    floors = Floors(graph, RowTables(graph), tile)
    met = 0
    for mask in found.steps:
        steps = found.cost(mask)
        if mask.bit_count() == 1 or not steps:
            continue
        assert floors(mask) <= steps[0][0]
        assert all(floors(mask & ~(1 << i)) <= floors(mask) for i in bits(mask))
        met += 2 * floors(mask) > steps[0][0]
    assert met > len(found.steps) / 10  # It is no empty bound.


@cache
def staircases(name: str, operators: int) -> dict[int, list[tuple[int, int]]]:
    """Of every set of operators: the bytes of its buffers, and what it moves in them."""
    graph = start_of(name, operators)
    model = model_of(graph)
    return {
        mask: [(p.buffer_bytes, p.traffic_bytes) for p in model.staircase(mask)]
        for mask in subsets(Dag.from_graph(graph).everything)
    }


@pytest.mark.parametrize(
    ("name", "operators"), [("squeezenet1_0", 10), ("resnet18", 10), ("googlenet", 11)]
)
@pytest.mark.parametrize("kib", [48, 64, 128, 512])
def test_brute_force_agrees_on_the_start_of_a_network(name: str, operators: int, kib: int) -> None:
    graph = start_of(name, operators)
    dag, model = Dag.from_graph(graph), model_of(graph)
    costs = {}
    for mask, steps in staircases(name, operators).items():
        cost = least_traffic(steps, kib * KIB)
        if cost is not None:
            costs[mask] = cost
    found = best_partition(model, graph, kib * KIB, Clock(60), traits=TRAITS)
    assert found.status == "optimal"
    assert found.objective_bytes == brute_force(dag, costs)


@pytest.mark.parametrize("name", ["vgg16", "resnet18", "squeezenet1_0"])
def test_a_sweep_falls_to_no_less_than_compulsory(name: str) -> None:
    graph = workload(name)
    budgets = [k * 64 * KIB for k in range(2, 17)]
    swept = sweep_partitions(model_of(graph), graph, budgets, Clock(60), traits=TRAITS)
    totals = [found.objective_bytes for found in swept]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0]
    assert all(found.status == "optimal" for found in swept)
    assert compulsory_bytes(graph) <= totals[-1]
