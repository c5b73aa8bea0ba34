"""Worker processes: their plans are those of one process, and what goes wrong costs one form."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.auto import planner as auto
from planners.auto.executors import BestPlan, Ended, Here
from planners.auto.forms import Form
from planners.auto.runs import FormProblem, Task
from planners.auto.side_by_side import SideBySide, end, started
from planners.core.details import TriedPlanner
from planners.core.processes import NAME, alone, cores, processes
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT
from tests.auto.virtual import AIM
from tests.random_graphs import random_graph

MACHINE = sp.load_machine("npu_small")


def rows(plan: sp.Plan) -> list[TriedPlanner]:
    """What was tried, but for the seconds."""
    return [replace(row, seconds=0.0, limit_s=0.0) for row in plan.details.tried]


def row(plan: sp.Plan, planner: str) -> TriedPlanner:
    return next(row for row in plan.details.tried if row.planner == planner)


@pytest.fixture
def lanes(odd_planners: None) -> Any:
    """Two workers that are there, and what they report."""
    problem = FormProblem(random_graph(1, 5, largest=20), MACHINE, 10_000, AIM)
    here = Here(problem, BestPlan(), lambda: None, lambda task, moment: True)
    workers = started(2)
    made = SideBySide(here, workers)
    deadline = time.monotonic() + 60
    while made.quick_only and time.monotonic() < deadline:
        assert made.wait(0.1) == []
    assert not made.quick_only
    yield made
    made.close()
    end(workers)


def ended(lanes: SideBySide, seconds: float = 60.0) -> Ended:
    """The next task that ends."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := lanes.wait(0.1):
            return found[0]
    raise AssertionError("nothing has ended")


@pytest.mark.parametrize(
    ("objective", "weights"),
    [
        *product(["latency", "energy", "memory"], [LEFT_OUT]),
        ("traffic", COUNTED),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in product(["latency", "energy", "memory"], [COUNTED, IN_PLACE])
        ),
    ],
)
def test_one_process_finds_what_two_find(objective: str, weights: str) -> None:
    graph = random_graph(3, 7, largest=30)
    asked: dict[str, Any] = {"objective": objective, "weights": weights, "time_limit": 60}
    one, two = (sp.plan(graph, "auto", 400, processes=n, **asked) for n in (1, 2))
    assert one.planner == two.planner
    assert one.program == two.program
    assert one.details.best == two.details.best
    assert two.graph is graph
    assert one.details.best is not None
    assert not one.details.best.by_clock
    assert one.notes == two.notes


def test_a_worker_that_dies_loses_only_its_form(lanes: SideBySide) -> None:
    lanes.start(Task(0, Form("deadly"), 5.0), None)
    lanes.start(Task(1, Form("cosma"), 5.0), None)
    both = {found.task.number: found for found in (ended(lanes), ended(lanes))}
    dead, good = both[0].outcome, both[1].outcome
    assert dead is not None
    assert good is not None
    assert dead.reason == "its worker died (code 3)"
    assert not dead.has_plan
    assert good.value == AIM.floors.compulsory_bytes
    while not lanes.free():
        lanes.wait(0.1)
    lanes.start(Task(2, Form("cosma"), 5.0), None)
    assert ended(lanes).outcome is not None


def test_who_takes_longer_than_it_may_is_ended_and_another_takes_its_place(
    lanes: SideBySide,
) -> None:
    pids = [worker.pid for worker in lanes.workers]
    lanes.start(Task(0, Form("hog"), 0.5), None)
    assert lanes.wait(0.5) == []
    lanes.give_up(0)
    found = ended(lanes)
    assert found.outcome is None
    assert found.reason.startswith("given up after ")
    assert found.took_s > 0
    assert len(lanes.workers) == 2
    assert [worker.pid for worker in lanes.workers] != pids


def test_a_plan_that_cannot_leave_its_process_says_so(lanes: SideBySide) -> None:
    lanes.start(Task(0, Form("shy"), 5.0), None)
    found = ended(lanes).outcome
    assert found is not None
    assert found.value is None
    assert found.reason.startswith("its plan cannot leave its process: ")


def test_a_bug_in_a_planner_costs_its_form(lanes: SideBySide) -> None:
    lanes.start(Task(0, Form("broken"), 5.0), None)
    found = ended(lanes).outcome
    assert found is not None
    assert found.reason == "failed: ZeroDivisionError: one over nothing"


def test_nothing_is_left_behind(lanes: SideBySide) -> None:
    lanes.start(Task(0, Form("hog"), 0.5), None)
    workers = list(lanes.workers)
    lanes.close()
    for worker in workers:
        assert not worker.running
        assert not Path(f"/proc/{worker.pid}").exists()


@pytest.fixture
def few_forms(odd_planners: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """COSMA, which ends by itself, and those that go wrong: nothing that fills its time."""
    every = [Form("cosma", {"weights": COUNTED}, quick=True)]
    every += [Form(name, {"weights": COUNTED}) for name in ("deadly", "broken", "hog")]
    monkeypatch.setattr(auto, "forms", lambda objective, weights: every)


@pytest.mark.usefixtures("few_forms", "true_clock")  # What ends the hog is a clock.
def test_what_goes_wrong_is_told_and_costs_nothing_else() -> None:
    graph = random_graph(3, 7, largest=30)
    asked: dict[str, Any] = {"objective": "latency", "weights": "counted", "time_limit": 6}
    made = sp.plan(graph, "auto", 400, processes=2, **asked)
    assert row(made, "deadly").reason == "its worker died (code 3)"
    assert row(made, "hog").reason.startswith(("given up after ", "it was still running"))
    assert row(made, "broken").reason.startswith("failed: ZeroDivisionError")
    assert all(row(made, name).value is None for name in ("deadly", "hog", "broken"))
    assert made.details.best is not None
    assert made.details.best.by_clock
    sp.check(made)


@pytest.mark.usefixtures("few_forms", "true_clock")  # So is what ends the hog.
def test_a_stop_ends_all_and_keeps_the_best() -> None:
    graph = random_graph(3, 7, largest=30)
    seen: list[str] = []

    def stop_at_the_hog(moment: sp.Progress) -> bool:
        seen.append(moment.stage)
        return "hog" not in moment.stage

    began = time.monotonic()
    asked: dict[str, Any] = {"objective": "latency", "weights": "counted", "time_limit": 300}
    made = sp.plan(graph, "auto", 400, progress=stop_at_the_hog, processes=2, **asked)
    assert time.monotonic() - began < 150  # and not three hundred
    assert row(made, "hog").reason == "it was still running at the end"
    assert any("best " in stage and " asked" in stage for stage in seen)
    assert made.details.best is not None
    assert made.details.best.by_clock


def test_where_no_process_can_be_made_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*command: Any, **more: Any) -> Any:
        raise OSError("no more processes")

    graph = random_graph(3, 7, largest=30)
    expected = sp.plan(graph, "auto", 400, processes=1, objective="energy")
    monkeypatch.setattr(subprocess, "Popen", refused)
    made = sp.plan(graph, "auto", 400, processes=4, objective="energy")
    assert rows(made) == rows(expected)


def test_callers_that_fill_the_cores_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert processes() == cores() >= 1
    assert processes(3) == 3
    with alone():
        assert processes() == processes(3) == 1
    monkeypatch.setenv(NAME, "2")
    assert processes(3) == 2
    assert processes(1) == 1
    monkeypatch.setenv(NAME, "many")
    assert processes(3) == 3
    assert os.environ[NAME] == "many"
