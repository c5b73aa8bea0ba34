"""The page's own first plan: there at once, where memory decides, and what is said of it."""

from __future__ import annotations

import json

import pytest

import planners as sp
from app.captions.verdict import verdict
from app.display.displayed_plan import DisplayedPlan, show
from app.kinds.registry import kind_of
from app.model.paths import ASSETS
from app.model.state import problem_with
from app.session.initial_plan import first_picture
from app.session.session import Session
from tests.plans import plan_of

STORED = json.loads((ASSETS / "initial_plan.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def stored() -> DisplayedPlan:
    return show(json.dumps(STORED["plan"]))


def test_the_first_plan_passes_check_and_is_of_the_stored_problem(stored: DisplayedPlan) -> None:
    problem = problem_with(STORED["problem"])
    assert stored.graph.digest == sp.load(problem.model).digest
    assert (stored.plan.planner, stored.plan.budget_bytes) == (problem.planner, 256 * 1024)
    assert (ASSETS / "initial_plan.json").stat().st_size < 800_000  # it is read by every server


def test_memory_decides_there_and_the_verdict_says_so(stored: DisplayedPlan) -> None:
    budgets = STORED["budgets"]
    assert budgets["MR"] > stored.plan.budget_bytes
    words = verdict(stored, budgets, kind_of(stored).manner_of(stored))
    assert words.startswith(
        "Run naively, mobilenet_v2 needs 1.437 MiB. In 256 KiB it still runs, in one circular pool,"
    )
    floor_share = stored.trace.makespan_s
    assert f"at most {round(100 * (floor_share / floor(stored) - 1))}% slower than" in words


def test_what_a_page_shows_until_then_says_the_same(stored: DisplayedPlan) -> None:
    """Where this fails: python benchmarks/pictures.py app/assets --first."""
    ahead = json.loads(first_picture())
    manner = kind_of(stored).manner_of(stored)
    assert ahead["words"] == verdict(stored, STORED["budgets"], manner)
    assert ahead["picture"].startswith("data:image/webp;base64,")
    assert len(first_picture()) < 20_000


def floor(shown: DisplayedPlan) -> float:
    from planners.core.bounds.floors import latency_floor_s

    found = latency_floor_s(shown.plan)
    assert found is not None
    return found


def test_the_verdict_of_whole_tensors_says_what_is_spilled(shown: DisplayedPlan) -> None:
    words = verdict(shown, {"MR": 1, "MP": 907_776}, "")
    assert words == (
        "vit_b_16 fits 738.8 KiB, but 3.463 MiB are spilled or fetched again. From 886.5 KiB"
        " on nothing is spilled."
    )


def test_a_plan_that_spills_nothing_says_so() -> None:
    plan = plan_of("squeezenet1_1", budget="MP")
    words = verdict(show(json.dumps(plan.to_json())), {}, "")
    assert "and nothing is spilled, at most" in words


def test_back_to_the_first_problem_is_its_stored_plan() -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.open({}, {})
    first, points = session.work.shown, list(session.work.points)
    for forgotten in (False, True):  # as of another network that was on screen
        session.problem.model = "resnet18"
        session.work.shown_for = session.fields()
        if forgotten:
            session.sweeps.forget()
        session.go_to("?v=3")
        assert not session.stale
        assert session.work.shown is first
        assert all(point in session.work.points for point in points)
        assert len(session.work.points) == len(points)
