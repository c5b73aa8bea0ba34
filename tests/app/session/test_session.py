"""A visitor's session: what is shown when, and what never is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import planners as sp
from app.jobs import pool as jobs
from app.jobs.protocol import Request
from app.outputs.scripts import as_python
from app.session import sweeping
from app.session.session import Session
from app.session.sweep_lines import SweepLine
from app.session.sweeping import points_beside, sweep_budgets


def settle(session: Session, until: Any) -> None:
    """Poll until no worker has anything more to say."""

    def done() -> bool:
        session.poll()
        return not session.busy

    until(done)


def test_the_first_plan_needs_neither_panel_nor_torch_nor_a_worker() -> None:
    code = (
        "import sys; from app.session.requests import Ask; from app.session.session import Session;"
        "asked = []; Ask.ask = lambda self, request, **how: asked.append(request.kind);"
        "s = Session(None); s.open({}, {});"
        "assert asked == [];"
        "assert s.work.shown and s.work.points and s.work.budgets;"
        "print(sorted({'panel', 'bokeh', 'torch', 'holoviews'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_first_plan_is_what_the_default_problem_gives(session: Session, until: Any) -> None:
    before = session.work.shown
    session.plan()
    settle(session, until)
    after = session.work.shown
    assert after is not before
    assert after.graph.digest == before.graph.digest
    assert after.report.traffic_bytes == before.report.traffic_bytes
    assert session.work.budgets["MR"] == after.plan.budget_bytes


def test_another_budget_gives_another_plan_and_keeps_the_cursor(
    session: Session, until: Any
) -> None:
    session.look.step = 40
    session.change(budget="MP")
    settle(session, until)
    assert session.work.shown.report.noncompulsory_bytes == 0
    assert session.look.step == 40


def test_what_a_link_selects_is_of_its_plan_or_named() -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.open({}, {"selection": "elephant", "memory": "ring", "step": 10**6})
    assert [line.split(" = ")[0] for line in session.work.refused] == [
        "The link's selection", "The link's memory", "The link's step"
    ]  # fmt: skip
    assert f"It has {session.work.shown.steps} steps." in session.work.refused[-1]
    assert (session.look.selection, session.look.memory) == ("", "")
    for there in (
        "tensor:x",
        "operator:conv2d",
        f"run:{session.work.shown.graph.operators[0].name}",
    ):
        session.go_to(f"?v=3&selection={there}&step=3")
        assert session.work.refused == []
        assert session.look.selection == there
    session.go_to("?v=3&selection=group:g99")
    assert session.work.refused == [
        "The link's selection = 'group:g99' does not occur in its plan."
    ]


def test_what_a_link_selects_stays_though_its_plan_was_made_before(
    session: Session, until: Any
) -> None:
    small = {"model": "squeezenet1_1", "planner": "cosma", "budget": "MR"}
    for _ in range(2):  # The second time the plan is there at once.
        other = Session(session.pool)
        other.open(small, {"selection": "tensor:relu_", "step": 7})
        settle(other, until)
        assert other.work.shown.graph.name == "squeezenet1_1"
        assert (other.look.selection, other.look.step) == ("tensor:relu_", 7)
        assert other.work.refused == []
        other.go_to("?v=3&model=alexnet&selection=tensor:relu_&step=3")
        settle(other, until)
        other.go_to("?v=3&model=alexnet&selection=tensor:nothing&step=3")
        assert other.work.refused == [
            "The link's selection = 'tensor:nothing' does not occur in its plan."
        ]
        other.close()


def test_nothing_happens_where_nothing_changes(session: Session) -> None:
    session.change(budget=session.problem.budget)
    assert not session.busy


def test_another_model_starts_afresh(session: Session, until: Any) -> None:
    session.look.selection = "tensor:x"
    session.change(model="squeezenet1_1")
    settle(session, until)
    assert session.work.shown.graph.name == "squeezenet1_1"
    assert session.look.selection == ""
    assert session.look.step < session.work.shown.steps


def test_infeasible_keeps_the_plan_on_screen_and_says_what_binds(
    session: Session, until: Any
) -> None:
    before = session.work.shown
    session.change(budget="1000")
    settle(session, until)
    why = session.work.infeasible
    assert session.work.shown is before
    assert why["have_bytes"] == 1000
    assert why["tensors"]
    session.change(budget="MR")
    settle(session, until)
    assert session.work.infeasible == {}


def test_budgets_of_what_does_not_fit_are_not_those_of_the_plan_on_screen(
    session: Session, until: Any
) -> None:
    known = session.work.budgets
    session.change(model="squeezenet1_1", budget="1000")
    settle(session, until)
    assert session.work.infeasible
    assert session.work.budgets != known
    session.back()
    assert session.work.budgets == known
    session.change(budget="MH")
    assert session.work.budgets == known


def test_an_uploaded_plan_is_checked_first(session: Session, until: Any) -> None:
    text = session.work.shown.text
    session.uploads.take(text.encode())
    settle(session, until)
    assert session.work.notice == ""
    before = session.work.shown
    wrong = json.loads(text)
    wrong["claims"]["noncompulsory_bytes"] += 1
    session.uploads.take(json.dumps(wrong).encode())
    settle(session, until)
    assert session.work.shown is before
    assert "noncompulsory" in session.work.notice.replace("-", "")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"nonsense", b"{}", b"[" * 100_000])
def test_an_upload_that_is_no_plan_is_one_line(
    session: Session, until: Any, content: bytes
) -> None:
    before = session.work.shown
    session.uploads.take(content)
    settle(session, until)
    assert session.work.shown is before
    assert session.work.notice


def test_a_planner_that_claims_what_is_not_so_is_not_believed(session: Session, until: Any) -> None:
    before = session.work.shown
    session.change(planner="liar")
    settle(session, until)
    assert session.work.shown is before
    assert "not shown" in session.work.notice
    assert session.stale
    session.back()
    assert not session.stale


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("resnet5O", "did you mean 'resnet50'"),
        pytest.param("timm:nasnetlarge", "timm:nasnetalarge", marks=pytest.mark.long),
        ("/etc/passwd", "no model is called"),
        ("../graph.json", "no model is called"),
        ("README.md", "unknown model 'README.md'"),  # nor is any file of the server's folder
        ("graph.JSON", "unknown model 'graph.JSON'"),
    ],
)
def test_any_name_may_be_tried_and_the_answer_says_what_is_wrong(
    session: Session, until: Any, name: str, line: str
) -> None:
    before = session.work.shown
    session.change(model=name)
    assert session.stale
    assert session.work.planning
    settle(session, until)
    assert line in session.work.notice
    assert session.work.shown is before


def test_an_input_shape_is_planned_and_a_number_is_a_batch(
    tracing_workers: None, session: Session, until: Any
) -> None:
    session.change(model="squeezenet1_1", input_shape="2x3x128x128")
    settle(session, until)
    assert session.work.shown.graph.source["input_shape"] == [[2, 3, 128, 128]]
    session.change(input_shape="4")
    settle(session, until)
    assert session.work.shown.graph.source["input_shape"] == [[4, 3, 224, 224]]
    session.change(input_shape="1x3x224")
    settle(session, until)
    assert "squeezenet1_1 takes 1x3x224x224" in session.work.notice


def test_an_uploaded_graph_becomes_a_model_and_is_planned(session: Session, until: Any) -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=2)
    data = {**graph.to_json(), "name": "mine"}
    session.uploads.take(json.dumps(data).encode())
    settle(session, until)
    assert session.problem.model == "mine (uploaded)"
    assert session.work.shown.graph.name == "mine"
    assert session.work.shown.graph.bytes_per_element == 2
    assert "Graph.load('mine.json')" in as_python(session.problem)
    before = session.work.shown
    session.uploads.take(json.dumps({**data, "operators": [1]}).encode())
    settle(session, until)
    assert "malformed graph" in session.work.notice
    assert session.work.shown is before
    assert session.problem.model == "mine (uploaded)"


def test_a_sweep_fills_in_and_a_point_can_be_loaded(session: Session, until: Any) -> None:
    session.choose(replacement="greedy")
    settle(session, until)
    first = len(session.work.points)
    session.sweeps.start()
    assert session.work.sweeping
    settle(session, until)
    assert not session.work.sweeping
    points = session.work.points
    assert len(points) > first
    assert {session.work.budgets[name] for name in ("MR", "default_peak")} <= {
        p["budget_bytes"] for p in points[first:]
    }
    index = len(points) - 1
    session.sweeps.load(index)
    settle(session, until)
    assert session.work.shown.plan.budget_bytes == points[index]["budget_bytes"]


def test_a_planner_that_heeds_no_clock_holds_no_sweep(
    session: Session, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {**session.request(), "planner": "stubborn", "options": {}}
    line = SweepLine("stubborn", asked, [session.sweeps.budget_bytes], wide=False)
    monkeypatch.setattr(sweeping, "lines_of", lambda *_: [line])
    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    monkeypatch.setattr(jobs, "PATIENCE_S", 0.5)
    session.sweeps.start()
    settle(session, until)
    assert not session.work.sweeping
    assert "took more than 0.5 seconds" in session.work.sweep["notes"]["stubborn"]


def test_what_is_in_the_background_has_a_limit_by_its_plans() -> None:
    problem = {"time_limit": 30}
    assert jobs.longest_s(Request("plan", problem)) == 150
    assert jobs.longest_s(Request("sweep", problem, {"budgets": [1, 2]})) == 240
    sweep = {"resolutions": [96, 128, 160], "pipelines": ["2s", "exact"], "shape": [1, 3, 8, 8]}
    assert jobs.longest_s(Request("resolutions", problem, sweep)) == 600
    assert jobs.longest_s(Request("reach", {})) == 60


def test_a_sweep_covers_the_named_budgets() -> None:
    budgets = {"MR": 1000, "MH": 1500, "MP": 2000, "default_peak": 2500}
    found = sweep_budgets(budgets)
    assert {1000, 1500, 2000, 2500} <= set(found)
    assert found == sorted(found)
    assert sweep_budgets(dict.fromkeys(budgets, 7)) == [7]


def test_a_sweep_of_fused_groups_begins_where_they_do() -> None:
    budgets = {"MR": 10**6, "MH": 10**6, "MP": 10**6, "default_peak": 2 * 10**6}
    assert sweep_budgets(budgets, 300_000)[0] == 300_000
    assert sweep_budgets(budgets, 10)[0] == 2 * 10**6 // 64
    assert sweep_budgets(budgets, 3 * 10**6)[0] == 10**6


def test_points_share_a_chart_only_where_the_network_is_the_same(session: Session) -> None:
    points, problem = session.work.points, session.request()
    assert points_beside(points, [problem]) == points
    assert points_beside(points, [{**problem, "time_limit": 99}]) == points
    other = {**problem, "options": {**problem["options"], "replacement": "belady"}}
    assert points_beside(points, [other]) == points
    assert points_beside(points, [{**other, "model": "resnet18"}]) == []


def test_closing_a_session_ends_its_jobs(session: Session, until: Any) -> None:
    session.problem.planner = "slow"
    session.plan()
    job = session.planning.job
    assert job is not None
    session.close()
    until(lambda: job.state == "ended")
    assert job.cancelled


def test_cancelling_says_what_was_kept(session: Session, until: Any) -> None:
    session.problem.param.update(planner="slow", time_limit=600)
    session.plan()

    def thinking() -> bool:
        session.poll()
        return session.work.progress.get("stage") == "thinking"

    until(thinking)
    session.cancel()
    settle(session, until)
    assert "best plan found so far" in session.work.notice
    assert isinstance(session.work.shown.plan, sp.Plan)
