"""`spillway export`: each file is there and says what the plan says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import planners as sp
from planners.allocation.csv_io import read_lifetimes
from planners.cli import export as cli_export
from planners.cli import main
from tests.app.networks import beginning


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = beginning("squeezenet1_1", "cat_1")
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    sp.plan(graph, budget="MR", time_limit=10).save(path)
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_every_file_is_written_and_the_page_is_a_plan(
    plan_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ("html", "trace", "lifetimes", "tensors", "residencies", "timeline", "steps")
    files = {name: tmp_path / name for name in names}
    asked = [item for name, path in files.items() for item in (f"--{name}", path)]
    assert run("export", plan_file, *asked, "--json") == 0
    told = json.loads(capfd.readouterr().out)["files"]
    assert {name: item["bytes"] for name, item in told.items()} == {
        name: path.stat().st_size for name, path in files.items()
    }
    plan = sp.Plan.load(plan_file)
    assert sp.Plan.load(files["html"]).to_json() == plan.to_json()
    assert json.loads(files["trace"].read_text())["traceEvents"]
    assert read_lifetimes(io.StringIO(files["lifetimes"].read_text()))
    rows = list(csv.DictReader(io.StringIO(files["tensors"].read_text())))
    assert {row["tensor"] for row in rows} == set(plan.graph.tensors)
    assert run("check", files["html"], "--json") == 0


def test_nothing_to_write_is_said(plan_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("export", plan_file) == 2
    assert "nothing to write: name a file with one of --html" in capfd.readouterr().err


def test_without_the_explorer_a_line_says_what_is_missing(
    plan_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def missing(_name: str) -> None:
        raise ModuleNotFoundError("No module named 'panel'", name="panel")

    monkeypatch.setattr(cli_export, "import_module", missing)
    assert run("export", plan_file, "--html", tmp_path / "x.html") == 2
    said = capfd.readouterr().err
    assert "needs panel" in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "x.html").exists()
