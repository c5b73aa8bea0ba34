"""What weights do: one field of the problem, with one meaning for all planners."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.registry import planner as find_planner
from planners.core.weights import WEIGHTS, asked_weights, instead_of, weights_of
from tests.importers.few_blocks import few_blocks
from tests.work_clock import looking_long

OURS = ("cosma", "fusion", "overlap", "streaming", "auto")


IMAGE = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
AMPLE_S = 600.0
"""No search of these small problems takes so long; but `auto` asks all planners as long as it may,
and what is asserted is of any plan that it finds."""


@pytest.fixture(scope="module")
def network() -> sp.Graph:
    return sp.from_torch(few_blocks("mobilenet"), IMAGE)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("planner", OURS)
def test_plans_do_what_is_asked_or_say_what_they_do(
    network: sp.Graph, planner: str, weights: str
) -> None:
    limit_s, looks = (0.3, looking_long()) if planner == "auto" else (AMPLE_S, nullcontext())
    with looks:
        plan = sp.plan(network, planner, "1MiB", weights=weights, time_limit=limit_s)
    info = find_planner(planner)
    found = weights_of(plan.graph, plan.program)
    assert found == instead_of(weights, info.honours)
    assert (found == weights) == (weights in info.honours)
    told = info.cannot(weights)
    assert bool(told) == (found != weights)
    assert (told in plan.notes) == bool(told)
    assert plan.options["weights"] == weights


LABELS = ("MR", "MH", "MP")


@pytest.mark.parametrize(
    ("label", "weights"),
    [
        pytest.param(*each, marks=() if each in [*zip(LABELS, WEIGHTS)] else pytest.mark.long)
        for each in product(LABELS, WEIGHTS)
    ],
)
def test_the_planner_does_not_change_the_budget(
    network: sp.Graph, label: str, weights: str
) -> None:
    named = sp.budgets(network, parameters=weights == "counted")
    for planner in ("cosma", "fusion", "overlap"):
        plan = sp.plan(network, planner, label, weights=weights, time_limit=AMPLE_S)
        assert plan.budget_bytes == getattr(named, label)
    table = sp.sweep(network, ["cosma", "overlap"], [label], weights=weights, time_limit=AMPLE_S)
    assert set(table["budget_bytes"]) == {getattr(named, label)}


def test_read_in_place_costs_time_and_no_byte_on_chip(network: sp.Graph) -> None:
    apart, in_place, counted = (
        sp.plan(network, "cosma", "1MiB", weights=weights)
        for weights in ("left-out", "in-place", "counted")
    )
    assert apart.claims.peak_bytes == in_place.claims.peak_bytes < counted.claims.peak_bytes
    names = {name for op in network.operators for name in op.parameters}
    size = sum(map(network.size_bytes, names))
    assert in_place.claims.offchip_bytes == apart.claims.offchip_bytes + size
    assert in_place.claims.offchip_bytes == counted.claims.offchip_bytes
    assert sp.simulate(in_place).makespan_s > sp.simulate(apart).makespan_s
    assert sp.execute(in_place, few_blocks("mobilenet"), IMAGE).max_abs_error == 0


def test_weights_that_are_shared_are_read_for_each_operator() -> None:
    t = sp.Tensor
    ops = tuple(
        sp.Operator(f"op{i}", "linear", (f"x{i}",), (f"x{i + 1}",), parameters=("w",), macs=8)
        for i in range(3)
    )
    tensors = {f"x{i}": t(f"x{i}", (1, 4), "activation") for i in range(1, 4)}
    tensors |= {"x0": t("x0", (1, 4), "input"), "w": t("w", (4, 4), "parameter")}
    graph = sp.Graph("tied", tensors, ops, inputs=("x0",), outputs=("x3",))
    for objective in ("traffic", "peak"):
        plan = sp.plan(graph, "cosma", 100, weights="in-place", objective=objective)
        assert plan.claims.noncompulsory_bytes == 2 * 16
        assert plan.claims.compulsory_bytes == 4 + 4 + 16
        assert plan.claims.status == "optimal"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "left-out"),
        ({"parameters": True}, "counted"),
        ({"weights": "Read in place"}, "in-place"),
        ({"weights": "counted", "parameters": True}, "counted"),
    ],
)
def test_it_has_a_short_form(given: dict[str, Any], found: str) -> None:
    assert asked_weights(given) == found


@pytest.mark.parametrize(
    "given",
    [
        {"weights": "heavy"},
        {"weights": None},
        {"parameters": "yes"},
        {"parameters": True, "weights": "in-place"},
        {"parameters": False, "weights": "counted"},
    ],
)
def test_what_contradicts_itself_is_refused(given: dict[str, Any], network: sp.Graph) -> None:
    with pytest.raises(sp.BadInput, match="weights|parameters"):
        asked_weights(given)
    with pytest.raises(sp.BadInput, match="weights|parameters"):
        sp.plan(network, **given)


def test_a_sweep_has_one_problem(network: sp.Graph) -> None:
    with pytest.raises(sp.BadInput, match="one for all planners"):
        sp.sweep(network, ["cosma:weights=counted"], ["1MiB"])


def test_equal_tasks_of_a_sweep_are_planned_once(network: sp.Graph) -> None:
    size = sp.budgets(network).MR
    heard: list[dict[str, Any]] = []
    table = sp.sweep(network, ["cosma"], ["MR", size], on_row=heard.append)
    assert list(table["budget"]) == ["MR", str(size)]
    assert len(heard) == 2
    assert table["plan_s"].nunique() == 1
