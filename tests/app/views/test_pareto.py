"""Many plans on one chart: who beats whom, bounds, what more memory buys, what is planned when."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from dataclasses import replace
from html import unescape
from itertools import permutations
from typing import Any

import pytest
from param.parameterized import discard_events

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.handlers.sweep import front_of, full_rate_s, point
from app.jobs.pool import WorkerPool
from app.links.url import from_query, to_query
from app.model.machines import ON_MACHINE
from app.model.options import series
from app.model.pareto import (
    AXES,
    OF_NETWORK,
    bands,
    best,
    buys,
    floor,
    front,
    full_rate_stairs,
    indexed,
    points_csv,
    proof_text,
    proven_bounds,
    stairs,
    value,
)
from app.model.staircase import staircase
from app.model.state import Look
from app.model.units import finely
from app.session.session import Session
from app.session.sweep_lines import (
    SWEPT,
    SweepLine,
)
from app.views.fronts.pareto import FAINT, Looks, Pareto, point_columns
from app.views.fronts.pareto_bar import ParetoBar, compare_planners
from app.views.fronts.pareto_panel import ParetoPanel, answer_html
from app.widgets.palette import LIGHT
from planners.core.units import format_bytes
from tests.app.networks import beginning
from tests.app.points import COSMA, FUSION, made

KEYS = (*AXES.values(),)


def drawn(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Points with small random numbers, so that many are equal in one axis or in all."""
    dice = random.Random(seed)
    rows = [{key: dice.randint(1, 8) for key in KEYS} for _ in range(count)]
    problems = (COSMA, FUSION)
    return [{**made(1, 1), **row, "problem": dice.choice(problems)} for row in rows]


@pytest.mark.parametrize("axes", list(permutations(AXES, 2)))
def test_who_is_beaten_is_what_brute_force_says(axes: tuple[str, str]) -> None:
    for seed in range(4):
        points = drawn(seed)
        places = [(value(p, axes[0]), value(p, axes[1])) for p in points]
        unbeaten = {
            i
            for i, (x, y) in enumerate(places)
            if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in places)
        }
        assert best(points, *axes) == unbeaten
        corners = [places[i] for i in front(points, *axes)]
        assert corners == sorted({places[i] for i in unbeaten})
        rows = point_columns(indexed_all(points), *axes, Looks())
        alphas = zip(rows["index"], rows["line_alpha"], strict=True)
        assert {i for i, alpha in alphas if alpha > FAINT} == unbeaten


def indexed_all(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**p, "index": i, "series": series(p["problem"])} for i, p in enumerate(points)]


def test_a_staircase_is_level_until_the_next_corner() -> None:
    assert staircase([(1, 5), (3, 2)], 4) == {"x": [1, 3, 3, 4], "y": [5, 5, 2, 2]}
    assert staircase([], 4) == {"x": [], "y": []}
    points = [made(x, y) for x, y in ((10, 9), (20, 9), (15, 4), (30, 5), (40, 1))]
    assert front(points, "memory", "traffic") == [0, 2, 4]
    assert stairs(points, "memory", "traffic")[0] == [10, 15, 15, 40, 40, 40]


def test_a_bound_holds_for_every_order_on_the_chart_and_for_one_planner() -> None:
    default, mpmf = [made(10, 9), made(20, 8)], [made(10, 7)]
    for p in mpmf:
        p["problem"] = {**COSMA, "options": {"schedule": "mpmf"}}
    assert proven_bounds(default) == {10: 6, 20: 5}
    assert proven_bounds(default + mpmf) == {10: 4}
    assert proven_bounds([*default, made(10, 9, FUSION)]) == {}


def test_no_plan_is_below_what_arithmetic_says(shown: DisplayedPlan) -> None:
    machine, graph = shown.plan.machine, shown.graph
    report, trace = shown.report, shown.trace
    here = made(1, 1, {**COSMA, "weights": shown.plan.options["weights"]})
    has = {"traffic": report.traffic_bytes, "latency": trace.makespan_s, "energy": trace.energy_j}
    for axis, found in has.items():
        least = floor([here], axis, graph, machine)
        assert least is not None
        assert 0 < least <= found
    assert floor([here], "memory", graph, machine) is None
    assert floor([{**here, "own_times": True}], "latency", graph, machine) is None


def test_a_proof_is_said_of_what_was_minimised() -> None:
    for planner in ("cosma", "fusion"):
        problem = {"planner": planner, "options": {"objective": "latency"}, "weights": "counted"}
        point = {**made(1, 1, problem), "status": "optimal"}
        assert proof_text(point) == "proven optimal (latency)"
        point = {**made(1, 1, {**problem, "options": {}}), "status": "optimal"}
        assert proof_text(point) == "proven optimal (traffic)"


