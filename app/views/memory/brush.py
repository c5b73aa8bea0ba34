"""The brush under a long plan's address map: the bytes held in all steps, and a window over them.

The window is what the address map has in sight; a drag over the brush draws another.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from bokeh.models import ColumnDataSource, Range1d, RangeTool
from bokeh.plotting import figure

from app.display.aligning import Warp
from app.display.banks import held_in
from app.display.displayed_plan import DisplayedPlan
from app.widgets.axes import AXIS_WIDTH
from app.widgets.glyphs import put
from app.widgets.palette import Theme, dress

HIGH = 36  # pixels
LONG = 120
"""A plan of more steps has a brush: of fewer, each is wide enough to be read."""
MOST = 400
"""Places across: more are thinner than a pixel or two."""
ABOUT = "All steps: drag to choose those shown above, drag the window to move it."


class Brush:
    """Not there for short plans."""

    def __init__(self, theme: Theme, steps: Range1d) -> None:
        self.held = ColumnDataSource({"left": [], "right": [], "top": []})
        self.x_range, self.y_range = Range1d(0, 1), Range1d(0, 1)
        self.wanted = False
        self.tool = RangeTool(x_range=steps, start_gesture="pan")
        self.tool.overlay.update(
            fill_color=theme.accent, fill_alpha=0.15, line_color=theme.accent, line_width=1.5
        )
        self.figure = self._figure(theme)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=HIGH,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools=[self.tool],
            toolbar_location=None,
            css_classes=["map-brush"],
        )
        dress(plot, theme)
        plot.axis.visible = plot.grid.visible = False
        plot.outline_line_color = theme.grid
        plot.min_border_left = AXIS_WIDTH
        plot.html_attributes = {"role": "img", "aria-label": ABOUT, "title": ABOUT}
        put(
            plot,
            "quad",
            left="left",
            right="right",
            bottom=0,
            top="top",
            source=self.held,
            fill_color=theme.faint,
            fill_alpha=0.6,
            line_color=None,
        )
        return plot

    def show(self, shown: DisplayedPlan, axis: Warp, memory: str, end: float) -> None:
        """Draw the bytes that a plan holds in a memory, on an axis that ends there."""
        self.wanted = shown.steps > LONG
        if not self.wanted:
            return
        occupancy = held_in(shown, memory)
        starts = range(0, len(occupancy), ceil(len(occupancy) / MOST))
        most = highest_of(occupancy, starts)
        places = [axis(start) for start in (*starts, len(occupancy))]
        self.held.data = {"left": places[:-1], "right": places[1:], "top": most}
        self.x_range.update(start=0, end=end)
        self.y_range.update(start=0, end=max(most) * 1.1 or 1)


def highest_of(values: Sequence[int], starts: range) -> list[int]:
    """The highest of the values from each start to the next."""
    return [max(values[start : start + starts.step]) for start in starts]
