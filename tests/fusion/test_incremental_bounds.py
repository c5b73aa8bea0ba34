"""Bounds that grow with a group, and the rules by which groups are left out for them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import planners as sp
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.group import GroupModel
from planners.fusion.cost.incremental_bounds import GroupLayer, Growing, masks, one_batch, words
from planners.fusion.cost.refills import least_in_a_group
from planners.fusion.partition.cost_model import least_traffic
from planners.fusion.partition.lattice import by_depth, by_levels
from planners.fusion.partition.shortest import NEVER
from planners.fusion.search import exact
from planners.fusion.search.anytime import Anytime
from planners.fusion.search.bounded import GroupRules
from planners.fusion.search.candidates import Candidates
from planners.fusion.search.exact import best_partition, sweep_partitions
from tests.cases import in_turn
from tests.fusion.families import MODULES, family
from tests.fusion.networks import CASES, MOST_STRIDED, graph_of

MACHINE = sp.load_machine("npu_small")
TILES = [(1, 1), (3, 1), (1, 4)]
SWITCHES = [None, GroupRules(excess=False), GroupRules(through=False), GroupRules(False, False)]


def model_of(name: str, tile: int = 1, bands: int = 1) -> GroupModel:
    return GroupModel(graph_of(name, 2), MACHINE, {"channel_tile": tile, "bands": bands})


def grown(growing: Growing, mask: int) -> tuple[GroupLayer, list[GroupLayer]]:
    """A group, and what it grew from, its last operator first."""
    places = sorted((list(growing.order).index(i) for i in bits(mask)), reverse=True)
    layers = [growing.empty()]
    for place in places:
        layers.append(growing.grow(layers[-1], np.array([0]), np.array([place])))
    return layers[-1], layers


def growing_of(model: GroupModel, order: list[int]) -> Growing:
    found = Candidates(model, model.graph, model.traits)
    assert found.floors is not None
    assert found.refills is not None
    return Growing(model.graph, found.dag, found.tables, found.floors, found.refills, order)


@pytest.mark.parametrize(("name", "tile", "bands"), in_turn([*CASES, *MOST_STRIDED], TILES))
def test_bounds_hold_and_grow(name: str, tile: int, bands: int) -> None:
    model = model_of(name, tile, bands)
    if not one_batch(model.graph):
        pytest.skip("operators have different batches")
    found = Candidates(model, model.graph, model.traits)
    orders = [list(range(found.dag.count)), by_levels(found.dag), by_depth(found.dag)]
    rng = random.Random(name)
    every = [m for m in range(1, 1 << found.dag.count) if m.bit_count() > 1 and found.cost(m)]
    tight = seen = 0
    for mask in rng.sample(every, min(40, len(every))):
        growing = growing_of(model, rng.choice(orders))
        layer, parts = grown(growing, mask)
        assert masks(layer.mask) == [mask]
        assert layer.moved[0] == model.least_traffic(mask)
        steps = found.cost(mask)
        budgets = [buffer for buffer, _ in steps] + [2 * steps[-1][0]]
        again = growing.again(layer, budgets)[0]
        for budget, extra in zip(budgets, again):
            cost = least_traffic(steps, budget)
            assert cost is not None
            assert layer.moved[0] + extra <= cost
            seen += 1
            tight += 2 * (layer.moved[0] + extra) >= cost
        less = [growing.again(part, budgets)[0] for part in parts[1:]]
        for before, after, small, large in zip(less, less[1:], parts[1:], parts[2:]):
            assert (before <= after).all()
            assert small.cut[0] <= large.cut[0]
    assert tight > seen / (4 * bands)  # It is no empty bound.


@pytest.mark.parametrize(("name", "tile", "bands"), in_turn([*CASES, *MOST_STRIDED], TILES))
def test_no_group_loads_fewer_parameters_of_an_operator(name: str, tile: int, bands: int) -> None:
    model = model_of(name, tile, bands)
    found = Candidates(model, model.graph, model.traits)
    assert found.floors is not None
    assert found.refills is not None
    around = [model.tables[i].parameter_bytes for i in range(found.dag.count)]
    for mask in range(1, 1 << found.dag.count):
        if mask.bit_count() < 2:
            continue
        for buffer, traffic in found.cost(mask):
            least = [
                least_in_a_group(i, found.floors, found.refills, around[i], [buffer])[0]
                for i in bits(mask)
            ]
            assert sum(least) <= traffic


def test_what_operators_load_in_any_group_bounds_small_budgets() -> None:
    graph = sp.load("resnet18")
    model = GroupModel(graph, MACHINE, {"bands": 8})
    ways = [model.staircase(1 << i) for i in range(len(graph.operators))]
    least = max(min(way.buffer_bytes for way in each) for each in ways)
    known = Anytime(model, graph, [least, 1 << 30], GroupRules())
    known.look_at_runs(None, Clock(0))
    small, large = known.least_bytes()
    assert large == known.compulsory_bytes
    assert small > 2 * large
    assert small <= best_partition(model, graph, least, Clock(60)).objective_bytes


@pytest.mark.parametrize("baseline", ["no_fusion", "fused_layer", "efficient_s"])
@pytest.mark.parametrize(
    ("name", "budget", "most"),
    [("inceptions", 4096, 30), pytest.param("squeezenet1_1", 1 << 17, 40, marks=pytest.mark.long)],
)
def test_a_search_that_is_cut_short_is_no_worse_than_the_baselines(
    name: str, budget: int, most: int, baseline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = family(name) if name in MODULES else sp.load(name)
    model = GroupModel(graph, MACHINE, {"bands": 2})
    best = best_partition(model, graph, budget, Clock(60))
    monkeypatch.setattr(exact, "MOST_GROUPS", most)
    found = best_partition(model, graph, budget, Clock(60))
    other = BASELINES[baseline](model, graph, budget)
    assert best.status == "optimal"
    assert found.bound_bytes <= best.objective_bytes <= found.objective_bytes
    assert found.objective_bytes <= other.objective_bytes


def test_masks_and_words_are_the_same_sets() -> None:
    sets = [0, 1, 1 << 63, 1 << 64 | 1, (1 << 130) - 1]
    assert masks(words(sets, 131)) == sets


@pytest.mark.parametrize(("name", "rules"), in_turn(CASES, [(rules,) for rules in SWITCHES]))
def test_no_rule_changes_what_is_found(name: str, rules: GroupRules | None) -> None:
    model = model_of(name, bands=2)
    singles = [model.staircase(1 << i) for i in range(len(model.graph.operators))]
    least = max(min(way.buffer_bytes for way in ways) for ways in singles)
    budgets = [least, least + least // 3, 2 * least, 4 * least]
    wanted = sweep_partitions(model, model.graph, budgets, Clock(60))
    found = sweep_partitions(model, model.graph, budgets, Clock(60), rules=rules)
    for one, other in zip(wanted, found, strict=True):
        assert one.status == other.status == "optimal"
        assert one.objective_bytes == other.objective_bytes


def test_rules_leave_groups_out() -> None:
    graph = sp.load("squeezenet1_1")
    model = GroupModel(graph, MACHINE, {"bands": 8})
    few = best_partition(model, graph, 1 << 17, Clock(60))
    every = best_partition(model, graph, 1 << 17, Clock(60), rules=None)
    assert few.status == every.status == "optimal"
    assert few.objective_bytes == every.objective_bytes
    assert few.considered < 0.7 * every.considered
    costs = [model.best(mask, 1 << 17) for mask in few.groups]
    assert sum(way.traffic_bytes for way in costs if way) == few.objective_bytes
    assert NEVER > few.objective_bytes
