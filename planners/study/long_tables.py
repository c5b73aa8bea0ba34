"""Long tables of a page, each as a CSV file beside it, with one picture and a few of its rows.

A page marks such a table by a comment in the line above it:

    <!-- table NAME: LABELS | COLUMNS | WORDS -->

`NAME` is that of the files. `LABELS` are the columns that say what a row is, `COLUMNS` those that
are drawn. `WORDS` say what is drawn, such as the unit, and how (semicolons stand between all):

* `log`: the axis is logarithmic;
* `tiles`: texts as coloured tiles; `curves`: cells that list points `x: y` as steps; `plain`: no
  picture;
* `rows=3`: how many rows the page shows, evenly spread; `only=TEXT`: of those that have this text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from pathlib import Path

from planners.core.files import write_text

MARKED = re.compile(r"^<!-- table ([\w-]+): ([^|\n]*)\|([^|\n]*)\|([^|\n]*) -->\n", re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*(?:\n|\Z))+", re.MULTILINE)
NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
POINT = re.compile(r"([\d.]+): ([-+]?[\d.]+)")
EMPHASIS = re.compile(r"[*`]|\\(?=[|*_])")

WIDTH, ROW, LETTER, LEGEND = 760, 16, 6.7, 18
# On a card of its own, so that it is readable on any page; it follows the reader's system.
LIGHT = ("#0072B2", "#D55E00", "#009E73", "#B4578F", "#9A6A00", "#5B6670", "#B8C0C8")
DARK = ("#56B4E9", "#FF9A57", "#37D1A3", "#E6A5CB", "#F0C24B", "#A9B4BF", "#4A545E")


def _colours(colours: Sequence[str]) -> str:
    return "".join(
        f".c{i}{{fill:{colour}}}.s{i}{{fill:none;stroke:{colour};stroke-width:1.6}}"
        for i, colour in enumerate(colours)
    )


STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#222}.card{fill:#fff}.grid{stroke:#ddd}"
    + _colours(LIGHT)
    + "@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.card{fill:#1c2127}.grid{stroke:#444}"
    + _colours(DARK)
    + "}"
)
SHAPES = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0",  # a circle
    "M-3.5-3.5H3.5V3.5H-3.5Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M0-4.5L4.5 3.5H-4.5Z",
    "M0 4.5L4.5-3.5H-4.5Z",
    "M-1.3-4.5H1.3V-1.3H4.5V1.3H1.3V4.5H-1.3V1.3H-4.5V-1.3H-1.3Z",
)


@dataclass(frozen=True, slots=True)
class LongTable:
    """A table of texts, and how it is drawn."""

    name: str
    labels: Sequence[str]
    columns: Sequence[str]
    words: str
    kind: str
    logarithmic: bool
    shown: int
    only: str
    head: Sequence[str]
    ruler: Sequence[str]
    rows: Sequence[Sequence[str]]

    def cells(self, column: str) -> list[str]:
        """A column's texts, without emphasis."""
        place = self.head.index(column)
        return [plain(row[place]) for row in self.rows]

    @property
    def row_labels(self) -> list[str]:
        return [" ".join(cells) for cells in zip(*map(self.cells, self.labels), strict=True)]


def whole(text: str) -> str:
    """A page with all its tables, without the marks."""
    return MARKED.sub("", text)


def shorten(text: str, folder: Path, link: str, prefix: str) -> str:
    """A page whose marked tables are files in a folder: `PREFIX_NAME.csv` and `PREFIX_NAME.svg`.

    In their place are the picture, a few rows, and a link to all of them. `link` is the folder as
    the page names it.
    """
    parts, end = [], 0
    for mark in MARKED.finditer(text):
        found = TABLE.match(text, mark.end())
        if not found:
            continue
        table = read_table(mark, found[0])
        name = f"{prefix}_{table.name}"
        write_text(folder / f"{name}.csv", to_csv(table.head, table.rows))
        if table.kind != PLAIN:
            write_text(folder / f"{name}.svg", PICTURES[table.kind](table))
        parts += [text[end : mark.start()], _short(table, f"{link}/{name}")]
        end = found.end()
    return whole("".join([*parts, text[end:]]))


