"""Delay against memory of streamed parameters; a tap on a point plans with that budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTickFormatter,
    Label,
    Range1d,
    Span,
)
from bokeh.plotting import figure

from app.display.displayed_plan import DisplayedPlan
from app.display.stream import Stream
from app.model.staircase import staircase
from app.model.units import seconds_text
from app.widgets.axes import FORMAT_ADDRESS, FORMAT_SECONDS, KIB_TICKS
from app.widgets.glyphs import put, tappable, tell
from app.widgets.palette import Theme, dress, tooltip
from app.widgets.taps import tapped_rows
from planners.core.colours import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from planners.core.units import format_bytes

Fronts = Mapping[str, Sequence[Sequence[float]]]
COLUMNS = ("x", "y", "colour", "marker", "size", "alpha", "name", "memory", "delay", "about")
MORE = ("bytes", "fields")
TWO, THREE, OWN = (BLUE, "circle"), (GREEN, "square"), (PURPLE, "diamond")
FIXED = {
    "seq": ("Seq", "one after the other, two buffers of the largest layer"),
    "sync": ("Sync", "three stages in step, four buffers of the largest layer"),
    "async": ("Async", "three stages, two rings of the largest layer"),
    "2s": ("2S", "two stages with zero-copy, one ring of the largest layer"),
}
EXACT = {
    "2s exact": (TWO, {"pipeline": "exact", "stages": 2}, "two stages, exact"),
    "async exact": (THREE, {"pipeline": "exact", "stages": 3}, "three stages, exact"),
}
SEARCHED = {"2s search": TWO, "async search": THREE}
BREAKS = "2s all"


class DelayFront:
    """A figure that is made once."""

    def __init__(self, theme: Theme, ask: Callable[[int, dict[str, Any]], None]) -> None:
        self.ask = ask
        self.source = ColumnDataSource({name: [] for name in (*COLUMNS, *MORE)})
        self.searched = ColumnDataSource({name: [] for name in ("x", "y", "colour")})
        self.lines = ColumnDataSource({name: [] for name in ("xs", "ys", "colour", "width")})
        self.breaks = ColumnDataSource({"x": [], "y": []})
        self.here = ColumnDataSource({name: [] for name in ("x", "y", "memory", "delay", "about")})
        self.names = ColumnDataSource({name: [] for name in ("x", "y", "text")})
        self.spread = ColumnDataSource({n: [] for n in ("x", "low", "high", "width", "about")})
        self.bound = ColumnDataSource({name: [] for name in ("x", "y", "about")})
        self.x_range, self.y_range = Range1d(0, 1), Range1d(0, 1)
        self.pre = Span(dimension="width", line_dash="dashed", line_width=1.2, visible=False)
        self.pre_name = _label(theme)
        self.under = Span(dimension="height", line_width=1.5, visible=False)
        self.under_name = _label(theme)
        self.pre.line_color = theme.faint
        self.under.line_color = VERMILLION
        self.figure = self._figure(theme)
        self.source.selected.on_change("indices", self._tapped)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=268,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="xpan,box_zoom,reset,save",
            x_axis_label="memory of rings and activations",
            y_axis_label="delay",
            css_classes=["delay-front"],
        )
        dress(plot, theme)
        plot.title.text = "What memory buys in delay"
        plot.xaxis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=4)
        plot.yaxis.ticker = AdaptiveTicker(desired_num_ticks=5)
        formatter = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        formatter.args = {"unit": formatter}
        plot.xaxis.formatter = formatter
        plot.yaxis.formatter = CustomJSTickFormatter(
            code=FORMAT_SECONDS, args={"range": self.y_range}
        )
        self._glyphs(plot, theme)
        for item in (self.pre, self.under, self.pre_name, self.under_name):
            plot.add_layout(item)
        return plot

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        put(
            plot,
            "line",
            "x",
            "y",
            source=self.breaks,
            line_color=BLUE,
            line_width=0.9,
            line_alpha=0.6,
        )
        put(plot, "scatter",
            "x", "y", source=self.searched, marker="x", size=5, line_color="colour",
            line_alpha=0.55,
        )  # fmt: skip
        put(
            plot,
            "multi_line",
            "xs",
            "ys",
            source=self.lines,
            line_color="colour",
            line_width="width",
        )
        band = put(plot, "segment",
            x0="x", x1="x", y0="low", y1="high", source=self.spread, line_color=VERMILLION,
            line_width="width", line_alpha=0.55,
        )  # fmt: skip
        bound = put(plot, "scatter",
            "x", "y", source=self.bound, marker="dash", size=16, line_color=VERMILLION,
            line_width=3,
        )  # fmt: skip
        here = put(plot, "scatter",
            "x", "y", source=self.here, size=19, fill_color=None, line_color=theme.text,
            line_width=2,
        )  # fmt: skip
        dots = put(plot, "scatter",
            "x", "y", source=self.source, size="size", marker="marker", fill_color="colour",
            fill_alpha="alpha", line_color=theme.panel, line_alpha="alpha",
        )  # fmt: skip
        put(plot, "text",
            "x", "y", "text", source=self.names, text_color=theme.text, text_font_size="10.5px",
            x_offset=8, y_offset=-4,
        )  # fmt: skip
        tap = "<i>tap to plan with it</i>"
        tell(plot, [dots], tooltip("@name", "@delay with @memory", "@about", tap))
        tell(plot, [here], tooltip("on screen", "@delay with @memory"))
        tell(plot, [band, bound], tooltip("@about"))
        tappable(plot, [dots])

    def show(self, shown: DisplayedPlan, fronts: Fronts) -> None:
        """Draw the fronts known so far, and mark the plan on screen."""
        stream = shown.stream
        if stream is None:
            return
        own_points = own_front(stream)
        self.source.data = point_columns(stream, fronts, own_points)
        self.lines.data = line_columns(fronts, own_points)
        self.breaks.data = staircase(fronts.get(BREAKS, ()))
        self.searched.data = searched_columns(fronts)
        self.names.data = name_columns(fronts)
        self.here.data = {
            "x": [stream.memory_bytes],
            "y": [stream.details.delay_s],
            "memory": [format_bytes(stream.memory_bytes)],
            "delay": [seconds_text(stream.details.delay_s)],
            "about": [""],
        }
        self.spread.data, self.bound.data = band_columns(stream), bound_columns(stream)
        self._preloaded(fronts)
        self._fit(stream)

    def move(self, budget_bytes: int, fronts: Fronts) -> None:
        """Draw a line at the budget under the slider, with the delay that it would give."""
        self.under.visible = self.under_name.visible = bool(budget_bytes)
        if not budget_bytes:
            return
        self.under.location = budget_bytes
        best = delay_within(fronts, budget_bytes)
        words = "too little" if best is None else seconds_text(best)
        self.under_name.update(
            x=budget_bytes, y=self.y_range.end, text=f"{format_bytes(budget_bytes)}: {words}"
        )

    def _preloaded(self, fronts: Fronts) -> None:
        points = fronts.get("pre", ())
        self.pre.visible = self.pre_name.visible = bool(points)
        if points:
            memory, delay = points[0]
            self.pre.location = delay
            words = f"Pre: {seconds_text(delay)} with {format_bytes(int(memory))}, once loaded"
            self.pre_name.update(x=4, x_units="screen", y=delay, text=words)
            self.pre_name.update(text_baseline="top", y_offset=-2)

    def _fit(self, stream: Stream) -> None:
        data: dict[str, Any] = self.source.data
        xs, ys = [*data["x"], stream.memory_bytes], [*data["y"], stream.details.delay_s]
        ys += [*self.bound.data["y"], *self.spread.data["high"]]
        ys += [float(self.pre.location)] if self.pre.visible else []
        for axis, values, low, high in (
            (self.x_range, xs, 0.04, 0.12),
            (self.y_range, ys, 0.1, 0.15),
        ):
            width = max(values) - min(values) or max(values)
            start, end = max(0, min(values) - width * low), max(values) + width * high
            axis.update(start=start, end=end, reset_start=start, reset_end=end)

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        data: dict[str, Any] = self.source.data
        for row in tapped_rows(self.source, new):
            self.ask(data["bytes"][row], data["fields"][row])


def _label(theme: Theme) -> Label:
    return Label(
        x=0,
        y=0,
        text="",
        text_color=theme.text,
        text_font_size="10.5px",
        text_baseline="top",
        x_offset=4,
        background_fill_color=theme.panel,
        background_fill_alpha=0.75,
        visible=False,
    )


def own_front(stream: Stream) -> Sequence[tuple[int, float]]:
    """The front of the plan's own layers, where it differs from that of whole layers."""
    sliced = any(layer.slice for layer in stream.layers)
    special = stream.details.joint or sliced or any(ring.twice for ring in stream.rings)
    return stream.details.front if special else ()


