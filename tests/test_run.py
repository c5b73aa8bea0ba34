"""The script that sets everything up, up to the point where it would install something."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import time
from pathlib import Path
from threading import Event, Thread
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "run.py"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, for a project in an empty directory."""
    spec = importlib.util.spec_from_file_location("spillway_run", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "PYTHON", sys.executable)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".venv").mkdir()
    return module


@pytest.fixture
def installs(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been installed."""
    asked: list[str] = []

    def install(project: str) -> tuple[bool, bool]:
        asked.append(project)
        return True, False

    monkeypatch.setattr(run, "install", install)
    return asked


def test_it_parses_on_an_old_python_to_say_that_it_is_too_old() -> None:
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_it_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    names = {
        a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
    }
    assert names <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


def test_an_old_python_is_refused(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or later, this is 3\.9 \("):
        run.check_python()


def test_a_missing_venv_module_says_what_to_install(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None)
    version = "{}.{}".format(*sys.version_info)
    with pytest.raises(SystemExit, match=rf"sudo apt install python{version}-venv$"):
        run.check_python()


def test_a_second_run_installs_nothing(run: ModuleType, installs: list[str]) -> None:
    run.prepare(for_tests=False)
    run.prepare(for_tests=False)
    assert installs == ["."]


def test_two_runs_at_once_install_one_after_the_other(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """README's two commands in two terminals: one took the files away that the other had just
    written."""
    installing, begun, asked = Event(), Event(), list[str]()

    def install(project: str) -> tuple[bool, bool]:
        asked.append(project)
        begun.set()
        installing.wait(5)
        return True, False

    monkeypatch.setattr(run, "install", install)
    runs = [Thread(target=run.prepare, args=(False,)) for _ in range(2)]
    runs[0].start()
    begun.wait(5)
    runs[1].start()
    while "another run" not in capsys.readouterr().out:
        assert runs[1].is_alive()
        time.sleep(0.01)
    installing.set()
    for each in runs:
        each.join(5)
    assert asked == ["."]


def test_the_tests_packages_serve_the_explorer_too(run: ModuleType, installs: list[str]) -> None:
    run.prepare(for_tests=True)
    run.prepare(for_tests=False)
    assert installs == [".[test]"]


def test_a_changed_constraint_installs_again(
    run: ModuleType, installs: list[str], tmp_path: Path
) -> None:
    run.prepare(for_tests=True)
    (tmp_path / "constraints.txt").write_text("other")
    run.prepare(for_tests=False)
    assert installs == [".[test]", ".[test]"]


def test_a_broken_environment_is_installed_again(
    run: ModuleType, installs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.prepare(for_tests=False)
    monkeypatch.setattr(run, "PYTHON", "no-such-python")
    run.prepare(for_tests=False)
    assert installs == [".", "."]


def test_an_index_that_is_not_there_costs_little(run: ModuleType) -> None:
    start = time.monotonic()
    # Nothing listens on port 1; the other is no address at all.
    assert not run.is_reachable("http://127.0.0.1:1")
    assert not run.is_reachable("not an address")
    assert time.monotonic() - start < 5


def test_all_tests_run_on_several_cores_and_chosen_ones_as_asked(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.of_pytest(["-x", "tests/app"]) == ["-x", "tests/app"]
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    spread = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
    assert run.of_pytest([]) == spread
    assert run.of_pytest(["--all"]) == ["--all", *spread]
    assert run.of_pytest(["--some-long=x"]) == ["--some-long=x", *spread]
    assert run.of_pytest(["--all", "tests/app"]) == ["--all", "tests/app"]
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert run.of_pytest([])[1] == "5"
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert run.of_pytest([]) == []


def test_an_unknown_command_shows_the_usage(
    run: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["explore"]) == 2
    assert run.main(["--help"]) == 0
    assert "python3 run.py explorer" in capsys.readouterr().out