def plain(cell: str) -> str:
    """A cell's text, without the marks of Markdown."""
    return EMPHASIS.sub("", cell).strip()


def to_csv(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as CSV: numbers without separators, so that they are read as numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (head, *rows):
        cells = map(plain, row)
        writer.writerow(c.replace(",", "") if NUMBER.fullmatch(c) else c for c in cells)
    return out.getvalue()


def read_table(mark: re.Match[str], text: str) -> LongTable:
    """A Markdown table and its mark. A head that repeats another has the head before it, too.

    Columns that the mark names and the table lacks are left out.
    """
    head, ruler, *rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        for line in text.strip().splitlines()
    ]
    head = [h if h not in head[:i] else f"{head[i - 1]}: {h}" for i, h in enumerate(head)]
    labels, columns, words = ([w.strip() for w in mark[k].split(";")] for k in (2, 3, 4))
    labels, columns = ([name for name in names if name in head] for names in (labels, columns))
    options = dict(word.split("=", 1) for word in words if "=" in word)
    kind = next((word for word in words if word in (*PICTURES, PLAIN)), "dots")
    kind = kind if columns else PLAIN
    said = [w for w in words if w not in (*PICTURES, PLAIN, "log") and "=" not in w]
    filled = [[*row, *[""] * (len(head) - len(row))] for row in rows]
    return LongTable(
        name=mark[1],
        labels=labels,
        columns=columns,
        words=", ".join(said),
        kind=kind,
        logarithmic="log" in words,
        shown=int(options.get("rows", "3")),
        only=options.get("only", ""),
        head=head,
        ruler=ruler,
        rows=filled,
    )


def _short(table: LongTable, path: str) -> str:
    """The picture, some rows, and the link."""
    columns = [*table.labels, *table.columns]
    places = [table.head.index(column) for column in columns]
    chosen = [i for i, row in enumerate(table.rows) if table.only in " ".join(row)]
    some = _spread(chosen, table.shown)
    lines = [[row[p] for p in places] for row in (table.head, table.ruler)]
    lines += [[table.rows[i][p] for p in places] for i in some]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    picture = "" if table.kind == PLAIN else f"![{about(table)}]({path}.svg)\n\n"
    few = f"{rows}\n\n" if some else ""
    return f"{picture}{few}[All {len(table.rows)} rows]({path}.csv)\n"