def point_columns(
    stream: Stream, fronts: Fronts, own: Sequence[tuple[int, float]]
) -> dict[str, list[Any]]:
    """A row for each point that can be tapped."""
    columns: dict[str, list[Any]] = {name: [] for name in (*COLUMNS, *MORE)}

    def add(point: Sequence[float], look: tuple[Any, ...], words: Sequence[str], fields: Any):  # type: ignore[no-untyped-def]
        memory, delay = int(point[0]), float(point[1])
        row = (memory, delay, *look, words[0], format_bytes(memory), seconds_text(delay), words[1])
        for name, value in zip((*COLUMNS, *MORE), (*row, memory, fields), strict=True):
            columns[name].append(value)

    whole = {"slices": 1, "joint": False, "twice": False}
    for name, ((colour, marker), fields, title) in EXACT.items():
        for point in fronts.get(name, ()):
            words = (title, "no rings of fewer bytes have this delay")
            add(point, (colour, marker, 8, 1.0), words, {**whole, **fields})
    for name, (title, about) in FIXED.items():
        for point in fronts.get(name, ()):
            fields = {**whole, "pipeline": name, "ring": 0}
            add(point, (ORANGE, "triangle", 10, 1.0), (title, about), fields)
    about = (
        "weights and activations in one memory: bounds"
        if stream.details.joint
        else "its own layers"
    )
    for point in own:
        add(point, (*OWN, 9, 1.0), ("this plan's options", about), {})
    return columns


