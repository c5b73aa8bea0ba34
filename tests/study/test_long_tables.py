"""Long tables of a page stand beside it as files, with a picture or a few rows on the page."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from planners.study.long_tables import LongTable, ReportPage, TextTable
from planners.study.table_charts import TableForm

TABLE = TextTable(
    ["network", "KiB", "ours, kept", "paper", "paper", "verdict"],
    [
        ["`a|b`", "1,024", "2,500 (+1)", "0", "", "differs: **why**"],
        ["c", "16", "–", "300", "", "equal"],
        ["d", "8", "−3", "1e+03", "", "equal"],
        ["e", "4", "7 / 9", "", "", "differs"],
    ],
)


def page(
    words: str, columns: str = "ours, kept; paper; none", table: TextTable = TABLE
) -> ReportPage:
    form = TableForm.parse(f"t: network; KiB | {columns} | {words}")
    return ReportPage(["# P", LongTable(form, table), "end"])


def shown(text: str) -> list[str]:
    """The first cells of the rows that a page shows."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [row.replace("\\|", "/").split("|")[1].strip() for row in rows[2:]]


def test_the_page_shows_a_picture_and_where_all_rows_are(tmp_path: Path) -> None:
    text = page("bytes; log").with_files(tmp_path, "data", "p")
    picture = "bytes: ours, kept, paper, for each network and KiB, on a logarithmic axis"
    assert text == f"# P\n\n![{picture}](data/p_t.svg)\n\n[All 4 rows](data/p_t.csv)\n\nend\n"
    head, *rows = csv.reader((tmp_path / "p_t.csv").read_text("utf-8").splitlines())
    assert head == ["network", "KiB", "ours, kept", "paper", "paper: paper", "verdict"]
    assert rows[0] == ["a|b", "1024", "2,500 (+1)", "0", "", "differs: why"]


def test_rows_with_a_word_are_the_ones_that_are_shown(tmp_path: Path) -> None:
    text = page("claims; plain; rows=3; only=differs").with_files(tmp_path, "data", "p")
    assert shown(text) == ["`a/b`", "e"]
    assert "verdict" not in text
    assert "![" not in text
    assert not list(tmp_path.glob("*.svg"))
    assert shown(page("claims; plain; rows=2").with_files(tmp_path, "data", "p")) == ["`a/b`", "e"]


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
    page(words, columns).with_files(tmp_path, "data", "p")
    root = ET.parse(tmp_path / "p_t.svg").getroot()
    assert root.get("role") == "img"
    assert columns.split(";")[0] in str(root.get("aria-label"))
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len([t for t in titles if t and t[0] in "acde" and "," in t and ":" in t]) == marks
    assert "prefers-color-scheme:dark" in (tmp_path / "p_t.svg").read_text(encoding="utf-8")


def test_curves_are_steps(tmp_path: Path) -> None:
    table = TextTable(["network", "KiB", "MB: %"], [["n", "2S", "18.0: +20.8, 40.0: +0.6"]])
    text = page("% by MB; curves; log", "MB: %", table).with_files(tmp_path, "data", "p")
    assert not shown(text)
    drawn = (tmp_path / "p_t.svg").read_text(encoding="utf-8")
    assert drawn.count("H") >= 1
    ET.fromstring(drawn)


@pytest.mark.parametrize("words", ["bytes", "bytes; log", "bytes; plain"])
def test_a_table_may_be_empty(tmp_path: Path, words: str) -> None:
    text = page(words, table=TextTable(TABLE.head, [])).with_files(tmp_path, "data", "p")
    assert "[All 0 rows](data/p_t.csv)" in text


def test_without_a_folder_the_table_is_whole() -> None:
    text = str(page("bytes"))
    assert text.startswith(
        "# P\n\n| network | KiB | ours, kept | paper | paper | verdict |\n|---|--:|"
    )
    assert shown(text) == ["`a/b`", "c", "d", "e"]