def _spread(places: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(places) <= most or most < 2:
        return list(places[:most])
    return [places[round(i * (len(places) - 1) / (most - 1))] for i in range(most)]


def about(table: LongTable) -> str:
    """What the picture shows, in words."""
    axis = ", on a logarithmic axis" if table.logarithmic else ""
    each = " and ".join(table.labels)
    return f"{table.words}: {', '.join(table.columns)}, for each {each}{axis}"


# ---- pictures ------------------------------------------------------------------------------------


def number(cell: str) -> float | None:
    """The first number of a cell, where there is one."""
    found = NUMBER.search(cell)
    return float(found[0].replace(",", "").replace("−", "-")) if found else None


def dots(table: LongTable) -> str:
    """A line for each row of the table and a mark on it for each column, on one axis."""
    labels = table.row_labels
    values = {column: [number(cell) for cell in table.cells(column)] for column in table.columns}
    every = [v for column in values.values() for v in column if v is not None]
    left = 14 + LETTER * max(map(len, labels), default=0)
    low, high, ticks = _axis(every, table.logarithmic)

    def x(value: float) -> float:
        place = value
        if table.logarithmic:
            place = max(log10(value), low) if value > 0 else low
        return left + (place - low) / (high - low) * (WIDTH - left - 24)

    legend, top = _legend(table.columns, SHAPES)
    bottom = top + ROW * len(labels) + 8
    middle = (len(table.columns) - 1) / 2  # marks of one value do not cover each other
    parts = [legend]
    for value, words in ticks:
        parts.append(_line(x(value), top - 2, x(value), bottom))
        parts.append(_text(x(value), bottom + 13, words, "middle"))
    for i, label in enumerate(labels):
        y = top + ROW * (i + 0.5) + 4
        parts.append(_line(left, y, WIDTH - 24, y))
        parts.append(_text(left - 6, y + 4, label, "end"))
        for j, column in enumerate(table.columns):
            figure = values[column][i]
            if figure is not None:
                said = f"{label}, {column}: {table.cells(column)[i]}"
                parts.append(_mark(x(figure), y + 1.8 * (j - middle), j, said))
    parts.append(_text(WIDTH - 24, bottom + 28, table.words, "end"))
    return _picture(bottom + 36, about(table), parts)


def tiles(table: LongTable) -> str:
    """A column for each row of the table, a tile in it for each column, coloured by its words."""
    cells = {column: [_first(cell) for cell in table.cells(column)] for column in table.columns}
    counted: dict[str, int] = {}
    for word in (word for column in cells.values() for word in column):
        counted[word] = counted.get(word, 0) + 1
    words = sorted(counted, key=lambda word: (word == NONE, -counted[word], word))
    colours = {word: 6 if word == NONE else min(i, 5) for i, word in enumerate(words)}
    left = 14 + LETTER * max(map(len, table.columns))
    width = (WIDTH - left - 14) / max(1, len(table.rows))
    legend, top = _legend(words, (), [colours[word] for word in words])
    parts = [legend]
    for j, column in enumerate(table.columns):
        y = top + 26 * j
        parts.append(_text(left - 6, y + 15, column, "end"))
        for i, (label, word) in enumerate(zip(table.row_labels, cells[column], strict=True)):
            where = f'x="{left + i * width:.2f}" y="{y}" width="{max(width - 0.4, 0.6):.2f}"'
            title = f"<title>{escape(f'{label}, {column}: {word}')}</title>"
            parts.append(f'<rect {where} height="22" class="c{colours[word]}">{title}</rect>')
    bottom = top + 26 * len(table.columns)
    names = f"{table.words}: {len(table.rows)} rows, from {table.row_labels[0]} on"
    parts.append(_text(WIDTH - 14, bottom + 12, names, "end"))
    return _picture(bottom + 20, about(table), parts)


def curves(table: LongTable) -> str:
    """A line of steps for each row: its cell lists points, `x: y`, by rising `x`.

    What differs in the last of the columns that say what a row is has a colour each.
    """
    column = table.columns[0]
    points = [
        [(float(x), float(y)) for x, y in POINT.findall(cell)] for cell in table.cells(column)
    ]
    kinds = list(dict.fromkeys(table.cells(table.labels[-1])))
    low, high, across = _axis([x for row in points for x, _ in row], table.logarithmic)
    least, most, upwards = _axis([y for row in points for _, y in row], False)
    legend, top = _legend(kinds, SHAPES)
    bottom, left, right = top + 300, 44.0, WIDTH - 24.0

    def place(x: float, y: float) -> tuple[float, float]:
        x = log10(x) if table.logarithmic else x
        up = (y - least) / (most - least) * 290
        return left + (x - low) / (high - low) * (right - left), bottom - up

    parts = [legend]
    for value, words in across:
        x = place(value, least)[0]
        parts += [_line(x, top, x, bottom), _text(x, bottom + 13, words, "middle")]
    for value, words in upwards:
        y = place(across[0][0], value)[1]
        parts += [_line(left, y, right, y), _text(left - 6, y + 4, words, "end")]
    for row, label, kind in zip(
        points, table.row_labels, table.cells(table.labels[-1]), strict=True
    ):
        colour = kinds.index(kind) % 6
        path = ""
        for i, point in enumerate(row):
            x, y = place(*point)
            path += f"H{x:.1f}V{y:.1f}" if i else f"M{x:.1f} {y:.1f}"
        title = f"<title>{escape(label)}</title>"
        parts.append(f'<path d="{path}" class="s{colour}">{title}</path>')
        if row:
            x, y = place(*row[0])
            parts.append(_mark(x, y, colour, label))
            if kind == kinds[0]:
                parts.append(_text(x + 7, y - 4, label.split(" ")[0]))
    parts.append(_text(right, bottom + 28, table.words, "end"))
    return _picture(bottom + 36, about(table), parts)


PLAIN = "plain"
PICTURES = {"dots": dots, "tiles": tiles, "curves": curves}
NONE = "none"


def _first(cell: str) -> str:
    """What a cell is coloured by: its words before a number or a bracket."""
    found = re.match(r"[^\d(]+", cell)
    word = (found[0] if found else "").strip()
    return word if word not in ("", "–") else NONE


def _axis(
    values: Sequence[float], logarithmic: bool
) -> tuple[float, float, list[tuple[float, str]]]:
    """The ends of an axis, and its ticks with their words."""
    if logarithmic:
        above = [value for value in values if value > 0] or [1.0]
        low, high = floor(log10(min(above))), ceil(log10(max(above)))
        high = max(high, low + 1)
        places = [10.0**k for k in range(low, high + 1, ceil((high - low) / 8))]
        if len(places) < 4:
            places += [f * 10.0**k for k in range(low, high) for f in (2, 5)]
        ticks = [(value, _short_number(value)) for value in places]
        if min(values, default=1) <= 0:
            low -= 1
            ticks.append((0.0, "0"))
        return low, high, ticks
    least, most = min([0.0, *values]), max([0.0, *values])
    step = 10.0 ** floor(log10((most - least) or 1.0))
    step = next(step * f for f in (0.1, 0.2, 0.5, 1.0, 2.0) if (most - least) / (step * f) <= 8)
    least, most = floor(least / step) * step, ceil(most / step) * step
    count = round((most - least) / step) or 1
    ticks = [(least + k * step, _short_number(least + k * step)) for k in range(count + 1)]
    return least, most or 1.0, ticks


def _short_number(value: float) -> str:
    if abs(value) >= 1e12:
        return f"{value:.0e}".replace("e+", "e")
    for size, word in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if word == 'k' else size):g}{word}"
    return f"{value:.6g}"