def line_columns(fronts: Fronts, own: Sequence[tuple[int, float]]) -> dict[str, list[Any]]:
    """The exact fronts as step lines: rings for less memory serve for more."""
    columns: dict[str, list[Any]] = {name: [] for name in ("xs", "ys", "colour", "width")}
    exact_fronts = [(fronts.get(name, ()), look[0]) for name, (look, _, _) in EXACT.items()]
    for points, colour in (*exact_fronts, (own, OWN[0])):
        if points:
            line = staircase(points)
            row = (line["x"], line["y"], colour, 2.0)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return columns


def searched_columns(fronts: Fronts) -> dict[str, list[Any]]:
    """The rings that the paper's search tries, step by step."""
    columns: dict[str, list[Any]] = {name: [] for name in ("x", "y", "colour")}
    for name, (colour, _) in SEARCHED.items():
        for memory, delay in fronts.get(name, ()):
            for column, value in zip(columns, (memory, delay, colour), strict=True):
                columns[column].append(value)
    return columns


def name_columns(fronts: Fronts) -> dict[str, list[Any]]:
    """The names of the paper's pipelines beside their points."""
    rows = [(point, title) for name, (title, _) in FIXED.items() for point in fronts.get(name, ())]
    return {
        "x": [point[0] for point, _ in rows],
        "y": [point[1] for point, _ in rows],
        "text": [title for _, title in rows],
    }


def band_columns(stream: Stream) -> dict[str, list[Any]]:
    """The Monte Carlo band of the plan on screen: all draws thin, nine in ten of them thick."""
    columns: dict[str, list[Any]] = {n: [] for n in ("x", "low", "high", "width", "about")}
    band = stream.details.band
    if band is None:
        return columns
    draws = f"{band.draws:,.0f} draws"
    for low, high, width, words in (
        (band.least_s, band.largest_s, 2, "all"),
        (band.p5_s, band.p95_s, 7, "nine in ten"),
    ):
        about = f"{words} of {draws}: {seconds_text(low)} – {seconds_text(high)}"
        row = (stream.memory_bytes, low, high, width, about)
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    return columns


def bound_columns(stream: Stream) -> dict[str, list[Any]]:
    """The delay that is never exceeded."""
    if stream.details.bound_s is None:
        return {"x": [], "y": [], "about": []}
    about = f"guaranteed: no later than {seconds_text(stream.details.bound_s)}"
    return {"x": [stream.memory_bytes], "y": [stream.details.bound_s], "about": [about]}


def delay_within(fronts: Fronts, budget_bytes: int) -> float | None:
    """The least delay of the exact search within a budget; None where nothing fits."""
    delays = [
        delay for name in EXACT for memory, delay in fronts.get(name, ()) if memory <= budget_bytes
    ]
    return min(delays, default=None)
