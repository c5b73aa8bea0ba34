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
from tests.scheduling import with_journeys_first

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
    return [SimpleNamespace(nodeid=node) for node in nodes]


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
