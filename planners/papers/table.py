"""Rows of a comparison as Markdown tables, and how numbers are written in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

Row = dict[str, Any]
Item = TypeVar("Item")


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1, *, tight: bool = False
) -> str:
    """A Markdown table, so many columns of texts first, then numbers to the right.

    `tight`: the line under the head has no blanks.
    """
    ruler = ["---"] * texts + ["--:"] * (len(head) - texts)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, ruler, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    if tight:
        lines[1] = lines[1].replace(" ", "")
    return "\n".join(lines)


def some_of(points: Sequence[Item], most: int) -> list[Item]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def from_to(values: Sequence[float], text: str = "{:.1%}") -> str:
    """The least and the most of some values; one where they are written alike."""
    return " to ".join(dict.fromkeys(text.format(end) for end in (min(values), max(values))))


def share_saved(ours: float | None, other: float | None) -> float | None:
    """The share of the other's bytes that ours saves; None where either is not there."""
    return None if ours is None or not other else 1 - ours / other
