"""The COSMA comparison: what it averages, what it says first, how it goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.papers.cosma import study as reproduce_cosma
from planners.papers.cosma.paper import HUMAN, LABELS, SEARCHED, TABLE_II
from planners.papers.cosma.report import facts, groups, mean_saving, nine, report, saving, seconds
from planners.papers.cosma.study import BASELINES, CosmaStudy, CosmaTables, reproduce
from planners.papers.memo import Memo
from planners.papers.report import Row
from tests.random_graphs import random_graph


def made_up(model: str, budget: str, joint: int, scheme: int, **more: Any) -> Row:
    """A row in which all schemes move the same."""
    row: Row = {"model": model, "parameters": False, "budget": budget, "bytes": 1000}
    row |= {"budget proven": True, "joint optimal": joint, "joint gap": 0.0, "joint s": 0.5}
    row["joint bound"] = joint
    for order in ("default", "mpmf"):
        row |= {f"{order} optimal": joint, f"{order} gap": 0.0, f"{order} s": 0.1}
    return row | {f"{s} {r}": scheme for s, r in BASELINES} | more


def study_of(monkeypatch: pytest.MonkeyPatch, model: str, **options: Any) -> CosmaStudy:
    """A study of one name, behind which there is a small random network."""
    graph = random_graph(5, 14, largest=50)
    monkeypatch.setattr(reproduce_cosma, "network", lambda name, granularity: graph)
    return CosmaStudy(models=(model,), time_limit_s=5.0, **options)


def test_a_mean_is_over_the_rows_in_which_the_scheme_moves_anything() -> None:
    rows = [
        made_up("resnet50", "MR", 25, 100),
        made_up("resnet50", "MH", 0, 100),
        made_up("resnet50", "MP", 0, 0),
    ]
    found = saving(rows, "default belady")
    assert (found.share, found.count) == (0.875, 2)
    assert mean_saving(rows) == 0.875
    assert saving(rows[2:], "default belady").share is None
    assert mean_saving(rows[2:]) is None


def test_the_mean_of_the_paper_s_schemes_leaves_out_the_others() -> None:
    row = made_up("resnet50", "MR", 50, 100, **{"default hill_climb": 50, "mpmf hill_climb": 50})
    assert mean_saving([row]) == 0.5
    assert mean_saving([row], ["hill_climb"]) == 0


def test_seconds_are_of_joint_plans_and_name_the_worst() -> None:
    rows = [
        made_up("resnet50", "MR", 0, 0, **{"joint s": 1.0}),
        made_up("s3d", "MR", 0, 0, **{"joint s": 9.0}),
        made_up("vit_b_16", "MR", 0, 0, **{"joint s": 2.0}),
        made_up("deeplabv3_resnet50", "MR", 0, 0, **{"joint s": 50.0}),
        made_up("darts", "MR", 0, 0, **{"joint s": 70.0}),
    ]
    found = seconds(nine(rows))
    assert found is not None
    assert (found.count, found.median_s, found.mean_s, found.worst_s) == (3, 2.0, 4.0, 9.0)
    assert found.worst["model"] == "s3d"
    assert seconds([]) is None


def test_a_report_admits_what_is_open() -> None:
    rows = [
        made_up("s3d", "MR", 40, 100, **{"joint gap": 0.25}),
        made_up("s3d", "MP", 10, 100, **{"budget proven": False}),
    ]
    text = str(report(CosmaTables(rows, []), CosmaStudy(models=("s3d",))))
    claims = text[: text.index("## Traffic that")]
    assert "1 of 2 joint plans" in claims
    assert "Not proven: s3d at MR (gap 25.0%)." in claims
    assert "0 of 1 joint plans" in claims
    assert "Not so: s3d at MP." in claims
    assert "not proven least: s3d at MP." in claims
    assert "| s3d | MR = MP | 1,000 | 40 (gap 25.0%) |" in text


def test_the_same_problem_under_several_labels_is_one_row_and_one_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensors = {"x": sp.Tensor("x", (4,), "input"), "y": sp.Tensor("y", (4,))}
    op = sp.Operator("op", "any", ("x",), ("y",))
    graph = sp.Graph("one", tensors, (op,), ("x",), ("y",))
    monkeypatch.setattr(reproduce_cosma, "network", lambda name, granularity: graph)
    heard: list[str] = []
    study = CosmaStudy(models=("darts",))
    tables = reproduce(study, Memo(None, heard.append))
    assert len(tables.rows) == 3
    assert len(tables.sweep) == 1
    assert len(heard) == len(list(reproduce_cosma.schemes("darts")))
    assert "| darts | MR = MH = MP | 8 | 0 |" in str(report(tables, study))


def test_a_run_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    study = study_of(monkeypatch, "amoebanet_d", sweep=4)
    kept = tmp_path / "results.jsonl"
    heard: list[str] = []
    whole = reproduce(study, Memo(kept, heard.append))
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) == len(heard)
    kept.write_text("".join(lines[:-5]))
    again: list[str] = []
    assert reproduce(study, Memo(kept, again.append)).rows[0] == whole.rows[0]
    assert len(again) == 5
    assert reproduce(study, Memo(kept, again.append)) == reproduce(study, Memo(kept))
    assert len(again) == 5
    kept.write_text("no results\n")
    with pytest.raises(sp.BadInput, match="does not hold results"):
        reproduce(study, Memo(kept))


def test_rows_hold_every_scheme_and_the_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = reproduce(study_of(monkeypatch, "amoebanet_d", sweep=5), Memo())
    assert [row["budget"] for row in tables.rows] == list(LABELS)
    for row in tables.rows:
        moved = [row[f"{s} {r}"] for s, r in reproduce_cosma.schemes("amoebanet_d")]
        assert row["joint bound"] <= row["joint optimal"] == min(moved)
    sizes = [row["bytes"] for row in tables.sweep]
    assert (sizes[0], sizes[-1]) == (tables.rows[0]["bytes"], tables.rows[-1]["bytes"])
    traffic = [row["joint optimal"] for row in tables.sweep]
    assert traffic == sorted(traffic, reverse=True)


def test_human_networks_count_parameters_too_and_are_not_swept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = reproduce(study_of(monkeypatch, "resnet50", labels=("MR",)), Memo())
    assert [row["parameters"] for row in tables.rows] == [False, True]
    assert tables.sweep == []
    assert list(groups(tables.rows)) == ["human", "human, with parameters"]
    assert not any("dnc" in key for row in tables.rows for key in row)


def test_a_report_without_divide_and_conquer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce_cosma, "SCHEDULES", ("default", "mpmf", "joint"))
    study = study_of(monkeypatch, "darts", sweep=0)
    text = str(report(reproduce(study, Memo()), study))
    assert "| fixed, default | paper | fixed, MPMF | paper | joint |" in text
    assert "## Searched networks at even budgets" not in text


def test_executed_plans_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    small = sp.load("squeezenet1_1")
    monkeypatch.setattr(reproduce_cosma, "network", lambda name, granularity: small)
    study = CosmaStudy(models=("transformer",), labels=("MR",), execute=True)
    tables = reproduce(study, Memo())
    assert all(row["max error"] == 0 < row["default belady"] for row in tables.rows)
    assert "the largest difference from PyTorch's own outputs is 0" in str(report(tables, study))
    assert facts(tables)["rows"] is tables.rows


def test_wrong_budgets_say_what_there_is() -> None:
    with pytest.raises(sp.BadInput, match="budget 'MX': choose among MR, MH, MP"):
        CosmaStudy(labels=("MR", "MX"))


def test_what_the_paper_states_is_complete() -> None:
    assert (len(HUMAN), len(SEARCHED)) == (10, 4)
    assert set(TABLE_II) == set(SEARCHED)
    assert all(len(s) == 3 for row in TABLE_II.values() for s in row.values())
