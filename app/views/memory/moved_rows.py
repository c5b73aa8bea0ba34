"""What an address map draws, moved from steps onto other places of its axis."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import cached_property
from typing import Any

from bokeh.models import ColumnDataSource

from app.display.aligning import Warp
from app.display.detail import Boxes
from app.kinds.map_rows import Row
from app.kinds.visible_rows import Pieces

PLACES = ("left", "right", "x")


class MovedRows:
    """The rows of an address map, moved onto other places."""

    def __init__(self, there: Pieces, moved: Warp) -> None:
        self.there, self.moved = there, moved
        self.bundled, self.densest, self.looks = there.bundled, there.densest, there.looks
        self.strips = there.strips

    def count(self, start: float, stop: float) -> int:
        """How many pieces there are in a window."""
        return self.there.count(self.moved.back(start), self.moved.back(stop))

    def rows(self, start: float, stop: float) -> list[Row]:
        """The pieces in a window."""
        back = self.moved.back
        return [self._row(row) for row in self.there.rows(back(start), back(stop))]

    @property
    def bundles(self) -> list[Row]:
        """The bundles that stand for too many pieces."""
        return [self._row(row) for row in self.there.bundles]

    @cached_property
    def boxes(self) -> Boxes:
        """All rectangles as columns."""
        boxes = self.there.boxes
        left, right = self.moved.every(boxes.left), self.moved.every(boxes.right)
        return replace(boxes, left=left, right=right)

    def row(self, box: int) -> Row:
        """The row of a rectangle."""
        return self._row(self.there.row(box))

    def of_tensors(self, names: Container[str]) -> list[int]:
        """The rectangles of some tensors."""
        return self.there.of_tensors(names)

    def placed(self, row: Row) -> Row:
        """A row that stands for several, given by the steps of the axis, with its own."""
        steps = {"begin": self.moved.back(row["left"]), "end": self.moved.back(row["right"])}
        return {**row, **steps}

    def _row(self, row: Row) -> Row:
        left, right = self.moved(row["left"]), self.moved(row["right"])
        steps = {"begin": row["left"], "end": row["right"]}
        return {**row, **steps, "left": left, "right": right, "label_x": (left + right) / 2}


def move_columns(source: ColumnDataSource, moved: Warp) -> None:
    """Move all columns of a source that hold steps."""
    data: dict[str, Any] = dict(source.data)
    for name in PLACES:
        if name in data:
            data[name] = [moved(place) for place in data[name]]
    if "xs" in data:
        data["xs"] = [[moved(place) for place in line] for line in data["xs"]]
    source.data = data
