"""The Pareto plot: what more memory buys, in latency or in traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTickFormatter,
    HoverTool,
    Range1d,
    TapTool,
)
from bokeh.plotting import figure

from app.options import series
from app.shown import Shown
from app.views.address_map import FORMAT_ADDRESS, KIB_TICKS
from app.views.palette import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, Theme, dress, tooltip
from app.views.timeline import FORMAT_SECONDS
from app.views.units import seconds_text
from planners.overlap.options import OBJECTIVES as OVERLAP
from planners.units import format_bytes

LOOKS = (
    (BLUE, "circle"),
    (ORANGE, "square"),
    (GREEN, "triangle"),
    (PURPLE, "diamond"),
    (VERMILLION, "inverted_triangle"),
)
COLUMNS = ("x", "y", "colour", "marker", "alpha", "index", "series", "budget", "traffic", "time")
OF_MEMORY = ("peak", *OVERLAP)  # bounds on memory, not on traffic
FIELDS = {"latency": "makespan_s", "traffic": "traffic_bytes"}


class Pareto:
    """A figure that fills in while a sweep runs; a tap on a point loads its plan."""

    def __init__(self, theme: Theme, load: Callable[[int], None]) -> None:
        self.load = load
        self.source = ColumnDataSource({n: [] for n in (*COLUMNS, "proof")})
        self.steps = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        self.bound = ColumnDataSource({"x": [], "y": []})
        self.here = ColumnDataSource({"x": [], "y": []})
        self.x_range, self.y_range = Range1d(0, 1), Range1d(0, 1)
        self.figure = self._figure(theme)
        self.source.selected.on_change("indices", self._tapped)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=222,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="reset,save",
            x_axis_label="memory budget",
            css_classes=["pareto"],
        )
        dress(plot, theme)
        self._glyphs(plot, theme)
        plot.min_border_left = 78
        for axis, around, ticks in ((plot.xaxis, self.x_range, 2), (plot.yaxis, self.y_range, 4)):
            axis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=ticks)
            axis.formatter = self._bytes(around)
        self.byte_ticker = plot.yaxis[0].ticker
        self.second_ticker = AdaptiveTicker(desired_num_ticks=4)
        self.byte_format = plot.yaxis[0].formatter
        self.second_format = CustomJSTickFormatter(
            code=FORMAT_SECONDS, args={"range": self.y_range}
        )
        return plot

    def _bytes(self, around: Range1d) -> CustomJSTickFormatter:
        made = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        made.args = {"unit": made, "high": around}
        return made

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        plot.line(
            "x",
            "y",
            source=self.bound,
            line_color=theme.faint,
            line_width=1.6,
            line_dash="dotted",
            legend_label="proven lower bound",
        )
        plot.multi_line("xs", "ys", source=self.steps, line_color="colour", line_width=1.6)
        plot.scatter(
            "x",
            "y",
            source=self.here,
            marker="circle",
            size=19,
            fill_color=None,
            line_color=theme.text,
            line_width=2,
            legend_label="plan on screen",
        )
        dots = plot.scatter(
            "x",
            "y",
            source=self.source,
            marker="marker",
            size=10,
            fill_color="colour",
            fill_alpha="alpha",
            line_color=theme.panel,
            line_alpha="alpha",
            legend_field="series",
        )
        dots.nonselection_glyph = dots.selection_glyph = None
        lines = ("traffic @traffic", "latency @time", "@proof", "<i>tap to see its plan</i>")
        plot.add_tools(
            HoverTool(renderers=[dots], tooltips=tooltip("@budget, @series", *lines)),
            TapTool(renderers=[dots]),
        )
        legend = plot.legend[0]
        plot.add_layout(legend, "below")
        legend.update(
            label_text_font_size="10px",
            label_text_color=theme.text,
            background_fill_color=theme.panel,
            background_fill_alpha=0.75,
            border_line_color=None,
            spacing=0,
            padding=2,
            glyph_height=13,
            glyph_width=16,
            orientation="horizontal",
            ncols=2,
            margin=0,
        )

    def show(self, points: Sequence[dict[str, Any]], shown: Shown | None, metric: str) -> None:
        """Draw all points so far, the front of each series, the bound and the plan on screen."""
        plot, value = self.figure, FIELDS[metric]
        self.source.data = point_columns(points, value)
        self.steps.data = front_lines(points, value)
        self.bound.data = bound_line(points, shown, metric)
        self.here.data = _here(shown, metric)
        plot.title.text = f"What memory buys in {metric}"
        plot.yaxis.axis_label = {"latency": "latency", "traffic": "off-chip traffic"}[metric]
        is_bytes = metric == "traffic"
        plot.yaxis.ticker = self.byte_ticker if is_bytes else self.second_ticker
        plot.yaxis.formatter = self.byte_format if is_bytes else self.second_format
        self._fit()

    def _fit(self) -> None:
        data = [self.source.data, self.here.data, self.bound.data]
        for axis, name, low in ((self.x_range, "x", 0.06), (self.y_range, "y", 0.12)):
            values = [v for columns in data for v in columns[name]]
            if values:
                margin = (max(values) - min(values)) * low or max(values) * 0.1
                start, end = max(0, min(values) - margin), max(values) + margin * 1.6
                axis.update(start=start, end=end, reset_start=start, reset_end=end)

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        if new:
            index = self.source.data["index"][new[0]]
            self.source.selected.indices = []
            self.load(index)


def point_columns(points: Sequence[dict[str, Any]], value: str) -> dict[str, list[Any]]:
    """One row a point; those that another point of any series beats are faint."""
    names = list(dict.fromkeys(series(p["problem"]) for p in points))
    best = set(front(points, value))
    columns: dict[str, list[Any]] = {name: [] for name in (*COLUMNS, "proof")}
    for i, point in enumerate(points):
        name = series(point["problem"])
        colour, marker = LOOKS[names.index(name) % len(LOOKS)]
        row = (point["budget_bytes"], point[value], colour, marker, 1.0 if i in best else 0.3, i)
        words = (name, format_bytes(point["budget_bytes"]), format_bytes(point["traffic_bytes"]))
        row = (*row, *words, seconds_text(point["makespan_s"]), proof_text(point))
        for column, item in zip((*COLUMNS, "proof"), row, strict=True):
            columns[column].append(item)
    return columns


def front(points: Sequence[dict[str, Any]], value: str) -> list[int]:
    """Points that no other point equals or beats in memory and in `value` at once."""
    order = sorted(
        range(len(points)), key=lambda i: (points[i]["budget_bytes"], points[i][value], i)
    )
    found: list[int] = []
    least = float("inf")
    for i in order:
        if points[i][value] < least * (1 - 1e-9):
            found.append(i)
            least = points[i][value]
    return found


def front_lines(points: Sequence[dict[str, Any]], value: str) -> dict[str, list[Any]]:
    """The front of each series as a staircase: a plan for less memory serves for more."""
    names = list(dict.fromkeys(series(p["problem"]) for p in points))
    lines: dict[str, list[Any]] = {"xs": [], "ys": [], "colour": []}
    for number, name in enumerate(names):
        own = [p for p in points if series(p["problem"]) == name]
        corners = [(own[i]["budget_bytes"], own[i][value]) for i in front(own, value)]
        reach = max(p["budget_bytes"] for p in own)
        xs, ys = staircase(corners, reach)
        lines["xs"].append(xs)
        lines["ys"].append(ys)
        lines["colour"].append(LOOKS[number % len(LOOKS)][0])
    return lines


def staircase(corners: Sequence[tuple[float, float]], reach: float) -> tuple[list[Any], list[Any]]:
    """Points of a line that stays level until the next corner."""
    xs: list[float] = []
    ys: list[float] = []
    for x, y in corners:
        if xs:
            xs.append(x)
            ys.append(ys[-1])
        xs.append(x)
        ys.append(y)
    return ([*xs, reach], [*ys, ys[-1]]) if xs else ([], [])


def bound_line(
    points: Sequence[dict[str, Any]], shown: Shown | None, metric: str
) -> dict[str, list[Any]]:
    """What no plan can beat: the solver's bound on traffic, or arithmetic alone for latency."""
    if not points:
        return {"x": [], "y": []}
    xs = sorted(p["budget_bytes"] for p in points)
    if metric == "latency":
        least = shown.graph.macs / shown.plan.machine.macs_per_s if shown else 0.0
        return {"x": [xs[0], xs[-1]], "y": [least, least]}
    x, y = staircase(sorted(proven_bounds(points).items()), xs[-1])
    return {"x": x, "y": y}


