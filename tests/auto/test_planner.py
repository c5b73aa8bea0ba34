"""The best of all planners: its choice, its reasons, its errors."""

from __future__ import annotations

import pytest

import planners as sp
from planners.auto.candidates import candidates, floor_of, value_of
from planners.auto.options import OBJECTIVES
from planners.core.machine import load_machine
from planners.core.registry import planner
from planners.core.units import format_quantity
from planners.core.weights import COUNTED, WEIGHTS, weights_of
from tests.random_graphs import random_graph

BUDGET = 200
ALL = ("cosma", "fusion", "overlap", "streaming")
MACHINE = load_machine("npu_small")


def each(graph: sp.Graph, budget: int, objective: str, weights: str = COUNTED) -> list[sp.Plan]:
    """What every candidate makes of it, of those in whose plans weights do what is asked."""
    found = []
    for candidate in candidates(objective, weights):
        if planner(candidate.planner).cannot(weights):
            continue
        try:
            found.append(sp.plan(graph, candidate.planner, budget, **candidate.options))
        except sp.BudgetTooSmall:
            continue
    return found


@pytest.mark.parametrize("objective", ["latency", "traffic", "energy"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("seed", range(4))
def test_no_planner_alone_is_better(objective: str, weights: str, seed: int) -> None:
    graph = random_graph(seed, 7, largest=30)
    made = sp.plan(graph, "auto", BUDGET, objective=objective, weights=weights)
    sp.check(made)
    others = each(graph, BUDGET, objective, weights)
    assert len({plan.planner for plan in others}) > 1
    assert {weights_of(graph, plan.program) for plan in others} <= {weights, None}
    values = [value_of(objective, plan, sp.simulate(plan)) for plan in others]
    assert value_of(objective, made, sp.simulate(made)) == pytest.approx(min(values))
    assert made.notes[-len(made.details.tried) :][0].startswith(f"auto: {made.planner}")
    apart = {row.planner for row in made.details.tried if "compared" in row.reason}
    assert apart == {name for name in ALL if planner(name).cannot(weights)}


def test_a_plan_is_its_planners_own_and_says_what_it_won_against() -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    made = sp.plan(graph, "auto", "1MiB", objective="traffic", time_limit=20, parameters=True)
    again = sp.plan(graph, made.planner, "1MiB", **made.options)
    assert again.claims.offchip_bytes == made.claims.offchip_bytes
    rows = made.details.tried
    every = candidates("traffic", COUNTED)
    apart = [c for c in every if planner(c.planner).cannot(COUNTED)]
    tried = [c for c in every if c not in apart]
    assert [row.planner for row in rows] == [c.planner for c in (*apart, *tried)]
    best = min(row.value for row in rows if row.value is not None)
    assert best == made.claims.offchip_bytes
    lines = [note for note in made.notes if note.startswith("auto: ")]
    assert len(lines) == len(rows)
    assert format_quantity(best, "bytes") in lines[0]
    sp.Plan.from_json(made.to_json())


def test_least_memory_is_below_the_budget() -> None:
    graph = random_graph(5, 6, largest=40)
    made = sp.plan(graph, "auto", 10_000, objective="memory", time_limit=20, weights=COUNTED)
    roomy = [plan.claims.extent_bytes for plan in each(graph, 10_000, "memory")]
    assert made.claims.extent_bytes <= min(roomy)
    with pytest.raises(sp.BudgetTooSmall) as found:
        sp.plan(graph, "auto", 1, objective="memory")
    assert found.value.need_bytes > 1
    assert found.value.have_bytes == 1


def test_a_floor_is_no_more_than_the_value() -> None:
    for seed in range(3):
        graph = random_graph(seed, 7, largest=30)
        for objective in OBJECTIVES:
            for plan in each(graph, 10_000, objective):
                trace = sp.simulate(plan)
                value = value_of(objective, plan, trace)
                assert floor_of(objective, plan, MACHINE) <= value * (1 + 1e-9)


def test_wrong_input() -> None:
    graph = random_graph(1, 5, largest=20)
    with pytest.raises(sp.BadInput, match="auto has no option 'schedule'; it has objective"):
        sp.plan(graph, "auto", 100, schedule="joint")
    with pytest.raises(sp.BadInput, match="objective=.speed.: choose one of latency, traffic"):
        sp.plan(graph, "auto", 100, objective="speed")
    with pytest.raises(sp.BadInput, match="contradict each other"):
        sp.plan(graph, "auto", 100, parameters=False, weights=COUNTED)
    with pytest.raises(sp.BadInput, match="weights must be one of left-out, counted, in-place"):
        sp.plan(graph, "auto", 100, weights="heavy")
    with pytest.raises(sp.BudgetTooSmall, match="that is the least of all planners, "):
        sp.plan(graph, "auto", 1)


def test_a_stop_keeps_the_best_so_far() -> None:
    graph = random_graph(2, 6, largest=20)

    def stop_at_fusion(moment: sp.Progress) -> bool:
        return not moment.stage.startswith("fusion")

    made = sp.plan(graph, "auto", 10_000, progress=stop_at_fusion, weights=COUNTED)
    reasons = [row.reason for row in made.details.tried]
    assert reasons[-1] == "not tried: no time was left"
    assert next(row for row in made.details.tried if row.planner == "cosma").value is not None
