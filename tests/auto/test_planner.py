"""The best of all planners: its choice, its reasons, its errors."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

import planners as sp
from planners.auto import planner as auto
from planners.auto.forms import Form, forms
from planners.auto.options import OBJECTIVES
from planners.auto.runs import bound_of
from planners.core.bounds.floors import ProblemFloors
from planners.core.details import BestOfForms
from planners.core.machine import load_machine
from planners.core.objective import UNITS, Objective
from planners.core.registry import planner
from planners.core.units import format_quantity
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT, WEIGHTS, weights_of
from tests.app.networks import beginning
from tests.random_graphs import random_graph

# Giving up may fall into a callback, which loses it; it comes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

BUDGET = 200
ALL = ("cosma", "fusion", "overlap", "streaming", "joined")
MACHINE = load_machine("npu_small")


def aim_of(objective: str, graph: sp.Graph, weights: str = COUNTED) -> Objective:
    return Objective(objective, ProblemFloors(graph, MACHINE, weights))


def each(
    graph: sp.Graph, budget: int, objective: str, weights: str = COUNTED
) -> list[tuple[Form, sp.Plan]]:
    """What every form makes of it in the budget, where weights do what is asked."""
    found = []
    for form in forms(objective, weights):
        if planner(form.planner).cannot(weights) or form.least:
            continue
        try:
            made = sp.plan(graph, form.planner, budget, **form.options)
        except (sp.BudgetTooSmall, sp.BadInput):  # Joined plans are not of every network.
            continue
        found.append((form, made))
    return found


OF_ALL = ("latency", "traffic", "energy")
USUAL_ALONE = {*product([2], WEIGHTS, OF_ALL)} - {(2, COUNTED, "energy")}
"""Seeds, weights and objectives in the usual run: those that take least."""


@pytest.mark.parametrize(
    ("seed", "weights", "objective"),
    [
        pytest.param(*each, marks=() if each in USUAL_ALONE else pytest.mark.long)
        for each in product(range(4), WEIGHTS, OF_ALL)
    ],
)
def test_no_planner_alone_is_better(objective: str, weights: str, seed: int) -> None:
    graph = random_graph(seed, 7, largest=30)
    made = sp.plan(graph, "auto", BUDGET, objective=objective, weights=weights, processes=1)
    sp.check(made)
    others = [plan for _, plan in each(graph, BUDGET, objective, weights)]
    assert len({plan.planner for plan in others}) > 1
    assert {weights_of(graph, plan.program) for plan in others} <= {weights, None}
    aim = aim_of(objective, graph, weights)
    values = [aim.value(plan, sp.simulate(plan)) for plan in others]
    best = made.details.best
    assert best is not None
    assert best.value == aim.value(made, sp.simulate(made)) == pytest.approx(min(values))
    assert best.floor == aim.floor <= best.value * (1 + 1e-9)
    apart = {row.planner for row in made.details.tried if "comparable" in row.reason}
    assert apart == {name for name in ALL if planner(name).cannot(weights)}


@pytest.mark.parametrize(
    ("name", "budget"),
    [("random", 200), pytest.param("squeezenet1_1", "200KiB", marks=pytest.mark.long)],
)
def test_a_plan_is_its_planners_own_and_says_what_it_won_against(
    name: str, budget: int | str
) -> None:
    """Searches that end by themselves, long before their limit."""
    if name == "random":
        graph = random_graph(3, 7, largest=30)
    else:
        graph = sp.load(name, input_shape=(1, 3, 64, 64))
    asked: dict[str, Any] = {"objective": "traffic", "time_limit": 300, "parameters": True}
    made = sp.plan(graph, "auto", budget, **asked)
    again = sp.plan(graph, made.planner, budget, **{**made.options, "time_limit": 300})
    assert again.claims.offchip_bytes == made.claims.offchip_bytes
    rows = made.details.tried
    every = forms("traffic", COUNTED)
    apart = [form for form in every if planner(form.planner).cannot(COUNTED)]
    asked = [form for form in every if form not in apart]
    assert [row.planner for row in rows] == [form.planner for form in (*apart, *asked)]
    best = min(row.value for row in rows if row.value is not None)
    assert best == made.claims.offchip_bytes
    lines = [note for note in made.notes if note.startswith("auto: ")]
    assert len(lines) == len(rows) + 2
    assert lines[0].startswith(f"auto: {made.planner}")
    assert format_quantity(best, "bytes") in lines[0]
    assert all(row.ended for row in rows if row.seconds)
    assert sp.Plan.from_json(made.to_json()) == made


def test_least_memory_is_below_the_budget() -> None:
    graph = random_graph(5, 6, largest=40)
    asked: dict[str, Any] = {"objective": "memory", "time_limit": 20, "weights": COUNTED}
    made = sp.plan(graph, "auto", 10_000, processes=1, **asked)
    roomy = [plan.claims.extent_bytes for _, plan in each(graph, 10_000, "memory")]
    assert made.claims.extent_bytes <= min(roomy)
    assert any(row.options.get("budget") == "least" for row in made.details.tried)
    with pytest.raises(sp.BudgetTooSmall) as found:
        sp.plan(graph, "auto", 1, objective="memory")
    assert found.value.need_bytes > 1
    assert found.value.have_bytes == 1


USUAL_BOUNDS = {(0, LEFT_OUT), (2, IN_PLACE)}


@pytest.mark.parametrize(
    ("seed", "weights"),
    [
        pytest.param(*each, marks=() if each in USUAL_BOUNDS else pytest.mark.long)
        for each in product(range(3), WEIGHTS)
    ],
)
def test_bounds_are_no_more_than_values(seed: int, weights: str) -> None:
    graph = random_graph(seed, 7, largest=30)
    for objective in OBJECTIVES:
        aim = aim_of(objective, graph, weights)
        for form, plan in each(graph, 10_000, objective, weights):
            value = aim.value(plan, sp.simulate(plan)) * (1 + 1e-9)
            assert aim.floor <= value
            assert aim.of_traffic(plan.claims.offchip_bytes) <= value
            assert aim.floor <= bound_of(aim, form, plan) <= value or objective == "memory"


def test_the_badge_says_of_what_the_proof_is() -> None:
    """A plan whose traffic is proven is not called optimal in latency."""
    graph = random_graph(2, 6, largest=20)
    asked: dict[str, Any] = {"weights": LEFT_OUT, "processes": 1}
    moved = sp.plan(graph, "auto", 10_000, objective="traffic", **asked)
    quick = sp.plan(graph, "auto", 10_000, objective="latency", **asked)
    assert moved.claims.status == "optimal"
    assert moved.details.best is not None
    assert moved.details.best.badge == "traffic proven optimal"
    assert any("no plan of the problem has less" in note for note in moved.notes)
    found = quick.details.best
    assert found is not None
    assert quick.claims.status == ("optimal" if found.proven else "feasible")
    unproven = replace(found, proven=False, value=2e-3, floor=1.5e-3)
    assert unproven.badge == "latency within 25.0% of floor"
    assert "at most 25.0% of its latency could be saved" in unproven.words
    assert replace(unproven, floor=0.0).badge == "best found"


@pytest.mark.usefixtures("long_looks")
def test_own_claims_are_weakened_where_the_aim_is_another() -> None:
    graph = beginning("squeezenet1_1", "cat_1")
    made = sp.plan(graph, "auto", "64KiB", time_limit=6, weights=COUNTED, processes=1)
    best = made.details.best
    assert best is not None
    assert (best.objective, best.proven) == ("latency", False)
    assert made.claims.status == "feasible"
    assert dict(made.facts())["status"] == best.words
    told = [note for note in made.notes if note.startswith("auto: best of ")]
    assert len(told) == 1
    assert "own objective" in told[0]


def test_forms_serve_the_objective_by_what_planners_call_theirs() -> None:
    named = {objective: forms(objective, COUNTED) for objective in OBJECTIVES}
    for objective, every in named.items():
        assert len({form.label for form in every}) == len(every)
        assert all(form.options["weights"] == COUNTED for form in every)
        joins = objective != "memory"
        assert {form.planner for form in every} >= set(ALL if joins else ALL[:-1])
        assert any(form.least for form in every) == (objective == "memory")
    for name in ("cosma", "fusion"):
        options = planner(name).options
        assert options is not None
        spec = options.specs().get("objective")
        assert spec is not None
        asked = [f.options.get("objective") for f in named["latency"] if f.planner == name]
        assert set(asked) == {"latency"}
        own = {"latency", "traffic_then_latency"} & set(spec.choices)
        also = {f.options.get("objective") for f in named["energy"] if f.planner == name}
        assert also - {None} == own
    assert set(UNITS) == set(OBJECTIVES)


def test_wrong_input() -> None:
    graph = random_graph(1, 5, largest=20)
    with pytest.raises(sp.BadInput, match="auto has no option 'schedule'; it has objective"):
        sp.plan(graph, "auto", 100, schedule="joint")
    with pytest.raises(sp.BadInput, match=r"objective=.speed.: choose one of latency, traffic"):
        sp.plan(graph, "auto", 100, objective="speed")
    with pytest.raises(sp.BadInput, match="processes must be a whole number"):
        sp.plan(graph, "auto", 100, processes=-1)
    with pytest.raises(sp.BadInput, match="contradict each other"):
        sp.plan(graph, "auto", 100, parameters=False, weights=COUNTED)
    with pytest.raises(sp.BadInput, match="weights must be one of left-out, counted, in-place"):
        sp.plan(graph, "auto", 100, weights="heavy")
    with pytest.raises(sp.BudgetTooSmall, match="that is the least of all planners, "):
        sp.plan(graph, "auto", 1)


def test_a_stop_keeps_the_best_so_far() -> None:
    graph = random_graph(2, 4, largest=20)

    def stop_at_fusion(moment: sp.Progress) -> bool:
        return not moment.stage.startswith("fusion")

    asked: dict[str, Any] = {"weights": COUNTED, "processes": 1}
    made = sp.plan(graph, "auto", 10_000, progress=stop_at_fusion, **asked)
    last = made.details.tried[-1]
    assert last.reason == "not tried: no time was left"
    assert next(row for row in made.details.tried if row.planner == "cosma").value is not None
    with pytest.raises(sp.Cancelled, match="before any planner had a plan"):
        sp.plan(graph, "auto", 30, progress=lambda moment: False, **asked)


def test_what_takes_longer_than_there_is_is_given_up_here_too(
    odd_planners: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process a planner that listens to nobody is interrupted between two steps."""
    every = [Form("cosma", {"weights": COUNTED}, quick=True), Form("hog", {"weights": COUNTED})]
    monkeypatch.setattr(auto, "forms", lambda objective, weights: every)
    graph = random_graph(2, 6, largest=20)
    made = sp.plan(graph, "auto", 10_000, time_limit=2.0, processes=1, weights=COUNTED)
    assert made.planner == "cosma"
    assert made.details.tried[1].reason.startswith("given up after ")
    assert made.details.best == BestOfForms(
        "latency", made.details.tried[0].value or 0, aim_of("latency", graph).floor, False, 2, True
    )
