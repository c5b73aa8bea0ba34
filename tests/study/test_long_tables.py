"""Long tables of a page stand beside it as files, and the page shows a few of their rows."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from planners.study.long_tables import shorten, whole

TABLE = """| network | KiB | ours, kept | paper | verdict |
|---|--:|--:|--:|---|
| `a|b` | 1,024 | 2,500 (+1) | 0 | differs: **why** |
| c | 16 | – | 300 | equal |
| d | 8 | −3 | 1e+03 | equal |
| e | 4 | 7 / 9 | | differs |
"""


def page(words: str, columns: str = "ours, kept; paper") -> str:
    table = TABLE.replace("a|b", "a\\|b")
    return f"# P\n\n<!-- table t: network; KiB | {columns} | {words} -->\n{table}\nend\n"


def shown(text: str) -> list[str]:
    """The first cells of the rows that a page shows."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [row.split("|")[1].strip() for row in rows[2:]]


def test_the_page_shows_some_rows_a_picture_and_where_all_are(tmp_path: Path) -> None:
    text = shorten(page("bytes; log; rows=2"), tmp_path, "data", "p")
    assert shown(text.replace("\\|", "/")) == ["`a/b`", "e"]
    assert "![bytes: ours, kept, paper, for each network and KiB, on a logarithmic" in text
    assert "[All 4 rows](data/p_t.csv)" in text
    assert text.startswith("# P\n")
    assert text.endswith("\nend\n")
    assert "verdict" not in text
    rows = list(csv.reader((tmp_path / "p_t.csv").read_text("utf-8").splitlines()))
    assert rows[1] == ["a|b", "1024", "2,500 (+1)", "0", "differs: why"]


def test_rows_with_a_word_are_the_ones_that_are_shown(tmp_path: Path) -> None:
    text = shorten(page("claims; plain; only=differs"), tmp_path, "data", "p")
    assert shown(text.replace("\\|", "/")) == ["`a/b`", "e"]
    assert "![" not in text
    assert not list(tmp_path.glob("*.svg"))


@pytest.mark.parametrize(
    ("words", "columns", "marks"),
    [
        ("bytes", "ours, kept; paper", 6),
        ("bytes; log", "ours, kept; paper", 6),
        ("what came; tiles", "verdict", 4),
    ],
)
def test_pictures_have_a_mark_for_each_value_and_words(
    tmp_path: Path, words: str, columns: str, marks: int
) -> None:
    shorten(page(words, columns), tmp_path, "data", "p")
    root = ET.parse(tmp_path / "p_t.svg").getroot()
    assert root.get("role") == "img"
    assert columns.split(";")[0] in str(root.get("aria-label"))
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len([t for t in titles if t and t[0] in "acde" and "," in t and ":" in t]) == marks
    assert "prefers-color-scheme:dark" in (tmp_path / "p_t.svg").read_text(encoding="utf-8")


def test_curves_are_steps(tmp_path: Path) -> None:
    text = (
        "<!-- table c: network; rings | MB: % | % by MB; curves; log; rows=0 -->\n"
        "| network | rings | MB: % |\n|---|---|---|\n| n | 2S | 18.0: +20.8, 40.0: +0.6 |\n"
    )
    short = shorten(text, tmp_path, "data", "p")
    assert "|" not in short
    drawn = (tmp_path / "p_c.svg").read_text(encoding="utf-8")
    assert drawn.count("H") >= 1
    ET.fromstring(drawn)


def test_without_a_folder_the_table_is_whole() -> None:
    assert whole(page("bytes")) == f"# P\n\n{TABLE}\nend\n".replace("a|b", "a\\|b")
