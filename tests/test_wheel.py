"""A wheel, built, installed elsewhere and used at every entry point: it has all that it needs.

The source tree is not on the path of anything that runs here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BUILT_OF = ("planners", "app", "pyproject.toml", "README.md", "LICENSE")
# What the first release told authors of planners to import; these names stay.
IMPORTS = """
import planners as sp
from planners.plan import Claims, Plan
from planners.program import Compute, Load, Memory, Operand, Program, Region, Release, Store, whole
from planners.simulator.check import replay
"""
SHOWN = """
import sys
import planners as sp
from app.standalone import write_html
from app.notebook import what_if
from planners.core import display
assert sp.__file__.startswith(sys.argv[1]), sp.__file__
plan = sp.Plan.load(sys.argv[2])
html = plan._repr_html_()
assert display.VIEWS in sys.modules and html != display.table(plan.facts())
write_html(plan, "page.html")
"""
WORKER = """
from app.jobs.protocol import Request
from app.jobs.worker import main
from planners.core.worker_process import WorkerProcess
worker = WorkerProcess(main)
worker.send(Request("no such job").message(7))
print(worker.receive().decode())
worker.end()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's packages, and a planner of one's own beside them."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in BUILT_OF:
        source, target = ROOT / name, folder / "tree" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    pip = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--quiet"]
    quick = ["--no-deps", "--no-index"]
    run(*pip, "wheel", "--no-build-isolation", *quick, "-w", "wheels", "./tree", cwd=folder)
    (wheel,) = (folder / "wheels").glob("spillway-*.whl")
    run(*pip, "install", *quick, "--target", "site", str(wheel), cwd=folder)
    _add_planner(folder / "site")
    return folder / "site"


def _add_planner(site: Path) -> None:
    """The planner of the documentation, by the imports of its first release."""
    text = (ROOT / "docs" / "planners.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import planners as sp.*?)```", text, re.DOTALL)
    (site / "alone.py").write_text(IMPORTS + code[code.index("\n\ndef plan(") :], encoding="utf-8")
    known = site / "alone-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: alone\nVersion: 1.0\n")
    (known / "entry_points.txt").write_text("[spillway.planners]\nalone = alone:plan\n")


def run(*command: str, cwd: Path, site: Path | None = None, **more: Any) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environment(cwd, site), capture_output=True, text=True, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(cwd: Path, site: Path | None) -> dict[str, str]:
    own = {"SPILLWAY_CACHE": str(cwd / "cache"), "SPILLWAY_CACHE_SIZE": "0"}
    return {**os.environ, **own, "PYTHONPATH": str(site or "")}


def spillway(site: Path, cwd: Path, *arguments: str) -> str:
    return run(sys.executable, str(site / "bin" / "spillway"), *arguments, cwd=cwd, site=site)


def test_the_command_line_is_whole(installed: Path, tmp_path: Path) -> None:
    assert "reproduce" in spillway(installed, tmp_path, "--help")
    assert "mcunet_vww1" in spillway(installed, tmp_path, "models")


@pytest.fixture(scope="module")
def made(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan, in its file."""
    folder = tmp_path_factory.mktemp("made")
    out = folder / "plan.json"
    told = spillway(installed, folder, "plan", "vmcu:S1", "--out", str(out), "--json")
    assert json.loads(told)["status"] == "optimal"
    return out


@pytest.fixture(scope="module")
def shown(installed: Path, made: Path) -> Path:
    """The plan's page, written by a process that has shown the plan as a notebook does."""
    run(sys.executable, "-c", SHOWN, str(installed), str(made), cwd=made.parent, site=installed)
    return made.with_name("page.html")


def test_a_plan_is_shown(shown: Path) -> None:
    assert shown.stat().st_size > 100_000


def test_a_planner_of_ones_own_runs_by_the_imports_that_were_documented(
    installed: Path, tmp_path: Path
) -> None:
    options = ("--planner", "alone", "--budget", "16MiB", "--json")
    told = json.loads(spillway(installed, tmp_path, "plan", "squeezenet1_1", *options))
    assert (told["planner"], told["status"]) == ("alone", "feasible")


def test_a_worker_starts_and_answers(installed: Path, tmp_path: Path) -> None:
    told = run(sys.executable, "-c", WORKER, cwd=tmp_path, site=installed)
    assert json.loads(told)["job"] == 7


@pytest.fixture
def served(installed: Path, tmp_path: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    panel, page = Path(sys.executable).with_name("panel"), installed / "app" / "main.py"
    with (tmp_path / "log.txt").open("w") as log:
        server = subprocess.Popen(
            [str(panel), "serve", str(page), "--port", str(port)],
            cwd=tmp_path,
            env=environment(tmp_path, installed),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        yield f"http://localhost:{port}/main"
        server.terminate()
        server.wait(20)


def test_the_page_is_served(served: str, tmp_path: Path) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(served, timeout=60) as answer:
                assert answer.status == 200
                assert b"Spillway" in answer.read()
                break
        except OSError:
            assert time.monotonic() < end, (tmp_path / "log.txt").read_text()
            time.sleep(0.1)
    assert "Traceback" not in (tmp_path / "log.txt").read_text()