def _legend(
    words: Sequence[str], shapes: Sequence[str], colours: Sequence[int] = ()
) -> tuple[str, float]:
    """Marks and words in lines, and where they end."""
    parts, x, y = [], 14.0, 16.0
    for i, word in enumerate(words):
        width = 20 + LETTER * len(word)
        if x + width > WIDTH - 14:
            x, y = 14.0, y + LEGEND
        if shapes:
            parts.append(_mark(x + 4, y - 4, i, word))
        else:
            parts.append(
                f'<rect x="{x}" y="{y - 9}" width="10" height="10" class="c{colours[i]}"/>'
            )
        parts.append(_text(x + 14, y, word))
        x += width + 12
    return "".join(parts), y + 12


def _mark(x: float, y: float, place: int, title: str) -> str:
    shape, colour = SHAPES[place % len(SHAPES)], place % 6
    return (
        f'<path d="{shape}" transform="translate({x:.1f} {y:.1f})" class="c{colour}" '
        f'fill-opacity="0.85"><title>{escape(title)}</title></path>'
    )


def _line(x0: float, y0: float, x1: float, y1: float) -> str:
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="grid"/>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _picture(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" role="img" aria-label="{escape(title)}"><style>{STYLE}</style>'
        f'<rect width="{WIDTH}" height="{height:.0f}" class="card"/>{"".join(parts)}</svg>\n'
    )