def test_points_of_another_machine_or_count_have_another_chart() -> None:
    asked = {"model": "a", "machine": "m", "weights": "counted"}
    other = {**asked, "weights": "left-out"}
    points = [
        made(1, 9, {**COSMA, **fields}) for fields in (other, asked, {**asked, "machine": "n"})
    ]
    assert [p["index"] for p in indexed(points, asked)] == [1]
    assert [p["index"] for p in indexed(points[:1], asked)] == [0]
    twice = [made(1, 9), made(2, 8), made(1, 7)]
    assert [p["traffic_bytes"] for p in indexed(twice)] == [7, 8]


def test_rows_of_gains_are_best_first_and_say_what_is_lacking() -> None:
    points = [made(100, 50), made(164, 40), made(100, 60, FUSION), made(164, 30, FUSION)]
    third = {**COSMA, "options": {"schedule": "joint"}}
    rows = buys([*points, made(164, 20, third)], 100, 64, "traffic", {"x": 500}, ["y"])
    assert [row.name for row in rows] == ["fusion", "cosma", "cosma joint", "y", "x"]
    assert [row.gain for row in rows[:3]] == [30, 10, None]
    assert rows[0].share == 0.5


def test_the_answer_compares_the_best_plan_of_each_budget() -> None:
    array = sp.load_machine("npu_small")
    points = [made(100, 50), made(164, 48), made(100, 90, FUSION), made(164, 70, FUSION)]

    def answer(axis: str = "traffic", machine: sp.Machine = array, budget: int = 100) -> str:
        return unescape(re.sub("<[^>]*>", "", answer_html(points, budget, 64, axis, machine)))

    # Fusion gains most, and with more is worse than COSMA without.
    assert answer() == (
        "64 B more buys 4.0% of off-chip traffic. The best in 100 B: cosma, 50 B; in 164 B: "
        "cosma, 48 B."
    )
    points[1] = made(164, 49.5)
    assert "buys 1.0% of off-chip traffic: hardly worth it." in answer()
    points[1] = made(164, 55)  # A plan for less memory serves for more.
    assert answer() == "64 B more buys no off-chip traffic: the best stays cosma, 50 B."
    assert answer(budget=110) == answer().replace("100 B", "110 B").replace("164 B", "174 B")
    assert answer_html(points, 100, 64, "traffic", array, so_far=True).count("So far: 64 B more")
    early = answer_html(points[::2], 100, 64, "traffic", array, so_far=True)
    assert "What 64 B more buys is being planned." in early
    assert answer(budget=36) == "No plan was found in 36 B; in 100 B the best is cosma, 50 B."
    points[1] = made(164, 34)
    judged = sp.load_machine("ethos_u55_128_high_end")
    assert answer("latency", judged).endswith(
        "The two are too close to call: seconds of this machine's model were 0.79 to 1.25 times "
        f"those of {judged.judge}."
    )
    points[1] = made(164, 20)
    assert "too close to call" not in answer("latency", judged)
    assert "too close to call" not in answer("latency")


def test_a_better_plan_that_is_known_is_offered(shown: DisplayedPlan) -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.open({}, {})
    bar, plan = ParetoBar(session), session.work.shown

    def offered() -> str:
        (row,) = bar.offer.buttons
        return row["label"] if row["shown"] else ""

    def known(budget: int, part: float, **asked: Any) -> dict[str, Any]:
        problem = {**session.work.shown_for, "planner": "overlap", "options": {}, **asked}
        return {
            **made(budget, 1, problem),
            "makespan_s": part * plan.trace.makespan_s,
            "energy_j": 0.0,
        }

    def at(*points: dict[str, Any]) -> str:
        session.work.points = list(points)
        return offered()

    budget = plan.plan.budget_bytes
    assert at() == ""
    assert at(known(budget, 0.5)).startswith("50% less latency: overlap")
    assert offered().endswith(f" in {format_bytes(budget)}")
    assert at(known(budget, 0.99)) == ""  # hardly worth it
    assert at(known(budget + 1, 0.5)) == ""  # it needs more
    assert at(known(budget, 0.5, weights="counted")) == ""  # another problem
    assert at(known(budget, 0.5, planner="fusion")) == ""  # so is that: it counts them
    assert "80% less latency" in at(known(budget, 0.5), known(budget - 9, 0.2))
    session.work.planning = True
    assert offered() == ""
    session.work.planning = False
    session.look.metric = "memory"
    assert offered() == ""
    session.look.metric = "energy"
    assert "less energy" in offered()
    chosen = []
    session.sweeps.load = chosen.append  # type: ignore[method-assign]
    bar.offer._acts["better"]()
    assert chosen == [0]


