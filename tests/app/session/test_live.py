"""Fused groups while the budget moves: one worker knows them, and the last place counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import param
import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.jobs.pool import PoolJob, WorkerPool
from app.jobs.protocol import Answer, Request
from app.jobs.worker_affinity import affinity_of
from app.model.options import FUSION
from app.model.sizes import format_exact
from app.session.live import AGAIN
from app.session.session import Session
from app.views.panels.controls import Controls
from app.views.panels.planner_options import PlannerOptions
from app.views.panels.status import preview_text, status_html
from app.widgets.help_text import planner_words
from planners.fusion.options import FUSERS
from tests.plans import plan_of

BUDGET = 128 * 1024
PARTITION: dict[str, Any] = {
    "budget_bytes": 2**17,
    "traffic_bytes": 2**21,
    "bound_bytes": 2**20,
    "buffer_bytes": 2**16,
    "tiles": 9,
    "groups": [list(range(38))],
    "worked_s": 0.001,
}
SMALL = {"input_shape": "1x3x64x64", "budget": "48 KiB"}
FIELDS = {"model": "squeezenet1_0", "planner": FUSION, "budget": "128 KiB"}


@pytest.fixture
def fused(pool: WorkerPool, until: Any) -> Iterator[Session]:
    """A page with a plan of fused groups on screen, whose worker has said all it had to say."""
    made = Session(pool)
    made.open(FIELDS, {})
    until(lambda: made.poll() or not made.busy)
    yield made
    made.close()


class Recorded:
    """A pool that runs nothing: what it was asked, and answers given by hand."""

    def __init__(self) -> None:
        self.jobs: list[PoolJob] = []

    def submit(self, request: Request, **_how: Any) -> PoolJob:
        job = PoolJob(self, len(self.jobs) + 1, request)  # type: ignore[arg-type]
        self.jobs.append(job)
        return job

    def cancel(self, job: PoolJob) -> None:
        job.cancelled = True

    def ahead(self, job: PoolJob) -> int:
        return 0

    def asked(self, kind: str) -> list[PoolJob]:
        return [job for job in self.jobs if job.request.kind == kind]


@pytest.fixture(scope="module")
def plan() -> DisplayedPlan:
    return show(json.dumps(plan_of("squeezenet1_0", FUSION, BUDGET).to_json()))


@pytest.fixture
def visit(plan: DisplayedPlan) -> Session:
    """The same plan on screen, and nobody who works."""
    session = Session(Recorded())  # type: ignore[arg-type]
    session.open({}, {})
    session.problem.param.update(**FIELDS)
    session.work.shown_for = session.fields()
    session.show(plan)
    return session


def answer(job: PoolJob, kind: str, **fields: Any) -> None:
    job.put(Answer("error" if kind == "error" else "result", kind, fields))
    job.put(Answer("done"))


def test_a_plan_of_groups_is_explained_and_the_slider_made_ready(fused: Session) -> None:
    work = fused.work
    assert work.why.keys() == {group.name for group in work.shown.groups}
    for group in work.shown.groups:
        facts = work.why[group.name]
        assert bool(facts["single"]) == (len(group.operators) == 1)
        assert facts["alone_bytes"] >= group.traffic_bytes
    assert work.reach["reach_bytes"] > work.budgets["default_peak"]
    assert 0 < work.reach["least_bytes"] < BUDGET


def test_another_budget_is_the_plans_before_there_is_one(fused: Session, until: Any) -> None:
    for size in (96 * 1024, 300 * 1024):
        fused.slide(size)
        until(lambda: fused.poll() or not fused.live.waiting)
        preview = fused.work.preview
        made = plan_of(fused.work.shown.graph, FUSION, size)
        assert preview["budget_bytes"] == size
        assert preview["traffic_bytes"] == made.claims.objective_bytes
        assert preview["status"] == made.claims.status
        assert sorted(i for group in preview["groups"] for i in group) == list(range(38))
        assert preview["buffer_bytes"] <= size
    fused.let_go()  # as the field does: what is asked again meanwhile is not shown any more
    fused.change(budget="300 KiB")
    until(lambda: fused.poll() or not fused.work.planning)
    assert fused.work.preview == {}
    assert fused.work.shown.report.traffic_bytes == preview["traffic_bytes"]


def test_what_may_stay_on_chip_is_not_in_a_preview_and_it_says_so(
    tracing_workers: None, pool: WorkerPool, until: Any
) -> None:
    session = Session(pool)
    small = {**SMALL, "input_shape": "1x3x24x24"}
    session.problem.take(**{**FIELDS, **small}, joint=True)
    problem, size = session.request(), 16 * 1024
    job = pool.submit(
        Request("preview", problem, {"budget_bytes": size}, home=affinity_of(problem))
    )
    found: list[Answer] = []
    until(lambda: found.extend(job.drain()) or job.state == "ended")
    preview = next(m for m in [*found, *job.drain()] if m.name == "preview")
    graph = sp.load("squeezenet1_0", input_shape=(1, 3, 24, 24))
    made = plan_of(graph, FUSION, size, joint=True)
    assert preview["status"] == "heuristic"
    assert preview["bound_bytes"] <= made.claims.objective_bytes <= preview["traffic_bytes"]


def test_below_the_least_budget_it_says_what_is_least(fused: Session, until: Any) -> None:
    fused.slide(1024)
    until(lambda: fused.poll() or not fused.live.waiting)
    assert fused.work.preview["need_bytes"] == fused.work.reach["least_bytes"]
    assert "is too little" in status_html(fused)


def test_jobs_of_one_home_run_in_one_process(pool: WorkerPool, until: Any) -> None:
    """The second answer is there at once, because the process knows the groups by then."""
    session = Session(pool)
    session.problem.param.update(**FIELDS)
    problem = session.request()
    home, seen = affinity_of(problem), set()
    for kind in ("reach", "preview", "preview"):
        job = pool.submit(Request(kind, problem, {"budget_bytes": 2**20}, home=home))
        until(lambda job=job: job.state == "ended")
        seen.add(tuple(w.pid for w in pool._workers if home in w.homes))
    assert len(seen) == 1
    assert len(seen.pop()) == 1
    other = pool.submit(Request("budgets", {**problem, "planner": "cosma"}))
    until(lambda: other.state == "ended")
    assert len(pool.pids) == 2


def test_a_home_is_all_but_the_budget() -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.problem.param.update(**FIELDS)
    home = affinity_of(session.request())
    session.problem.budget = "MR"
    assert affinity_of(session.request()) == home
    session.problem.take(channel_tile=4)
    assert affinity_of(session.request()) != home


def test_only_the_last_place_of_the_slider_is_asked_for(visit: Session) -> None:
    pool: Any = visit.pool.pool
    for size in (1, 2, 3, 4):
        visit.slide(size * 2**17)
    (first,) = pool.asked("preview")
    assert first.request.more["budget_bytes"] == 2**17
    answer(first, "preview", budget_bytes=2**17, need_bytes=1)
    visit.poll()
    assert [job.request.more["budget_bytes"] for job in pool.asked("preview")] == [2**17, 2**19]
    assert visit.work.preview["budget_bytes"] == 2**17


def test_a_partition_that_is_not_proven_is_asked_for_again_for_a_while(visit: Session) -> None:
    pool: Any = visit.pool.pool
    visit.slide(2**17)
    while visit.live.waiting:
        job = pool.asked("preview")[-1]
        assert job.request.more["budget_bytes"] == 2**17
        answer(job, "preview", **PARTITION, status="feasible")
        visit.poll()
    assert len(pool.asked("preview")) == 1 + AGAIN
    visit.slide(2**18)
    found = {**PARTITION, "budget_bytes": 2**18}
    answer(pool.asked("preview")[-1], "preview", **found, status="optimal")
    visit.poll()
    assert len(pool.asked("preview")) == 2 + AGAIN


def test_a_typed_budget_has_its_groups_before_its_program(visit: Session) -> None:
    pool: Any = visit.pool.pool
    visit.change(budget="256 KiB")
    (job,) = pool.asked("preview")
    assert job.request.more["budget_bytes"] == 2**18
    assert not visit.work.under
    answer(job, "preview", **{**PARTITION, "budget_bytes": 2**18}, status="optimal")
    visit.poll()
    assert visit.work.preview["traffic_bytes"] == PARTITION["traffic_bytes"]
    answer(pool.asked("plan")[0], "error", text="it failed")
    visit.poll()
    assert visit.work.preview == {}


def test_an_answer_that_comes_too_late_is_not_shown(visit: Session) -> None:
    pool: Any = visit.pool.pool
    visit.slide(2**17)
    visit.let_go()
    visit.live.forget()
    answer(pool.asked("preview")[0], "preview", budget_bytes=2**17, need_bytes=1)
    visit.poll()
    assert visit.work.preview == {}
    assert not visit.live.waiting


def test_letting_go_where_it_was_shows_the_plan_again(visit: Session) -> None:
    visit.slide(2**17)
    visit.work.preview = {"budget_bytes": 2**17, "need_bytes": 1}
    visit.change(budget=visit.problem.budget)
    assert visit.work.preview == {}


def test_nothing_is_asked_where_another_problem_is_on_screen(visit: Session) -> None:
    pool: Any = visit.pool.pool
    visit.problem.granularity = "aten"
    visit.slide(2**17)
    visit.problem.param.update(granularity="fused", planner="cosma")
    visit.slide(2**17)
    assert not pool.asked("preview")


def test_a_visitor_who_leaves_stops_what_was_asked(visit: Session) -> None:
    pool: Any = visit.pool.pool
    visit.slide(2**17)
    visit.close()
    assert all(job.cancelled for job in pool.jobs)
    assert not visit.live.busy


def test_the_slider_previews_and_the_field_says_the_size(visit: Session) -> None:
    controls, pool = Controls(visit), visit.pool.pool
    visit.work.param.update(
        budgets={"MR": 2**20, "MH": 2**20, "MP": 2**20, "MP_proven": True, "default_peak": 2**21},
        reach={"least_bytes": 2**15, "reach_bytes": 2**21},
    )
    assert controls.budget.sizes[0] == 32
    assert "least" in controls.budget.ticks.object
    controls.budget.slider.value = 40
    (job,) = pool.asked("preview")  # type: ignore[attr-defined]
    assert job.request.more["budget_bytes"] == controls.budget.sizes[40] * 1024
    assert controls.budget.typed.value == format_exact(controls.budget.sizes[40] * 1024)
    visit.work.reach = {"least_bytes": 2**15, "reach_bytes": 2**22}
    assert controls.budget.slider.value == 40
    assert visit.problem.budget == "128 KiB"
    with param.edit_constant(controls.budget.slider):
        controls.budget.slider.value_throttled = 40
    assert visit.problem.budget == format_exact(controls.budget.sizes[40] * 1024)
    assert pool.asked("plan")  # type: ignore[attr-defined]


def test_the_planner_does_not_change_what_weights_are_to_do(visit: Session) -> None:
    controls, words = Controls(visit), planner_words(visit)
    assert "cannot plan with weights left out" in words.object
    for planner in ("cosma", "overlap", "fusion"):
        visit.problem.planner = planner
        assert visit.request()["weights"] == controls.weights.value == "left-out"
        assert ("cannot plan with" in words.object) == (planner == "fusion")
    controls.weights.value = "counted"
    assert visit.request()["weights"] == "counted"
    assert "cannot plan with" not in words.object


def test_the_options_of_groups_are_there_for_their_planner_only(visit: Session) -> None:
    shown = PlannerOptions(visit)
    fused = shown.form
    assert shown.first[0] is fused.widgets["objective"]
    assert shown.rest[0] is fused.rest
    visit.problem.planner = "cosma"
    assert shown.first[0] is shown.form.widgets["objective"]
    assert shown.front[0] is shown.form.front is not fused.front
    assert shown.rest[0] is shown.form.rest is not fused.rest


def test_every_search_can_be_chosen(visit: Session) -> None:
    fields = PlannerOptions(visit).form.widgets
    assert set(fields["baseline"].options.values()) == {"", *FUSERS}
    for name in (*FUSERS, ""):
        fields["baseline"].value = name
        sent = visit.request()["options"]
        assert sent["baseline"] == name
        assert fields["online"].disabled == fields["joint"].disabled == bool(name)
    fields["online"].value = True
    assert visit.request()["options"]["online"]
    assert fields["baseline"].disabled
    fields["online"].value = False
    visit.problem.take(baseline="dnnvm")
    assert fields["baseline"].value == "dnnvm"


def test_the_folded_part_names_what_is_not_the_usual(visit: Session) -> None:
    options = PlannerOptions(visit)
    options.form.widgets["double_buffer"].value = False
    options.form.widgets["channel_tile"].value = "16"
    assert options.more.label.endswith("16 channels, no prefetch")
    sent = visit.request()["options"]
    assert (sent["double_buffer"], sent["channel_tile"]) == (False, 16)


def test_the_line_says_what_is_of_which_budget() -> None:
    preview = {"budget_bytes": 2**18, "worked_s": 0.0021}
    text = preview_text(preview, 2**17)
    assert "groups at 256 KiB" in text
    assert "still the plan in 128 KiB" in text
