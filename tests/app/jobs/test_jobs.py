"""Worker processes: results, progress, both ways to stop, and what a death costs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from app.jobs import pool as jobs
from app.jobs import process
from app.jobs.pool import PoolJob, WorkerPool
from app.jobs.protocol import Answer, Request
from app.model.state import ProblemFields
from planners.core.weights import weights_of
from tests.alive import alive

PROBLEM = {
    "model": "squeezenet1_1",
    "input_shape": "",
    "granularity": "fused",
    "bytes_per_element": 1,
    "weights": "left-out",
    "machine": "npu_small",
    "planner": "cosma",
    "time_limit": 30,
    "budget": "MR",
    "options": {},
}


def collect(job: PoolJob, until: Callable[..., None]) -> list[Answer]:
    """All messages of a job, once it has ended."""
    found: list[Answer] = []
    until(lambda: found.extend(job.drain()) or job.state == "ended")
    return [*found, *job.drain()]


@pytest.mark.usefixtures("true_workers")
def test_a_plan_comes_back_as_json_and_passes_check(pool: WorkerPool, until: Any) -> None:
    messages = collect(pool.submit(Request("plan", PROBLEM)), until)
    kinds = [m.name for m in messages]
    assert kinds[-1] == "done"
    plan = sp.Plan.from_json(json.loads(messages[kinds.index("plan")]["shown"].text))
    assert sp.check(plan).noncompulsory_bytes == plan.claims.noncompulsory_bytes
    assert messages[kinds.index("budgets")]["MR"] == plan.budget_bytes
    assert "progress" in kinds


def test_the_best_of_all_planners_has_the_process_of_its_job_only(until: Any) -> None:
    """The pool has a worker a core already."""
    pool, command, seen = WorkerPool(1), "planners.auto.worker", 0
    asked = {**PROBLEM, "planner": "auto", "input_shape": "1x3x32x32", "time_limit": 1}
    try:
        job = pool.submit(Request("plan", asked), owner="auto")
        found: list[Answer] = []

        def over() -> bool:
            nonlocal seen
            seen += sum(command in line for line in commands_of_group(pool.pids))
            found.extend(job.drain())
            return job.state == "ended"

        until(over)
        found.extend(job.drain())
    finally:
        pool.close()
    assert seen == 0
    plan = next(m for m in found if m.name == "plan")["shown"].plan
    assert plan.details.best is not None


def commands_of_group(pids: list[int]) -> list[str]:
    """The command lines of all processes that these have begun, and theirs."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
            )
            lines[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
    below = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return [line for pid, line in lines.items() if pid in below]


def test_a_planner_that_always_counts_weights_has_the_same_budgets(
    pool: WorkerPool, until: Any
) -> None:
    problem = {**PROBLEM, "planner": "fusion", "budget": "128KiB"}
    messages = collect(pool.submit(Request("plan", problem)), until)
    plan = sp.Plan.from_json(
        json.loads(next(m for m in messages if m.name == "plan")["shown"].text)
    )
    assert plan.planner == "fusion"
    assert weights_of(plan.graph, plan.program) == "counted"
    assert "cannot plan with weights left out" in plan.notes[-1]
    cosma = collect(pool.submit(Request("budgets", PROBLEM)), until)
    named = next(m for m in messages if m.name == "budgets")
    assert named["MR"] == next(m for m in cosma if m.name == "budgets")["MR"]


def test_a_budget_that_nothing_fits_in_is_a_result(pool: WorkerPool, until: Any) -> None:
    messages = collect(pool.submit(Request("plan", {**PROBLEM, "budget": 1000})), until)
    found = next(m for m in messages if m.name == "infeasible")
    assert found["need_bytes"] > found["have_bytes"] == 1000
    assert found["operator"]


def test_an_unknown_model_is_one_clear_line(pool: WorkerPool, until: Any) -> None:
    messages = collect(pool.submit(Request("plan", {**PROBLEM, "model": "resnet5O"})), until)
    assert "resnet5O" in next(m["text"] for m in messages if m.name == "error")
    assert messages[-1].name == "done"


def test_a_cancelled_planner_keeps_its_best_plan(
    pool: WorkerPool, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "GRACE_S", 3600.0)  # It is not killed: it stops because it listens.
    job = pool.submit(Request("plan", {**PROBLEM, "planner": "slow", "time_limit": 600}))
    seen: list[Answer] = []
    until(lambda: seen.extend(job.drain()) or any(m.get("stage") == "thinking" for m in seen))
    job.cancel()
    messages = collect(job, until)
    assert [m.name for m in messages if m.name != "progress"] == ["plan", "cancelled"]


def test_one_that_does_not_listen_is_ended_with_its_children(
    pool: WorkerPool, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "GRACE_S", 0.05)
    job = pool.submit(Request("plan", {**PROBLEM, "planner": "stubborn"}))
    seen: list[Answer] = []
    until(
        lambda: (
            seen.extend(job.drain()) or any(m.get("stage", "").startswith("child") for m in seen)
        )
    )
    child = int(seen[-1]["stage"].split()[1])
    assert alive(child)
    job.cancel()
    assert collect(job, until)[-1].name == "cancelled"
    until(lambda: not alive(child))


def test_a_killed_worker_costs_its_job_and_nothing_else(pool: WorkerPool, until: Any) -> None:
    job = pool.submit(Request("plan", {**PROBLEM, "planner": "slow", "time_limit": 600}))
    until(lambda: any(m.get("stage") == "thinking" for m in job.drain()))
    os.kill(pool.pids[0], signal.SIGKILL)
    last = collect(job, until)[-1]
    assert last.name == "died"
    assert "killed by signal 9" in last["text"]
    again = collect(pool.submit(Request("plan", PROBLEM)), until)
    assert "plan" in [m.name for m in again]


def test_a_worker_that_cannot_be_listened_to_costs_its_job_and_nothing_else(
    pool: WorkerPool, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(_line: str) -> Any:
        raise SystemError("of the interpreter")

    monkeypatch.setattr(threading, "excepthook", lambda _told: None)  # The thread ends by and by.
    with monkeypatch.context() as now:
        now.setattr(process, "read_answer", deaf)
        last = collect(pool.submit(Request("plan", PROBLEM)), until)[-1]
        assert last.name == "died"
    again = collect(pool.submit(Request("plan", PROBLEM)), until)
    assert "plan" in [m.name for m in again]


def test_jobs_wait_for_a_worker_and_can_be_cancelled_while_they_do(
    pool: WorkerPool, until: Any
) -> None:
    slow = {**PROBLEM, "planner": "slow", "time_limit": 600}
    jobs = [pool.submit(Request("plan", slow)) for _ in range(3)]
    assert [job.state for job in jobs] == ["running", "running", "queued"]
    assert len(pool.pids) == 2
    jobs[2].cancel()
    assert [m.name for m in jobs[2].drain()] == ["cancelled"]
    jobs[2].cancel()
    assert jobs[2].drain() == []


@pytest.mark.usefixtures("true_workers")
def test_workers_end_with_the_pool(until: Any) -> None:
    pool = WorkerPool(1)
    pool.submit(Request("plan", PROBLEM))
    pids = pool.pids
    pool.close()
    until(lambda: not any(alive(pid) for pid in pids))


def test_the_default_problem_has_the_fields_of_the_view_model() -> None:
    names = {*PROBLEM, "upload", "machine_fields", "wishes"}
    assert names == set(ProblemFields().values_by_name())
