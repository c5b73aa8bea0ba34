"""`spillway plan --planner streaming`: what it prints, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.cli import main

MODEL = ["squeezenet1_1", "--bytes-per-element", "4", "--planner", "streaming"]


@pytest.fixture
def spillway(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> tuple[int, Any, str]:
        with pytest.raises(SystemExit) as stop:
            main(["plan", *MODEL, *map(str, arguments)])
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), json.loads(out) if "--json" in arguments else out, err

    return run


def test_the_answer_has_rings_delays_and_the_front(spillway: Any, tmp_path: Path) -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=4)
    table = tmp_path / "times.csv"
    lines = [f"{op.name},{r},1,3" for op in graph.operators for r in (1, 2)]
    table.write_text("\n".join(["layer,read_s,copy_s,kernel_s", *lines]) + "\n")
    options = ["--budget", "64MiB", "--pipeline", "2s-md", "--step", "64KiB", "--times", table]
    code, facts, _ = spillway(*options, "--draws", 20, "--json")
    assert code == 0
    assert facts["pipeline"] == "2s-md"
    assert facts["peak_bytes"] <= facts["rings"]["shared"] + facts["activation_bytes"]
    assert facts["kernel_s"] <= facts["delay_s"] == facts["makespan_s"] <= facts["bound_s"]
    assert facts["band"]["draws"] == 20
    assert facts["noncompulsory_bytes"] == 0
    assert [facts["objective_bytes"], facts["delay_s"]] in facts["front"]


def test_slices_of_zero_reach_the_planner(spillway: Any) -> None:
    code, facts, _ = spillway("--budget", "8MiB", "--slices", 0, "--joint", "--json")
    assert code == 0
    assert facts["objective_bytes"] <= 8 * 2**20
    code, text, _ = spillway("--budget", "8MiB", "--slices", 2)
    assert code == 0
    assert "rings and activations" in text


def test_what_does_not_fit_names_the_largest_layer(spillway: Any) -> None:
    code, facts, error = spillway("--budget", "1MiB", "--json")
    assert code == 3
    assert facts["need_bytes"] > facts["budget_bytes"] == 2**20
    assert "the largest layer has" in error
    code, _, error = spillway("--budget", "64MiB", "--pipeline", "fast")
    assert code == 2
    assert "choose one of exact, pre, seq" in error
