"""The search over partitions against brute force, Algorithm 1, and what must hold of any answer."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

import pytest

import planners as sp
from planners.core.errors import BadInput, BudgetTooSmall
from planners.core.masks import bits
from planners.core.progress import Clock, Progress
from planners.fusion.baselines.algorithm1 import bottom_up, top_down
from planners.fusion.partition.cost_model import (
    GroupCosts,
    Partition,
    Traits,
    executable,
    least_traffic,
)
from planners.fusion.partition.lattice import Dag
from planners.fusion.search import exact as search
from planners.fusion.search.bound import compulsory_bytes, forced_bytes, read_bytes
from planners.fusion.search.candidates import Candidates, looks
from planners.fusion.search.exact import best_partition, sweep_partitions
from planners.fusion.search.set_partition import cheapest_cover, prices
from tests.cases import cases
from tests.fusion.models import LineModel, RandomModel, brute_force, subsets
from tests.random_graphs import random_graph

NOTHING = Traits("any", local=False, splits=False)
GROWS = Traits("grows")
# FUSION_CASES=500 runs as many graphs against brute force.
CASES = int(os.environ.get("FUSION_CASES", cases(20, 60)))


def cost(model: GroupCosts, mask: int, budget: int) -> int | None:
    points = ((p.buffer_bytes, p.traffic_bytes) for p in model.staircase(mask))
    return least_traffic(points, budget)


def all_costs(model: GroupCosts, dag: Dag, budget: int) -> dict[int, int]:
    found = {m: cost(model, m, budget) for m in subsets(dag.everything) if dag.is_convex(m)}
    return {mask: price for mask, price in found.items() if price is not None}


def need(model: GroupCosts, count: int) -> int:
    """The least budget at which each operator fits alone."""
    return max(model.staircase(1 << i)[0].buffer_bytes for i in range(count))


def verify(partition: Partition, model: GroupCosts, graph: sp.Graph, budget: int) -> None:
    """Each operator once, nothing before what it waits for, within budget, at the cost said."""
    dag, done, total = Dag.from_graph(graph), 0, 0
    for mask in partition.groups:
        assert not mask & done
        done |= mask
        assert all(not dag.predecessors[i] & ~done for i in bits(mask))
        price = cost(model, mask, budget)
        assert price is not None
        total += price
    assert done == dag.everything
    assert total == partition.objective_bytes
    assert partition.bound_bytes <= partition.objective_bytes
    assert (partition.status == "optimal") == (partition.gap == 0)


def sized(seed: int) -> sp.Graph:
    return random_graph(seed, 2 + seed % 9)


@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("wide", [False, True], ids=["lattice", "cover"])
def test_brute_force_agrees(seed: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sized(seed)
    dag = Dag.from_graph(graph)
    if wide:
        monkeypatch.setattr(search, "MOST_DOWNSETS", 0)
    for model, traits in (
        (RandomModel(graph, seed, monotone=False), NOTHING),
        (RandomModel(graph, seed, monotone=True), Traits("grows", local=False, splits=False)),
        (LineModel(graph), GROWS),
    ):
        low = need(model, dag.count)
        budget = random.Random(seed).randint(low, 3 * low)
        found = best_partition(model, graph, budget, Clock(60), traits=traits)
        verify(found, model, graph, budget)
        assert found.status == "optimal"
        assert found.objective_bytes == brute_force(dag, all_costs(model, dag, budget))


@pytest.mark.parametrize("seed", range(20))
def test_algorithm_1_agrees(seed: int) -> None:
    graph = sized(seed + 5)
    dag, model = Dag.from_graph(graph), RandomModel(graph, seed, monotone=False)
    budget = need(model, dag.count) + 5
    costs = all_costs(model, dag, budget)
    found = best_partition(model, graph, budget, Clock(60), traits=NOTHING)
    for way in (top_down, bottom_up):
        least, groups = way(dag, costs.get)
        assert least == found.objective_bytes == sum(costs[mask] for mask in groups)
        assert executable(dag, groups) is not None


@pytest.mark.parametrize("edges", [[(0, 2), (1, 3)], [(0, 2), (1, 3), (1, 2)]])
def test_convex_groups_can_close_a_cycle(edges: list[tuple[int, int]]) -> None:
    # a → c, b → d: {a, d} and {b, c} are convex each, and wait for each other; b → c or not.
    dag = Dag.from_edges(4, edges)
    crossed = [0b1001, 0b0110]
    assert all(dag.is_convex(mask) for mask in crossed)
    assert executable(dag, crossed) is None
    groups = [*crossed, 1, 2, 4, 8]
    costs = [1, 1, 5, 5, 5, 5]
    found = cheapest_cover(dag, groups, costs, Clock(60), known=20)
    # The linear program buys both; the search does not.
    assert sum(prices(4, groups, costs, Clock(60))) == 2
    assert found.objective == found.bound == 11
    assert found.groups is not None
    assert executable(dag, found.groups) is not None


@pytest.mark.parametrize("seed", range(20))
def test_prices_hold_over_every_group(seed: int) -> None:
    graph = sized(seed)
    dag, model = Dag.from_graph(graph), RandomModel(graph, seed, monotone=False)
    costs = all_costs(model, dag, 10**6)
    price = prices(dag.count, list(costs), list(costs.values()), Clock(60))
    assert all(sum(price[i] for i in bits(mask)) <= least for mask, least in costs.items())
    # And they are no weak bound: what rounding takes is little.
    best = brute_force(dag, costs)
    assert best is not None
    assert 0.5 * best <= sum(price) <= best


@pytest.mark.parametrize("seed", range(cases(6, 20)))
def test_traffic_never_rises_with_the_budget(seed: int) -> None:
    graph = random_graph(seed, 12)
    model = RandomModel(graph, seed, monotone=True)
    low = need(model, 12)
    budgets = list(range(low, 6 * low, max(1, low // 4)))
    traits = Traits("grows", local=False, splits=False)
    swept = sweep_partitions(model, graph, budgets, Clock(60), traits=traits)
    totals = [found.objective_bytes for found in swept]
    assert totals == sorted(totals, reverse=True)
    for budget, found in list(zip(budgets, swept))[::7]:
        alone = best_partition(model, graph, budget, Clock(60), traits=traits)
        assert alone.objective_bytes == found.objective_bytes
        verify(found, model, graph, budget)


def test_a_sweep_asks_the_model_once_for_each_group() -> None:
    graph = random_graph(3, 13)
    model = LineModel(graph)
    low = need(model, 13)
    budgets = [low + k * low // 5 for k in range(11)]
    model.asked.clear()
    sweep_partitions(model, graph, budgets, Clock(60), traits=GROWS)
    # Operators alone are looked at for each budget: does it fit at all?
    assert max(n for mask, n in model.asked.items() if mask.bit_count() > 1) == 1
    together = len(model.asked)
    apart = 0
    for budget in budgets:
        model.asked.clear()
        best_partition(model, graph, budget, Clock(60), traits=GROWS)
        apart += len(model.asked)
    assert together < apart / 3


@pytest.mark.parametrize("seed", range(12))
def test_a_cap_is_kept_and_said(seed: int) -> None:
    graph = random_graph(seed, 9)
    dag, model = Dag.from_graph(graph), LineModel(graph)
    budget = 3 * need(model, 9)
    found = best_partition(model, graph, budget, Clock(60), cap=2, traits=GROWS)
    verify(found, model, graph, budget)
    assert max(mask.bit_count() for mask in found.groups) <= 2
    costs = all_costs(model, dag, budget)
    small = {mask: price for mask, price in costs.items() if mask.bit_count() <= 2}
    assert found.objective_bytes == brute_force(dag, small)
    best = brute_force(dag, costs)
    assert best is not None
    assert found.bound_bytes <= best
    assert found.status == "optimal" or found.cap == 2


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_bounds(seed: int) -> None:
    graph = sized(seed)
    dag, model = Dag.from_graph(graph), LineModel(graph)
    budget = need(model, dag.count) + seed % 7
    best = brute_force(dag, all_costs(model, dag, budget))
    candidates = Candidates(model, graph, GROWS)
    candidates.grow(budget, 3, Clock(60), 10**6)
    assert best is not None
    assert compulsory_bytes(graph) <= forced_bytes(graph, candidates, budget) <= best


def test_a_tensor_that_cannot_stay_is_forced_off_chip() -> None:
    graph = random_graph(1, 8)
    model = LineModel(graph)
    budget = need(model, 8)
    candidates = Candidates(model, graph, GROWS)
    candidates.grow(budget, None, Clock(60), 10**6)
    assert forced_bytes(graph, candidates, budget) > compulsory_bytes(graph)
    candidates.grow(10**9, None, Clock(60), 10**6)
    assert forced_bytes(graph, candidates, 10**9) == compulsory_bytes(graph)


def test_strides_step_over_what_is_never_read() -> None:
    def bytes_read(kernel: int, stride: int, size: int, out: int) -> int:
        tensors = {
            "x": sp.Tensor("x", (1, 2, size, size), "input"),
            "y": sp.Tensor("y", (1, 2, out, out)),
        }
        window = ((kernel,) * 2, (stride,) * 2, (0, 0), (1, 1))
        op = sp.Operator("op", "conv2d", ("x",), ("y",), (), 1, *window)
        return read_bytes(sp.Graph("g", tensors, (op,), ("x",), ("y",)), op, "x")

    assert bytes_read(1, 2, 8, 4) == 2 * 4 * 4
    assert bytes_read(3, 2, 8, 3) == 2 * 7 * 7
    assert bytes_read(3, 1, 8, 6) == 2 * 8 * 8


def test_alike_operators_look_alike() -> None:
    graph = sp.load("resnet50")
    found = looks(graph)
    block = [i for i, op in enumerate(graph.operators) if op.block.startswith("layer3.3")]
    after = [i for i, op in enumerate(graph.operators) if op.block.startswith("layer3.4")]
    assert block
    assert [found[i] for i in block] == [found[i] for i in after]
    assert len(set(found)) < len(found) * 2 / 3


@dataclass
class Watch:
    """Stops a search at some report, and keeps what it heard."""

    stop_at: int
    heard: list[Progress] = field(default_factory=list)

    def __call__(self, moment: Progress) -> bool:
        self.heard.append(moment)
        return len(self.heard) < self.stop_at


@pytest.mark.parametrize("stop_at", [1, 3, 8])
@pytest.mark.parametrize("wide", [False, True], ids=["lattice", "cover"])
def test_a_stop_keeps_the_best(stop_at: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wide:
        monkeypatch.setattr(search, "MOST_DOWNSETS", 0)
    count = 24
    graph = random_graph(8, count)
    model = LineModel(graph)
    budget = 3 * need(model, count)
    watch = Watch(stop_at)
    found = best_partition(model, graph, budget, Clock(60, watch), traits=GROWS)
    verify(found, model, graph, budget)
    singles = sum(cost(model, 1 << i, budget) or 0 for i in range(count))
    assert found.objective_bytes <= singles
    assert watch.heard[0].incumbent_bytes == singles
    best = best_partition(model, graph, budget, Clock(60), traits=GROWS)
    assert found.bound_bytes <= best.objective_bytes <= found.objective_bytes
    assert best.status == "optimal"


def test_no_time_at_all_is_no_fusion_at_worst() -> None:
    graph = random_graph(8, 40)
    model = LineModel(graph)
    budget = 3 * need(model, 40)
    found = best_partition(model, graph, budget, Clock(0), traits=GROWS)
    verify(found, model, graph, budget)


def test_an_operator_that_does_not_fit_is_named() -> None:
    graph = random_graph(2, 6)
    model = LineModel(graph)
    low = need(model, 6)
    with pytest.raises(BudgetTooSmall) as raised:
        best_partition(model, graph, low - 1, Clock(60), traits=GROWS)
    assert raised.value.need_bytes == low
    position = graph.index[raised.value.operator]
    assert model.staircase(1 << position)[0].buffer_bytes == low


def test_a_cap_of_nothing_is_refused() -> None:
    graph = random_graph(2, 6)
    with pytest.raises(BadInput, match="cap must be"):
        best_partition(LineModel(graph), graph, 10**6, Clock(60), cap=0, traits=GROWS)


@pytest.mark.parametrize("wide", [False, True], ids=["lattice", "cover"])
@pytest.mark.parametrize("most", [15, 40, 80])
def test_too_many_groups_are_cut_by_size_and_said(
    wide: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(4, 14)
    model = LineModel(graph)
    budget = 4 * need(model, 14)
    best = best_partition(model, graph, budget, Clock(60), traits=GROWS)
    if wide:
        monkeypatch.setattr(search, "MOST_DOWNSETS", 0)
    monkeypatch.setattr(search, "MOST_GROUPS", most)
    found = best_partition(model, graph, budget, Clock(60), traits=GROWS)
    verify(found, model, graph, budget)
    assert best.considered > most >= found.considered - 1
    assert found.bound_bytes <= best.objective_bytes <= found.objective_bytes
    assert found.cap is not None
    capped = best_partition(model, graph, budget, Clock(60), cap=found.cap, traits=GROWS)
    assert found.objective_bytes <= capped.objective_bytes
