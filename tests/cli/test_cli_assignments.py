"""`spillway assignments` and `spillway judge`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planners.cli import main
from planners.core.graph import Graph


def ran(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return int(stop.value.code or 0), out, err


def test_from_a_task_to_a_verdict(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, said, _ = ran(capfd, "assignments")
    assert code == 0
    assert len(said.splitlines()) == 10
    graph, begun, solved = (tmp_path / name for name in ("g.json", "starter.json", "solved.json"))
    code, said, _ = ran(
        capfd, "assignments", 1, "--graph", graph, "--starter", begun, "--solution", solved
    )
    assert code == 0
    assert "passes   what uses addresses up to 24 KiB at most" in said
    assert Graph.load(graph).name == "chain"
    code, said, _ = ran(capfd, "judge", "chain", solved)
    assert (code, said) == (0, "Passed: it uses addresses up to 24 KiB.\n")
    code, said, _ = ran(capfd, "judge", "chain", begun, "--json")
    assert code == 3
    assert json.loads(said)["passed"] is False


def test_a_class(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answers, table = tmp_path / "answers", tmp_path / "results.csv"
    answers.mkdir()
    ran(capfd, "assignments", "order", "--solution", answers / "ada.json")
    ran(capfd, "assignments", "order", "--starter", answers / "bob.json")
    code, said, _ = ran(capfd, "judge", "order", answers, "--out", table)
    assert code == 0
    assert said.endswith("1 of 2 pass\n")
    assert [line.split(",")[2] for line in table.read_text().splitlines()[1:]] == ["True", "False"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["assignments", "11"], "unknown assignment '11'"),
        (["assignments", "--graph", "x"], "say which task"),
        (["assignments", "fused", "--starter", "x"], "there is no starter"),
        (["judge", "1", "none.json"], "does not exist"),
        (["judge", "1", __file__, "--out", "x.csv"], "this is one file"),
    ],
)
def test_wrong_input(
    arguments: list[str], says: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = ran(capfd, *arguments)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1
