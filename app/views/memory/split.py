"""The pinned plan's own address map, occupancy and timeline, under those of the plan on screen.

Both are on the same axes: the pinned plan is moved onto the steps of the plan on screen
(`app.model.aligning`), and its timeline has the same seconds. Zoom, pan and cursor are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d

from app.kinds.map_rows import Row
from app.kinds.registry import kind_of
from app.kinds.rows_in_sight import Pieces
from app.model.aligning import Warp, warp
from app.model.banks import room_in
from app.model.checked_plan import Shown
from app.model.detail import Boxes
from app.session.session import Session
from app.views.memory.address_map import AddressMap
from app.views.memory.occupancy import Occupancy
from app.views.time.timeline import TimelineView
from app.widgets.following import follow
from app.widgets.glyphs import Layers
from app.widgets.palette import Theme
from app.widgets.style import BOX, TEXT

PLACES = ("left", "right", "x")
Outline = Callable[[Shown, AddressMap, TimelineView], None]
"""Has the browser outline what is selected in the views of a plan."""
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}


class Moved:
    """The rows of an address map, moved onto other steps."""

    def __init__(self, there: Pieces, moved: Warp) -> None:
        self.there, self.moved = there, moved
        self.bundled, self.densest, self.looks = there.bundled, there.densest, there.looks

    def count(self, start: float, stop: float) -> int:
        """How many pieces there are in a window."""
        return self.there.count(self.moved.back(start), self.moved.back(stop))

    def rows(self, start: float, stop: float) -> list[Row]:
        """The pieces in a window."""
        back = self.moved.back
        return [self._row(row) for row in self.there.rows(back(start), back(stop))]

    @property
    def bundles(self) -> list[Row]:
        """The bundles that stand for too many pieces."""
        return [self._row(row) for row in self.there.bundles]

    @cached_property
    def boxes(self) -> Boxes:
        """All rectangles as columns."""
        boxes = self.there.boxes
        sides = [np.array([*map(self.moved, side)], float) for side in (boxes.left, boxes.right)]
        return replace(boxes, left=sides[0], right=sides[1])

    def row(self, box: int) -> Row:
        """The row of a rectangle."""
        return self._row(self.there.row(box))

    def of(self, names: Container[str]) -> list[int]:
        """The rectangles of some tensors."""
        return self.there.of(names)

    def placed(self, row: Row) -> Row:
        """A row that stands for several, given by the steps of the axis, with its own."""
        own = {"begin": self.moved.back(row["left"]), "end": self.moved.back(row["right"])}
        return {**row, **own}

    def _row(self, row: Row) -> Row:
        left, right = self.moved(row["left"]), self.moved(row["right"])
        own = {"begin": row["left"], "end": row["right"]}
        return {**row, **own, "left": left, "right": right, "label_x": (left + right) / 2}


class PinnedMap(AddressMap):
    """An address map on the steps of another plan."""

    def show_moved(self, shown: Shown, moved: Warp, memory: str) -> None:
        """Draw a plan's memory with its steps moved."""
        self.rows = None
        self.show(shown, memory)
        if moved.same:
            return
        assert self.rows is not None
        self.open(Moved(self.rows.pieces, moved))
        own = {self.source, self.marks, self.chosen}
        for source in {layer.source for layer in Layers.of(self.figure).all} - own:
            move_columns(source, moved)


def move_columns(source: ColumnDataSource, moved: Warp) -> None:
    """Move all columns of a source that hold steps."""
    data: dict[str, Any] = dict(source.data)
    for name in PLACES:
        if name in data:
            data[name] = [moved(place) for place in data[name]]
    if "xs" in data:
        data["xs"] = [[moved(place) for place in line] for line in data["xs"]]
    source.data = data