def test_the_chart_shows_doubt_and_what_the_array_costs(shown: DisplayedPlan) -> None:
    judged = sp.load_machine("ethos_u55_128_high_end")
    points = [made(100, 50), made(164, 40), made(164, 60, FUSION)]
    found = bands(points, judged, "memory", "latency")
    assert (found["x0"], found["of"]) == ([100, 164], ["cosma", "cosma"])
    assert found["y0"] == [5 / 1.25, 4 / 1.25]
    assert found["y1"] == [5 / 0.79, 4 / 0.79]
    turned = bands(points, judged, "latency", "traffic")
    assert (turned["x0"], turned["y0"], turned["y1"]) == ([3.2], [40], [40])
    nothing: dict[str, list[float]] = {key: [] for key in ("x0", "y0", "x1", "y1", "of")}
    assert bands(points, sp.load_machine("npu_small"), "memory", "latency") == nothing
    assert bands(points, judged, "memory", "traffic") == nothing
    measured = [{**p, "own_times": True} for p in points]
    assert bands(measured, judged, "memory", "latency") == nothing
    of_array = [{**p, "full_rate_s": p["makespan_s"] / 2} for p in points]
    assert full_rate_stairs(of_array, "memory", "latency") == (
        [100, 164, 164, 164],
        [2.5, 2.5, 2, 2],
    )
    assert full_rate_stairs(of_array, "memory", "energy") == ([], [])
    assert full_rate_stairs(points, "memory", "latency") == ([], [])


def test_full_rate_is_of_the_same_plan() -> None:
    plan = sp.plan(beginning("squeezenet1_1", "conv2d_3"), "fusion", "MR", "npu_small")
    alone = full_rate_s(plan, sp.check(plan))
    assert alone is not None
    ideal = replace(plan, machine=plan.machine.at_full_rate)
    assert alone == sp.simulate(ideal).makespan_s < sp.simulate(plan).makespan_s
    assert full_rate_s(ideal, sp.check(ideal)) is None


def test_quantities_of_neighbours_are_told_apart() -> None:
    assert finely(0.0269724, "s") == "26.97 ms"
    assert finely(-3.58e-5, "s", sign=True) == "−35.8 µs"
    assert finely(2048, "B", sign=True) == "+2 KiB"
    assert finely(4.1e-4, "J") == "410 µJ"


def test_points_as_csv_are_bytes_seconds_and_joules() -> None:
    problem = {**COSMA, "model": "m", "machine": "n", "options": {"schedule": "default"}}
    rows = list(csv.DictReader(io.StringIO(points_csv([made(100, 50, problem)]))))
    assert rows[0]["series"] == "cosma default"
    assert (rows[0]["budget_bytes"], rows[0]["traffic_bytes"]) == ("100", "50")
    assert (rows[0]["makespan_s"], rows[0]["status"]) == ("5.0", "optimal")
    assert rows[0]["options"] == "schedule=default"


def test_gains_are_asked_for_at_the_chosen_budget_though_nothing_fits_it(
    shown: DisplayedPlan,
) -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.work.shown = shown
    assert session.sweeps.budget_bytes == shown.plan.budget_bytes  # MR is not known yet
    session.work.budgets = {"MR": 5000}
    assert session.sweeps.budget_bytes == 5000
    session.problem.budget = "2 KiB"
    assert session.sweeps.budget_bytes == 2048


def test_a_link_keeps_the_chart() -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.look.param.update(across="peak", metric="energy", swept=["fusion"], more_bytes=1024)
    session.look.wide = True
    query = to_query(session.problem, session.look)[1:]
    from urllib.parse import parse_qsl

    _, look, wrong = from_query(dict(parse_qsl(query)))
    assert wrong == []
    assert (look["across"], look["metric"], look["swept"]) == ("peak", "energy", ["fusion"])
    assert (look["more_bytes"], look["wide"]) == (1024, True)


@pytest.fixture(scope="module")
def small() -> sp.Graph:
    return beginning("mcunet_vww1", "add")


