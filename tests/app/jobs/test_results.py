"""Plans kept on disk: found again by what was asked, never wrong, never in the way."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.jobs import results as module
from app.jobs.answer_cache import DecodedAnswers
from app.jobs.pool import WorkerPool
from app.jobs.protocol import Answer, Request
from app.jobs.results import SIZE_NAME, SOURCES, ResultStore, keys, results, versions
from app.model.paths import ROOT
from app.session.session import Session
from app.views.panels.status import recalled_text, status_html
from tests.app.jobs.test_jobs import PROBLEM, collect

LINES = [json.dumps({"name": "budgets", "MR": 7}), json.dumps({"name": "plan"})]
NO_PLAN = b'{"job": 1, "kind": "result", "name": "plan", "data": {}}'


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Results of this test alone, for workers as well."""
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path))
    monkeypatch.setenv(SIZE_NAME, "16 MiB")
    return tmp_path / "results"


@pytest.fixture
def remembering(pool: WorkerPool, folder: Path) -> Iterator[WorkerPool]:
    """A pool that looks there first; `pool` has set the environment, and `folder` after it."""
    made = WorkerPool(1, results=ResultStore(folder, 2**24))
    yield made
    made.close()


def kinds(messages: list[Answer]) -> list[str]:
    return [m.name for m in messages if m.name != "progress"]


def test_a_plan_is_found_again_by_another_server(
    remembering: WorkerPool, folder: Path, until: Any
) -> None:
    first = collect(remembering.submit(Request("plan", PROBLEM)), until)
    assert kinds(first) == ["plan", "budgets", "done"]
    other = WorkerPool(1, results=ResultStore(folder, 2**24))
    again = collect(other.submit(Request("plan", PROBLEM)), until)
    assert other.pids == []  # nobody had to work
    assert kinds(again) == ["recalled", "plan", "budgets", "done"]
    plans = [next(m for m in some if m.name == "plan")["shown"] for some in (first, again)]
    assert plans[0] == plans[1]
    assert plans[0].text == plans[1].text
    other.close()
    fresh = collect(remembering.submit(Request("plan", PROBLEM), fresh=True), until)
    assert "recalled" not in kinds(fresh)


def test_what_is_proven_is_kept_for_any_time_limit(remembering: WorkerPool, until: Any) -> None:
    collect(remembering.submit(Request("plan", PROBLEM)), until)
    longer = collect(remembering.submit(Request("plan", {**PROBLEM, "time_limit": 60})), until)
    assert kinds(longer)[0] == "recalled"
    other = collect(remembering.submit(Request("plan", {**PROBLEM, "budget": "MP"})), until)
    assert "recalled" not in kinds(other)


def test_what_is_not_proven_is_kept_for_its_time_limit(folder: Path) -> None:
    kept = ResultStore(folder, 2**20)
    kept.keep(Request("plan", PROBLEM), LINES, 1.5)
    assert kept.recall(Request("plan", PROBLEM)) is not None
    assert kept.recall(Request("plan", {**PROBLEM, "time_limit": 60})) is None
    assert kept.recall(Request("point", PROBLEM)) is None


def test_a_cancelled_plan_is_not_kept(remembering: WorkerPool, folder: Path, until: Any) -> None:
    slow = {**PROBLEM, "planner": "slow", "time_limit": 600}
    job = remembering.submit(Request("plan", slow))
    until(lambda: any(m.get("stage") == "thinking" for m in job.drain()))
    job.cancel()
    assert "plan" in kinds(collect(job, until))
    assert ResultStore(folder, 2**24).find(Request("plan", slow)) is None


