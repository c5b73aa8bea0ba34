"""Wishes on the command line: repeatable, kept in the plan, in the way by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import planners as sp
from planners.cli import main
from tests.wishes.test_wishes import chain


def spillway(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return int(stop.value.code or 0), out, err


def test_wishes_reach_the_plan(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    asked = ("--wish", "spill max_pool2d", "--wish", "keep relu__1", "--out", path, "--json")
    code, out, _ = spillway(capfd, "plan", "resnet18", *asked)
    facts = json.loads(out)
    assert (code, facts["status"]) == (0, "optimal")
    graph = sp.load("resnet18")
    assert facts["noncompulsory_bytes"] == 2 * graph.size_bytes("max_pool2d")
    assert sp.Plan.load(path).options["wishes"] == ["spill max_pool2d", "keep relu__1"]


def test_a_conflict_is_infeasible_and_named(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "chain.json"
    chain("x:4 a:4 b:6 c:6 d:1").save(path)
    asked = ("--budget", "MR", "--wish", "spill b", "--wish", "keep a", "--json")
    code, out, err = spillway(capfd, "plan", path, *asked)
    facts = json.loads(out)
    assert (code, facts["status"], facts["wishes"]) == (3, "infeasible", ["keep a"])
    assert (facts["need_bytes"], facts["budget_bytes"], facts["binds"]) == (16, 12, "C")
    assert err == (
        "spillway: infeasible: with 'keep a', operator 'C' (b, c, a) needs 16 bytes at once, "
        "the budget is 12, short by 4; without it the budget is enough\n"
    )


def test_a_sweep_passes_wishes_on(capfd: pytest.CaptureFixture[str]) -> None:
    asked = ("--budgets", "MR", "--wish", "spill max_pool2d", "--json")
    code, out, _ = spillway(capfd, "sweep", "resnet18", *asked)
    (row,) = json.loads(out)["rows"]
    assert (code, row["status"]) == (0, "optimal")
    assert row["noncompulsory_bytes"] > 0


@pytest.mark.parametrize("planner", ["streaming", "overlap"])
def test_planners_without_wishes_say_so(capfd: pytest.CaptureFixture[str], planner: str) -> None:
    asked = ("plan", "resnet18", "--planner", planner, "--budget", "8MiB")
    code, _, err = spillway(capfd, *asked, "--wish", "keep relu__1")
    assert code == 2
    assert err.endswith(
        f"spillway: wish 'keep relu__1': {planner} does not support it; it supports none\n"
    )