def proven_bounds(points: Sequence[dict[str, Any]]) -> dict[int, int]:
    """The traffic below which no point of the chart can be, by budget.

    A bound is proven for one order of operators: among several orders the least holds, and only
    where each of them has one. That of a plan made for least peak is no bound on traffic.
    """
    by_order: dict[Any, dict[int, int]] = {}
    for p in points:
        chosen = p["problem"]["options"]
        bounds = by_order.setdefault(chosen.get("schedule"), {})
        if chosen.get("objective") in OF_MEMORY:
            continue
        size, bound = p["budget_bytes"], p["bound_bytes"] + p["compulsory_bytes"]
        bounds[size] = max(bound, bounds.get(size, 0))
    shared = set.intersection(*(set(bounds) for bounds in by_order.values()))
    return {size: min(bounds[size] for bounds in by_order.values()) for size in shared}


def proof_text(point: dict[str, Any]) -> str:
    """How good a point is known to be."""
    if point["status"] == "optimal":
        return "proven optimal"
    return f"at most {point['gap']:.1%} of it could be saved"


def _here(shown: Shown | None, metric: str) -> dict[str, list[Any]]:
    if shown is None:
        return {"x": [], "y": []}
    y = shown.trace.makespan_s if metric == "latency" else shown.report.traffic_bytes
    return {"x": [shown.plan.budget_bytes], "y": [y]}
