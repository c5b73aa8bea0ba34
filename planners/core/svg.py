"""Parts of a drawing in SVG: axes, hatched rectangles, legends. Nothing is fetched, all is escaped.

Hatches are patterns with their colour, so that a rectangle is one element. Hover texts are
`<title>` elements: browsers show them without a script, `assets/still.js` shows them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from planners.core.colours import ink_on
from planners.core.units import format_bytes

WIDTH, LEFT, RIGHT = 960, 84, 10
HATCH = 7
LINES = {
    "dot": '<circle cx="2" cy="2" r="1"/><circle cx="5.5" cy="5.5" r="1"/>',
    "right_diagonal_line": '<path d="M-1 1l2-2M0 7L7 0M6 8l2-2"/>',
    "left_diagonal_line": '<path d="M-1 6l2 2M0 0l7 7M6-1l2 2"/>',
    "horizontal_line": '<path d="M0 3.5h7"/>',
    "vertical_line": '<path d="M3.5 0v7"/>',
    "diagonal_cross": '<path d="M0 0l7 7M0 7L7 0"/>',
}


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values `[low, high]` to pixels `[start, stop]`."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        return self.start + (value - self.low) / span * (self.stop - self.start)


class Paints:
    """Fills of one drawing: a colour, or a pattern of its own for each colour with a hatch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._made: dict[tuple[str, str], str] = {}

    def fill(self, colour: str, hatch: str = " ") -> str:
        """The fill for a colour and a hatch."""
        if hatch not in LINES:
            return colour
        number = len(self._made)
        return f"url(#{self._made.setdefault((colour, hatch), f'{self.name}-{number}')})"

    @property
    def definitions(self) -> str:
        """The patterns that are used."""
        patterns = "".join(
            f'<pattern id="{name}" width="{HATCH}" height="{HATCH}" '
            f'patternUnits="userSpaceOnUse"><rect width="{HATCH}" height="{HATCH}" '
            f'fill="{colour}"/><g class="sw-hatch">{LINES[hatch]}</g></pattern>'
            for (colour, hatch), name in self._made.items()
        )
        hidden = f'<svg width="0" height="0" class="sw-defs"><defs>{patterns}</defs></svg>'
        return hidden if patterns else ""


def drawing(
    size: tuple[float, float], label: str, *parts: str, kind: str = "", **more: object
) -> str:
    """A drawing as wide as its container, with a label for screen readers."""
    width, height = size
    return (
        f'<svg class="sw-fig {kind}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}"{attributes(more)}>{"".join(parts)}</svg>'
    )


def attributes(found: Mapping[str, object]) -> str:
    """Attributes of an element, `_` in their names for `-`."""
    return "".join(f' {k.replace("_", "-")}="{escape(str(v))}"' for k, v in found.items())


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    title: str = "",
    kind: str = "",
    **data: object,
) -> str:
    """A rectangle of a kind, with more attributes."""
    more = attributes({"class": kind, **data} if kind else data)
    where = f'x="{x:.4g}" y="{y:.4g}" width="{max(width, 0.5):.4g}" height="{max(height, 0.5):.4g}"'
    inside = f"><title>{escape(title)}</title></rect>" if title else "/>"
    return f"<rect {where}{more}{inside}"


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    at = f'x="{x:.4g}" y="{y:.4g}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
    return f'<text {at} class="{kind}">{escape(words)}</text>'


def line(x0: float, y0: float, x1: float, y1: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x0:.4g}" y1="{y0:.4g}" x2="{x1:.4g}" y2="{y1:.4g}" class="{kind}"/>'


def fitting(words: str, room: float, letter: float = 5.8) -> str:
    """As much of a name as fits: its end, which distinguishes names."""
    letters = int((room - 4) / letter)
    if len(words) <= letters:
        return words
    return "" if letters < 4 else "…" + words[1 - letters :]


def on(colour: str) -> str:
    """The CSS class of words on a colour."""
    return "sw-white" if ink_on(colour) == "#ffffff" else "sw-ink"


def byte_axis(scale: Scale, right: float, ticks: int = 5) -> str:
    """Lines across and sizes beside them, in steps of a power of two."""
    step = 1
    while scale.high / step > ticks:
        step *= 2
    parts = []
    for value in range(0, int(scale.high) + 1, step):
        y = scale(value)
        parts.append(line(LEFT, y, right, y, "sw-grid"))
        parts.append(text(LEFT - 6, y + 3.5, format_bytes(value), "sw-tick", "end"))
    return "".join(parts)


def number_axis(scale: Scale, y: float, name: str, *, whole: bool = True) -> str:
    """Numbers under a drawing: steps counted from one, each in the middle of its step."""
    step = even_step(scale.high - scale.low, 12)
    if whole:
        step = max(1.0, step)
    values = [v * step for v in range(int(scale.high / step) + 1)]
    parts = [
        text(scale(v + 0.5), y + 13, f"{v + 1:.0f}", "sw-tick", "middle")
        for v in (([0.0] if values and step > 1 else []) + [v - (step > 1) for v in values])
        if 0 <= v < scale.high
    ]
    parts = list(dict.fromkeys(parts))
    return "".join(parts) + text(LEFT - 6, y + 13, name, "sw-tick", "end")


def even_step(span: float, most: int) -> float:
    """The step of 1, 2 or 5 times a power of ten that divides a span into at most so many."""
    if span <= 0:
        return 1.0
    rough = span / most
    power = 10.0 ** int(log10(rough) - (rough < 1))
    return next(power * k for k in (1, 2, 5, 10, 20) if span / (power * k) <= most)


def legend(paints: Paints, looks: Mapping[str, tuple[str, str, str]], used: Iterable[str]) -> str:
    """A chip and a word for each look that occurs, its meaning in the hover."""
    seen = set(used)
    items = []
    for name, (colour, hatch, about) in looks.items():
        if name in seen:
            chip = box(0, 0, 15, 11, fill=paints.fill(colour, hatch), rx=2)
            items.append(f'<span title="{escape(about)}"><svg class="sw-chip" viewBox="0 0 15 11">')
            items.append(f"{chip}</svg>{escape(name)}</span>")
    return f'<div class="sw-legend">{"".join(items)}</div>'


def rows_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is words and the others numbers."""
    top = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<table class="sw-table"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def folded(summary: str, inside: str) -> str:
    """A section that opens at a tap."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"
