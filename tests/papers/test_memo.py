"""What comparisons keep, and what they write tables and claims with."""

from __future__ import annotations

from pathlib import Path

import pytest

from planners.core.errors import BadInput
from planners.papers import report
from planners.papers.memo import Memo
from planners.papers.report import (
    Claim,
    Column,
    ReportTable,
    Stated,
    StatedRange,
    from_to,
    in_units,
    report_of,
    share_saved,
    yes,
)
from planners.study.long_tables import TextTable, some_of


def test_what_was_made_is_not_made_again(tmp_path: Path) -> None:
    file, said = tmp_path / "done.jsonl", list[str]()
    keys = [("square", 2), ("square", 3)]
    assert Memo(file, said.append).each(keys, lambda n: {"of": n * n}) == [{"of": 4}, {"of": 9}]
    again = Memo(file, said.append)
    assert again.result(("square", 3), lambda: pytest.fail("made twice")) == {"of": 9}
    assert again.get(("square", 4)) is None
    assert said == ["square 2", "square 3"]


def test_files_of_before_have_keys_as_text(tmp_path: Path) -> None:
    file = tmp_path / "done.jsonl"
    file.write_text('["[\\"square\\", 2]", {"of": 4}]\n')
    assert Memo(file).get(["square", 2]) == {"of": 4}


def test_a_file_of_something_else_is_no_results(tmp_path: Path) -> None:
    file = tmp_path / "done.jsonl"
    file.write_text('[["square", 2], 4]\n')
    with pytest.raises(BadInput, match="does not hold results"):
        Memo(file).require(lambda key, value: (lambda model, budget, scheme: None)(*key))


def test_tables_keep_their_columns() -> None:
    rows = str(TextTable(["a", "b"], [["x|y", "1"]]))
    assert rows == "| a | b |\n|---|--:|\n| x\\|y | 1 |"
    assert str(TextTable(["a", "b"], [])) == "| a | b |\n|---|--:|"


def test_numbers_and_parts() -> None:
    assert some_of(range(9), 3) == [0, 4, 8]
    assert some_of("ab", 3) == ["a", "b"]
    assert from_to([0.5, 0.25]) == "25.0% to 50.0%"
    assert from_to([0.5001, 0.5]) == "50.0%"
    assert share_saved(1, 4) == 0.75
    assert (share_saved(1, 0), share_saved(None, 4)) == (None, None)


def test_columns_say_where_values_are_and_how_they_are_written() -> None:
    columns = ReportTable(
        "parts",
        Column("name", "name"),
        Column("KiB", ("bytes", "all"), in_units(1024, 1), optional=True),
        Column("twice", lambda row: 2 * row["n"], "{:,}"),
        each=lambda row: [row, row | {"name": "again"}],
    )
    rows = [{"name": "a", "bytes": {"all": 2560}, "n": 600}, {"name": "b", "bytes": {}, "n": 1}]
    assert str(columns.table(rows)).splitlines()[2:4] == [
        "| a | 2.5 | 1,200 |",
        "| again | 2.5 | 1,200 |",
    ]
    assert str(columns.table(rows)).splitlines()[4] == "| b | – | 2 |"
    assert str(columns.table([])).startswith("| name | KiB |")
    assert columns.table([], bare=False) is None
    with pytest.raises(KeyError, match="nothing"):
        Column("none", ("bytes", "nothing")).cell(rows[0])


def test_a_section_without_any_of_its_blocks_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some").mkdir()
    text = "# T of {{n}}\n\n## A\n\na\n\n{{x}}\n\nb\n\n{{y}}\n\nend\n\n## B\n\nc\n"
    (tmp_path / "some" / "report.md").write_text(text)
    monkeypatch.setattr(report, "files", lambda package: tmp_path)
    blocks = {"n": "3", "x": "X", "y": "Y"}
    assert "## A\n\na\n\nX\n\nb\n\nY\n\nend\n\n## B" in str(report_of("some", blocks))
    assert "## A\n\na\n\nX\n\nend\n\n## B" in str(report_of("some", blocks | {"y": ""}))
    assert "## A\n\na\n\nb\n\nY\n\nend" in str(report_of("some", blocks | {"x": ""}))
    assert str(report_of("some", blocks | {"x": "", "y": ""})) == "# T of 3\n\n## B\n\nc\n"


def test_a_stated_number_has_its_tolerance() -> None:
    stated = Stated("saved", 96.5, 1.0, "{:.1f} %", "why")
    assert stated.beside(95.6) == Claim("saved", "96.5 %", "95.6 %", True, "why")
    assert stated.beside(95.4).verdict == "differs: why"


def test_a_claim_says_why_it_differs() -> None:
    claim = Claim("what", "1", "2", False, "another graph")
    assert (claim.verdict, yes(claim.agrees)) == ("differs: another graph", "**no**")


def test_numbers_are_within_a_stated_range_or_near_it() -> None:
    stated = StatedRange("faster", 1.5, 3.0, 0.1, "{:.1f}", " times")
    found = stated.beside([1.4, 3.0], "programs", "why")
    assert found == Claim(
        "faster, programs", "1.5 to 3.0 times", "1.4 to 3.0, mean 2.2", True, "why"
    )
    assert not stated.beside([1.3], "programs", "why").agrees
