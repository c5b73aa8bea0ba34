"""Who is next: sessions take turns, what is waited for goes first, a sweep lets others through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.jobs.pool import PoolJob, WorkerPool
from app.jobs.protocol import Request
from app.model.memory import LIMIT_NAME, describe_death, machine_bytes, worker_limit
from app.session.planning import waiting_line
from planners.core.worker_process import group_bytes
from tests.alive import alive
from tests.app.jobs.test_jobs import PROBLEM, collect

SLOW = {**PROBLEM, "planner": "slow", "time_limit": 600}
GREEDY = {**PROBLEM, "planner": "greedy"}
LIMIT = 700 * 10**6
SERVER = """
import signal, time
from app.jobs.pool import WorkerPool
from app.jobs.protocol import Request
from tests.app.jobs.test_jobs import PROBLEM
signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background ignores it.
pool = WorkerPool(1)
job = pool.submit(Request("plan", {**PROBLEM, "planner": "stubborn"}))
while True:
    for message in job.drain():
        if message.get("stage", "").startswith("child"):
            print(pool.pids[0], message["stage"].split()[1], flush=True)
    time.sleep(0.02)
"""


def numbers(pool: WorkerPool) -> list[int]:
    """The jobs that wait, as numbers in the order they were asked for."""
    return [job.number for job in pool.queue()]


@pytest.fixture
def full(pool: WorkerPool) -> list[PoolJob]:
    """Both workers of the pool are at work for nobody."""
    return [pool.submit(Request("plan", SLOW), owner="nobody") for _ in range(2)]


@pytest.mark.usefixtures("full")
def test_sessions_take_turns(pool: WorkerPool) -> None:
    many = [pool.submit(Request("plan", PROBLEM), owner="a") for _ in range(4)]
    one = pool.submit(Request("plan", PROBLEM), owner="b")
    two = [pool.submit(Request("plan", PROBLEM), owner="c") for _ in range(2)]
    order = [many[0], one, two[0], many[1], two[1], many[2], many[3]]
    assert pool.queue() == order
    assert [job.ahead for job in order] == list(range(7))
    many[0].cancel()
    assert many[0].ahead == 0
    assert one.ahead == 1  # the next of the first session has its turn
    assert waiting_line(one.ahead) == "waiting: 1 job before this one"


@pytest.mark.usefixtures("full")
def test_one_visitor_has_so_many_jobs_wait_and_no_more(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_JOBS", "2")
    mine = [pool.submit(Request("plan", SLOW), owner="a") for _ in range(3)]
    other = pool.submit(Request("plan", SLOW), owner="b")
    assert [job.state for job in (*mine, other)] == ["queued", "queued", "ended", "queued"]
    refused, done = mine[2].drain()
    assert "2 of your jobs are already waiting" in refused["text"]
    assert done.kind == "done"
    mine[0].cancel()
    assert pool.submit(Request("plan", SLOW), owner="a").state == "queued"


@pytest.mark.usefixtures("full")
def test_what_somebody_waits_for_goes_before_sweeps(pool: WorkerPool) -> None:
    sweep = pool.submit(Request("sweep", PROBLEM, {"budgets": [10**6]}), owner="a", background=True)
    plan = pool.submit(Request("plan", PROBLEM), owner="a")
    other = pool.submit(Request("plan", PROBLEM), owner="b")
    assert pool.queue() == [plan, other, sweep]


def test_jobs_in_the_background_leave_a_worker_free(pool: WorkerPool) -> None:
    beside = [pool.submit(Request("plan", SLOW), owner=i, background=True) for i in range(2)]
    assert [job.state for job in beside] == ["running", "queued"]
    assert pool.submit(Request("plan", SLOW), owner="c").state == "running"


def test_a_sweep_of_one_does_not_hold_up_the_plan_of_another(
    monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    pool = WorkerPool(1)
    try:
        budgets = [1_000_000 + 100 * i for i in range(4000)]  # more than a plan waits for
        quick = {**PROBLEM, "options": {"replacement": "greedy"}}
        sweep = pool.submit(
            Request("sweep", quick, {"budgets": budgets}), owner="a", background=True
        )
        points: list[Any] = []
        until(lambda: points.extend(m for m in sweep.drain() if m.name == "point") or points)
        plan = pool.submit(Request("plan", quick), owner="b")
        messages = collect(plan, until)
        assert "plan" in [m.name for m in messages]
        points += [m for m in sweep.drain() if m.name == "point"]
        assert len(points) < len(budgets)  # the plan did not wait for them
        there = len(points)
        until(
            lambda: points.extend(m for m in sweep.drain() if m.name == "point") or points[there:]
        )
        assert [point["index"] for point in points] == list(range(len(points)))  # it goes on
    finally:
        pool.close()


def test_a_sweep_can_be_cancelled_between_its_points(pool: WorkerPool, until: Any) -> None:
    quick = {**PROBLEM, "options": {"replacement": "greedy"}}
    sweep = pool.submit(Request("sweep", quick, {"budgets": [1_000_000] * 500}), background=True)
    until(lambda: any(m.name == "point" for m in sweep.drain()))
    sweep.cancel()
    assert collect(sweep, until)[-1].name == "cancelled"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_worker_that_takes_too_much_memory_is_ended_and_says_so(
    pool: WorkerPool, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = WorkerPool(1, memory_bytes=LIMIT)
    try:
        last = collect(small.submit(Request("plan", GREEDY)), until)[-1]
        assert last.name == "died"
        assert f"more than its limit of {LIMIT / 2**20:.1f} MiB, and was stopped" in last["text"]
        assert LIMIT_NAME in last["text"]
        again = collect(small.submit(Request("plan", PROBLEM)), until)
        assert "plan" in [m.name for m in again]
    finally:
        small.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of addresses holds on Linux")
def test_a_request_for_far_too_much_costs_only_its_job(pool: WorkerPool, until: Any) -> None:
    messages = collect(pool.submit(Request("plan", {**PROBLEM, "planner": "huge"})), until)
    pids = pool.pids
    assert [m.name for m in messages][-2:] == ["error", "done"]
    assert "more memory" in messages[-2]["text"]
    assert "plan" in [m.name for m in collect(pool.submit(Request("plan", PROBLEM)), until)]
    assert pool.pids == pids


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_server_ends(until: Any, how: signal.Signals) -> None:
    root = Path(__file__).resolve().parents[3]
    paths = [str(root), str(Path(__file__).parents[1] / "extension")]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert server.stdout is not None
    pids = [int(part) for part in server.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(alive, pids))
    server.send_signal(how)
    server.wait()
    server.stdout.close()
    until(lambda: not any(map(alive, pids)))


def test_the_limit_of_memory_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_NAME, "2 GiB")
    assert worker_limit(4) == 2 * 2**30
    monkeypatch.setenv(LIMIT_NAME, "a lot")
    with pytest.warns(UserWarning, match=f"{LIMIT_NAME}: .*usual limit"):
        assert worker_limit(4) <= max(2**30, machine_bytes())
    assert group_bytes(os.getpgrp()) > 0


@pytest.mark.parametrize(
    ("code", "words"), [(-9, "signal 9"), (-11, "SIGSEGV"), (3, "ended with code 3")]
)
def test_a_death_is_told_with_its_reason(code: int, words: str) -> None:
    text = describe_death(code, 0, 0)
    assert words in text
    assert "unchanged" in text
