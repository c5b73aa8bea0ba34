"""The tests' own rules: what is slow fails with its figure, and the long ones come in parts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import is_of_the_part
from tests.scheduling import pytest_xdist_make_scheduler, with_journeys_first

ROOT = Path(__file__).parents[1]
TESTS = """
import subprocess, sys, time
import pytest

WORK = "import time; end = time.process_time() + 1.0\\nwhile time.process_time() < end: pass"

def test_works():
    exec(WORK)

def test_lets_another_process_work():
    subprocess.run([sys.executable, "-c", WORK])

def test_leaves_another_process_working(started):
    started.append(subprocess.Popen([sys.executable, "-c", WORK + "\\ntime.sleep(600)"]))
    time.sleep(2.5)

@pytest.fixture
def started():
    processes = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()

@pytest.mark.long
def test_may_work():
    exec(WORK)

def test_waits():
    time.sleep(0.5)

def test_imports(tmp_path, monkeypatch):
    (tmp_path / "expensive.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    import expensive
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints of these tests, which may take a fifth of a second."""
    file = tmp_path_factory.mktemp("slow") / "test_slow.py"
    file.write_text(TESTS)
    settings = ("-c", "/dev/null", "--rootdir", str(file.parent), "-p", "no:cacheprovider")
    plain = ("-p", "no:hypothesispytest", "-p", "no:playwright", "-o", "markers=long: any")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.ceiling", "--ceiling", "0.2"),
            *(*settings, *plain, str(file)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def failed(printed: str) -> set[str]:
    return set(re.findall(r"^FAILED .*::test_(\w+)", printed, re.MULTILINE))


@pytest.mark.parametrize("name", ["works", "lets_another_process_work"])
def test_a_slow_test_fails_with_its_figure(printed: str, name: str) -> None:
    assert name in failed(printed)
    assert "s of processor where 0.2 s are allowed" in printed


@pytest.mark.skipif(sys.platform != "linux", reason="living processes are listed on Linux alone")
def test_a_process_that_lives_on_counts(printed: str) -> None:
    assert "leaves_another_process_working" in failed(printed)


@pytest.mark.parametrize("name", ["may_work", "waits", "imports"])
def test_what_is_long_waits_or_imports_does_not_fail(printed: str, name: str) -> None:
    assert name not in failed(printed)


def items(*nodes: str) -> Any:
    return [
        SimpleNamespace(nodeid=node, path=node.split("::")[0], location=(node, k, node))
        for k, node in enumerate(nodes)
    ]


def test_every_long_test_is_in_one_part_and_another_seed_parts_them_otherwise() -> None:
    tests = items(*(f"tests/test_x.py::test_{i}" for i in range(300)))

    def parts(seed: str) -> list[list[int]]:
        return [
            [part for part in range(6) if is_of_the_part(test, seed, 6, part)] for test in tests
        ]

    assert all(len(found) == 1 for found in parts("a"))
    assert parts("a") == parts("a") != parts("b")
    counts = [sum(found == [part] for found in parts("a")) for part in range(6)]
    assert min(counts) > 25


@pytest.mark.parametrize(("processes", "first"), [(1, "tests/core"), (3, "tests/ui")])
def test_journeys_begin_where_they_have_a_process_of_their_own(processes: int, first: str) -> None:
    config: Any = SimpleNamespace(workerinput={"workercount": processes})
    tests = items("tests/ui/test_a.py::test_a", "tests/core/test_b.py::test_b")
    assert with_journeys_first(config, tests)[0].nodeid.startswith(first)


def test_journeys_of_a_file_keep_their_order_whatever_that_of_the_others_is() -> None:
    config: Any = SimpleNamespace(workerinput={"workercount": 3})
    journeys = items("tests/ui/test_a.py::test_a", "tests/ui/test_a.py::test_b", "tests/ui/b.py::c")
    others = items("tests/core/test_z.py::z", "tests/core/test_a.py::a")
    mixed = [others[0], journeys[1], journeys[2], others[1], journeys[0]]
    kept = [journeys[2], journeys[0], journeys[1], *others]
    assert with_journeys_first(config, mixed) == kept


class Process:
    """A process of xdist's, that has run what it is sent."""

    def __init__(self, name: str) -> None:
        self.name, self.sent, self.shutting_down = name, list[str](), False
        self.gateway = SimpleNamespace(id=name)

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.sent += [TO_RUN[number] for number in numbers]

    def shutdown(self) -> None:
        self.shutting_down = True


TO_RUN = [f"tests/ui/test_{i}.py::test_{j}" for i in range(4) for j in range(4)]
TO_RUN += [f"tests/core/test_{i}.py::test_{j}" for i in range(3) for j in range(4)]


@pytest.mark.parametrize("quick", [0, 1])
def test_a_process_without_other_tests_takes_journeys_and_then_nothing_else(quick: int) -> None:
    options = {"dist": "loadfile", "numprocesses": 2, "tx": ["popen", "popen"]}
    config: Any = SimpleNamespace(
        getoption=options.get,
        getvalue=options.get,
        option=SimpleNamespace(loadscopereorder=True),
    )
    processes = [Process("journeys"), Process("others")]
    scheduler = pytest_xdist_make_scheduler(config, None)
    for process in processes:
        scheduler.add_node(process)
        scheduler.add_node_collection(process, TO_RUN)
    scheduler.schedule()
    done = dict.fromkeys(processes, 0)
    for process in (processes[quick], *processes):
        while done[process] < len(process.sent):
            number = TO_RUN.index(process.sent[done[process]])
            done[process] += 1
            scheduler.mark_test_complete(process, number)
    assert sorted(node for process in processes for node in process.sent) == sorted(TO_RUN)
    assert all(process.shutting_down for process in processes)
    rooms = [[node.split("/")[1] for node in process.sent] for process in processes]
    assert set(rooms[0]) == {"ui"}
    assert rooms[1] == sorted(rooms[1])
    assert ("ui" in rooms[1]) == bool(quick)
