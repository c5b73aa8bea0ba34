"""Rows of an address map that are all made in advance: those in a window, or the largest."""

from __future__ import annotations

from collections.abc import Iterable

from app.kinds.map_rows import MOST, Row


class Strips:
    """Rows of a map, as `map_rows.MapRows` has those of whole tensors."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)

    def count(self, start: float, stop: float) -> int:
        """How many there are in a window of steps."""
        return len(self.rows(start, stop))

    @property
    def densest(self) -> int:
        """As for other maps: what can be distinguished when one zooms in."""
        return 0

    def rows(self, start: float, stop: float) -> list[Row]:
        """Those in a window."""
        return [row for row in self._rows if row["left"] < stop and row["right"] > start]

    @property
    def bundles(self) -> list[Row]:
        """The largest, where there are too many."""

        def area(row: Row) -> float:
            return float((row["right"] - row["left"]) * (row["top"] - row["bottom"]))

        return sorted(self._rows, key=area, reverse=True)[:MOST]
