"""The pinned plan's own address map, occupancy and timeline, under those of the plan on screen.

Both are on the same axes: the pinned plan is moved onto the steps of the plan on screen
(`app.display.aligning`), and its timeline has the same seconds. Zoom, pan and cursor are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn
from bokeh.models import Range1d

from app.display.aligning import Warp, warp
from app.display.banks import room_in
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.kinds.step_axis import ROOM_AFTER
from app.session.session import Session
from app.views.memory.address_map import AddressMap
from app.views.memory.occupancy import Occupancy
from app.views.timing.timeline import TimelineView
from app.widgets.following import follow
from app.widgets.palette import Theme
from app.widgets.style import BOX, TEXT

Outline = Callable[[DisplayedPlan, AddressMap, TimelineView], None]
"""Has the browser outline what is selected in the views of a plan."""
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}


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
        self.views: tuple[AddressMap, Occupancy, TimelineView] | None = None
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
        follow(session.look, ["split", "aligned", "serial", "memory", "axis"], lambda: self._show())
        follow(session.look, "selection", lambda: self._seek())
        follow(session.look, "unit", lambda: self._set_unit())
        self._show()

    def _make(self) -> None:
        memory, occupancy, timeline = self.above
        steps = memory.steps
        below = AddressMap(self.theme, steps)
        below.figure.y_range = memory.y_range
        occupancy_below = Occupancy(self.theme, steps)
        occupancy_below.figure.y_range = occupancy.y_range
        lanes = TimelineView(self.theme, timeline.x_range)
        pairs = ((memory, below), (occupancy, occupancy_below), (timeline, lanes))
        for upper, other in pairs:
            for side in ("left", "right"):
                upper.cursor.js_link(side, other.cursor, side)
        self.views = below, occupancy_below, lanes
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

    def _draw(self, here: DisplayedPlan, there: DisplayedPlan) -> None:
        assert self.views is not None
        below, occupancy_below, lanes = self.views
        memory, _occupancy, timeline = self.above
        look = self.session.look
        aligned = warp(here, there, look.aligned)
        moved = aligned.then(memory.moved)
        high = memory.y_range.end
        key = kind_of(there).memory(there, look.memory)
        below.show(there, key, moved=moved)
        below.y_range.update(start=0, end=high)
        if room := room_in(there, key):
            below.limit.location = room
            below.far.say("", room)
        occupancy_below.show(there, moved=moved, memory=key)
        occupancy_below.set_axis(timed=not memory.moved.same)
        lanes.show(there, look.serial)
        self._same_time(here, there, timeline.x_range)
        self._place(here, look.step)
        self.title.object = title_html(self.session.pins.chosen, look.aligned, aligned)
        self._set_unit()
        self._seek()
        self.outline(there, below, lanes)

    def _place(self, here: DisplayedPlan, step: int) -> None:
        """Put the cursors where those above them are; the client moves them together."""
        assert self.views is not None
        seconds = here.serial_step_seconds if self.session.look.serial else here.step_seconds
        axis = self.above[0].moved
        across = axis(step), axis(step + 1)
        places = across, across, seconds[min(step, here.steps - 1)]
        bands = [view.cursor for view in self.views]
        for band, (left, right) in zip(bands, places, strict=True):
            band.update(left=left, right=right)

    def _same_time(self, here: DisplayedPlan, there: DisplayedPlan, time: Range1d) -> None:
        """Both timelines end where the longer plan does."""
        serial = self.session.look.serial
        traces = [s.serial_trace if serial else s.trace for s in (here, there)]
        end = max(trace.makespan_s for trace in traces) * ROOM_AFTER
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
        "time": "its steps are aligned by time",
        "operator": "its steps are aligned by operator",
    }
    about = "the same steps" if moved.same else words.get(by, "")
    return f'<div class="title"><b>Pinned: {escape(name)}</b> <span>{about}</span></div>'
