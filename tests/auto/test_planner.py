"""The best of all planners: its choice, its reasons, its errors."""

from __future__ import annotations

import pytest

import planners as sp
from planners.auto.candidates import candidates, floor_of, value_of
from planners.auto.options import OBJECTIVES
from planners.core.machine import load_machine
from planners.core.units import format_quantity
from tests.random_graphs import random_graph

BUDGET = 200
MACHINE = load_machine("npu_small")


def each(graph: sp.Graph, budget: int, objective: str) -> list[sp.Plan]:
    """What every candidate makes of it."""
    found = []
    for candidate in candidates(objective):
        try:
            found.append(sp.plan(graph, candidate.planner, budget, **candidate.options))
        except sp.BudgetTooSmall:
            continue
    return found


@pytest.mark.parametrize("objective", ["latency", "traffic", "energy"])
@pytest.mark.parametrize("seed", range(4))
def test_no_planner_alone_is_better(objective: str, seed: int) -> None:
    graph = random_graph(seed, 7, largest=30)
    made = sp.plan(graph, "auto", BUDGET, objective=objective)
    sp.check(made)
    values = [
        value_of(objective, plan, sp.simulate(plan)) for plan in each(graph, BUDGET, objective)
    ]
    assert value_of(objective, made, sp.simulate(made)) == pytest.approx(min(values))
    assert made.notes[-len(made.details.tried) :][0].startswith(f"auto: {made.planner}")


def test_a_plan_is_its_planners_own_and_says_what_it_won_against() -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    made = sp.plan(graph, "auto", "1MiB", objective="traffic", time_limit=20)
    again = sp.plan(graph, made.planner, "1MiB", **made.options)
    assert again.claims.offchip_bytes == made.claims.offchip_bytes
    rows = made.details.tried
    assert [row.planner for row in rows] == [c.planner for c in candidates("traffic")]
    best = min(row.value for row in rows if row.value is not None)
    assert best == made.claims.offchip_bytes
    lines = [note for note in made.notes if note.startswith("auto: ")]
    assert len(lines) == len(rows)
    assert format_quantity(best, "bytes") in lines[0]
    sp.Plan.from_json(made.to_json())


def test_least_memory_is_below_the_budget() -> None:
    graph = random_graph(5, 6, largest=40)
    made = sp.plan(graph, "auto", 10_000, objective="memory", time_limit=20)
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
    with pytest.raises(sp.BadInput, match="always counts parameters"):
        sp.plan(graph, "auto", 100, parameters=False)
    with pytest.raises(sp.BudgetTooSmall, match="that is the least of all planners, "):
        sp.plan(graph, "auto", 1)


def test_a_stop_keeps_the_best_so_far() -> None:
    graph = random_graph(2, 6, largest=20)

    def stop_at_fusion(moment: sp.Progress) -> bool:
        return not moment.stage.startswith("fusion")

    made = sp.plan(graph, "auto", 10_000, progress=stop_at_fusion)
    reasons = [row.reason for row in made.details.tried]
    assert reasons[-1] == "not tried: no time was left"
    assert made.details.tried[0].value is not None
