"""Layouts in files: what was spoilt is one line, by `check` and before any C is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.cli import main
from planners.core.errors import BadInput
from planners.overlap.emit.saved_layout import layout_of, proven_layout

Spoil = Callable[[dict[str, Any]], object]
RANGE = "not a whole number of"
SPOILT: list[tuple[Spoil, str]] = [
    (lambda x: x["offsets"].update(A=-5), f"layout.offsets['A'] is -5, {RANGE} 0"),
    (lambda x: x["offsets"].update(A=1.5), f"layout.offsets['A'] is 1.5, {RANGE} 0"),
    (lambda x: x["offsets"].update(A=x["offsets"]["A"] + 1), "layout.offsets.A: the plan claims"),
    (lambda x: x["offsets"].update(zz=1), "the layout places 'zz', which is not a tensor"),
    (lambda x: x["offsets"].clear(), "the layout has no place for 'A'"),
    (
        lambda x: x.update(pool_bytes=10**15),
        f"layout.pool_bytes is 1000000000000000, {RANGE} 1",
    ),
    (
        lambda x: x.update(pool_bytes=x["pool_bytes"] - 1),
        "which the pool takes, are no point of it",
    ),
    (lambda x: x.update(pitches={"A": 0}), f"layout.pitches['A'] is 0, {RANGE} 1"),
    (lambda x: x.update(pitches={"A": 500}), "not that of its program"),
    (lambda x: x.update(runs=3), "layout.runs is 3, not a list"),
    (lambda x: x.pop("runs"), "layout: 'runs' is missing"),
    (lambda x: x["runs"].clear(), "does not suit 'vmcu:S4'"),
    (
        lambda x: x["runs"][0].update(form="spiral"),
        "runs[0].form is 'spiral', not one of alone, line",
    ),
    (lambda x: x["runs"][0].update(operators=[]), "does not suit 'vmcu:S4'"),
    (lambda x: x["runs"][0].update(operators=["no"]), "the layout runs 'no', which the graph"),
    (lambda x: x["runs"][0].pop("operators"), "runs[0]: 'operators' is missing"),
    (
        lambda x: x["runs"][0].update(buffers=[{"tensor": "B"}]),
        "runs[0].buffers[0]: 'offset' is missing",
    ),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    sp.plan(sp.load("vmcu:S4"), "overlap", "64KB", "stm32f411").save(path)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_what_was_saved_is_the_programs(saved: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(saved))
    plan = sp.Plan.load(tmp_path / "plan.json")
    assert proven_layout(plan) == layout_of(plan)


@pytest.mark.parametrize(("spoil", "says"), SPOILT)
def test_a_spoilt_layout_is_one_clear_line(
    saved: dict[str, Any],
    spoil: Spoil,
    says: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    data = json.loads(json.dumps(saved))
    spoil(data["details"]["layout"])
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    with pytest.raises(SystemExit) as stop:
        main(["check", str(path)])
    err = capfd.readouterr().err
    assert stop.value.code == 2
    assert says in err
    assert err.count("\n") == 1
    with pytest.raises(BadInput):
        sp.write_code(sp.Plan.load(path), tmp_path / "c", weights="random")
    assert not (tmp_path / "c").exists()
