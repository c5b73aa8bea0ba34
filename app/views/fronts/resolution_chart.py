"""Delay and ring memory against the resolution of the input, pipeline by pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    Label,
    Range1d,
)
from bokeh.plotting import figure

from app.model.units import seconds_text
from app.widgets.axes import FORMAT_ADDRESS, FORMAT_SECONDS, KIB_TICKS
from app.widgets.palette import Theme, dress, tooltip
from planners.core.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION
from planners.core.units import format_bytes

LINES = ("xs", "ys", "colour")
DASHES = ("solid", "dashed")
LOOKS: dict[str, tuple[str, str, str]] = {
    "pre": (GREY, "circle", "dashed"),
    "seq": (VERMILLION, "inverted_triangle", "solid"),
    "sync": (PURPLE, "triangle", "solid"),
    "async": (ORANGE, "square", "solid"),
    "async-md": (ORANGE, "diamond", "dashed"),
    "2s": (SKY, "circle", "solid"),
    "2s-md": (BLUE, "x", "dashed"),
    "exact": (GREEN, "star", "solid"),
}
FIELDS = {"delay": "delay_s", "memory": "rings_bytes"}
EMPTY = "a point for each pipeline and resolution appears here"
COLUMNS = ("x", "y", "colour", "marker", "name", "delay", "memory", "where")


class ResolutionChart:
    """A figure that fills in while the resolutions are swept."""

    def __init__(self, theme: Theme) -> None:
        self.source = ColumnDataSource({name: [] for name in COLUMNS})
        self.lines = {dash: ColumnDataSource({n: [] for n in LINES}) for dash in DASHES}
        self.x_range, self.y_range = Range1d(200, 640), Range1d(0, 1)
        self.figure = self._figure(theme)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=214,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="reset,save",
            x_axis_label="resolution of the input",
            y_axis_label="delay",
            css_classes=["resolutions"],
        )
        dress(plot, theme)
        plot.title.visible = plot.axis.visible = False  # until there is something to see
        plot.outline_line_color, plot.outline_line_dash = theme.grid, "dashed"
        self.empty = Label(x=420, y=0.5, text=EMPTY, text_color=theme.faint, text_align="center")
        self.empty.text_font_size = "11.5px"
        plot.add_layout(self.empty)
        self.ticker = FixedTicker(ticks=[])
        plot.xaxis.ticker = self.ticker
        plot.xaxis.formatter = CustomJSTickFormatter(code="return tick + '²'")
        self.second_ticker = AdaptiveTicker(desired_num_ticks=4)
        self.byte_ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=4)
        self.second_format = CustomJSTickFormatter(
            code=FORMAT_SECONDS, args={"range": self.y_range}
        )
        self.byte_format = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        self.byte_format.args = {"unit": self.byte_format}
        plot.yaxis.formatter, plot.yaxis.ticker = self.second_format, self.second_ticker
        for dash, source in self.lines.items():
            plot.multi_line(
                "xs", "ys", source=source, line_color="colour", line_dash=dash, line_width=1.6
            )
        dots = plot.scatter(
            "x", "y", source=self.source, marker="marker", size=8, fill_color="colour",
            line_color="colour", legend_field="name",
        )  # fmt: skip
        legend = plot.legend[0]
        plot.add_layout(legend, "right")
        legend.update(
            label_text_font_size="10px",
            label_text_color=theme.text,
            background_fill_color=theme.panel,
            border_line_color=None,
            spacing=0,
            padding=2,
            margin=0,
        )
        lines = ("@delay", "@memory of rings")
        plot.add_tools(HoverTool(renderers=[dots], tooltips=tooltip("@name at @where", *lines)))
        return plot

    def show(self, points: Sequence[dict[str, Any]], weighed: str) -> None:
        """Draw all points so far."""
        plot, value = self.figure, FIELDS[weighed]
        self.source.data = point_columns(points, value)
        for dash, source in self.lines.items():
            source.data = line_columns(points, value, dash)
        of_bytes = weighed == "memory"
        plot.yaxis.axis_label = "bytes of rings" if of_bytes else "delay"
        plot.yaxis.formatter = self.byte_format if of_bytes else self.second_format
        plot.yaxis.ticker = self.byte_ticker if of_bytes else self.second_ticker
        self.ticker.ticks = sorted({p["resolution"] for p in points})
        plot.axis.visible, self.empty.visible = bool(points), not points
        if not points:
            self.x_range.update(start=200, end=640)
            self.y_range.update(start=0, end=1)
        else:
            most = max(p[value] for p in points)
            low, high = min(self.ticker.ticks), max(self.ticker.ticks)
            margin = (high - low) * 0.06 or 16
            self.x_range.update(start=low - margin, end=high + margin)
            self.y_range.update(start=0, end=most * 1.08)


def point_columns(points: Sequence[dict[str, Any]], value: str) -> dict[str, list[Any]]:
    """A row for each resolution and pipeline."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for p in points:
        colour, marker, _ = LOOKS[p["pipeline"]]
        where = f"{p['resolution']} × {p['resolution']}"
        words = (p["pipeline"], seconds_text(p["delay_s"]), format_bytes(p["rings_bytes"]), where)
        row = (p["resolution"], p[value], colour, marker, *words)
        for name, item in zip(COLUMNS, row, strict=True):
            columns[name].append(item)
    return columns


def line_columns(points: Sequence[dict[str, Any]], value: str, dash: str) -> dict[str, list[Any]]:
    """A line for each pipeline that is drawn with that dash."""
    columns: dict[str, list[Any]] = {name: [] for name in LINES}
    for name in dict.fromkeys(p["pipeline"] for p in points):
        if LOOKS[name][2] != dash:
            continue
        of_pipeline = sorted((p["resolution"], p[value]) for p in points if p["pipeline"] == name)
        row = ([x for x, _ in of_pipeline], [y for _, y in of_pipeline], LOOKS[name][0])
        for column, item in zip(columns, row, strict=True):
            columns[column].append(item)
    return columns
