"""Latency as the objective: nothing is faster where it is proven, nothing under its bounds."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.core.watchdog import TimeUp
from planners.cosma.latency.bound import ScheduleSeconds, any_order_bound_s, order_bound_s
from planners.cosma.latency.variants import Fastest
from planners.cosma.model.problem import ScheduleProblem
from tests.cases import cases
from tests.cosma.faster import can_be_faster
from tests.random_graphs import random_graph

SEEDS = st.integers(0, 10**6)
QUICK = (
    *(
        157,
        161,
        0,
        1,
        2,
        3,
        4,
        5,
        8,
        11,
        12,
        13,
        14,
        18,
        19,
        20,
        21,
        22,
        23,
        24,
        25,
        27,
        31,
        32,
        35,
        36,
        38,
    ),
    *(39, 40, 41, 43, 44, 45, 46, 47, 49, 50, 51, 52, 54, 55, 57, 58, 59),
)
"""Problems of which all programs are tried in seconds; the first were once proven wrongly."""


def machine_of(seed: int) -> sp.Machine:
    """The teaching machine with other speeds: each of its engines is the slowest for some."""
    rng = random.Random(seed)
    machine = sp.load_machine("npu_ideal")
    engines = tuple(
        replace(
            engine,
            bytes_per_s=rng.choice((1e9, 4e9, 8e9)),
            latency_s=rng.choice((0.0, 0.0, 2e-10, 1e-9)),
        )
        for engine in machine.engines
    )
    return replace(machine, macs_per_s=rng.choice((1e9, 3e9, 10e9)), engines=engines)


SLOW, USUAL = (157, 161, 0), 8
"""Seeds that take seconds, and as many as are in the usual run with them."""


def small(seed: int) -> tuple[sp.Graph, sp.Machine, int, bool]:
    """A graph of two to four operators, a machine, a budget, and whether weights count."""
    rng = random.Random(seed)
    graph = random_graph(seed, rng.randint(2, 4), largest=rng.randint(1, 3))
    counted = rng.random() < 0.6
    budget = sp.budgets(graph, parameters=counted).MR + rng.choice((0, 0, 1, 2))
    return graph, machine_of(seed), budget, counted


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(s, marks=pytest.mark.long if s in SLOW or n >= USUAL else ())
        for n, s in enumerate(QUICK[: cases(16)])
    ],
)
def test_nothing_is_faster_than_what_is_proven(seed: int) -> None:
    graph, machine, budget, counted = small(seed)
    weights = "counted" if counted else "left-out"
    for order in ("default", "joint"):
        options = {"schedule": order, "weights": weights}
        plan = sp.plan(graph, "cosma", budget, machine, objective="latency", **options)
        took = sp.simulate(plan).makespan_s
        claim = plan.details.latency
        assert claim is not None
        assert claim.seconds == pytest.approx(took, rel=1e-12)
        assert plan.claims.status == "optimal"
        assert claim.bound_s == pytest.approx(took, rel=1e-8)
        any_order = order == "joint"
        assert not can_be_faster(graph, machine, budget, took, any_order=any_order, weights=weights)
        more = took * 1.001
        assert can_be_faster(graph, machine, budget, more, any_order=any_order, weights=weights)


@pytest.mark.parametrize("most", [4, pytest.param(12, marks=pytest.mark.long)])
@given(SEEDS, st.integers(3, 12), st.sampled_from(["left-out", "counted", "in-place"]))
@settings(max_examples=cases(4, 32))
def test_latency_is_never_more_than_that_of_least_traffic_nor_under_its_bounds(
    most: int, seed: int, operators: int, weights: str
) -> None:
    operators = min(operators, most)
    graph, machine = random_graph(seed, operators, largest=5000), machine_of(seed)
    budget = sp.budgets(graph, parameters=weights == "counted").MR + seed % 3 * 2000
    took: dict[tuple[str, str], float] = {}
    bounds = []
    for order in ("default", "joint"):
        for objective in ("traffic", "traffic_then_latency", "latency"):
            options = {"schedule": order, "objective": objective, "weights": weights}
            plan = sp.plan(graph, "cosma", budget, machine, **options)
            took[order, objective] = sp.simulate(plan).makespan_s
            if claim := plan.details.latency:
                assert claim.seconds == pytest.approx(took[order, objective], rel=1e-12)
                assert plan.claims.status == ("optimal" if not claim.gap else "feasible")
                bounds.append((order, claim.bound_s))
    for order in ("default", "joint"):
        of = [took[order, o] for o in ("traffic", "traffic_then_latency", "latency")]
        assert of[2] <= of[1] * (1 + 1e-12)
        assert of[1] <= of[0] * (1 + 1e-12)
    for order, bound in bounds:
        for (other, _), seconds in took.items():
            if order in (other, "joint"):
                assert bound <= seconds * (1 + 1e-9)


@pytest.mark.parametrize("machine", ["npu_small", "ethos_u55_high_end"])
def test_loads_come_early_enough_for_the_bound_to_be_near(machine: str) -> None:
    """Weights of a network that fits: without loads ahead it takes a fifth to a half more."""
    graph = sp.load("squeezenet1_1")
    budget = 2 * sp.budgets(graph, parameters=True).MR
    plain = sp.simulate(sp.plan(graph, "cosma", budget, machine, parameters=True)).makespan_s
    plan = sp.plan(graph, "cosma", budget, machine, parameters=True, objective="latency")
    claim = plan.details.latency
    assert claim is not None
    assert claim.seconds <= plain
    assert claim.gap < 0.05


def test_engines_that_share_transfers_are_bounded_by_what_holds_in_any_order() -> None:
    graph, machine = random_graph(4, 5), machine_of(4)
    twin = replace(machine.engine("dma_in"), name="dma_in_2", shares="dma_in")
    both = replace(machine, engines=(*machine.engines, twin))
    budget = sp.budgets(graph, parameters=True).MR
    problem = ScheduleProblem(graph, tuple(range(5)), True, budget)
    assert order_bound_s(ScheduleSeconds(problem, both)) == any_order_bound_s(
        ScheduleSeconds(problem, both)
    )
    plans = [
        sp.plan(graph, "cosma", budget, m, parameters=True, objective="latency")
        for m in (machine, both)
    ]
    alone, shared = (sp.simulate(plan).makespan_s for plan in plans)
    assert shared <= alone * (1 + 1e-12)


def test_wishes_hold_by_latency_too() -> None:
    graph = random_graph(5, 8, largest=9)
    budget = sp.budgets(graph).MR + 12
    tensor = graph.operators[2].outputs[0]
    plan = sp.plan(graph, budget=budget, objective="latency", wishes=(f"keep {tensor}",))
    sp.check(plan)


def test_a_search_that_was_broken_off_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given up in the middle of a candidate leaves nothing to go on with."""
    graph = random_graph(5, 12, largest=40)
    asked: dict[str, Any] = {"objective": "latency", "time_limit": 5}
    offered = Fastest.offer

    def broken(self: Fastest, *given: Any) -> bool:
        raise TimeUp

    monkeypatch.setattr(Fastest, "offer", broken)
    with pytest.raises(TimeUp):
        sp.plan(graph, "cosma", "MR", **asked)
    monkeypatch.setattr(Fastest, "offer", offered)
    assert sp.plan(graph, "cosma", "MR", **asked).details.latency is not None
