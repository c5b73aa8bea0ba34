"""The whole of a large graph in small, under the graph, and the window of it that is in sight.

A click or a drag moves the window; by keyboard the window follows the cursor.
"""

from __future__ import annotations

from typing import Any

from bokeh.events import Pan, PanStart, Tap
from bokeh.models import BoxAnnotation, ColumnDataSource, CustomJS, Range1d
from bokeh.plotting import figure

from app.model.paths import script
from app.widgets.glyphs import put
from app.widgets.palette import Theme, dress

HIGH = 54  # pixels
ABOUT = "The whole graph: click or drag to move the view above."
FOLLOW = """
window_.setv({ left: seen.start, right: seen.end, top: up.end, bottom: up.start });
here.setv({ left: ring.left, right: ring.right });
"""
MOVE = script("overview_move")


class Overview:
    """Not there while the whole graph can be read at once; it draws the sources of the graph."""

    def __init__(
        self,
        theme: Theme,
        ranges: tuple[Range1d, Range1d],
        nodes: ColumnDataSource,
        chosen: ColumnDataSource,
        ring: BoxAnnotation,
    ) -> None:
        self.x_range, self.y_range = Range1d(0, 1), Range1d(1, 0)
        self.wanted = self.ever = False  # now, and since it was made
        look: dict[str, Any] = {"level": "overlay", "syncable": False, "propagate_hover": True}
        self.here = BoxAnnotation(
            fill_color=None, line_color=theme.cursor, line_width=2, left=0, right=0, **look
        )
        self.window = BoxAnnotation(
            fill_color=theme.text, fill_alpha=0.12, line_color=theme.text, line_width=1.5,
            border_radius=3, left=0, right=1, top=0, bottom=1, **look,
        )  # fmt: skip
        self.figure = self._figure(theme, nodes, chosen)
        args = {"window_": self.window, "here": self.here, "ring": ring}
        args |= dict(zip(("seen", "up"), ranges, strict=True))
        follow = CustomJS(args=args, code=FOLLOW)
        for around in ranges:
            around.js_on_change("start", follow)
            around.js_on_change("end", follow)
        ring.js_on_change("left", follow)
        self.figure.js_on_change("inner_width", follow)
        args |= {"all": self.x_range, "all_up": self.y_range}
        for event in (Tap, PanStart, Pan):
            self.figure.js_on_event(event, CustomJS(args=args, code=MOVE))

    def _figure(self, theme: Theme, nodes: ColumnDataSource, chosen: ColumnDataSource) -> figure:
        plot = figure(
            height=HIGH,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="",
            toolbar_location=None,
            css_classes=["dag-overview"],
        )
        dress(plot, theme)
        plot.axis.visible = False
        plot.grid.visible = False
        plot.outline_line_color = theme.grid
        plot.html_attributes = {"role": "img", "aria-label": ABOUT, "title": ABOUT}
        size = {"x": "x", "y": "y", "width": "w", "height": "h"}
        put(plot, "rect", **size, source=nodes, fill_color="fill", line_color="fill", line_width=2)
        put(
            plot, "rect", **size, source=chosen, beside=nodes, fill_color=theme.text,
            line_color=theme.text, line_width=3,
        )  # fmt: skip
        for mark in (self.window, self.here):
            plot.add_layout(mark)
        return plot

    def show(self, columns: int, rows: tuple[float, float], *, large: bool) -> None:
        """Frame a graph of so many columns, from its top to its bottom row, if it is large."""
        self.wanted = large
        self.ever = self.ever or self.wanted
        self.x_range.update(start=-0.6, end=columns - 0.4)
        self.y_range.update(start=rows[1], end=rows[0])
