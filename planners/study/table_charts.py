"""Pictures of tables in SVG: dots on one axis, coloured tiles, or curves of steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from planners.core.svg import Scale, box, drawing, even_step, line, text

NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
POINT = re.compile(r"([\d.]+): ([-+]?[\d.]+)")
WIDTH, ROW, LETTER, LEGEND, EDGE = 760, 16, 6.7, 18, 24
# On a card of its own, so that it is readable on any page; it follows the reader's system.
LIGHT = ("#0072B2", "#D55E00", "#009E73", "#B4578F", "#9A6A00", "#5B6670", "#B8C0C8")
DARK = ("#56B4E9", "#FF9A57", "#37D1A3", "#E6A5CB", "#F0C24B", "#A9B4BF", "#4A545E")
SHAPES = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0",  # a circle
    "M-3.5-3.5H3.5V3.5H-3.5Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M0-4.5L4.5 3.5H-4.5Z",
    "M0 4.5L4.5-3.5H-4.5Z",
    "M-1.3-4.5H1.3V-1.3H4.5V1.3H1.3V4.5H-1.3V1.3H-4.5V-1.3H-1.3Z",
)
NONE, PLAIN = "none", "plain"


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


@dataclass(frozen=True, slots=True)
class TableForm:
    """How a table is drawn, as a line `NAME: LABELS | COLUMNS | WORDS` says it.

    `NAME` is that of its files, `LABELS` are the columns that say what a row is, `COLUMNS` those
    that are drawn. `WORDS`, with semicolons between all, are the unit and how it is drawn: `log`
    (axis), `tiles` (coloured, for texts), `curves` (of cells that list points `x: y`); or `plain`:
    no picture, but `rows=3` rows on the page, evenly spread, of those with the text `only=TEXT`.
    """

    name: str
    labels: Sequence[str]
    columns: Sequence[str]
    words: Sequence[str]

    @classmethod
    def parse(cls, description: str) -> TableForm:
        name, _, more = description.partition(": ")
        labels, columns, words = ([w.strip() for w in part.split(";")] for part in more.split("|"))
        return cls(name, labels, columns, words)

    @property
    def kind(self) -> str:
        return next((word for word in self.words if word in (*PICTURES, PLAIN)), "dots")

    @property
    def logarithmic(self) -> bool:
        return "log" in self.words

    @property
    def unit(self) -> str:
        return ", ".join(w for w in self.words if w not in (self.kind, "log") and "=" not in w)

    @property
    def options(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self.words if "=" in word)


@dataclass(frozen=True, slots=True)
class Chart:
    """Rows of texts under their heads, drawn in a form. Columns that there are not are left out."""

    form: TableForm
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def columns(self) -> list[str]:
        return [name for name in self.form.columns if name in self.head]

    @property
    def row_labels(self) -> list[str]:
        return [" ".join(cells) for cells in zip(*map(self.cells, self.form.labels), strict=True)]

    def cells(self, column: str) -> list[str]:
        place = self.head.index(column)
        return [f"{int(c):,}" if c.isdecimal() else c for c in (row[place] for row in self.rows)]

    @property
    def about(self) -> str:
        """What the picture shows, in words."""
        axis = ", on a logarithmic axis" if self.form.logarithmic else ""
        columns, each = ", ".join(self.columns), " and ".join(self.form.labels)
        return f"{self.form.unit}: {columns}, for each {each}{axis}"

    def svg(self) -> str:
        """The picture; empty where the form has none, or no column is there to be drawn."""
        if self.form.kind == PLAIN or not self.columns:
            return ""
        height, parts = PICTURES[self.form.kind](self)
        style, card = f"<style>{STYLE}</style>", box(0, 0, WIDTH, height, kind="card")
        more = {"xmlns": "http://www.w3.org/2000/svg", "width": str(WIDTH)}
        return drawing((WIDTH, height), self.about, style, card, *parts, **more) + "\n"


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """Where values are along an axis, in pixels, and its ticks with their words."""

    scale: Scale
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool

    def __call__(self, value: float) -> float:
        if not self.logarithmic:
            return self.scale(value)
        return self.scale(max(log10(value), self.scale.low) if value > 0 else self.scale.low)


def axis(values: Sequence[float], logarithmic: bool, start: float, stop: float) -> ChartAxis:
    """An axis for these values; of a logarithmic one 0 and less are at its low end."""
    if logarithmic:
        logs = [log10(value) for value in values if value > 0] or [0.0]
        first, last = floor(min(logs)), max(ceil(max(logs)), floor(min(logs)) + 1)
        places = [10.0**k for k in range(first, last + 1, ceil((last - first) / 8))]
        if len(places) < 4:
            places += [f * 10.0**k for k in range(first, last) for f in (2, 5)]
        zero = min(values, default=1) <= 0
        places += [0.0] * zero
        low, high = float(first - zero), float(last)
    else:
        least, most = min([0.0, *values]), max([0.0, *values]) or 1.0
        step = even_step(most - least, 8)
        places = [k * step for k in range(floor(least / step), ceil(most / step) + 1)]
        low, high = places[0], places[-1]
    ticks = [(value, _short(value)) for value in places]
    return ChartAxis(Scale(low, high, start, stop), ticks, logarithmic)


def _short(value: float) -> str:
    if abs(value) >= 1e12:
        return f"{value:.0e}".replace("e+", "e")
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:g}{letter}"
    return f"{value:.6g}"


def number(cell: str) -> float | None:
    """The first number of a cell, where there is one."""
    found = NUMBER.search(cell)
    return float(found[0].replace(",", "").replace("−", "-")) if found else None


Drawn = tuple[float, list[str]]  # the height of a picture, and its parts


def dots(chart: Chart) -> Drawn:
    """A line for each row of the table and a mark on it for each column, on one axis."""
    labels, columns = chart.row_labels, {name: chart.cells(name) for name in chart.columns}
    values = {name: [number(cell) for cell in cells] for name, cells in columns.items()}
    every = [v for column in values.values() for v in column if v is not None]
    left = 14 + LETTER * max(map(len, labels), default=0)
    across = axis(every, chart.form.logarithmic, left, WIDTH - EDGE)
    parts, top = _legend(chart.columns, range(len(chart.columns)), _mark)
    bottom = top + ROW * len(labels) + 8
    parts += _upright(across, top - 2, bottom)
    middle = (len(chart.columns) - 1) / 2  # marks of one value do not cover each other
    for i, label in enumerate(labels):
        y = top + ROW * (i + 0.5) + 4
        parts += [line(left, y, WIDTH - EDGE, y, "grid"), text(left - 6, y + 4, label, "", "end")]
        for j, (name, cells) in enumerate(columns.items()):
            if (value := values[name][i]) is not None:
                place = across(value), y + 1.8 * (j - middle)
                parts.append(_mark(*place, j, f"{label}, {name}: {cells[i]}"))
    return bottom + 36, [*parts, text(WIDTH - EDGE, bottom + 28, chart.form.unit, "", "end")]


def tiles(chart: Chart) -> Drawn:
    """A column for each row of the table, a tile in it for each column, coloured by its words."""
    cells = {name: [_first_words(cell) for cell in chart.cells(name)] for name in chart.columns}
    counted = Counter(words for column in cells.values() for words in column)
    order = sorted(counted, key=lambda words: (words == NONE, -counted[words], words))
    colours = {words: 6 if words == NONE else min(i, 5) for i, words in enumerate(order)}
    left = 14 + LETTER * max(map(len, chart.columns))
    width = (WIDTH - left - 14) / max(1, len(chart.rows))
    parts, top = _legend(order, colours.values(), _tile)
    labels = chart.row_labels
    for j, (name, column) in enumerate(cells.items()):
        y = top + 26 * j
        parts.append(text(left - 6, y + 15, name, "", "end"))
        for i, (label, words) in enumerate(zip(labels, column, strict=True)):
            kind, title = f"c{colours[words]}", f"{label}, {name}: {words}"
            parts.append(box(left + i * width, y, max(width - 0.4, 0.6), 22, title, kind))
    bottom = top + 26 * len(chart.columns)
    names = f"{chart.form.unit}: {len(labels)} rows, from {labels[0]} on"
    return bottom + 20, [*parts, text(WIDTH - 14, bottom + 12, names, "", "end")]


def curves(chart: Chart) -> Drawn:
    """A line of steps for each row: its cell lists points, `x: y`, by rising `x`.

    What differs in the last of the columns that say what a row is has a colour each.
    """
    points = [
        [(float(x), float(y)) for x, y in POINT.findall(cell)]
        for cell in chart.cells(chart.columns[0])
    ]
    kinds = chart.cells(chart.form.labels[-1])
    places = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    parts, top = _legend(list(places), places.values(), _mark)
    bottom, left, right = top + 300, 44.0, WIDTH - EDGE
    across = axis([x for row in points for x, _ in row], chart.form.logarithmic, left, right)
    upwards = axis([y for row in points for _, y in row], False, bottom, top + 10)
    parts += _upright(across, top, bottom)
    for value, words in upwards.ticks:
        y = upwards(value)
        parts += [line(left, y, right, y, "grid"), text(left - 6, y + 4, words, "", "end")]
    for row, label, kind in zip(points, chart.row_labels, kinds, strict=True):
        steps = [(f"{across(x):.1f}", f"{upwards(y):.1f}") for x, y in row]
        path = "".join(f"H{x}V{y}" if i else f"M{x} {y}" for i, (x, y) in enumerate(steps))
        title = f"<title>{escape(label)}</title>"
        parts.append(f'<path d="{path}" class="s{places[kind] % 6}">{title}</path>')
        if row:
            x, y = across(row[0][0]), upwards(row[0][1])
            parts.append(_mark(x, y, places[kind], label))
            if not places[kind]:
                parts.append(text(x + 7, y - 4, label.split(" ")[0]))
    return bottom + 36, [*parts, text(right, bottom + 28, chart.form.unit, "", "end")]


PICTURES: Mapping[str, Callable[[Chart], Drawn]] = {"dots": dots, "tiles": tiles, "curves": curves}


def _first_words(cell: str) -> str:
    """What a cell is coloured by: its words before a number or a bracket."""
    found = re.match(r"[^\d(]+", cell)
    words = (found[0] if found else "").strip()
    return words if words not in ("", "–") else NONE


def _upright(across: ChartAxis, top: float, bottom: float) -> list[str]:
    """An axis's lines from top to bottom, and what is written under them."""
    return [
        part
        for value, words in across.ticks
        for x in [across(value)]
        for part in (line(x, top, x, bottom, "grid"), text(x, bottom + 13, words, "", "middle"))
    ]


def _legend(
    words: Sequence[str], colours: Iterable[int], sign: Callable[..., str]
) -> tuple[list[str], float]:
    """Signs and words in lines, and where they end."""
    parts, x, y = [], 14.0, 16.0
    for each, colour in zip(words, colours, strict=True):
        width = 20 + LETTER * len(each)
        if x + width > WIDTH - 14:
            x, y = 14.0, y + LEGEND
        parts += [sign(x + 4, y - 4, colour, each), text(x + 14, y, each)]
        x += width + 12
    return parts, y + 12


def _mark(x: float, y: float, place: int, title: str) -> str:
    shape, kind = SHAPES[place % len(SHAPES)], f"c{place % 6}"
    return (
        f'<path d="{shape}" transform="translate({x:.1f} {y:.1f})" class="{kind}" '
        f'fill-opacity="0.85"><title>{escape(title)}</title></path>'
    )


def _tile(x: float, y: float, colour: int, title: str) -> str:
    return box(x - 4, y - 5, 10, 10, title, f"c{colour}")
