"""Occupancy: how many bytes are on chip at each step, and where the peak is."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
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

from app.captions.pictures import held_words
from app.display.aligning import Warp, warp
from app.display.banks import held_in, room_in
from app.display.displayed_plan import DisplayedPlan
from app.views.memory.address_map import limit_bytes
from app.widgets.axes import AXIS_WIDTH, FORMAT_ADDRESS, FORMAT_SECONDS, FORMAT_STEPS, KIB_TICKS
from app.widgets.axis_break import FarLimit
from app.widgets.glyphs import describe, put, tell
from app.widgets.hatched import hatched
from app.widgets.palette import Theme, cursor_band, dress, tooltip
from app.widgets.viewport import WhenStill
from planners.core.axis_break import above_peak, drawn_bytes
from planners.core.colours import BLUE, PLAIN, SKY, VERMILLION
from planners.core.units import format_bytes

MOST = 600  # bars in sight: more are thinner than a pixel
PEAK = "right_diagonal_line"
NEAR = 0.2
"""A limit within this share of the axis over the peak would run through the peak's words."""


class Occupancy:
    """A figure under the address map, on the same steps."""

    def __init__(self, theme: Theme, x_range: Range1d, most: int = MOST) -> None:
        self.most = most
        self.shown: DisplayedPlan | None = None
        self.moved = Warp()
        self.held_bytes: Sequence[int] = ()
        self.whole = (1, "the budget")  # what shares are of
        self.drawn: tuple[float, float, int] | None = None
        self.theme = theme
        names = ("left", "right", "top", "size", "share", "step", "operator", "colour", "hatch")
        self.source = ColumnDataSource({name: [] for name in names})
        self.pinned = ColumnDataSource({"x": [], "y": []})
        self.y_range = Range1d(0, 1)
        self.limit = Span(location=0, dimension="width", line_dash="dashed", line_width=1.5)
        self.limit.line_color = theme.text
        self.peak = Label(
            x=0,
            y=0,
            text="",
            text_color=theme.text,
            text_font_size="11px",
            text_baseline="bottom",
            y_offset=2,
        )
        self.cursor = cursor_band(theme)
        self.figure = self._figure(theme, x_range)
        self.still = WhenStill(self.figure, lambda: self._redraw())

    def _figure(self, theme: Theme, x_range: Range1d) -> figure:
        plot = figure(
            height=132,
            sizing_mode="stretch_width",
            x_range=x_range,
            y_range=self.y_range,
            tools="xwheel_zoom,xpan,reset",
            active_scroll=None,
            x_axis_label="step",
            y_axis_label="bytes held",
            css_classes=["occupancy"],
        )
        dress(plot, theme)
        plot.min_border_left = AXIS_WIDTH
        self.bars = bars = hatched(
            plot,
            "quad",
            self.source,
            (PLAIN, PEAK),
            left="left",
            right="right",
            bottom=0,
            top="top",
            fill_color="colour",
            fill_alpha=solid(theme),
            line_color=None,
            hatch_color=theme.panel,
            hatch_alpha=0.6,
        )
        put(
            plot,
            "step",
            "x",
            "y",
            source=self.pinned,
            mode="after",
            line_color=theme.text,
            line_width=1.5,
            line_dash=[2, 2],
        )
        plot.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=3)
        self.formatter = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        self.formatter.args = {"unit": self.formatter}
        plot.yaxis.formatter = self.formatter
        plot.xaxis.formatter = CustomJSTickFormatter(code=FORMAT_STEPS, args={"range": x_range})
        about = tooltip("step @step: @operator", "@size held, @share")
        tell(plot, bars, about, mode="vline")
        for item in (self.limit, self.peak, self.cursor):
            plot.add_layout(item)
        self.far = FarLimit(plot, theme, 0.07)
        return plot

    def show(
        self,
        shown: DisplayedPlan,
        pinned: DisplayedPlan | None = None,
        by: str = "operator",
        moved: Warp | None = None,
        memory: str = "",
    ) -> None:
        """Draw a plan's occupancy, mark its peak, and draw that of the pinned plan as a line.

        `moved` says where its own steps are on the axis; of several memories one is drawn.
        """
        self.shown, self.moved, self.drawn = shown, moved or Warp(), None
        self.held_bytes = occupancy = held_in(shown, memory)
        room = room_in(shown, memory)
        self.whole = (room, memory) if room else (shown.plan.budget_bytes, "the budget")
        self._redraw()
        highest = max(occupancy, default=0)
        peak = occupancy.index(highest) if occupancy else 0
        describe(self.figure, held_words(occupancy, *self.whole))
        other = held_in(pinned, memory) if pinned else ()
        limits = [room_in(s, memory) or limit_bytes(s) for s in (shown, pinned) if s]
        self.limit.location = limits[0]
        most = max([highest, *other])
        end = max(most, drawn_bytes(most, max(limits)))
        top = end * (1.28 if end >= max(self.whole[0], limits[0]) else 1.5)  # room for two lines
        self.y_range.update(start=0, end=top, reset_start=0, reset_end=top)
        far = self.whole[0] > self.figure.y_range.end
        self.far.say(above_peak(highest, *self.whole) if far else "", self.whole[0])
        there = warp(shown, pinned, by) if pinned else Warp()
        places = [self.moved(there(step)) for step in range(len(other))]
        self.pinned.data = {"x": places, "y": list(other)}
        right_half = peak > len(occupancy) / 2
        self.peak.update(
            x=self.moved(peak + (1 if right_half else 0)),
            y=limits[0] if 0 < limits[0] - highest < NEAR * top else highest,  # above the line
            text=f"▾ peak {format_bytes(highest)} at step {peak + 1}",
            text_align="right" if right_half else "left",
        )

    def _redraw(self) -> None:
        """Draw a bar for each step in sight, or, where they are thinner than a pixel, for the
        highest of each few."""
        if self.shown is None:
            return
        around = self.figure.x_range
        sides = (self.moved.back(float(at)) for at in (around.start, around.end))
        start, stop = (min(max(at, 0.0), float(self.shown.steps)) for at in sides)
        alike = max(1, ceil((stop - start) / self.most))
        if (
            self.drawn
            and self.drawn[0] <= start
            and stop <= self.drawn[1]
            and self.drawn[2] == alike
        ):
            return
        first = max(0, int(start - (stop - start)) // alike * alike)
        last = min(self.shown.steps, ceil(stop + (stop - start)))
        self.drawn = (first or -inf, last if last < self.shown.steps else inf, alike)
        self.source.data = self._bars(self.shown, range(first, last, alike))

    def _bars(self, shown: DisplayedPlan, starts: range) -> dict[str, Any]:
        """A bar from each start to the next, as high as the highest of its steps."""
        held_bytes, (room, of) = self.held_bytes, self.whole
        highest = max(held_bytes, default=0)
        several = starts.step > 1
        stops = [min(start + starts.step, shown.steps) for start in starts]
        most = [
            max(range(a, b), key=held_bytes.__getitem__) for a, b in zip(starts, stops, strict=True)
        ]
        top = [held_bytes[step] for step in most]
        among = f", the most of {starts.step} steps" if several else ""
        return {
            "left": [self.moved(start) for start in starts],
            "right": [self.moved(stop) for stop in stops],
            "top": top,
            "size": [f"{format_bytes(b)}{among}" for b in top],
            "share": [f"{b / room:.0%} of {of}" for b in top],
            "step": [step + 1 for step in most],
            "operator": [shown.plan.program.steps[step] for step in most],
            "colour": [VERMILLION if b == highest else held_colour(self.theme) for b in top],
            "hatch": [PEAK if b == highest else PLAIN for b in top],
        }

    def turn(self, theme: Theme) -> None:
        """Draw for another theme."""
        for bar in self.bars:
            bar.look(fill_alpha=solid(theme))
        self.drawn = None
        self._redraw()

    def set_axis(self, *, timed: bool) -> None:
        """Say steps or times across."""
        self.figure.xaxis.axis_label = "time" if timed else "step"
        self.figure.xaxis.formatter.code = FORMAT_SECONDS if timed else FORMAT_STEPS

    def set_unit(self, unit: str) -> None:
        """Write bytes in KiB or hexadecimal."""
        self.formatter.tags = [unit]
        self.formatter.code = FORMAT_ADDRESS + f"// {unit}"


def held_colour(theme: Theme) -> str:
    """The colour of bytes held: blue has too little contrast with the dark panel."""
    return SKY if theme.dark else BLUE


def solid(theme: Theme) -> float:
    """Opacity of bars."""
    return 1.0 if theme.dark else 0.75