@pytest.mark.parametrize("planner", ["overlap", "streaming"])
def test_between_the_points_of_a_front_plans_are_the_same(small: sp.Graph, planner: str) -> None:
    roomy = sp.plan(small, planner, 4 * 2**20, machine="npu_small", parameters=True)
    sizes = front_of(roomy)
    assert sizes
    low = sp.plan(small, planner, sizes[-1], machine="npu_small", parameters=True)
    two = [point(plan) for plan in (low, roomy)]
    assert [two[0][key] for key in KEYS[1:]] == [two[1][key] for key in KEYS[1:]]
    if len(sizes) > 1:
        below = sp.plan(small, planner, sizes[-1] - 1, machine="npu_small", parameters=True)
        assert point(below)["peak_bytes"] <= sizes[-2]


def test_what_more_buys_is_what_plans_made_directly_say(
    pool: WorkerPool, until: Any, small: sp.Graph
) -> None:
    session = Session(pool)
    session.open({}, {})
    name = "small (uploaded)"
    session.uploads.texts[name] = json.dumps(small.to_json())
    session.change(model=name, planner="fusion", budget="4 KiB", weights="counted")

    def settled() -> bool:
        session.poll()
        return not session.busy

    until(settled)
    session.look.more_bytes = 2048
    session.sweeps.start(["cosma", "fusion"], wide=False)
    until(settled)
    assert not session.work.sweeping
    needs = session.work.sweep["needs"]
    points = indexed(session.work.points, session.work.shown_for)
    rows = {row.name: row for row in buys(points, 4096, 2048, "traffic", needs)}
    graph = session.work.shown.graph
    direct = [
        sp.plan(graph, "fusion", size, machine="npu_small", parameters=True)
        for size in (4096, 6144)
    ]
    traffic = [sp.check(plan).traffic_bytes for plan in direct]
    assert [rows["fusion"].now, rows["fusion"].more] == traffic
    with pytest.raises(sp.BudgetTooSmall) as error:
        sp.plan(graph, "cosma", 4096, machine="npu_small", parameters=True)
    assert needs["cosma default"] == error.value.need_bytes
    session.close()


def test_the_large_chart_is_made_when_it_is_opened(shown: DisplayedPlan) -> None:
    session = Session(None)  # type: ignore[arg-type]
    panel = ParetoPanel(session, LIGHT, Looks())
    session.open({}, {})
    assert panel.chart is None
    session.look.wide = True
    assert panel.chart is not None
    assert panel.box.visible
    assert len(panel.list.rows) == len(session.work.points)
    labels = [item.label.value for item in panel.chart.figure.legend[0].items]
    assert labels[0] == "cosma default"
    assert "plan on screen" in labels
    session.look.metric = "energy"
    assert "Energy" in panel.chart.figure.title.text
    session.look.more_bytes = 100
    assert panel.more.value == "100 B"
    panel.more.value = "nonsense"
    assert "nonsense" in panel.wrong.object
    assert session.look.more_bytes == 100


def test_where_nothing_fits_the_chart_is_about_what_is_chosen(shown: DisplayedPlan) -> None:
    """Another network is still on screen: its plan is no point of this chart, nor its MACs."""
    session = Session(None)  # type: ignore[arg-type]
    panel = ParetoPanel(session, LIGHT, Looks())
    session.open({}, {})
    session.look.wide = True
    assert panel.chart is not None
    with discard_events(session.problem):
        session.problem.param.update(model="mobilenet_v2", budget="256 KiB")
    assert session.charted["model"] == "vit_b_16"  # nothing is known of the other one yet
    found = made(300_000, 5, FUSION)
    chosen = session.fields()
    found["problem"] = FUSION | {k: chosen[k] for k in (*OF_NETWORK, *ON_MACHINE) if k in chosen}
    session.work.points = [found]
    assert session.charted["model"] == "mobilenet_v2"
    labels = [item.label.value for item in panel.chart.figure.legend[0].items]
    assert labels == ["fusion"]
    assert panel.chart.here.data["x"] == []
    assert [row["text"] for row in panel.list.rows] == ["fusion in 293 KiB"]
    session.work.infeasible = {"need_bytes": 300_000}
    session.back()  # what is on screen is chosen again: it has no points here
    assert session.charted["model"] == "vit_b_16"
    assert panel.list.rows == []
    assert panel.chart.here.data["x"] != []


def test_a_sweep_ends_when_its_network_is_given_up(shown: DisplayedPlan) -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.open({}, {})
    with discard_events(session.problem):
        session.problem.param.update(model="mobilenet_v2", budget="256 KiB")
    session.sweeps._lines = [SweepLine("fusion", session.request(), [300_000], False)]
    assert session.sweeps.busy
    session.back()
    assert not session.sweeps.busy
    session.sweeps._lines = [SweepLine("fusion", session.request(), [300_000], False)]
    session.back()
    assert session.sweeps.busy  # of what is on screen it goes on


