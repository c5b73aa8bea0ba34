"""Wishes marked on the address map: a badge on each rectangle of a tensor with a wish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from app.model.wishes import MARKS, kind_of, names_of
from app.widgets.wish_badge import badge


class MapWishes:
    """The layer of the address map: a badge in the corner of each rectangle with a wish."""

    def __init__(self, plot: figure) -> None:
        self.source = ColumnDataSource({name: [] for name in ("x", "y", "text")})
        self.wished: Mapping[str, str] = {}
        badge(
            plot,
            self.source,
            text_baseline="top",
            text_align="left",
            x_offset=2,
            y_offset=3,
            text_line_height=1.0,
        )

    def wish(self, wishes: Iterable[str]) -> None:
        """Mark the tensors of these wishes from now on."""
        self.wished = tensor_marks(wishes)

    def place(self, data: Mapping[str, Sequence[Any]]) -> None:
        """Mark rectangles that are drawn, given by columns."""
        hits = [i for i, name in enumerate(data["tensor"]) if name in self.wished]
        self.source.data = {
            "x": [float(data["left"][i]) for i in hits],
            "y": [float(data["top"][i]) for i in hits],
            "text": [self.wished[data["tensor"][i]] for i in hits],
        }


def tensor_marks(wishes: Iterable[str]) -> dict[str, str]:
    """By tensor, the mark of the wish about it."""
    kinds = ((kind_of(text), names_of(text)) for text in wishes)
    return {names[0]: MARKS[kind] for kind, names in kinds if kind in ("keep", "spill") and names}