class SplitView(pn.viewable.Viewer):
    """Made when it is first opened; hidden without a pinned plan."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        views: tuple[AddressMap, Occupancy, TimelineView],
        outline: Outline,
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.session, self.theme, self.above, self.outline = session, theme, views, outline
        self.views: tuple[PinnedMap, Occupancy, TimelineView] | None = None
        self.title = pn.pane.HTML(
            "", css_classes=["split-title"], stylesheets=[TEXT], **{**WIDE, "margin": (3, 6)}
        )
        self.box = pn.Column(
            css_classes=["box", "split-views"],
            stylesheets=[BOX],
            visible=False,
            sizing_mode="stretch_width",
        )
        follow(session.work, ["shown", "pinned", "shelf"], lambda: self._show())
        follow(session.look, ["split", "aligned", "serial", "memory"], lambda: self._show())
        follow(session.look, "selection", lambda: self._seek())
        follow(session.look, "unit", lambda: self._set_unit())
        self._show()

    def _make(self) -> None:
        memory, occupancy, timeline = self.above
        steps = memory.steps
        below = PinnedMap(self.theme, steps)
        below.figure.y_range = memory.y_range
        held = Occupancy(self.theme, steps)
        held.figure.y_range = occupancy.y_range
        lanes = TimelineView(self.theme, timeline.x_range)
        pairs = ((memory, below), (occupancy, held), (timeline, lanes))
        for own, other in pairs:
            for side in ("left", "right"):
                own.cursor.js_link(side, other.cursor, side)
        self.views = below, held, lanes
        figures = [pn.pane.Bokeh(view.figure, **WIDE) for view in self.views]
        self.box[:] = [self.title, *figures]

    def _show(self) -> None:
        work, look = self.session.work, self.session.look
        there, here = work.pinned, work.shown
        wanted = look.split and there is not None and here is not None
        if wanted:
            if self.views is None:
                self._make()
            self._draw(here, there)
        self.box.visible = wanted

    def _draw(self, here: Shown, there: Shown) -> None:
        assert self.views is not None
        below, held, lanes = self.views
        memory, _occupancy, timeline = self.above
        look = self.session.look
        moved = warp(here, there, look.aligned)
        high = memory.y_range.end
        key = kind_of(there).memory(there, look.memory)
        below.show_moved(there, moved, key)
        below.y_range.update(start=0, end=high)
        if room := room_in(there, key):
            below.limit.location = room
            below.far.say("", room)
        held.show(there, moved=moved, memory=key)
        lanes.show(there, look.serial)
        self._same_time(here, there, timeline.x_range)
        self._place(here, look.step)
        self.title.object = title_html(self.session.pins.chosen, look.aligned, moved)
        self._set_unit()
        self._seek()
        self.outline(there, below, lanes)

    def _place(self, here: Shown, step: int) -> None:
        """Put the cursors where those above them are; the client moves them together."""
        assert self.views is not None
        seconds = here.serial_step_seconds if self.session.look.serial else here.step_seconds
        places = (step, step + 1), (step, step + 1), seconds[min(step, here.steps - 1)]
        bands = [view.cursor for view in self.views]
        for band, (left, right) in zip(bands, places, strict=True):
            band.update(left=left, right=right)

    def _same_time(self, here: Shown, there: Shown, time: Range1d) -> None:
        """Both timelines end where the longer plan does."""
        serial = self.session.look.serial
        traces = [s.serial_trace if serial else s.trace for s in (here, there)]
        end = max(trace.makespan_s for trace in traces) * 1.01
        time.update(start=0, end=end, reset_start=0, reset_end=end)

    def _seek(self) -> None:
        there = self.session.work.pinned
        if self.views and self.box.visible and there:
            self.views[0].seek(kind_of(there).drawn(there, self.session.look.selection))

    def _set_unit(self) -> None:
        if self.views:
            for view in self.views[:2]:
                view.set_unit(self.session.look.unit)

    def __panel__(self) -> pn.Column:
        return self.box


def title_html(name: str, by: str, moved: Warp) -> str:
    """Which plan it is, and how its steps are aligned."""
    words = {
        "time": "its steps are where the plan on screen is at the same time",
        "operator": "its steps are where the plan on screen runs the same operators",
    }
    about = "the same steps" if moved.same else words.get(by, "")
    return f'<div class="title"><b>Pinned: {escape(name)}</b> <span>{about}</span></div>'
