"""The timeline: what each engine does and when, and where it waits and for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.core.properties import value as constant
from bokeh.models import (
    ColumnDataSource,
    CustomJSTickFormatter,
    FactorRange,
    Range1d,
)
from bokeh.plotting import figure

import planners as sp
from app.captions.pictures import time_words
from app.display.displayed_plan import DisplayedPlan
from app.kinds.binding_bars import HATCHES, bound_looks
from app.kinds.registry import kind_of
from app.kinds.step_axis import ROOM_AFTER
from app.kinds.timeline_bars import (
    BOUND,
    COLUMNS,
    ENDS_IN_SIGHT,
    ENGINES,
    FULL,
    MOST,
    STALL_COLUMNS,
    WAITS,
    Bars,
    Columns,
    lane_name,
)
from app.kinds.whole_tensors import engines_of
from app.model.units import seconds_text
from app.views.timing.group_bands import GroupBands, second_places
from app.widgets.axes import AXIS_WIDTH, FORMAT_SECONDS
from app.widgets.frames import filled_there
from app.widgets.glyphs import describe, put, tappable, tell
from app.widgets.hatched import hatched
from app.widgets.legends import lanes_legend_html
from app.widgets.palette import Theme, cursor_band, dress, tooltip
from app.widgets.viewport import ALIKE, WhenStill
from planners.core.colours import PLAIN

GROUPS = "groups"
ACROSS = 530  # pixels of the time axis, roughly, in a window 1280 wide


class TimelineView:
    """A figure with one lane per engine; a wait is drawn before the bar that waited."""

    def __init__(
        self,
        theme: Theme,
        x_range: Range1d | None = None,
    ) -> None:
        self.theme = theme
        self.bars: Bars | None = None
        self.drawn: tuple[float, float, float] | None = None  # from, to, and how finely
        self.groups = GroupBands()
        self.source = ColumnDataSource({name: [] for name in (*COLUMNS, "kind")})
        self.stalls = ColumnDataSource({name: [] for name in STALL_COLUMNS})
        self.chosen = filled_there("left", "right", "lane")
        self.times = ColumnDataSource({"start": [], "stop": []})
        self.x_range = x_range or Range1d(0, 1)
        self.lanes = FactorRange(factors=["compute"])
        self.cursor = cursor_band(theme)
        self.figure = self._figure(theme)
        self.still = WhenStill(self.figure, lambda: self._redraw())

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=206,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.lanes,
            tools="xwheel_zoom,xpan,box_zoom,reset,save",
            active_scroll=None,
            x_axis_label="time",
            css_classes=["timeline"],
        )
        dress(plot, theme)
        plot.ygrid.grid_line_color = None
        plot.min_border_left = AXIS_WIDTH
        plot.xaxis.formatter = CustomJSTickFormatter(
            code=FORMAT_SECONDS, args={"range": self.x_range}
        )
        self._glyphs(plot, theme)
        lane = constant(GROUPS)
        self.groups.draw(plot, theme, self.x_range, {"y": lane, "height": 0.8}, lane)
        plot.add_layout(self.cursor)
        plot.tags = [self.times]  # no glyph draws it: the client places the cursor by it
        return plot

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        where = {"left": "left", "right": "right", "y": "lane"}
        waits = hatched(
            plot,
            "hbar",
            self.stalls,
            (PLAIN, WAITS, FULL),
            **where,
            height="height",
            fill_color="colour",
            fill_alpha="alpha",
            line_color=None,
            hatch_color="colour",
            hatch_alpha=0.9,
            hatch_scale=7,
            hatch_weight=1.6,
        )
        self.layers = bars = hatched(
            plot,
            "hbar",
            self.source,
            [*(hatch for _, _, hatch in ENGINES.values()), *HATCHES],
            **where,
            height=0.72,
            fill_color="colour",
            fill_alpha=0.9,
            line_color=theme.panel,
            line_width=0.6,
            hatch_color=theme.panel,
            hatch_alpha=0.5,
            hatch_scale=8,
        )
        put(
            plot,
            "hbar",
            **where,
            height=0.86,
            source=self.chosen,
            beside=self.source,
            fill_color=None,
            line_color=theme.text,
            line_width=2,
        )
        tell(plot, bars, tooltip("@label", "@what", "@when", "step @step", "@cause"))
        tell(plot, waits, tooltip("@what", "@when", "@cause"))
        tappable(plot, bars, there=True)

    def show(self, shown: DisplayedPlan, serial: bool) -> None:
        """Draw a plan's intervals, overlapped or one after the other."""
        trace = shown.serial_trace if serial else shown.trace
        seconds = shown.serial_step_seconds if serial else shown.step_seconds
        self.bars, kind = None, kind_of(shown)
        starts, stops = np.array(seconds, float).reshape(-1, 2).T
        self.times.data = {"start": starts, "stop": stops}  # as bytes, not as words
        describe(self.figure, time_words(shown, trace))
        engines = [lane_name(e) for e in reversed(kind.lanes(shown, trace))]
        self.lanes.factors = [*engines, *([GROUPS] if kind.banded else [])]
        bands = kind.bands(shown, {})
        self.groups.show(bands, second_places(bands, seconds))
        end = trace.makespan_s * ROOM_AFTER
        self.x_range.update(start=0, end=end, reset_start=0, reset_end=end)
        self.bars = kind.bars(shown, trace)
        self.drawn = None
        self._redraw()

    def _redraw(self) -> None:
        """Draw each interval in sight, or, where there are too many, the short ones that follow
        closely as one."""
        if self.bars is None:
            return
        start, stop = float(self.x_range.start), float(self.x_range.end)
        around = stop - start  # so that a short pan needs no new data
        apart = around / ENDS_IN_SIGHT if self.bars.count(start, stop) > MOST else 0.0
        if self.drawn and self._holds(start, stop, apart):
            self._edge()
            return
        if apart:
            wide = (start - around / 2, stop + around / 2)
            self._draw(self.bars.bundles(*wide, apart))
        else:
            wide = (start - around, stop + around)
            wide = wide if self.bars.count(*wide) <= MOST else (start, stop)
            self._draw(self.bars.columns(*wide))
        self.drawn = (*wide, apart)

    def _holds(self, start: float, stop: float, apart: float) -> bool:
        """Whether what is drawn does for a window too."""
        assert self.drawn is not None
        left, right, before = self.drawn
        return left <= start and stop <= right and abs(apart - before) <= ALIKE * before

    def _draw(self, found: tuple[Columns, Columns]) -> None:
        self.source.data, self.stalls.data = found
        self._edge()

    def _edge(self) -> None:
        """Set the gaps between the bars in sight; narrow bars have none, or only gaps would be
        seen."""
        data: dict[str, Any] = self.source.data
        start, stop = float(self.x_range.start), float(self.x_range.end)
        sides = zip(data["left"], data["right"], strict=True)
        inside = [(left, right) for left, right in sides if left < stop and right > start]
        thin = narrow(inside, 2 * (stop - start) / ACROSS)
        line = ("colour", 1.2) if thin else (self.theme.panel, 0.6)
        for layer in self.layers:
            layer.look(line_color=line[0], line_width=line[1])


