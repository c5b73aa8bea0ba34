"""Rows of an address map that are all made in advance: those in a window, or some of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cached_property

import numpy as np

from app.display.detail import SIDES, Boxes
from app.kinds.map_rows import Row

LOOK = ("colour", "hatch", "stay")


class Strips:
    """Rows of a map, as `map_rows.MapRows` has those of whole tensors."""

    bundled = False
    strips = True
    bundles: Sequence[Row] = ()
    densest = 0

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)

    def count(self, start: float, stop: float) -> int:
        """How many there are in a window of steps."""
        return int(((self.boxes.left < stop) & (self.boxes.right > start)).sum())

    def rows(self, start: float, stop: float) -> list[Row]:
        """Those in a window."""
        return [row for row in self._rows if row["left"] < stop and row["right"] > start]

    @cached_property
    def boxes(self) -> Boxes:
        """All rectangles as columns, with the number of each one's look."""
        left, right, bottom, top = (
            np.array([row[side] for row in self._rows], float) for side in SIDES
        )
        number = {look: k for k, look in enumerate(self.looks)}
        kinds = [number[_look(row)] for row in self._rows]
        return Boxes(left, right, bottom, top, np.array(kinds, dtype=np.int64))

    @cached_property
    def looks(self) -> list[tuple[str, str, str]]:
        """The look of each number: colour, hatch and name."""
        return list(dict.fromkeys(map(_look, self._rows)))

    def row(self, box: int) -> Row:
        """The row of a rectangle."""
        return self._rows[box]

    def of_tensors(self, names: Container[str]) -> list[int]:
        """The rectangles of some tensors."""
        return [k for k, row in enumerate(self._rows) if row["tensor"] in names]

    def placed(self, row: Row) -> Row:
        """A row that stands for several, given by the steps of the axis: these are its own."""
        return row


def _look(row: Row) -> tuple[str, str, str]:
    colour, hatch, kind = (row[name] for name in LOOK)
    return colour, hatch, kind
