"""The address map: which bytes of the scratchpad hold which tensor at which step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any

import numpy as np
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSTickFormatter,
    Label,
    Range1d,
    Span,
)
from bokeh.plotting import figure

from app.captions.pictures import map_words
from app.display.aligning import Warp
from app.display.detail import Sight
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import ShownRegion
from app.kinds.map_rows import map_marks
from app.kinds.registry import kind_of
from app.kinds.visible_rows import MOST, DrawnRows, Pieces, RowsInSight
from app.model.paths import script
from app.views.memory.map_columns import COLUMNS, SIDES, map_columns, rectangles, told
from app.views.memory.moved_by_hand import HandLayer
from app.views.memory.moved_rows import MovedRows, move_columns
from app.views.memory.outlines import Outlines
from app.views.memory.pool_layer import PoolLayer
from app.views.memory.stream_bands import StreamBands
from app.views.memory.wish_marks import MapWishes
from app.views.timing.group_bands import GroupBands, step_places
from app.widgets.axes import AXIS_WIDTH, FORMAT_ADDRESS, KIB_TICKS
from app.widgets.axis_break import FarLimit
from app.widgets.frames import filled_there
from app.widgets.glyphs import describe, put, tappable, tell
from app.widgets.palette import Theme, cursor_band, dress
from app.widgets.viewport import WhenStill, sight_of
from planners.core.axis_break import drawn_bytes, free_above
from planners.core.colours import DARK_INK, YELLOW

FINE, SMALL = 400, 2500  # from so many rectangles on, their outlines are faint, or left out
GROUPS = 0.935, 0.995  # where the names of fused groups are, in shares of the frame
LABELS = ("label_x", "label_y", "label")
FIT_LABELS = script("map_labels")


class AddressMap:
    """A figure that is made once; a plan replaces its data, the client moves its cursor.

    Drawn without WebGL, which copies the picture once for each hatch and so takes twice as long
    where there is no GPU.
    """

    def __init__(
        self,
        theme: Theme,
        x_range: Range1d,
        drop: Callable[[int, int], None] = lambda _number, _offset: None,
        most: int = MOST,
    ) -> None:
        self.steps, self.most = x_range, most
        self.rows: RowsInSight | None = None
        self.moved = Warp()
        self.names: Collection[str] = ()
        self.groups = GroupBands()
        self.source = ColumnDataSource({name: [] for name in COLUMNS})
        self.words = ColumnDataSource({"text": []})
        self.fitting = ColumnDataSource({name: [] for name in LABELS})
        self.chosen = filled_there(*SIDES, "width", "alpha")
        self.pieces = ColumnDataSource({name: [] for name in ("tensor", *SIDES)})
        self.marks = ColumnDataSource({name: [] for name in ("x", "y", "angle", "colour")})
        self.y_range = Range1d(0, 1)
        self.limit = Span(location=0, dimension="width", line_dash="dashed", line_width=1.5)
        self.cursor = cursor_band(theme)
        self.edges = ColumnDataSource({"at": []})
        # No glyph draws them: the client outlines pieces, and places the cursor between edges.
        self.cursor.tags = [self.pieces, self.edges]
        self.note = Label(
            x=6,
            y=4,
            x_units="screen",
            y_units="screen",
            text="",
            text_color=DARK_INK,
            text_font_size="10.5px",
            background_fill_color=YELLOW,
            background_fill_alpha=0.85,
            padding=3,
        )
        self.figure = self._figure(theme, x_range)
        self.hand = HandLayer(self.figure, theme, drop)
        self.still = WhenStill(self.figure, lambda: self._redraw())

    def _figure(self, theme: Theme, x_range: Range1d) -> figure:
        plot = figure(
            height=272,
            sizing_mode="stretch_width",
            x_range=x_range,
            y_range=self.y_range,
            tools="xwheel_zoom,xpan,box_zoom,reset,save",
            active_scroll=None,
            y_axis_label="address",
            css_classes=["address-map"],
        )
        dress(plot, theme)
        self._glyphs(plot, theme)
        plot.xaxis.visible = False
        plot.min_border_left = AXIS_WIDTH
        plot.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=6)
        self.formatter = CustomJSTickFormatter(code=FORMAT_ADDRESS)
        self.formatter.tags = ["KiB"]
        self.formatter.args = {"unit": self.formatter}
        plot.yaxis.formatter = self.formatter
        self.limit.line_color = theme.text
        self.strip = Range1d(0, 1)
        plot.extra_y_ranges = {"strip": self.strip}
        across = {"bottom": GROUPS[0], "top": GROUPS[1], "y_range_name": "strip"}
        self.groups.draw(plot, theme, x_range, across, 0.965)
        for item in (self.limit, self.cursor, self.note):
            plot.add_layout(item)
        self.far = FarLimit(plot, theme, 0.035)
        self._keep_labels_fitting(plot, x_range)
        self.pool = PoolLayer(plot, theme, FIT_LABELS)
        self.bands = StreamBands(plot, theme)
        return plot

    def _keep_labels_fitting(self, plot: figure, x_range: Range1d) -> None:
        """The client knows how wide a rectangle is, so it decides which names fit."""
        args = {"plot": plot, "steps": x_range, "range": self.y_range, "source": self.source}
        args["names"] = self.fitting
        fit = CustomJS(args=args, code=FIT_LABELS)
        for around in (x_range, self.y_range):
            around.js_on_change("end", fit)
        plot.js_on_change("inner_width", fit)
        self.source.js_on_change("data", fit)

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        box = {"left": "left", "right": "right", "bottom": "bottom", "top": "top"}
        rects = rectangles(
            plot,
            self.source,
            fill_alpha=solid(theme),
            line_color=theme.outline,
            line_width=1,
            hatch_color=theme.outline,
            hatch_alpha=0.55,
            hatch_scale=9,
            hatch_weight=1.4,
        )
        self.rects = rects
        self.outlines = Outlines(plot, theme)
        put(
            plot,
            "quad",
            **box,
            source=self.chosen,
            beside=self.source,
            fill_color=theme.text,
            fill_alpha="alpha",
            line_color=theme.text,
            line_width="width",
        )
        put(
            plot,
            "text",
            x="label_x",
            y="label_y",
            text="label",
            source=self.fitting,
            beside=self.source,
            text_color=DARK_INK,
            text_align="center",
            text_baseline="middle",
            text_font_size="10.5px",
            background_fill_color="#ffffff",
            background_fill_alpha=0.5,
        )
        self.wishes = MapWishes(plot)
        put(
            plot,
            "scatter",
            x="x",
            y="y",
            marker="triangle",
            angle="angle",
            size=11,
            source=self.marks,
            fill_color="colour",
            line_color=theme.outline,
        )
        tell(plot, rects, **told(self.source, self.words))
        tappable(plot, rects, there=True)

    def show(
        self,
        shown: DisplayedPlan,
        memory: str,
        pinned: DisplayedPlan | None = None,
        region: ShownRegion | None = None,
        by: str = "operator",
        moved: Warp | None = None,
    ) -> None:
        """Draw a plan's residencies in a memory, on axes that hold those of the pinned one too.

        `region` is the part of the memory to be shown, for plans that have parts; `by` says how the
        steps of the pinned plan are moved onto those of this one (`app.display.aligning.ALIGNED`),
        `moved` where its own steps are on the axis.
        """
        kind, self.moved = kind_of(shown), moved or Warp()
        self.edges.data = {"at": np.array(self.moved.ours, float)}
        describe(self.figure, map_words(shown))
        self.rows = None
        self.limit.location = kind.limit(shown)[0]
        self.outlines.show(shown, pinned, memory, by)
        every = [s for s in (shown, pinned) if s]
        used = max(s.report.extent_bytes for s in every)
        top = max(used, drawn_bytes(used, max(map(limit_bytes, every))))
        self.pool.show(shown)
        bands = kind.bands(shown, {})
        self.groups.show(bands, step_places(bands))
        for source in (*self.outlines.sources, self.groups.source, self.pool.names):
            move_columns(source, self.moved)
        self.bands.show(shown, region)
        low, high = 0.0, top * (1.1 if kind.banded else 1.04)
        if region is not None and region.key:
            low = region.base
            high = low + region.drawn_bytes * 1.02
            self.limit.location = region.base + region.size_bytes
        self.y_range.update(start=low, end=high, reset_start=low, reset_end=high)
        above = far_limit(shown, region, self.figure.y_range.end)
        self.far.say(*above, GROUPS[0] - 0.01 if kind.banded else 1.0)
        self.open(kind.rows(shown, memory))

    def open(self, pieces: Pieces) -> None:
        """Draw the pieces of a plan's memory."""
        placed = pieces if self.moved.same else MovedRows(pieces, self.moved)
        self.rows = RowsInSight(placed, self.most)
        self._redraw()

    def _redraw(self) -> None:
        """Draw what is in sight, as far as a screen can show it."""
        if self.rows is None:
            return
        sight = sight_of(self.figure)
        if (picture := self.rows.new(sight)) is not None:
            self._draw(picture)
        self._edge(self.rows, sight)

    def _edge(self, rows: RowsInSight, sight: Sight) -> None:
        """Set the outlines for what is in sight; what is merged has none."""
        strips = rows.merged or rows.pieces.strips
        alpha = edge_alpha(rows.count(sight), strips)
        for rect in self.rects:
            rect.look(line_alpha=alpha)

    def _draw(self, picture: DrawnRows) -> None:
        columns, self.words.data = map_columns(picture.rows)
        self.source.data = columns
        self.marks.data = map_marks(picture.rows)
        self.note.text = picture.note
        self.wishes.place(self._of(self.wishes.wished))
        self._place()

    def seek(self, names: Collection[str]) -> None:
        """Tell the browser where rectangles of these names lie, drawn or merged with others."""
        self.names = names
        self._place()

    def _place(self) -> None:
        merged = self.rows is not None and self.rows.merged
        sides = self._of(self.names if merged else ())
        if sides["tensor"] or self.pieces.data["tensor"]:
            self.pieces.data = sides

    def _of(self, names: Container[str]) -> dict[str, list[Any]]:
        """Rectangles of tensors as they are drawn, or, where they may be merged, as they are."""
        if self.rows is not None and self.rows.merged:
            rows = self.rows.of_tensors(names)
            return {name: [row[name] for row in rows] for name in ("tensor", *SIDES)}
        data: dict[str, Any] = self.source.data
        hits = [i for i, tensor in enumerate(data["tensor"]) if tensor in names]
        sides = {side: [float(data[side][i]) for i in hits] for side in SIDES}
        return {"tensor": [data["tensor"][i] for i in hits], **sides}

    def wish(self, wishes: Iterable[str]) -> None:
        """Mark the tensors that are wished on chip, or off it."""
        self.wishes.wish(wishes)
        self.wishes.place(self._of(self.wishes.wished))

    def turn(self, theme: Theme) -> None:
        """Draw for another theme."""
        for rect in self.rects:
            rect.look(fill_alpha=solid(theme))

    def lift(self, shown: DisplayedPlan | None, memory: str) -> None:
        """Let the stays of a memory be moved by hand; without a plan, none."""
        self.hand.show(shown, memory)
        move_columns(self.hand.stays, self.moved)

    def tell(self, shown: DisplayedPlan, attempt: Mapping[str, Any]) -> None:
        """Keep a refused move on screen, and what it would overwrite."""
        self.hand.tell(shown, attempt)
        for source in (self.hand.held, self.hand.clash, self.hand.met):
            move_columns(source, self.moved)

    def set_unit(self, unit: str) -> None:
        """Write addresses in KiB or hexadecimal."""
        self.formatter.tags = [unit]
        self.formatter.code = FORMAT_ADDRESS + f"// {unit}"