def narrow(bars: Sequence[tuple[float, float]], least: float) -> bool:
    """Whether most bars, given by start and stop, are shorter than so many seconds."""
    return 2 * sum(right - left < least for left, right in bars) > len(bars)


def timeline_legend_html(shown: DisplayedPlan, serial: bool) -> str:
    """What colours and hatches of a plan's timeline mean."""
    kind, trace = kind_of(shown), shown.serial_trace if serial else shown.trace
    bound = bound_looks(shown) if BOUND in kind.lanes(shown, trace) else []
    return lanes_legend_html(kind.streams, bound)


def timeline_title(shown: DisplayedPlan, serial: bool) -> str:
    """The makespan, how busy the arithmetic is, and how much of its full rate is used; all engines
    in the hover."""
    trace = shown.serial_trace if serial else shown.trace
    how = "one after the other" if serial else "overlapped"
    busy = trace.busy_s.get("compute", 0.0) / (trace.makespan_s or 1.0)
    full_s = shown.graph.macs / shown.plan.machine.macs_per_s
    used = full_s / (trace.makespan_s or full_s or 1.0)
    about = (
        f"{how}; {busy_text(trace)}; {used:.0%} of the MACs possible in this time at the full rate"
    )
    about = f"{seconds_text(trace.makespan_s)}, {about}"
    return f'<span title="{about}">{busy:.0%} busy, {used:.0%} used</span>'


def busy_text(trace: sp.Trace) -> str:
    """How busy each engine is, in percent of the makespan."""
    whole = trace.makespan_s or 1.0
    parts = [f"{lane_name(e)} {trace.busy_s[e] / whole:.0%}" for e in engines_of(trace)]
    return "busy: " + ", ".join(parts)
