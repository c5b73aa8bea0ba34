"""How two plans differ, drawn over the address map: an outline for each kind of difference."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from app.display.compare import (
    ONLY_THERE,
    Columns,
    comparable,
    compared_residencies,
)
from app.display.displayed_plan import DisplayedPlan
from app.widgets.glyphs import put
from app.widgets.legends import OUTLINES
from app.widgets.palette import Theme
from planners.core.colours import PURPLE

MANY, MOST = 120, 2500
"""The number of outlines from which on they are thinner, because rectangles are small then."""

SIDES = ("left", "right", "bottom", "top")


class Outlines:
    """One layer of the address map per kind of difference, distinguished by dash, width and
    filling."""

    def __init__(self, plot: figure, theme: Theme) -> None:
        self.lines = {kind: ColumnDataSource({"xs": [], "ys": []}) for kind in OUTLINES}
        self.layers = {}
        self.gone = ColumnDataSource({side: [] for side in SIDES})
        put(
            plot,
            "quad",
            **{side: side for side in SIDES},
            source=self.gone,
            fill_color=PURPLE,
            fill_alpha=0.15,
            line_color=None,
        )
        for kind, (width, dash, _) in OUTLINES.items():
            # Lines, because WebGL draws the edges of rectangles without their dashes.
            self.layers[kind] = put(
                plot,
                "multi_line",
                "xs",
                "ys",
                source=self.lines[kind],
                line_color=PURPLE if kind == ONLY_THERE else theme.text,
                line_width=width,
                line_dash=dash,
            )

    @property
    def sources(self) -> list[ColumnDataSource]:
        """What its layers draw."""
        return [*self.lines.values(), self.gone]

    def show(
        self, here: DisplayedPlan, there: DisplayedPlan | None, memory: str, by: str = "operator"
    ) -> None:
        """Outline what differs from the pinned plan; nothing without one of the same graph."""
        data = outline_columns(here, there, memory, by)
        self.gone.data = data[ONLY_THERE]
        count = sum(len(columns["left"]) for columns in data.values())
        thinner = 1 if count <= MANY else 2 if count <= 3 * MANY else 5
        for kind, source in self.lines.items():
            self.layers[kind].look(line_width=OUTLINES[kind][0] / thinner)
            corners = list(zip(*(data[kind][side] for side in SIDES), strict=True))
            source.data = {
                "xs": [[left, right, right, left, left] for left, right, _, _ in corners],
                "ys": [[low, low, high, high, low] for _, _, low, high in corners],
            }


def outline_columns(
    here: DisplayedPlan, there: DisplayedPlan | None, memory: str, by: str = "operator"
) -> dict[str, dict[str, list[float]]]:
    """Rectangles of each kind of difference."""
    data: dict[str, dict[str, list[float]]] = {k: {s: [] for s in SIDES} for k in OUTLINES}
    if there is None or not comparable(here, there):
        return data
    both = compared_residencies(here, there, by)
    rows: list[tuple[Any, str, Columns]] = [
        (residency, kind, here.columns(residency))
        for residency, kind in both.kinds
        if kind in data and residency.memory == memory
    ]
    rows += [
        (residency, ONLY_THERE, at)
        for residency, at in both.only_there
        if residency.memory == memory
    ]
    if len(rows) > MOST:  # more could not be distinguished, and take the browser seconds
        rows = sorted(rows, key=lambda row: (row[2][0] - row[2][1]) * row[0].size_bytes)[:MOST]
    for residency, kind, (left, right) in rows:
        for span in residency.spans:
            for side, value in zip(SIDES, (left, right, span.start, span.stop), strict=True):
                data[kind][side].append(value)
    return data
