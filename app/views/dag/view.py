"""The graph view: blocks and operators from left to right; blocks open in place."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

from bokeh.models import (
    BoxAnnotation,
    ColumnDataSource,
    CustomJS,
    PanTool,
    Range1d,
    WheelZoomTool,
)
from bokeh.plotting import figure

from app.captions.pictures import graph_words
from app.display.displayed_plan import DisplayedPlan
from app.kinds.kind import Band
from app.kinds.registry import kind_of
from app.views.dag.groups import (
    HALO,
    LINK_COLUMNS,
    REGION_COLUMNS,
    TAB,
    TAB_COLUMNS,
    Regions,
    regions,
)
from app.views.dag.labels import FIT_LABELS
from app.views.dag.overview import Overview
from app.views.dag.scene import (
    BLOCK,
    CURVE_COLUMNS,
    HEIGHT,
    HOVER_COLUMNS,
    MARK_COLUMNS,
    NODE_COLUMNS,
    STEP_COLUMNS,
    Columns,
    Scene,
    break_marks,
    group_lines,
    numbers_text,
    scene,
)
from app.views.dag.wish_marks import DROOP, DagWishes
from app.widgets.frames import filled_there
from app.widgets.glyphs import GlyphLayer, describe, put, tappable, tell
from app.widgets.hatched import hatched
from app.widgets.palette import Theme, dress, tooltip
from planners.core.colours import DARK_INK, PLAIN, VERMILLION

LINES = (("name", "text_y", "10.5px"), ("kind", "second_y", "9.5px"))
TALLEST = 320  # pixels
READABLE = 36  # columns: with more, each is too narrow for names
INKS = {"dark": DARK_INK, "light": "#ffffff"}
INKED_TABS = ("on_dark", "on_light")
MEMBERS, ALONG = "members", "along"
"""The operators that a node stands for, and the tensors along a curve, by their numbers."""
INKED = [f"{name}_{ink}" for name, _, _ in LINES for ink in INKS]


class DagView:
    """A figure that is made once; a new plan or an opened block replaces its data."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        columns = (*NODE_COLUMNS, *HOVER_COLUMNS, *INKED, MEMBERS)
        self.nodes = ColumnDataSource({n: [] for n in columns})
        self.curves = ColumnDataSource({n: [] for n in (*CURVE_COLUMNS, ALONG, "alpha")})
        self.chosen_curves = filled_there(*CURVE_COLUMNS)
        self.chosen = filled_there("x", "y", "w", "h")
        frame = ("left", "right", "top", "bottom", "block", "text")
        self.frames = ColumnDataSource({n: [] for n in frame})
        self.breaks = ColumnDataSource({n: [] for n in MARK_COLUMNS})
        self.regions = ColumnDataSource({n: [] for n in REGION_COLUMNS})
        self.links = ColumnDataSource({n: [] for n in (*LINK_COLUMNS, "colour")})
        self.tabs = ColumnDataSource({n: [] for n in (*TAB_COLUMNS, *INKED_TABS)})
        self.where = ColumnDataSource({n: [] for n in STEP_COLUMNS})
        self.ring = ring_mark(theme)
        self.x_range, self.y_range = Range1d(-0.6, 12), Range1d(2, -2)
        self.drawn: Scene | None = None
        self.arcs = False
        self.differs: Mapping[str, str] | None = None
        self.figure = self._figure(theme)
        ranges = self.x_range, self.y_range
        self.overview = Overview(theme, ranges, self.nodes, self.chosen, self.ring)

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
        fit.args |= {"tabs": self.tabs, "frames": self.frames}
        fit.code = FIT_LABELS
        self.x_range.js_on_change("start", fit)
        self.x_range.js_on_change("end", fit)
        self.y_range.js_on_change("end", fit)
        plot.js_on_change("inner_width", fit)
        self.nodes.js_on_change("data", fit)
        self.tabs.js_on_change("data", fit)
        self.frames.js_on_change("data", fit)
        self.fit = fit
        return plot

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        box = {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
        frames = put(
            plot,
            "quad",
            **box,
            source=self.frames,
            fill_color=theme.faint,
            fill_alpha=0.06,
            line_color=theme.faint,
            line_dash="dotted",
            line_alpha=0.8,
        )
        put(
            plot,
            "text",
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
        tabs = self._groups(plot)
        curve = {n: n for n in CURVE_COLUMNS}
        look = {"line_color": theme.faint, "line_width": 1.2, "line_alpha": "alpha"}
        put(plot, "bezier", **curve, source=self.curves, **look)
        put(
            plot,
            "bezier",
            **curve,
            source=self.chosen_curves,
            beside=self.curves,
            line_color=theme.text,
            line_width=3,
        )
        rects = self._boxes(plot, theme)
        # one glyph per ink: BokehJS fails on a text glyph whose colours become fewer
        for (name, y, size), (ink, colour) in product(LINES, INKS.items()):
            put(
                plot,
                "text",
                x="x",
                y=y,
                text=f"{name}_{ink}",
                source=self.nodes,
                text_color=colour,
                text_font_size=size,
                text_align="center",
                text_baseline="middle",
            )
        self._marks(plot, theme)
        self.wishes = DagWishes(plot, theme)
        plot.add_layout(self.ring)
        plot.tags = [self.where]  # no glyph draws it: the client places the ring by it
        lines = ("@what", "@costs", "@group", "<i>@hint</i>")
        tell(plot, rects, tooltip("@title", *lines))
        tappable(plot, [*rects, frames, tabs], there=True)

    def _groups(self, plot: figure) -> Any:
        """Regions of fused groups: behind the nodes, along the edges, and the tabs above."""
        size = {"x": "x", "y": "y", "width": "w", "height": "h"}
        link = {n: n for n in LINK_COLUMNS}
        put(
            plot,
            "bezier",
            **link,
            source=self.links,
            line_color="colour",
            line_width=14,
            line_alpha=0.35,
        )
        put(
            plot,
            "rect",
            **size,
            source=self.regions,
            fill_color="fill",
            fill_alpha=0.4,
            line_color="fill",
            border_radius=4,
        )
        tabs = put(plot, "rect", **size, source=self.tabs, fill_color="fill", line_color="fill")
        for name, ink in zip(INKED_TABS, INKS.values(), strict=True):
            put(
                plot,
                "text",
                x="left",
                y="y",
                text=name,
                source=self.tabs,
                text_color=ink,
                text_font_size="9.5px",
                text_font_style="bold",
                text_baseline="middle",
            )
        return tabs

    def _marks(self, plot: figure, theme: Theme) -> None:
        """A dashed line behind each break node, and scissors at it."""
        put(
            plot,
            "segment",
            x0="x",
            x1="x",
            y0="top",
            y1="bottom",
            source=self.breaks,
            line_color=VERMILLION,
            line_width=2.5,
            line_dash=[5, 2],
        )
        put(
            plot,
            "text",
            x="x",
            y="top",
            text="text",
            source=self.breaks,
            text_color=theme.alarm,
            text_font_size="14px",
            text_align="center",
            text_baseline="middle",
        )

    def _boxes(self, plot: figure, theme: Theme) -> list[GlyphLayer]:
        size: dict[str, Any] = {"x": "x", "y": "y", "width": "w", "height": "h", "border_radius": 4}
        rects = hatched(
            plot,
            "rect",
            self.nodes,
            (PLAIN, BLOCK),
            **size,
            fill_color="fill",
            line_color=theme.text,
            line_width="edge",
            line_alpha=0.7,
            hatch_color=theme.outline,
            hatch_alpha=0.18,
        )
        put(
            plot,
            "rect",
            **size,
            source=self.chosen,
            beside=self.nodes,
            fill_color=None,
            line_color=theme.text,
            line_width=3,
        )
        return rects

    def show(
        self,
        shown: DisplayedPlan,
        expanded: list[str],
        colour: str,
        *,
        refit: bool,
    ) -> None:
        """Draw the visible part of a plan's graph; `refit` scrolls back to its left end."""
        bands = kind_of(shown).bands(shown, {})
        drawn = scene(shown, expanded, colour, self.differs, self.theme, bands)
        self.drawn = drawn
        members = [numbers_text(node.members) for node in drawn.drawing.nodes]
        inked = dict.fromkeys(INKED, drawn.nodes["full"])
        self.nodes.data = {**drawn.nodes, **inked, MEMBERS: members}
        place = {name: i for i, name in enumerate(shown.graph.tensors)}
        along = [numbers_text(place[name] for name in names) for names in drawn.curve_tensors]
        self.curves.data = {**drawn.curves, ALONG: along, "alpha": drawn.curve_alpha}
        self.frames.data = drawn.frames
        describe(self.figure, graph_words(shown, len(drawn.nodes["x"])))
        self._draw_regions(drawn.regions)
        self.where.data = ringed(drawn.steps)
        self._set_ranges(drawn, refit)

    def regroup(self, group_of: Sequence[int | None] | None = None) -> None:
        """Draw other groups around the same nodes: those that the moved budget would give; or the
        plan's own again."""
        if self.drawn:
            own_regions = self.drawn.regions
            other = own_regions if group_of is None else regions(self.drawn.drawing, group_of)
            self._draw_regions(other)

    def tell(self, shown: DisplayedPlan, bands: Sequence[Band]) -> None:
        """Add to the groups' hovers what is known by now."""
        if self.drawn:
            nodes = self.drawn.drawing.nodes
            self.nodes.data["group"] = group_lines(shown.graph, nodes, bands)

    def _draw_regions(self, found: Regions) -> None:
        self.regions.data, self.links.data = found.boxes, found.links
        blank = [""] * len(found.tabs["x"])
        self.tabs.data = {**found.tabs, **dict.fromkeys(INKED_TABS, blank)}

    def _set_ranges(self, drawn: Scene, refit: bool) -> None:
        """Rows keep a readable height: a chain is not enlarged to fill the figure."""
        tabs = TAB + HALO if drawn.regions.tabs["x"] and not drawn.frames["top"] else 0.0
        top = drawn.top - tabs
        middle = (top + drawn.bottom) / 2
        half = max(0.6, (drawn.bottom - top) / 2 + 0.12 + HEIGHT / 2 * (not drawn.frames["top"]))
        half += DROOP * self.arcs
        wanted = half * 2 * 54 + 8
        self.figure.height = round(min(TALLEST, max(80, wanted)))
        ways = "width" if wanted <= TALLEST else "both"  # what is too low for names is zoomed
        for tool in self.figure.tools:
            if isinstance(tool, PanTool | WheelZoomTool):
                tool.dimensions = ways
        self.y_range.update(start=middle + half, end=middle - half)
        self.y_range.update(reset_start=middle + half, reset_end=middle - half)
        self.x_range.update(reset_start=-0.6, reset_end=drawn.columns - 0.4)
        large = drawn.columns > READABLE and len(drawn.nodes["x"]) > 2 * READABLE
        self.overview.show(drawn.columns, (middle - half, middle + half), large=large)
        if refit:  # names in a longer chain could not be read, so the view follows the cursor
            self.x_range.update(start=-0.6, end=min(drawn.columns, READABLE) - 0.4)

    def mark(self, shown: DisplayedPlan, expanded: list[str], names: Collection[str]) -> None:
        """Show at which operators the network is cut."""
        assert self.drawn is not None
        self.breaks.data = break_marks(shown, self.drawn, expanded, names)

    def wish(self, shown: DisplayedPlan, expanded: list[str], wishes: Sequence[str]) -> None:
        """Show the wishes about tensors and between operators."""
        assert self.drawn is not None
        arcs, nodes = self.arcs, shown.tree.nodes(expanded)
        self.arcs = self.wishes.show(shown, self.drawn, nodes, wishes)
        if self.arcs != arcs:
            self._set_ranges(self.drawn, refit=False)


def ring_mark(theme: Theme) -> BoxAnnotation:
    """The dashed ring around what runs at the cursor, over the figure: to move it draws nothing
    else anew."""
    return BoxAnnotation(
        fill_color=None,
        line_color=theme.cursor,
        line_alpha=1.0,
        line_width=2,
        line_dash=[5, 3],
        border_radius=6,
        level="overlay",
        left=0,
        right=0,
        top=0,
        bottom=0,
        syncable=False,
        propagate_hover=True,
    )


def ringed(steps: Columns) -> Columns:
    """Boxes of the steps, with room around for the ring."""
    wide, high = [w + 0.12 for w in steps["w"]], [h + 0.22 for h in steps["h"]]
    return {**steps, "w": wide, "h": high}
