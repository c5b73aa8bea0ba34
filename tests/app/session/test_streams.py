"""Fronts, resolutions, options and live plans of streamed parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl

import pytest

import planners as sp
from app.display.compare import totals
from app.jobs.handlers.streaming import front_rows, resized, run_fronts, run_resolutions
from app.jobs.job_context import JobContext
from app.jobs.protocol import Answer, Request, read_line
from app.links.url import from_query, problem_of, to_query
from app.model.options import options, series, why_not
from app.model.staircase import staircase
from app.model.state import ProblemFields
from app.outputs.scripts import as_python
from app.session.session import Session
from app.session.streams import RESOLUTIONS, key_of
from app.session.sweeping import front_budgets
from app.views.fronts.delay_front import (
    band_columns,
    bound_columns,
    delay_within,
    name_columns,
    own_front,
    point_columns,
    searched_columns,
)
from app.views.fronts.resolution_chart import ResolutionChart, line_columns
from app.views.fronts.resolution_chart import point_columns as resolution_columns
from app.views.panels.controls import Controls
from app.widgets.budget_field import slider_sizes
from app.widgets.palette import LIGHT
from planners.streaming.options import PIPELINES
from tests.app.kinds import test_streaming
from tests.app.kinds.test_streaming import MACHINE, of
from tests.app.networks import beginning

Until = Callable[[Callable[[], object]], None]
MODEL = "resnet18"
plan_of = partial(test_streaming.plan_of, model=MODEL)
PROBLEM: dict[str, Any] = {
    "model": MODEL,
    "granularity": "fused",
    "bytes_per_element": 4,
    "input_shape": "",
    "machine": MACHINE,
    "options": {},
}
LINK = {
    "v": "1",
    "model": MODEL,
    "bytes_per_element": "4",
    "machine": MACHINE,
    "planner": "streaming",
    "budget": "17 MiB",
}


def said(run: Any, request: Request) -> list[Answer]:
    """What a job says."""
    lines: list[bytes] = []
    run(JobContext(lines.append), request)
    return [read_line(line)[1] for line in lines]


@pytest.fixture(scope="module")
def fronts() -> dict[str, Any]:
    messages = said(run_fronts, Request("fronts", PROBLEM))
    return {m["name"]: m["points"] for m in messages if m.name == "front"}


def test_no_step_of_the_papers_search_beats_the_exact_front(fronts: dict[str, Any]) -> None:
    for stages in ("2s", "async"):
        exact, searched = fronts[f"{stages} exact"], fronts[f"{stages} search"]
        assert exact == sorted(exact)
        for memory, delay in searched:
            best = min(d for m, d in exact if m <= memory)
            assert best <= delay + 1e-12
    large = test_streaming.network("yolov4")
    name, whole = next(front_rows(large, sp.load_machine(MACHINE), {}))
    assert name == "2s all"
    assert any(b[1] > a[1] for a, b in pairwise(whole))


def test_fronts_are_those_of_plans(fronts: dict[str, Any]) -> None:
    stream = of(plan_of("exact", stages=2))
    assert [list(point) for point in stream.details.front] == fronts["2s exact"]
    for pipeline in ("pre", "seq", "sync", "async", "2s"):
        found = of(plan_of(pipeline))
        memory, delay = fronts[pipeline][0]
        assert (memory, delay) == (found.memory_bytes, pytest.approx(found.details.delay_s))


def test_a_machine_of_one_way_in_has_no_three_stages() -> None:
    messages = said(run_fronts, Request("fronts", {**PROBLEM, "machine": "tpu_v4i"}))
    names = {m["name"] for m in messages if m.name == "front"}
    assert names == {"2s all", "2s exact", "2s search", "2s"}


def test_points_of_the_front_can_be_tapped_and_planned(fronts: dict[str, Any]) -> None:
    stream = of(plan_of("2s"))
    data = point_columns(stream, fronts, own_front(stream))
    for at in (0, len(fronts["2s exact"]), len(data["x"]) - 1):
        fields = {k: v for k, v in data["fields"][at].items() if k in ("pipeline", "stages")}
        found = of(plan_of(budget=data["bytes"][at], **fields))
        assert found.details.delay_s == pytest.approx(data["y"][at])
        assert found.memory_bytes <= data["bytes"][at]
    assert name_columns(fronts)["text"] == ["Seq", "Sync", "Async", "2S"]
    assert len(searched_columns(fronts)["x"]) == len(fronts["2s search"]) * 2


def test_delay_under_the_slider_is_the_exact_one(fronts: dict[str, Any]) -> None:
    least, delay = fronts["2s exact"][0]
    assert delay_within(fronts, least) == delay
    assert delay_within(fronts, least - 1) is None
    assert delay_within(fronts, 2**40) == min(d for _, d in fronts["2s exact"])
    assert delay_within({}, 2**40) is None


def test_the_line_stays_level_between_points() -> None:
    assert staircase([[1, 9.0], [4, 5.0]]) == {"x": [1, 4, 4], "y": [9.0, 9.0, 5.0]}


def test_bound_and_band_are_drawn_where_a_plan_has_them() -> None:
    plain, both = of(plan_of("2s")), of(plan_of("2s", spread=0.2, draws=50))
    assert band_columns(plain)["x"] == bound_columns(plain)["x"] == []
    band, bound = band_columns(both), bound_columns(both)
    assert band["low"][0] <= band["low"][1] <= band["high"][1] <= band["high"][0]
    assert both.details.delay_s <= band["high"][0] <= bound["y"][0]


def test_resolutions_of_pipelines() -> None:
    sweep = {
        "shape": [1, 3, 608, 608],
        "resolutions": [224, 608],
        "pipelines": ["pre", "async-md", "2s", "2s-md", "exact"],
    }
    request = Request("resolutions", PROBLEM, sweep)
    points = [m for m in said(run_resolutions, request) if m.name == "resolution"]
    assert len(points) == 10
    delay = {(p["pipeline"], p["resolution"]): p["delay_s"] for p in points}
    assert all(delay[name, 224] < delay[name, 608] for name in ("pre", "2s", "exact"))
    assert delay["exact", 224] <= delay["2s-md", 224] <= delay["2s", 224]
    # Small images leave less to hide reads behind (the paper's section VII-D).
    assert delay["exact", 224] / delay["pre", 224] > delay["exact", 608] / delay["pre", 608]
    chart = ResolutionChart(LIGHT)
    assert not chart.figure.axis[0].visible
    chart.show(points, "memory")
    assert chart.figure.yaxis[0].axis_label == "bytes of rings"
    assert resolution_columns(points, "delay_s")["y"] == [p["delay_s"] for p in points]
    assert len(line_columns(points, "delay_s", "dashed")["xs"]) == 3


def test_what_has_no_resolution_is_told() -> None:
    with pytest.raises(sp.BadInput, match="not an image"):
        resized([1, 77], 224)
    asked = Request("resolutions", {**PROBLEM, "graph": "{}"})
    with pytest.raises(sp.BadInput, match="uploaded"):
        run_resolutions(JobContext(lambda line: None), asked)
    assert resized([1, 3, 9, 9], 224) == "1x3x224x224"


def test_options_that_go_together() -> None:
    problem = ProblemFields(planner="streaming")
    assert set(options(problem)) == {"pipeline", "stages", "slices", "twice", "joint", "times"} | {
        "spread",
        "draws",
    }
    problem.take(pipeline="2s-md")
    assert {"step", "twice"} <= options(problem).keys()
    assert not {"stages", "joint", "ring"} & options(problem).keys()
    problem.take(pipeline="async")
    assert "ring" in options(problem)
    problem.take(pipeline="seq")
    assert "twice" in why_not(problem)
    problem.take(pipeline="exact", twice=True)
    assert "joint" in why_not(problem)


def test_all_offered_options_are_planned() -> None:
    """What is chosen on the page is never refused by the planner."""
    graph = beginning("squeezenet1_1", "cat_1", bytes_per_element=4)
    for pipeline in PIPELINES:
        for fields in ({"twice": True}, {"joint": True, "spread": 0.1}):
            problem = ProblemFields.with_values(planner="streaming", pipeline=pipeline, **fields)
            sp.plan(graph, "streaming", "1 GiB", machine=MACHINE, **options(problem))


def test_a_link_brings_streaming_options_back() -> None:
    session = Session(None)  # type: ignore[arg-type]
    fields = {"pipeline": "async", "spread": 0.25, "draws": 10, "ring": 2**25, "twice": True}
    session.problem.take(planner="streaming", **fields)
    session.look.memory = "gpu"
    query = to_query(session.problem, session.look)
    given = dict(parse_qsl(query[1:], keep_blank_values=True))
    problem, look, wrong = from_query(given)
    assert not wrong
    assert problem["options"] == {f"streaming.{name}": value for name, value in fields.items()}
    assert (problem["planner"], look["memory"]) == ("streaming", "gpu")
    for text in ("nan", "inf", "-1", "x"):
        assert from_query({**LINK, "spread": text})[2]
        assert from_query({**LINK, "v": "2", "streaming.spread": text})[2]


def test_a_saved_plan_is_the_problem_again_and_python_plans_it() -> None:
    shown = plan_of("2s-md", budget="24 MiB", step=2**21)
    found = problem_of(shown.plan)
    assert found["options"] == {"streaming.pipeline": "2s-md", "streaming.step": 2**21}
    assert found["machine"] == MACHINE
    assert found["weights"] == "left-out"  # As it was asked; it cannot have that.
    problem = ProblemFields(**found)
    text = as_python(problem)
    assert "pipeline='2s-md'" in text
    assert "step=2097152" in text
    scope: dict[str, Any] = {"print": lambda *_: None}
    exec(text, scope)
    assert scope["plan"].details.streamed.delay_s == of(shown).details.delay_s
    assert "2s-md" in series({"planner": "streaming", "options": options(problem)})


def test_sliders_end_where_more_memory_is_of_no_use() -> None:
    shown = plan_of("exact")
    budgets = front_budgets(shown, "streaming")
    assert budgets[0] == of(shown).details.front[0][0]
    assert front_budgets(shown, "cosma") == []
    sizes = slider_sizes({"MR": 1, "default_peak": 2**40}, budgets[0], 2 * budgets[-1])
    assert sizes[0] * 1024 >= budgets[0]
    assert sizes[-1] * 1024 <= 2 * budgets[-1] + 1024


def test_plans_follow_the_slider_and_fronts_are_asked_for_once(
    session: Session, until: Until
) -> None:
    def idle() -> bool:
        session.poll()
        return not session.busy

    controls = Controls(session)
    session.problem.param.update(**from_query(LINK)[0])
    session.plan()
    until(idle)
    work = session.work
    assert work.shown.stream is not None
    known = work.fronts
    assert {"2s exact", "async search", "pre"} <= known.keys()
    assert not controls.budget.named["MR"].visible
    assert controls.budget.ends["least memory"].visible
    for size in (20, 19, 18):
        session.slide(size * 2**20)
    assert session.streams.dragging
    assert work.under == 18 * 2**20
    until(lambda: idle() and session.problem.budget == "18 MiB")
    assert work.shown.plan.budget_bytes == 18 * 2**20
    session.let_go()
    assert work.under == 0
    assert work.fronts is known
    controls.budget._set_end("least memory")
    until(idle)
    assert work.shown.plan.budget_bytes == work.shown.stream.details.front[0][0]


def test_resolutions_are_swept_with_progress_and_cancelled(
    tracing_workers: None, session: Session, until: Until
) -> None:
    session.problem.param.update(**from_query(LINK)[0])
    session.plan()
    until(lambda: session.poll() or not session.busy)
    session.streams.pipelines = ("2s", "exact")
    session.streams.sweep((96,))
    assert session.work.resolving
    until(lambda: session.poll() or not session.work.resolving)
    assert len(session.work.resolutions) == 2
    assert session.work.resolved == "2 plans"
    session.streams.sweep()
    assert session.work.resolutions == []
    session.streams.cancel_sweep()
    assert not session.work.resolving
    assert len(session.work.resolutions) < 2 * len(RESOLUTIONS)


def test_infeasible_budgets_and_the_first_budget_of_the_planner(
    session: Session, until: Until
) -> None:
    session.change(planner="streaming")
    until(lambda: session.poll() or not session.busy)
    assert session.work.shown.plan.planner == "streaming"
    session.change(budget="1 MiB")
    until(lambda: session.poll() or not session.busy)
    why = session.work.infeasible
    assert why["streams"]
    assert why["exact"]
    assert "rings take at least" in why["remedy"]


def test_problems_that_share_fronts() -> None:
    sweep = {**PROBLEM, "input_shape": "1x3x416x416"}
    assert key_of(PROBLEM) != key_of(sweep)
    assert key_of(PROBLEM, of_sweep=True) == key_of(sweep, of_sweep=True)
    assert key_of(PROBLEM) == key_of({**PROBLEM, "budget": "MR", "options": {"pipeline": "2s"}})
    assert key_of(PROBLEM) != key_of({**PROBLEM, "options": {"step": 2**22}})


def test_an_uploaded_plan_is_shown_with_its_options(session: Session, until: Until) -> None:
    shown = plan_of("async", ring="20 MiB", spread=0.1)
    session.uploads.take(shown.text.encode())
    until(lambda: session.poll() or not session.busy)
    problem = session.problem
    assert problem.planner == "streaming"
    assert (problem.option("pipeline"), problem.option("spread")) == ("async", 0.1)
    assert problem.option("ring") == 20 * 2**20
    assert of(session.work.shown).details.delay_s == of(shown).details.delay_s
    assert not session.stale


def test_plans_that_stream_are_compared_by_rings_and_delay() -> None:
    here, there = plan_of("2s"), plan_of("async")
    found = {name: (mine, other) for name, mine, other, _ in totals(here, there)}
    assert found["rings"] == (of(here).ring_bytes, of(there).ring_bytes)
    assert found["delay"] == (of(here).details.delay_s, of(there).details.delay_s)