def test_opened_anew_the_large_chart_asks_what_is_not_known_yet(shown: DisplayedPlan) -> None:
    session, asked = Session(None), list[str]()  # type: ignore[arg-type]
    session.open({}, {})
    session.sweeps.start = lambda names, wide: asked.append(session.problem.model)  # type: ignore[method-assign, assignment, misc]
    compare_planners(session)
    session.work.sweep = {"budget": session.sweeps.budget_bytes, "names": ["cosma", "fusion"]}
    compare_planners(session)
    assert asked == ["vit_b_16"]
    with discard_events(session.problem):  # nothing fits it: what was asked is of another network
        session.problem.model = "mobilenet_v2"
    compare_planners(session)
    assert asked == ["vit_b_16", "mobilenet_v2"]


def test_what_is_swept_at_first_can_be_chosen() -> None:
    assert set(Look().swept) <= set(SWEPT)


def test_planners_keep_their_looks_in_all_charts() -> None:
    looks = Looks()
    first, second = Pareto(LIGHT, print, looks), Pareto(LIGHT, print, looks, large=True)
    first.show(indexed([made(1, 9, FUSION)]), None, ("memory", "traffic"))
    second.show(indexed([made(1, 9), made(1, 8, FUSION)]), None, ("memory", "traffic"))
    looked = [
        dict(zip(*(chart.points.data[column] for column in ("series", "marker")), strict=True))
        for chart in (first, second)
    ]
    assert looked == [{"fusion": "circle"}, {"fusion": "circle", "cosma": "square"}]


def test_a_sweep_that_is_asked_before_the_network_is_there_waits_for_it(
    pool: WorkerPool, until: Any
) -> None:
    session = Session(pool)
    session.open({}, {})
    name = "small (uploaded)"
    session.uploads.texts[name] = json.dumps(beginning("squeezenet1_1", "cat_1").to_json())
    session.change(model=name, planner="fusion", budget="12 KiB")
    assert not session.same_network
    session.sweeps.start(("fusion",), wide=False)
    assert session.sweeps.busy
    until(lambda: session.poll() or not session.busy)
    assert session.same_network
    asked = {12 * 1024, 12 * 1024 + session.look.more_bytes}
    assert {p["budget_bytes"] for p in session.work.points} == asked
    assert not session.work.sweeping
    session.close()


def test_many_planners_have_each_a_look_of_their_own_and_a_name() -> None:
    """A sweep beside a stored front: of nine the ninth had the first one's look, and no points."""
    chart = Pareto(LIGHT, print)
    orders = ({"schedule": "joint"}, {"schedule": "mpmf"}, {"replacement": "greedy"})
    ways = [({**COSMA, "options": way}) for way in orders]
    ways += [{**FUSION, "options": {"joint": joint}} for joint in (True, False)]
    ways += [{"planner": name} for name in ("overlap", "streaming", "joined", "auto")]
    points = [
        made(100 + k, 50 - k, {**COSMA, "options": {}, **way})
        for k, way in enumerate([COSMA, FUSION, *ways])
    ]
    names = {series(p["problem"]) for p in points}
    assert len(names) > 8
    chart.show(indexed_all(points), None, ("memory", "traffic"))
    drawn = chart.points.data
    assert set(drawn["series"]) == names
    looks = set(zip(*(drawn[column] for column in ("series", "colour", "marker")), strict=True))
    assert len(looks) == len({look[1:] for look in looks}) == len(names)
    assert {item.name for item in chart.figure.legend[0].items} >= names


def test_budgets_are_written_where_there_are_points() -> None:
    """The axis had one number, 1 MiB, under points at 256 KiB, 1 MiB and 1.4 MiB."""
    chart = Pareto(LIGHT, print)
    sizes = (262_144, 266_240, 1_048_576, 1_507_328)
    points = [made(size, 9) for size in sizes]
    chart.show(indexed(points), None, ("memory", "traffic"))
    axis = chart.figure.xaxis[0]
    said = {262_144: "256 KiB", 1_048_576: "1 MiB", 1_507_328: "1.438 MiB"}
    assert axis.major_label_overrides == said  # 260 KiB would lie over 256
    assert axis.ticker.ticks == list(said)
    chart.show(indexed(points), None, ("peak", "traffic"))
    assert axis.major_label_overrides == {}
    assert not hasattr(axis.ticker, "ticks")
