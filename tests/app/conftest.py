"""What the explorer's tests share: the first plan, a pool of workers, planners that take long."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.display.displayed_plan import DisplayedPlan, show
from app.display.wire import from_wire, to_wire
from app.jobs.handlers.planning import budgets
from app.jobs.handlers.sweep import make_plan, point
from app.jobs.job_context import JobContext
from app.jobs.pool import WorkerPool
from app.jobs.process import Worker
from app.jobs.results import SIZE_NAME, versions
from app.session import initial_plan
from app.session.initial_plan import first_shown
from app.session.models import Models
from app.session.session import Session
from app.session.sweeping import sweep_budgets
from planners.core import worker_process
from tests.app.nursery import DRAWING, TRACING, Nursery, draw
from tests.ilp_here import ilp_here
from tests.plans import kept_text, plan_of

EXTENSION = Path(__file__).with_name("extension")
Until = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="session", autouse=True)
def small_first_plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pages of tests begin with the usual problem: a plan of a few steps that spills."""
    file = tmp_path_factory.mktemp("first") / "initial_plan.json"
    first = kept_text(f"first-{versions()}", lambda: json.dumps(usual_first()))
    file.write_text(first, encoding="utf-8")
    kept, initial_plan.FILE = initial_plan.FILE, file
    yield
    initial_plan.FILE = kept


def usual_first() -> dict[str, Any]:
    """What is stored of a first page, of the usual problem."""
    problem, context = Models().request(), JobContext(lambda line: None)
    graph = context.graph(problem)
    named = budgets(context, graph, problem["weights"])
    points = []
    for size in sweep_budgets(named):
        row = point(make_plan(context, graph, problem, size))
        row.pop("plan", None)
        points.append({**row, "budget_bytes": size, "problem": problem})
    plan = make_plan(context, graph, problem, problem["budget"])
    return {"problem": {}, "plan": plan.to_json(), "budgets": named, "points": points}


@pytest.fixture
def shown() -> DisplayedPlan:
    """The first plan of the tests, checked."""
    return first_shown()


@pytest.fixture(scope="session")
def fused() -> DisplayedPlan:
    """SqueezeNet in fused groups of many tiles."""
    return show(json.dumps(plan_of("squeezenet1_0", "fusion", 128 * 1024).to_json()))


@pytest.fixture(scope="session")
def drawn(fused: DisplayedPlan) -> DisplayedPlan:
    """The same as it comes out of a worker."""
    return from_wire(json.loads(json.dumps(to_wire(fused))))


@pytest.fixture(scope="session", autouse=True)
def nursery() -> Iterator[Nursery]:
    """Workers are copies of one process, where a test does not ask for `true_workers`."""
    made, kept = Nursery(), worker_process.subprocess
    made.prepare()
    quick = SimpleNamespace(Popen=made.popen, PIPE=kept.PIPE)
    worker_process.subprocess = quick  # type: ignore[misc,assignment]
    yield made
    worker_process.subprocess = kept  # type: ignore[misc]
    made.close()


@pytest.fixture(scope="session")
def drawing() -> None:
    """What Bokeh does once in a process, where a page is drawn first, is no test's own."""
    draw()


@pytest.fixture(scope="session")
def drawing_workers(nursery: Nursery, kept_pool: WorkerPool) -> None:
    """Workers that start have drawn a page before."""
    if nursery.prepare(DRAWING):
        end_workers(kept_pool)


@pytest.fixture(scope="session")
def tracing_workers(nursery: Nursery, kept_pool: WorkerPool) -> None:
    """Workers that start have had torch trace a network before."""
    if nursery.prepare(TRACING):
        end_workers(kept_pool)


@pytest.fixture
def solver_here() -> Iterator[None]:
    """Integer programs are solved in this process."""
    with ilp_here():
        yield


@pytest.fixture
def true_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers begin as the server has them begin."""
    monkeypatch.setattr(worker_process, "subprocess", subprocess)


@pytest.fixture
def workers_find_planners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that start have the planners `slow` and `stubborn`, and keep no results."""
    paths = [str(EXTENSION), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv(SIZE_NAME, "0")


@pytest.fixture
def fresh_pool(workers_find_planners: None) -> Iterator[WorkerPool]:
    """Two workers of a test's own."""
    made = WorkerPool(2)
    yield made
    made.close()


@pytest.fixture(scope="session")
def kept_pool() -> Iterator[WorkerPool]:
    """Two workers that start once for all tests."""
    made = WorkerPool(2)
    yield made
    made.close()


@pytest.fixture
def pool(kept_pool: WorkerPool, workers_find_planners: None) -> Iterator[WorkerPool]:
    """Two workers with nothing to do, for tests that are not about the pool itself."""
    yield kept_pool
    for job in kept_pool.queue():
        job.cancel()
    end = time.monotonic() + 1
    while (busy := [w for w in list(kept_pool._workers) if w.job]) and time.monotonic() < end:
        time.sleep(0.01)
    end_workers(kept_pool, busy)


def end_workers(pool: WorkerPool, which: list[Worker] | None = None) -> None:
    """End workers of a pool, all or some, and wait until it has seen that they are gone."""
    gone = list(pool._workers) if which is None else which
    for worker in gone:
        worker.kill()
    end = time.monotonic() + 5
    while any(worker in list(pool._workers) for worker in gone) and time.monotonic() < end:
        time.sleep(0.01)


@pytest.fixture
def session(pool: WorkerPool) -> Iterator[Session]:
    """A page's session with the first plan on screen."""
    made = Session(pool)
    made.open({}, {})
    yield made
    made.close()


@pytest.fixture
def until() -> Until:
    """Wait until something is true; long, for a machine may be busy."""

    def wait(condition: Callable[[], object]) -> None:
        end = time.monotonic() + 300
        while not condition():
            assert time.monotonic() < end, "it did not come true"
            time.sleep(0.02)

    return wait
