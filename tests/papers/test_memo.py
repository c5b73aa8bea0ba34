"""What comparisons keep, and what they write tables and claims with."""

from __future__ import annotations

from pathlib import Path

import pytest

from planners.core.errors import BadInput
from planners.papers.memo import Memo
from planners.papers.report import (
    Claim,
    from_to,
    section,
    share_saved,
    some_of,
    table,
    written,
    yes,
)


def test_what_was_made_is_not_made_again(tmp_path: Path) -> None:
    file, said = tmp_path / "done.jsonl", list[str]()
    keys = [("square", 2), ("square", 3)]
    assert Memo(file, said.append).each(keys, lambda n: {"of": n * n}) == [{"of": 4}, {"of": 9}]
    again = Memo(file, said.append)
    assert again.of(("square", 3), lambda: pytest.fail("made twice")) == {"of": 9}
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
        Memo(file, None, lambda key, value: (lambda model, budget, scheme: None)(*key))


def test_tables_keep_their_columns() -> None:
    rows = table(["a", "b"], [["x|y", "1"]])
    assert rows == "| a | b |\n| --- | --: |\n| x\\|y | 1 |"
    assert table(["a", "b"], [], tight=True) == "| a | b |\n|---|--:|"


def test_numbers_and_parts() -> None:
    assert some_of(range(9), 3) == [0, 4, 8]
    assert some_of("ab", 3) == ["a", "b"]
    assert from_to([0.5, 0.25]) == "25.0% to 50.0%"
    assert from_to([0.5001, 0.5]) == "50.0%"
    assert share_saved(1, 4) == 0.75
    assert (share_saved(1, 0), share_saved(None, 4)) == (None, None)
    assert written([*section("A", "b", ""), *section("C", "d", of=[])]) == "## A\n\nb\n"


def test_a_claim_says_why_it_differs() -> None:
    claim = Claim("what", "1", "2", False, "another graph")
    assert (claim.verdict, yes(claim.agrees)) == ("differs: another graph", "**no**")
