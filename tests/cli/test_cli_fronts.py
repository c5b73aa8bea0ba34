"""Sweeps from the command line into files, and what is read from those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from planners.cli import main
from planners.cli.fronts import matrix
from planners.core.units import format_quantity
from tests.random_graphs import random_graph


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "g.json"
    random_graph(4, 7, largest=30).save(path)
    return path


def swept(model: Path, out: Path, capfd: Any, *more: object) -> tuple[int, str, str]:
    asked = ("--planners", "cosma,fusion", "--budgets", "MR,MP,3", "--parameters")
    return run(capfd, "sweep", model, *asked, "--out", out, "--json", *more)


def test_winners_of_a_sweep(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    for name in ("t.csv", "t.parquet"):
        assert swept(model, tmp_path / name, capfd)[0] == 0
    here, there = pd.read_csv(tmp_path / "t.csv"), pd.read_parquet(tmp_path / "t.parquet")
    assert here["offchip_bytes"].dropna().tolist() == there["offchip_bytes"].dropna().tolist()
    code, out, _ = run(capfd, "winners", tmp_path / "t.parquet", "--by", "traffic", "--json")
    facts = json.loads(out)
    assert code == 0
    assert [row["winner"] for row in facts["winners"]][-1] == "none"
    least = min(here["offchip_bytes"].dropna())
    assert min(row["value"] for row in facts["winners"] if row["value"]) == least
    assert {row["planner"] for row in facts["hypervolume"]} == {"cosma", "fusion"}
    code, out, _ = run(capfd, "winners", tmp_path / "t.csv", "--out", tmp_path / "t.md")
    assert code == 0
    assert "2 infeasible" in out
    text = (tmp_path / "t.md").read_text()
    assert "## Least latency, by budget" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| random4 |")]
    *planned, impossible = [cell.strip() for cell in row.strip("|").split("|")][1:]
    best = here[here["budget"] == "MR"].sort_values("makespan_s").iloc[0]
    assert planned[0].startswith(f"{best['planner']} {format_quantity(best['makespan_s'], 's')}")
    assert impossible == "–"


def test_variants_of_a_planner_go_by_their_whole_names(
    model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for asked, told in {
        "cosma:schedule=mpmf,fusion": "| random4 | cosma ",
        "cosma:schedule=mpmf,cosma": "| random4 | cosma:schedule=mpmf",
    }.items():
        out = tmp_path / "v.csv"
        run(capfd, "sweep", model, "--planners", asked, "--budgets", "MP", "--out", out)
        text = run(capfd, "winners", out, "--by", "traffic")[1]
        assert told in text, text


def test_the_printed_table_has_what_more_memory_buys(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capfd, "sweep", model, "--budgets", "MP,3")
    head, most, least = (line.split() for line in out.splitlines())
    assert code == 0
    assert head[4:] == ["status", "gap", "offchip_bytes", "makespan_s", "plan_s"]
    assert most[4] == "optimal"
    assert min(map(float, most[5:])) >= 0
    assert least[4:] == ["infeasible", "–", "–", "–", "–"]


def test_several_processes_make_the_same_table(
    model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    swept(model, tmp_path / "one.csv", capfd)
    assert swept(model, tmp_path / "two.csv", capfd, "--jobs", 2, "--timeout", 60)[0] == 0
    seconds = ["plan_s", "wall_s", "cpu_s"]
    one, two = (pd.read_csv(tmp_path / f"{n}.csv").drop(columns=seconds) for n in ("one", "two"))
    assert one.equals(two)


def test_wrong_input(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    told = {
        ("winners", tmp_path / "none.csv"): "no file",
        ("reproduce", "vmcu", "--data", tmp_path): "--data is for the page that --out writes",
        ("winners", tmp_path / "broken.parquet"): "is not a table that spillway sweep wrote",
        ("winners", tmp_path / "other.csv"): "the table has no column 'model'",
        ("winners", tmp_path / "other.csv", "--by", "speed"): "no metric 'speed'",
        ("sweep", model, "--jobs", 2, "--scheduler", "tcp://x:1"): "--jobs is for this machine",
    }
    for arguments, line in told.items():
        code, _, err = run(capfd, *arguments)
        assert (code, line in err) == (2, True), err


@pytest.mark.parametrize(
    ("machine", "by", "marked"),
    [
        ("ethos_u55_high_end", "latency", True),
        ("ethos_u55_high_end", "traffic", False),
        ("npu_ideal", "latency", False),
        ("a machine of one's own", "latency", False),
    ],
)
def test_planners_closer_than_a_machine_is_to_its_judge_are_marked(
    machine: str, by: str, marked: bool
) -> None:
    """0.79 to 1.25 of the judge's: 40 % more may be as quick, 80 % more is slower."""
    found = pd.DataFrame(
        {
            "model": ["m", "n"],
            "machine": machine,
            "budget": "MR",
            "winner": "joined",
            "value": 1.0,
            "second": "fusion",
            "margin": [0.4, 0.8],
        }
    )
    close, apart = matrix(found, by)["MR"]
    assert ("≈ fusion +40%" in close) == marked
    assert "≈" not in apart
