"""Pages whose long tables are files beside them: CSV, and a picture of each.

A table is rows of texts. From these come the page's Markdown, the CSV and the picture, which is
drawn from what the CSV has. In a page's template a line above a table says how it is drawn:
`<!-- table NAME: LABELS | COLUMNS | WORDS -->`, as `TableForm` has it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from planners.core.files import write_text
from planners.study.table_charts import NUMBER, Chart, TableForm

Item = TypeVar("Item")
MARK = re.compile(r"<!-- table ([^\n]*) -->\n")
EMPHASIS = re.compile(r"[*`]|\\(?=[*_])")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A head and rows as a page shows them; so many columns of texts come first, then numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1

    def __str__(self) -> str:
        """In Markdown."""
        cells = [[cell.replace("|", "\\|") for cell in row] for row in (self.head, *self.rows)]
        head, *rows = (f"| {' | '.join(row)} |" for row in cells)
        ruler = "|".join(["---"] * self.texts + ["--:"] * (len(self.head) - self.texts))
        return "\n".join([head, f"|{ruler}|", *rows])

    @property
    def names(self) -> list[str]:
        """The head, each once: one that repeats another has the head before it, too."""
        head = [plain(name) for name in self.head]
        return [h if h not in head[:i] else f"{head[i - 1]}: {h}" for i, h in enumerate(head)]

    def data(self) -> list[list[str]]:
        """Names and rows without emphasis: what a CSV file has and a picture is drawn from."""
        return [self.names, *([plain(cell) for cell in row] for row in self.rows)]


def plain(cell: str) -> str:
    """A cell's text without emphasis; a number without separators, so that it is read as one."""
    text = EMPHASIS.sub("", cell).strip()
    return text.replace(",", "") if NUMBER.fullmatch(text) else text


def some_of(points: Sequence[Item], most: int) -> list[Item]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(i * (len(points) - 1) / max(1, most - 1))] for i in range(most)]


def to_csv(data: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(data)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class LongTable:
    """A table and its form."""

    form: TableForm
    table: TextTable

    def __str__(self) -> str:
        return str(self.table)

    def write(self, folder: Path, link: str, prefix: str) -> str:
        """Write `PREFIX_NAME.csv`, and `.svg` where it has a picture.

        Returns what the page has instead: the picture or a few rows, and a link to all of them.
        `link` is the folder as the page names it.
        """
        name, (head, *rows) = f"{prefix}_{self.form.name}", self.table.data()
        write_text(folder / f"{name}.csv", to_csv([head, *rows]))
        chart = Chart(self.form, head, rows)
        if svg := chart.svg():
            write_text(folder / f"{name}.svg", svg)
        above = f"![{chart.about}]({link}/{name}.svg)" if svg else self._some_rows(chart)
        return f"{above}\n\n[All {len(rows)} rows]({link}/{name}.csv)".strip()

    def _some_rows(self, chart: Chart) -> str:
        """Of a table without a picture: at most so many rows that have the text, evenly spread."""
        options = self.form.options
        most, text = int(options.get("rows", 0)), options.get("only", "")
        rows = some_of([row for row in self.table.rows if text in " ".join(row)], most)
        places = [chart.head.index(name) for name in (*self.form.labels, *chart.columns)]
        head, *lines = ([row[p] for p in places] for row in (chart.head, *rows))
        texts = sum(place < self.table.texts for place in places)
        return str(TextTable(head, lines, texts)) if lines else ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """Paragraphs, some of them long tables."""

    paragraphs: Sequence[str | LongTable]

    def __str__(self) -> str:
        """The page with all its tables."""
        return "\n\n".join(map(str, self.paragraphs)) + "\n"

    def with_files(self, folder: Path, link: str, prefix: str) -> str:
        """The page with its long tables in a folder, which it names `link`."""
        texts = (
            p if isinstance(p, str) else p.write(folder, link, prefix) for p in self.paragraphs
        )
        return "\n\n".join(texts) + "\n"
