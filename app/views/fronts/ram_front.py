"""The front of RAM against recomputed work; a tap on a point plans with that budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTickFormatter,
    Range1d,
)
from bokeh.plotting import figure

from app.display.displayed_plan import DisplayedPlan
from app.model.staircase import staircase
from app.widgets.axes import FORMAT_ADDRESS, KIB_TICKS
from app.widgets.glyphs import put, tappable, tell
from app.widgets.palette import Theme, dress, tooltip
from app.widgets.taps import tapped_rows
from planners.core.colours import ORANGE
from planners.core.units import format_bytes

COLUMNS = ("x", "y", "ram", "extra", "binding", "bytes")
NAMED = 3
FORMAT_MACS = """
const M = range.end < 5e3 ? [1, ''] : range.end < 1e6 ? [1e3, 'k'] : [1e6, 'M'];
return (tick / M[0]).toLocaleString('en', {maximumFractionDigits: 1}) + (M[1] ? ' ' + M[1] : '');
"""


class RamFront:
    """A figure that is made once."""

    def __init__(self, theme: Theme, ask: Callable[[int], None]) -> None:
        self.ask = ask
        self.source = ColumnDataSource({name: [] for name in COLUMNS})
        self.steps = ColumnDataSource({"x": [], "y": []})
        self.here = ColumnDataSource({"x": [], "y": []})
        self.x_range, self.y_range = Range1d(0, 1), Range1d(0, 1)
        self.figure = self._figure(theme)
        self.source.selected.on_change("indices", self._tapped)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            width=270,
            height=252,
            x_range=self.x_range,
            y_range=self.y_range,
            tools="save",
            x_axis_label="RAM of the pool",
            y_axis_label="MACs repeated",
            css_classes=["ram-front"],
        )
        dress(plot, theme)
        plot.title.text = "What less RAM costs"
        plot.xaxis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=2)
        plot.yaxis.ticker = AdaptiveTicker(desired_num_ticks=4)
        formatter = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        formatter.args = {"unit": formatter}
        plot.xaxis.formatter = formatter
        plot.yaxis.formatter = CustomJSTickFormatter(code=FORMAT_MACS, args={"range": self.y_range})
        plot.axis.major_label_text_font_size = "10px"
        put(plot, "line", "x", "y", source=self.steps, line_color=ORANGE, line_width=1.6)
        put(plot, "scatter",
            "x", "y", source=self.here, size=19, fill_color=None, line_color=theme.text,
            line_width=2,
        )  # fmt: skip
        dots = put(plot, "scatter",
            "x", "y", source=self.source, size=10, marker="square", fill_color=ORANGE,
            line_color=theme.panel,
        )  # fmt: skip
        lines = ("@extra MACs repeated", "binds: @binding", "<i>tap to plan with it</i>")
        tell(plot, [dots], tooltip("@ram of RAM", *lines))
        tappable(plot, [dots])
        return plot

    def show(self, shown: DisplayedPlan) -> None:
        """Draw the front that the planner found, and mark the plan on screen."""
        if shown.pool is None:
            return
        self.source.data = front_columns(shown)
        data: dict[str, Any] = self.source.data
        size, extra = shown.pool.size_bytes, extra_macs(shown)
        self.here.data = {"x": [size], "y": [extra]}
        self.steps.data = staircase(zip(data["x"], data["y"], strict=True))
        low, high = min([*data["x"], size]), max([*data["x"], size])
        margin = (high - low) * 0.14 or high * 0.1
        self.x_range.update(start=max(0, low - margin), end=high + margin)
        most = max([*data["y"], extra]) or 1e6
        self.y_range.update(start=-0.1 * most, end=1.14 * most)

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        for row in tapped_rows(self.source, new):
            self.ask(self.source.data["bytes"][row])


def extra_macs(shown: DisplayedPlan) -> int:
    """The MACs that the plan on screen computes more than once."""
    return shown.report.macs - shown.graph.macs


def front_columns(shown: DisplayedPlan) -> dict[str, list[Any]]:
    """A row for each point of the front, that of least RAM first."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    pool = shown.plan.details.pool
    for point in sorted(pool.front if pool else (), key=lambda point: point.ram_bytes):
        ram, extra, names = point.ram_bytes, point.extra_macs, point.binding
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        row = (ram, extra, format_bytes(ram), f"{extra:,}", ", ".join(names[:NAMED]) + more, ram)
        for name, value in zip(COLUMNS, row, strict=True):
            columns[name].append(value)
    return columns
