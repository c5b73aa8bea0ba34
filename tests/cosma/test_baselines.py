"""Schemes that plans are compared to: valid, never under the bound, the stronger ones stronger."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.core.progress import Clock
from planners.cosma.baselines.offline import OfflinePolicy, replace_offline
from planners.cosma.baselines.schemes import Policy
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.options import SCHEMES, CosmaOptions
from tests.cases import MANY, cases
from tests.random_graphs import random_graph


def cost(graph: sp.Graph, replacement: str, **options: object) -> int:
    plan = sp.plan(graph, replacement=replacement, **options)
    report = sp.check(plan)
    assert report.extent_bytes <= plan.budget_bytes
    assert report.noncompulsory_bytes == plan.claims.noncompulsory_bytes
    assert plan.claims.bound_bytes <= plan.claims.noncompulsory_bytes
    return plan.claims.noncompulsory_bytes


@given(st.integers(0, 10**6), st.integers(1, 25), st.booleans(), st.floats(0, 1.2))
@settings(max_examples=cases(20, MANY))
def test_offline_schemes_are_valid_and_climbing_only_helps(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=200)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.default_peak - b.MR))
    options = {"budget": budget, "parameters": parameters}
    best = sp.plan(graph, **options).claims
    climbed = cost(graph, "hill_climb", **options)
    assert best.bound_bytes <= climbed <= cost(graph, "size_ordered", **options)


def test_with_room_for_everything_no_scheme_moves_anything() -> None:
    graph = random_graph(4, 30, largest=200)
    room = sum(graph.size_bytes(name) + 64 for name in graph.tensors)
    assert [cost(graph, scheme, budget=room) for scheme in SCHEMES] == [0] * len(SCHEMES)


def test_size_order_saves_what_the_order_of_execution_costs() -> None:
    """Online, b splits the memory before its large neighbours come; by size they come first."""
    sizes = {"x": 1, "a": 2, "b": 2, "c": 4, "d": 4}
    tensors = {"x": sp.Tensor("x", (1,), "input")}
    tensors |= {name: sp.Tensor(name, (size,)) for name, size in sizes.items() if name != "x"}
    wires = {"a": ("x",), "b": ("a",), "c": ("b",), "d": ("c", "b")}
    ops = tuple(sp.Operator(f"op_{made}", "any", reads, (made,)) for made, reads in wires.items())
    graph = sp.Graph("split", tensors, ops, ("x",), ("d",))
    found = {scheme: cost(graph, scheme, budget="MP", alignment=1) for scheme in SCHEMES}
    assert found["size_ordered"] == found["hill_climb"] == 0
    assert found["belady"] > 0
    assert found["greedy"] > 0


def test_greedy_lets_nothing_leave_in_vain() -> None:
    """a is cheaper than b, but c (4 bytes) does not fit in its one: b alone has to leave."""
    sizes = {"a": 1, "b": 4, "c": 4, "d": 1, "e": 1}
    tensors = {"x": sp.Tensor("x", (3,), "input")}
    tensors |= {name: sp.Tensor(name, (size,)) for name, size in sizes.items()}
    wires = {"a": ("x",), "b": ("x",), "c": ("x",), "d": ("a", "c"), "e": ("d", "b")}
    ops = tuple(sp.Operator(f"op_{made}", "any", reads, (made,)) for made, reads in wires.items())
    graph = sp.Graph("vain", tensors, ops, ("x",), ("e",))
    assert cost(graph, "greedy", budget=10, alignment=1) == 2 * sizes["b"]


def test_what_was_dropped_in_vain_is_kept_again() -> None:
    """y (4 bytes) finds no gap of 29: it alone leaves in vain, then r moves and y can stay."""
    tensors = {"x": sp.Tensor("x", (1,), "input"), "w": sp.Tensor("w", (10,), "parameter")}
    tensors |= {n: sp.Tensor(n, (s,)) for n, s in {"l": 13, "r": 13, "y": 4, "z": 1}.items()}
    wires = {"l": "x", "r": "l", "y": "r", "z": "y"}
    ops = [
        sp.Operator(made, "any", (read,), (made,), ("w",) if made == "y" else ())
        for made, read in wires.items()
    ]
    graph = sp.Graph("vain", tensors, tuple(ops), ("x",), ("z",))
    options = {"budget": 29, "alignment": 1, "parameters": True}
    assert cost(graph, "size_ordered", **options) == 2 * 13
    assert cost(graph, "hill_climb", **options) == 0


def test_a_climb_beats_its_start_where_sizes_mislead() -> None:
    gains = 0
    for seed in range(30):
        graph = random_graph(seed, 20, largest=40)
        sized = cost(graph, "size_ordered", budget="MR", alignment=1)
        gains += cost(graph, "hill_climb", budget="MR", alignment=1) < sized
    assert gains > 5


@given(st.integers(0, 10**6))
@settings(max_examples=cases(20))
def test_alignment_is_kept_where_there_is_room(seed: int) -> None:
    graph = random_graph(seed, 15, largest=300)
    room = sum(graph.size_bytes(name) + 64 for name in graph.tensors)
    problem = ScheduleProblem(graph, tuple(range(15)), False, room)
    for policy in ("size_ordered", "hill_climb"):
        stays = replace_offline(problem, policy, 64, Clock(10))
        assert all(offset % 64 == 0 for offset in stays.values())


@pytest.mark.parametrize("scheme", ["size_ordered", "hill_climb"])
def test_a_step_of_odd_sizes_at_its_own_need(scheme: str) -> None:
    names = ["x0", "x1", "x2"]
    tensors = {name: sp.Tensor(name, (65,), "input") for name in names}
    tensors["y"] = sp.Tensor("y", (1,))
    op = sp.Operator("cat", "cat", tuple(names), ("y",))
    assert cost(sp.Graph("odd", tensors, (op,), tuple(names), ("y",)), scheme, budget="MR") == 0


def test_without_time_the_climb_is_its_start() -> None:
    graph = random_graph(3, 40, largest=99)
    options = {"budget": "MR", "time_limit": 1e-6}
    assert cost(graph, "hill_climb", **options) == cost(graph, "size_ordered", **options)


def test_all_are_made_by_name() -> None:
    assert CosmaOptions.spec("replacement").choices == ("optimal", *SCHEMES)
    assert set(SCHEMES) == {*get_args(Policy), *get_args(OfflinePolicy)}
