"""The graph view: blocks and operators from left to right; blocks open in place."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import product
from typing import Any

from bokeh.models import ColumnDataSource, CustomJS, HoverTool, Range1d, TapTool
from bokeh.plotting import figure

from app.shown import Shown
from app.views.dag_scene import (
    CURVE_COLUMNS,
    HEIGHT,
    HOVER_COLUMNS,
    MARK_COLUMNS,
    NODE_COLUMNS,
    WIDTH,
    Scene,
    break_marks,
    chosen_curves,
    chosen_nodes,
    scene,
)
from app.views.palette import DARK_INK, VERMILLION, Theme, dress, tooltip

FIT_LABELS = """
const px = plot.inner_width / (range.end - range.start) * 0.80;
const room = (size) => Math.floor((px - 4) / size);
const cut = (s, letters) => letters < 3 ? '' : s.length <= letters ? s
  : /[0-9]$/.test(s) ? '…' + s.slice(1 - letters) : s.slice(0, letters - 1) + '…';
const data = source.data;
const on = (words, dark, size) =>
  words.map((s, i) => data.dark[i] === dark ? cut(s, room(size)) : '');
data.name_dark = on(data.full, true, 5.9); data.name_light = on(data.full, false, 5.9);
data.kind_dark = on(data.second, true, 5.1); data.kind_light = on(data.second, false, 5.1);
source.change.emit();
"""

LINES = (("name", "text_y", "10.5px"), ("kind", "second_y", "9.5px"))
INKS = {"dark": DARK_INK, "light": "#ffffff"}
INKED = [f"{name}_{ink}" for name, _, _ in LINES for ink in INKS]


class Dag:
    """A figure that is made once; a plan or an opened block replaces its data."""

    def __init__(
        self, theme: Theme, tap: Callable[[str, bool], None], close: Callable[[str], None]
    ) -> None:
        self.tap, self.close = tap, close
        self.nodes = ColumnDataSource({n: [] for n in (*NODE_COLUMNS, *HOVER_COLUMNS, *INKED)})
        self.curves = ColumnDataSource({n: [] for n in CURVE_COLUMNS})
        self.chosen_curves = ColumnDataSource({n: [] for n in CURVE_COLUMNS})
        self.chosen = ColumnDataSource({n: [] for n in ("x", "y", "w", "h")})
        frame = ("left", "right", "top", "bottom", "block", "text")
        self.frames = ColumnDataSource({n: [] for n in frame})
        self.breaks = ColumnDataSource({n: [] for n in MARK_COLUMNS})
        self.where = ColumnDataSource({"x": [], "y": []})
        self.ring = ColumnDataSource({"x": [], "y": []})
        self.x_range, self.y_range = Range1d(-0.6, 12), Range1d(2, -2)
        self.drawn: Scene | None = None
        self.figure = self._figure(theme)
        self.nodes.selected.on_change("indices", self._tapped)
        self.frames.selected.on_change("indices", self._closed)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=190,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="xpan,xwheel_zoom,reset,save",
            active_drag="xpan",
            active_scroll=None,
            css_classes=["dag"],
        )
        dress(plot, theme)
        plot.axis.visible = False
        plot.grid.visible = False
        self._glyphs(plot, theme)
        fit = CustomJS(args={"plot": plot, "range": self.x_range, "source": self.nodes})
        fit.code = FIT_LABELS
        self.x_range.js_on_change("start", fit)
        self.x_range.js_on_change("end", fit)
        plot.js_on_change("inner_width", fit)
        self.nodes.js_on_change("data", fit)
        self.fit = fit
        return plot

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        box = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
        frames = plot.quad(
            **box,
            source=self.frames,
            fill_color=theme.faint,
            fill_alpha=0.06,
            line_color=theme.faint,
            line_dash="dotted",
            line_alpha=0.8,
        )
        plot.text(
            x="left",
            y="top",
            text="text",
            source=self.frames,
            text_font_size="9.5px",
            text_color=theme.faint,
            text_baseline="top",
            x_offset=3,
            y_offset=2,
        )
        curve = {n: n for n in CURVE_COLUMNS}
        plot.bezier(**curve, source=self.curves, line_color=theme.faint, line_width=1.2)
        plot.bezier(**curve, source=self.chosen_curves, line_color=theme.text, line_width=3)
        rects = self._boxes(plot, theme)
        # One glyph an ink: BokehJS stumbles over a text glyph whose colours get fewer.
        for (name, y, size), (ink, colour) in product(LINES, INKS.items()):
            plot.text(
                x="x",
                y=y,
                text=f"{name}_{ink}",
                source=self.nodes,
                text_color=colour,
                text_font_size=size,
                text_align="center",
                text_baseline="middle",
            )
        self._marks(plot)
        for renderer in (frames, rects):
            renderer.nonselection_glyph = renderer.selection_glyph = None
        lines = ("@what", "@costs", "<i>@hint</i>")
        plot.add_tools(
            HoverTool(renderers=[rects], tooltips=tooltip("@title", *lines)),
            TapTool(renderers=[rects, frames]),
        )

    def _marks(self, plot: figure) -> None:
        """A dashed line behind each break node, and scissors at it."""
        plot.segment(
            x0="x",
            x1="x",
            y0="top",
            y1="bottom",
            source=self.breaks,
            line_color=VERMILLION,
            line_width=2.5,
            line_dash=[5, 2],
        )
        plot.text(
            x="x",
            y="top",
            text="text",
            source=self.breaks,
            text_color=VERMILLION,
            text_font_size="14px",
            text_align="center",
            text_baseline="middle",
        )

    def _boxes(self, plot: figure, theme: Theme) -> Any:
        size = {"x": "x", "y": "y", "width": "w", "height": "h", "border_radius": 4}
        rects = plot.rect(
            **size,
            source=self.nodes,
            fill_color="fill",
            line_color=theme.text,
            line_width="edge",
            line_alpha=0.7,
            hatch_pattern="hatch",
            hatch_color=theme.outline,
            hatch_alpha=0.18,
        )
        plot.rect(**size, source=self.chosen, fill_color=None, line_color=theme.text, line_width=3)
        plot.rect(
            x="x",
            y="y",
            width=WIDTH + 0.12,
            height=HEIGHT + 0.22,
            source=self.ring,
            border_radius=6,
            fill_color=None,
            line_color=theme.cursor,
            line_width=2,
            line_dash=[5, 3],
        )
        return rects

    def show(self, shown: Shown, expanded: list[str], colour: str, *, refit: bool) -> None:
        """Draw the visible part of a plan's graph; `refit` goes back to its left end."""
        drawn = scene(shown, expanded, colour)
        self.drawn = drawn
        self.nodes.data = {**drawn.nodes, **dict.fromkeys(INKED, drawn.nodes["full"])}
        self.curves.data = drawn.curves
        self.frames.data = drawn.frames
        self.where.data = {"x": drawn.step_x, "y": drawn.step_y}
        self._set_ranges(drawn, refit)

    def _set_ranges(self, drawn: Scene, refit: bool) -> None:
        """Rows keep a readable height: a chain is not blown up to fill the figure."""
        middle = (drawn.top + drawn.bottom) / 2
        half = max(
            0.6, (drawn.bottom - drawn.top) / 2 + 0.12 + HEIGHT / 2 * (not drawn.frames["top"])
        )
        self.figure.height = round(min(250, max(80, half * 2 * 54 + 8)))
        self.y_range.update(start=middle + half, end=middle - half)
        self.y_range.update(reset_start=middle + half, reset_end=middle - half)
        self.x_range.update(reset_start=-0.6, reset_end=drawn.columns - 0.4)
        if refit:
            self.x_range.update(start=-0.6, end=drawn.columns - 0.4)

    def place(self, step: int) -> None:
        """Ring a step's node; between plans the client does it."""
        if self.drawn and step < len(self.drawn.step_x):
            self.ring.data = {"x": [self.drawn.step_x[step]], "y": [self.drawn.step_y[step]]}

    def highlight(self, shown: Shown, expanded: list[str], selection: str) -> None:
        """Outline the selected nodes and the curves of the selected tensors."""
        assert self.drawn is not None
        hits = chosen_nodes(shown, self.drawn, expanded, selection)
        nodes, curves = self.drawn.nodes, self.drawn.curves
        self.chosen.data = {n: [nodes[n][i] for i in hits] for n in ("x", "y", "w", "h")}
        along = chosen_curves(shown, self.drawn, selection)
        self.chosen_curves.data = {n: [curves[n][i] for i in along] for n in CURVE_COLUMNS}

    def mark(self, shown: Shown, expanded: list[str], names: Collection[str]) -> None:
        """Show at which operators the network is cut."""
        assert self.drawn is not None
        self.breaks.data = break_marks(shown, self.drawn, expanded, names)

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        if new and self.drawn:
            nodes = self.drawn.nodes
            self.nodes.selected.indices = []
            self.frames.selected.indices = []
            self.tap(nodes["title"][new[0]], nodes["is_block"][new[0]])

    def _closed(self, _attr: str, _old: list[int], new: list[int]) -> None:
        """A tap on a frame beside its nodes closes the innermost block there."""
        if new and self.drawn:
            self.frames.selected.indices = []
            self.close(self.drawn.frames["block"][new[-1]])
