"""`--bytes-per-element native` on the command line, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import planners as sp
from planners.cli.commands import app
from tests.core.test_element_types import typed


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.json"
    typed("int8", out="float32").save(path)
    return path


def answer(*words: object) -> dict[str, object]:
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--json")])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_commands_say_which_width_they_count(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.json"
    said = answer("graph", mixed, "--out", out)
    assert said["element_types"] == {"int8": 1, "float32": 1}
    assert said["bytes_per_element"] == sp.Graph.load(out).bytes_per_element == "native"
    assert answer("budgets", mixed)["MR"] == 14 + 4 * 14
    assert answer("budgets", mixed, "--bytes-per-element", 2)["MR"] == 4 * 14
    assert answer("plan", mixed, "--bytes-per-element", "native")["bytes_per_element"] == "native"


def test_another_width_is_refused_in_one_line(mixed: Path) -> None:
    done = CliRunner().invoke(app, ["budgets", str(mixed), "--bytes-per-element", "some"])
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit | sp.BadInput)