@pytest.mark.parametrize("how", ["cut short", "other bytes", "no plan", "another format"])
def test_a_corrupt_entry_is_planned_again(
    remembering: WorkerPool, folder: Path, until: Any, how: str
) -> None:
    collect(remembering.submit(Request("plan", PROBLEM)), until)
    path = ResultStore(folder, 2**24).find(Request("plan", PROBLEM))
    assert path is not None
    data = path.read_bytes()
    lines = gzip.decompress(data).splitlines()
    head = json.loads(lines[0])
    path.write_bytes(
        {
            "cut short": data[: len(data) // 2],
            "other bytes": data[:200] + bytes([data[200] ^ 1]) + data[201:],
            "no plan": gzip.compress(b"\n".join([lines[0], NO_PLAN, *lines[2:]])),
            "another format": gzip.compress(
                b"\n".join([json.dumps({**head, "format": 0}).encode(), *lines[1:]])
            ),
        }[how]
    )
    assert kinds(collect(remembering.submit(Request("plan", PROBLEM)), until)) == [
        "plan",
        "budgets",
        "done",
    ]
    again = collect(remembering.submit(Request("plan", PROBLEM)), until)
    assert kinds(again)[0] == "recalled"


def test_what_this_server_knows_is_there_at_once(
    remembering: WorkerPool, folder: Path, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is read and nothing is decoded, neither of a plan just made nor of one recalled."""
    first = collect(remembering.submit(Request("plan", PROBLEM)), until)
    other = WorkerPool(1, results=ResultStore(folder, 2**24))
    for pool in (remembering, other):
        if pool is other:
            collect(pool.submit(Request("plan", PROBLEM)), until)
        with monkeypatch.context() as patch:
            patch.setattr(ResultStore, "read", lambda *_: pytest.fail("the disk was read"))
            job = pool.submit(Request("plan", PROBLEM))
        assert job.state == "ended"
        answers = job.drain()
        assert kinds(answers) == ["recalled", "plan", "budgets", "done"]
        assert {"took_s", "at"} <= answers[0].data.keys()
        plans = [next(m for m in some if m.name == "plan")["shown"] for some in (first, answers)]
        assert plans[0] == plans[1]
    other.close()


def test_answers_are_forgotten_with_their_file(
    remembering: WorkerPool, folder: Path, until: Any
) -> None:
    collect(remembering.submit(Request("plan", PROBLEM)), until)
    for path in folder.iterdir():
        path.unlink()
    assert kinds(collect(remembering.submit(Request("plan", PROBLEM)), until))[0] == "plan"


def test_what_was_asked_for_longest_ago_is_decoded_again(tmp_path: Path) -> None:
    known, paths = DecodedAnswers(2500), [tmp_path / str(k) for k in range(3)]
    for path in paths:
        path.write_bytes(bytes(1000))
        known.keep(path, [Answer("done")])
    assert [bool(known.find(path)) for path in paths] == [False, True, True]
    known.keep(paths[0], [Answer("done")])
    assert [bool(known.find(path)) for path in paths] == [True, False, True]
    paths[0].write_bytes(bytes(1001))
    assert not known.find(paths[0])


def test_a_known_plan_is_on_the_page_at_once(remembering: WorkerPool, until: Any) -> None:
    """Nobody sees that it is planned, and all that changes goes out together."""
    inside: list[str] = []

    @contextmanager
    def together() -> Iterator[None]:
        inside.append("open")
        yield
        inside.append("shut")

    session = Session(remembering, together)
    session.open({}, {})
    for budget in ("MP", "MR"):
        session.change(budget=budget)
        until(lambda: session.poll() or not session.work.planning)
    inside.clear()
    session.work.param.watch(lambda event: inside.append(event.name), ["planning", "shown"])
    session.change(budget="MP")
    assert inside == ["open", "shown", "shut"]
    assert session.work.shown_for["budget"] == "MP"
    assert "from the cache, planned in " in status_html(session)
    session.close()


def test_a_sweep_uses_the_points_that_are_known(
    remembering: WorkerPool, folder: Path, until: Any
) -> None:
    quick = {**PROBLEM, "options": {"replacement": "greedy"}}
    request = Request("sweep", quick, {"budgets": [10**5, 10**6, 2 * 10**6]})
    first = collect(remembering.submit(request), until)
    times = {path: path.stat().st_ctime_ns for path in folder.iterdir()}
    second = collect(remembering.submit(request), until)
    points = [[m.data for m in some if m.name == "point"] for some in (first, second)]
    assert [p["index"] for p in points[0]] == [1, 2]  # the first budget is too small
    assert points[0] == points[1]
    assert times.keys() == set(folder.iterdir())


def test_what_was_used_longest_ago_makes_room(folder: Path) -> None:
    kept = ResultStore(folder, 10_000)
    noise = [os.urandom(1000).hex()]
    problems = [{**PROBLEM, "budget": i} for i in range(12)]
    for i, problem in enumerate(problems):
        kept.keep(Request("plan", problem), noise, 1.0)
        if found := kept.find(Request("plan", problem)):
            os.utime(found, (i, i))
        if first := kept.find(Request("plan", problems[0])):
            kept.read(first)  # used all the time
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 10_000
    assert kept.recall(Request("plan", problems[0])) is not None
    assert kept.recall(Request("plan", problems[1])) is None
    assert kept.recall(Request("plan", problems[-1])) is not None
    kept.keep(
        Request("plan", {**PROBLEM, "budget": "more than all"}), [os.urandom(20_000).hex()], 1.0
    )
    assert kept.recall(Request("plan", problems[-1])) is not None


def test_what_a_killed_process_left_is_removed(folder: Path) -> None:
    kept = ResultStore(folder, 10_000)
    folder.mkdir(parents=True)
    (folder / ".writing-new").write_text("half")
    (folder / ".writing-old").write_text("half")
    os.utime(folder / ".writing-old", (0, 0))
    kept.keep(Request("plan", PROBLEM), LINES, 1.0)
    assert (folder / ".writing-new").exists()
    assert not (folder / ".writing-old").exists()


def test_a_folder_that_cannot_be_written_is_said_once(folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where the folder should be")
    kept = ResultStore(folder, 10_000)
    with pytest.warns(UserWarning, match="plans are not kept: cannot write"):
        kept.keep(Request("plan", PROBLEM), LINES, 1.0)
    kept.keep(Request("plan", PROBLEM), LINES, 1.0)
    assert kept.recall(Request("plan", PROBLEM)) is None


def test_the_size_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SIZE_NAME, "3 MiB")
    assert results().most_bytes == 3 * 2**20
    monkeypatch.setenv(SIZE_NAME, "0")
    assert results().find(Request("plan", PROBLEM)) is None
    monkeypatch.setenv(SIZE_NAME, "much")
    with pytest.warns(UserWarning, match=f"{SIZE_NAME}: .*512 MiB is taken"):
        assert results().most_bytes == 2**29


def test_all_that_decides_an_answer_is_in_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {keys(Request("plan", PROBLEM))[1]}
    for field, value in {
        "model": "resnet18",
        "graph": "{}",
        "budget": 10**6,
        "machine": "mcu",
        "planner": "liar",
        "options": {"schedule": "mpmf"},
        "bytes_per_element": 2,
    }.items():
        names.add(keys(Request("plan", {**PROBLEM, field: value}))[1])
    monkeypatch.setattr(module, "versions", lambda: "another")
    names.add(keys(Request("plan", PROBLEM))[1])
    assert len(names) == 9


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A copy of one file of each room of ours, which names of entries are made of."""
    for tree in ("planners", "app"):
        files = (file for file in sorted((ROOT / tree).rglob("*")) if file.suffix in SOURCES)
        for file in {file.parent: file for file in files}.values():
            copy = tmp_path / "sources" / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    with monkeypatch.context() as patch:
        patch.setattr("app.jobs.results.ROOT", tmp_path / "sources")
        versions.cache_clear()
        yield tmp_path / "sources"
    versions.cache_clear()


def test_an_edit_in_any_room_is_a_miss(sources: Path, folder: Path) -> None:
    """Plans of older sources are not served; they lie there, for who goes back to those."""
    known = ResultStore(folder, 2**24)
    known.keep(Request("plan", PROBLEM), LINES, 1.0, proven=True)
    files = [file for file in sources.rglob("*") if file.is_file()]
    assert len(files) > 60
    assert {"kernels", "machines", "graphs", "handlers"} <= {file.parent.name for file in files}
    for file in files:
        text = file.read_bytes()
        file.write_bytes(text[:-1] + b" ")  # as many bytes as before
        versions.cache_clear()
        assert known.recall(Request("plan", PROBLEM)) is None, file
        file.write_bytes(text)
    versions.cache_clear()
    found = known.recall(Request("plan", PROBLEM))
    assert found is not None
    assert list(found.lines) == LINES


def test_a_file_that_came_went_or_moved_is_a_miss(sources: Path, folder: Path) -> None:
    known = ResultStore(folder, 2**24)
    known.keep(Request("plan", PROBLEM), LINES, 1.0, proven=True)
    (file,) = (sources / "planners" / "core").glob("*.py")
    other = file.with_name("other.py")
    for change in (lambda: other.touch(), lambda: other.unlink() or file.rename(other)):
        change()
        versions.cache_clear()
        assert known.recall(Request("plan", PROBLEM)) is None
    other.unlink()
    versions.cache_clear()
    assert known.recall(Request("plan", PROBLEM)) is None
    assert len(list(folder.iterdir())) == 1


def test_the_page_says_where_a_plan_is_from(remembering: WorkerPool, until: Any) -> None:
    session = Session(remembering)
    session.open({}, {})
    assert recalled_text(session.work.recalled) == ""
    for budget in ("MP", "MR", "MP"):
        session.change(budget=budget)
        until(lambda: session.poll() or not session.work.planning)
    assert "from the cache, planned in " in status_html(session)
    session.plan(fresh=True)
    until(lambda: session.poll() or not session.work.planning)
    assert "from the cache" not in status_html(session)
    session.close()
