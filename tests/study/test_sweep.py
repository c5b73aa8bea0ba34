"""Sweeps in this process and in others."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.study.monotone_rows import aim_of, no_worse_in_more
from planners.study.worker_processes import WorkerProcesses
from tests.random_graphs import random_graph

SECONDS = ("plan_s", "wall_s", "cpu_s")


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_worker_processes_make_the_same_table_and_pass_errors_on() -> None:
    graphs = [random_graph(seed, 9, largest=30) for seed in (1, 2)]
    context = multiprocessing.get_context("spawn")
    here = sp.sweep(graphs, budgets=["MR", "MP", 3])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        there = sp.sweep(graphs, budgets=["MR", "MP", 3], executor=pool)
        with pytest.raises(sp.BadInput, match="no option 'shedule'"):
            sp.sweep(graphs, budgets=["MR"], executor=pool, shedule="mpmf")
    assert list(here["status"]).count("infeasible") == 2
    same = [column for column in here.columns if column not in SECONDS]
    assert here[same].equals(there[same])


def test_a_planner_may_have_options_of_its_own() -> None:
    """A row says what was asked for; the others do not hear of the options."""
    graph = random_graph(3, 9, largest=30)
    asked = ["cosma:schedule=mpmf:replacement=belady", "cosma", "overlap:fuse=false"]
    found = sp.sweep(graph, asked, "MR")
    assert found["planner"].tolist() == asked
    plain = sp.plan(graph, budget=int(found["budget_bytes"][0]), replacement="belady")
    assert found["solver"][0] == plain.claims.solver
    assert found["solver"][0] != found["solver"][1]
    with pytest.raises(sp.BadInput, match="name=value, not 'mpmf'"):
        sp.sweep(graph, "cosma:mpmf")
    with pytest.raises(sp.BadInput, match="no option 'shedule'"):
        sp.sweep(graph, "cosma:shedule=mpmf", "MR")
    with pytest.raises(sp.UnknownName):
        sp.sweep(graph, "cosmo:schedule=mpmf")


def test_what_is_done_stays_done(tmp_path: Path) -> None:
    """A sweep that stops in the middle goes on where it was; a half-written line is no row."""
    graphs = [random_graph(seed, 9, largest=30) for seed in (1, 2)]
    kept = tmp_path / "rows.jsonl"

    def stop(row: dict[str, Any]) -> None:
        if row["model"] == "random2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sp.sweep(graphs, budgets=["MR", 1000, 3], on_row=stop, resume=kept)
    with kept.open("a") as file:
        file.write('{"key": "half')
        file.write("\n")
    seen: list[str] = []
    there = sp.sweep(
        graphs, budgets=["MR", 1000, 3], on_row=lambda r: seen.append(r["budget"]), resume=kept
    )
    assert seen == ["1000", "3"]
    here = sp.sweep(graphs, budgets=["MR", 1000, 3])
    same = [column for column in here.columns if column not in SECONDS]
    assert here[same].equals(there[same])
    assert here["reason"].notna().tolist() == [False, False, True] * 2


def test_what_is_kept_goes_by_the_names_that_are_asked_for(tmp_path: Path) -> None:
    """Two budgets of a network may be the same bytes."""
    graph, kept = random_graph(3, 9, largest=30), tmp_path / "rows.jsonl"
    size = sp.budgets(graph).MR
    budgets = ["MR", size, f"{size}B"]
    first = sp.sweep(graph, budgets=budgets, resume=kept)
    again = sp.sweep(graph, budgets=budgets, resume=kept)
    assert first["budget"].tolist() == again["budget"].tolist() == list(map(str, budgets))


def test_machines_and_failures_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(3, 6, largest=20)
    found = sp.sweep(graph, ["cosma", "overlap"], "MP", ["npu_small", "stm32f411"])
    assert found["machine"].tolist() == ["npu_small"] * 2 + ["stm32f411"] * 2
    assert found["status"].isin(["optimal", "feasible"]).all()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("planners.cosma.plan", broken)
    kept = tmp_path / "rows.jsonl"
    failed = sp.sweep(graph, ["cosma", "overlap"], "MP", resume=kept)
    assert failed["status"].tolist()[0] == "failed"
    assert failed["reason"].tolist()[0] == "ZeroDivisionError: by nothing"
    monkeypatch.undo()
    again = sp.sweep(graph, ["cosma", "overlap"], "MP", resume=kept)
    assert "failed" not in again["status"].tolist()


def test_a_worker_that_dies_is_a_row_and_the_rest_go_on() -> None:
    context = multiprocessing.get_context("spawn")
    graphs = [random_graph(seed, 6, largest=20) for seed in (1, 2)]
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(os._exit, 1)
        found = sp.sweep(graphs, budgets="MP", executor=pool)
    assert set(found["status"]) <= {"failed", "optimal"}
    assert found.loc[found["status"] == "failed", "reason"].str.contains("BrokenProcessPool").all()


def test_of_workers_that_are_pools_of_their_own_only_the_job_that_kills_one_fails() -> None:
    """Two are killed while others wait: a table beside them has no failed row."""
    graphs = [random_graph(seed, 6, largest=20) for seed in (1, 2)]
    with WorkerProcesses(2) as workers:
        killing = [workers.submit(_killed) for _ in range(2)]
        found = sp.sweep(graphs, budgets=["MR", "MP"], executor=workers)
        for each in killing:
            with pytest.raises(BrokenExecutor, match=r"its worker process died \(signal 9\)"):
                each.result()
        assert workers.submit(pow, 2, exp=5).result() == 32
    assert "failed" not in set(found["status"])


def test_a_process_that_is_killed_while_it_has_nothing_to_do_is_replaced() -> None:
    with WorkerProcesses(1) as workers:
        idle = workers.submit(os.getpid).result()
        os.kill(idle, signal.SIGKILL)
        with contextlib.suppress(BrokenExecutor):  # Its death may not be noticed yet.
            workers.submit(os.getpid).result()
        assert workers.submit(os.getpid).result() != idle


def _cannot_leave() -> Any:
    return lambda: None


def _fails_with_what_cannot_leave() -> None:
    raise ValueError("of a worker", lambda: None)


def test_what_cannot_leave_a_process_costs_its_job_and_nothing_else() -> None:
    with WorkerProcesses(1) as workers:
        first = workers.submit(os.getpid).result()
        with pytest.raises(Exception, match="_cannot_leave"):
            workers.submit(_cannot_leave).result()
        with pytest.raises(RuntimeError, match="ValueError: .*of a worker"):
            workers.submit(_fails_with_what_cannot_leave).result()
        with pytest.raises(ZeroDivisionError) as failed:
            workers.submit(divmod, 1, 0).result()
        assert "In a worker process" in failed.value.__notes__[0]
        assert workers.submit(os.getpid).result() == first


def test_an_error_beside_workers_ends_what_they_do() -> None:
    began = time.monotonic()
    workers = WorkerProcesses(1)

    def begin_and_fail() -> None:
        with workers:
            futures.extend(workers.submit(time.sleep, 600) for _ in range(2))
            while not futures[0].running():
                time.sleep(0.01)
            raise KeyboardInterrupt

    futures: list[Future[None]] = []
    with pytest.raises(KeyboardInterrupt):
        begin_and_fail()
    running, queued = futures
    assert time.monotonic() - began < 300
    assert queued.cancelled()
    with pytest.raises(BrokenExecutor):
        running.result()


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two workers of Dask, which have imported the library."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as two,
        Client(two) as client,
    ):
        client.run(import_module, "planners.study.sweep")
        yield two


def test_dask_makes_the_same_table_though_a_worker_is_killed(cluster: Any) -> None:
    """Two workers, one of them killed while it plans: its plans are made by the other."""
    from distributed import Client

    graphs = [random_graph(seed, 9, largest=30) for seed in range(6)]
    here = sp.sweep(graphs, budgets=["MR", "MP"])
    with Client(cluster) as client:
        victim = next(iter(cluster.workers.values()))
        rows: list[str] = []

        def kill(row: dict[str, Any]) -> None:
            if not rows:
                os.kill(victim.pid, signal.SIGKILL)
            rows.append(row["model"])

        there = sp.sweep(graphs, budgets=["MR", "MP"], executor=client.get_executor(), on_row=kill)
    same = [column for column in here.columns if column not in SECONDS]
    assert here[same].equals(there[same])
    assert len(rows) == 12


@pytest.mark.parametrize(
    "error",
    [
        sp.UnknownName("planner", "cosmo", ["cosma"], "available: cosma"),
        sp.BudgetTooSmall(9, 8, "conv", ("x", "y")),
        sp.InvalidPlan("overlap", step=3, memory="scratchpad", address=64, kind="overlap"),
        sp.BadInput("no"),
    ],
)
def test_errors_come_out_of_a_worker_as_they_were(error: sp.SpillwayError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    facts = {name: value for name, value in vars(error).items() if not name.startswith("_")}
    assert facts == {name: vars(again)[name] for name in facts}


def test_a_graph_without_operators_has_no_budgets() -> None:
    tensors = {"x": sp.Tensor("x", (3,), "input")}
    with pytest.raises(sp.BadInput, match="no operators"):
        sp.plan(sp.Graph("empty", tensors, (), ("x",), ("x",)))


def test_what_is_asked_wrongly_is_said_before_anything_is_planned() -> None:
    graph, heard = random_graph(3, 6, largest=20), list[dict[str, Any]]()
    empty = sp.Graph("empty", {"x": sp.Tensor("x", (3,), "input")}, (), ("x",), ("x",))
    with pytest.raises(sp.BadInput, match="'empty' has no operators"):
        sp.sweep([graph, empty], budgets="MR", on_row=heard.append)
    with pytest.raises(sp.BadInput, match="budget"):
        sp.sweep(graph, budgets=["MR", "MQ"], on_row=heard.append)
    assert heard == []


def test_what_takes_too_long_is_given_up_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = random_graph(3, 6, largest=20)
    plan = sp.sweep(graph, "cosma", "MP", timeout=60)
    assert plan["status"].tolist() == ["optimal"]

    def endless(*_: object) -> None:
        while True:
            with contextlib.suppress(Exception):  # what catches all errors does not stop it
                time.sleep(0.001)

    monkeypatch.setattr("planners.cosma.plan", endless)
    found = sp.sweep(graph, ["cosma", "overlap"], "MP", timeout=0.2)
    assert found["status"].tolist()[0] == "failed"
    assert found["reason"].tolist()[0] == "time-out: given up after 0.2 s"
    assert found["status"].tolist()[1] != "failed"


def test_two_sweeps_do_not_write_one_file(tmp_path: Path) -> None:
    graph, kept = random_graph(3, 6, largest=30), tmp_path / "rows.jsonl"

    def another(_row: dict[str, Any]) -> None:
        with pytest.raises(sp.BadInput, match="another sweep keeps its rows"):
            sp.sweep(graph, budgets=["MP"], resume=kept)

    sp.sweep(graph, budgets=["MR"], resume=kept, on_row=another)
    assert len(sp.sweep(graph, budgets=["MR", "MP"], resume=kept)) == 2


def _row(budget: int, seconds: float, **more: Any) -> dict[str, Any]:
    plain = {"model": "m", "planner": "p", "machine": "n", "weights": "counted", "wall_s": budget}
    facts = {"budget": str(budget), "budget_bytes": budget, "makespan_s": seconds, "gap": 0.5}
    both = {"objective_bytes": 9, "bound_bytes": 4, "latency_floor_s": 1.0, "status": "feasible"}
    return {**plain, **facts, **both, "plan_s": 0.0, "cpu_s": 0.0, **more}


def test_a_larger_budget_has_no_worse_plan() -> None:
    rows = [
        _row(400, 4.0),
        _row(100, 5.0),
        _row(200, 3.0, status="optimal"),
        _row(300, 3.5),
        _row(150, 1.0, model="another"),
        _row(250, 0.0, objective_bytes=None, status="failed"),
    ]
    found = no_worse_in_more(rows, [("makespan_s",)] * len(rows))
    assert [row["makespan_s"] for row in found] == [3.0, 5.0, 3.0, 3.0, 1.0, 0.0]
    assert [row["planned_bytes"] for row in found] == [200, 100, 200, 200, 150, None]
    assert [row["budget_bytes"] for row in found] == [400, 100, 200, 300, 150, 250]
    assert found[3]["status"] == "feasible"
    assert found[3]["wall_s"] == 300
    assert found[3]["gap"] == pytest.approx(1 - 1.75 / 3)
    unlike = no_worse_in_more(rows, [()] * len(rows))
    assert [row["makespan_s"] for row in unlike] == [row["makespan_s"] for row in rows]


def test_what_is_compared_is_what_was_asked_for() -> None:
    assert aim_of("fusion", {}) == ("objective_bytes",)
    assert aim_of("fusion", {"objective": "latency"}) == ("makespan_s",)
    assert aim_of("overlap", {"objective": "ram"}) == ()
    assert aim_of("streaming", {}) == ()