def solid(theme: Theme) -> float:
    """Opacity of rectangles: names on them need the contrast."""
    return 1.0 if theme.dark else 0.85


def edge_alpha(rectangles: int, strips: bool) -> float:
    """Opacity of the lines around rectangles: faint for many rectangles, or for strips a pixel
    high, which they would cover and take half of the drawing time."""
    return 0.0 if strips or rectangles > SMALL else 0.5 if rectangles > FINE else 1.0


def is_parameter(shown: DisplayedPlan, name: str) -> bool:
    """Whether a tensor of that name is a parameter."""
    return name in shown.graph.tensors and shown.graph.tensors[name].kind == "parameter"


def far_limit(shown: DisplayedPlan, region: ShownRegion | None, high: float) -> tuple[str, int]:
    """What lies above an axis that ends at `high`, and where that ends, in bytes; no words where
    all is on it."""
    if region is not None and region.key:
        far = region.base + region.size_bytes > high
        used, room = region.used_bytes, region.size_bytes
        return (free_above(used, room, region.name) if far else "", room)
    limit, budget = limit_bytes(shown), shown.plan.budget_bytes
    used = limit if limit < budget else shown.report.extent_bytes
    return (free_above(used, budget) if budget > high else "", budget)


def limit_bytes(shown: DisplayedPlan) -> int:
    """The limit of the addresses: the budget, or what the plan's pool or rings need of it."""
    return kind_of(shown).limit(shown)[0]
