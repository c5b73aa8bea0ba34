"""The explorer: one session, its views, and how they follow the plan, cursor and selection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import panel as pn
from bokeh.models import Range1d

from app.display.aligning import warp
from app.kinds.registry import kind_of
from app.kinds.step_axis import axis_of, end_of
from app.model.glossary import term
from app.outputs.tables import differences_csv
from app.session.live import group_of
from app.session.session import Session
from app.session.teaching import spoken_tensors
from app.views.cursor.client import CursorPages
from app.views.cursor.handles import handles
from app.views.dag.bars import DagBar, Message
from app.views.dag.view import DagView
from app.views.fronts.pareto import Pareto, draw
from app.views.fronts.pareto_bar import ParetoBar
from app.views.fronts.pareto_panel import ParetoPanel
from app.views.fronts.stream_panel import MemorySwitch, StreamPanel
from app.views.memory.address_map import AddressMap
from app.views.memory.brush import HIGH, Brush
from app.views.memory.moved_by_hand import HandBar, add_hand
from app.views.memory.occupancy import Occupancy
from app.views.memory.pool_panel import PoolPanel
from app.views.memory.split import SplitView
from app.views.panels.audit_bar import AuditBar
from app.views.panels.cards import CSS as CARDS_CSS
from app.views.panels.cards import cards_html, preview_html
from app.views.panels.compare_panel import Comparison, differing
from app.views.panels.corner import Corner
from app.views.panels.live_solver import LiveSolver
from app.views.panels.status import Status
from app.views.timing.step_bar import Stepper
from app.views.timing.step_range import RangeMarks
from app.views.timing.timeline import TimelineView, timeline_legend_html, timeline_title
from app.widgets.button_bar import ButtonBar, add_alone, alone
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.lazy_visible import near
from app.widgets.legends import (
    add_hex,
    add_time,
    differs_html,
    heading,
    map_legend,
    map_legend_html,
    serial_switch,
    timeline_legend,
)
from app.widgets.palette import Theme
from app.widgets.recolour import recolour
from app.widgets.rows import BarRows, Words
from app.widgets.style import BOX, LEGEND, PLAIN, TIP


class Explorer(pn.viewable.Viewer):
    """The main area: views that show what the session holds; the browser reports its taps."""

    def __init__(self, session: Session, theme: Theme, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.theme = session, theme
        self.steps = Range1d(0, 1)
        self.dag = DagView(theme)
        small = pn.pane.Bokeh(
            self.dag.overview.figure, margin=0, sizing_mode="stretch_width"
        )  # a pane of a figure cannot be hidden by itself
        self.overview = pn.Column(small, visible=False, margin=0, sizing_mode="stretch_width")
        self.map = AddressMap(
            theme, self.steps, lambda number, offset: session.moving.drop(number, offset)
        )
        self.occupancy = Occupancy(theme, self.steps)
        self.brush = Brush(theme, self.steps)
        strip = pn.pane.Bokeh(self.brush.figure, margin=0, sizing_mode="stretch_width")
        self.under = near(
            pn.Column, HIGH, lambda: [strip], visible=False, margin=0, sizing_mode="stretch_width"
        )
        self.timeline = TimelineView(theme)
        self.pareto = Pareto(theme, session.sweeps.tap)
        self.planners = ParetoPanel(session, theme, self.pareto.looks)
        self.compare = Comparison(session, differences_csv)
        self.pool = PoolPanel(session, theme)
        self.stream = StreamPanel(session, theme)
        self.stepper = Stepper(session)
        views = handles(self.dag, self.map, self.occupancy, self.timeline)
        self.cursor = CursorPages(
            session,
            {**views, "slider": self.stepper.slider},
            self.map.pool,
            lambda: (self.pool.ring, self.pool.bars),
            lambda key: self._choose(key),
        )
        # A hall sees the map without what is under it: then it has an axis of its own.
        self.map.figure.xaxis.formatter = self.occupancy.figure.xaxis[0].formatter
        self.cards = pn.pane.HTML(
            "",
            stylesheets=[CARDS_CSS, TIP],
            css_classes=["cards"],
            sizing_mode="stretch_width",
            margin=0,
        )
        self.live = BarRows(
            part="live",
            selects=True,
            css_classes=["live"],
            head=[term("live", "lifetime") + " at the cursor", "bytes", term("address")],
            empty="nothing is on chip",
            height=128,
            sizing_mode="stretch_width",
        )
        self.lanes_title = pn.pane.HTML(
            "", margin=(3, 6), stylesheets=[TIP, PLAIN, LEGEND], sizing_mode="stretch_width"
        )
        self.live_title = Words(
            part="title", css_classes=["live-title"], margin=(2, 4), stylesheets=[TIP, PLAIN]
        )
        self.legend, self.lanes_legend = map_legend(), timeline_legend()
        self.corner = Corner(session, lambda key: self._choose(key))
        self.ranges = RangeMarks(
            theme,
            [self.map.figure, self.occupancy.figure],
            [self.timeline.figure],
            (lambda: session.work.shown, lambda: session.look.serial),
            lambda: self.map.moved,
            lambda span: session.look.param.update(selection=span.selection, panel="details"),
        )
        self._follow()
        above = self.map, self.occupancy, self.timeline  # the split view draws after them
        self.split = SplitView(session, theme, above, self.cursor.compare)

    def _follow(self) -> None:
        """Each view is redrawn when what it shows changes, and only then."""
        work, look = self.session.work, self.session.look
        follow(work, "shown", lambda: self._show_plan())
        follow(work, ["planning", "shown_for", "budgets"], lambda: self._show_cards())
        follow(self.session.problem, list(self.session.problem.param), lambda: self._show_cards())
        follow(self.session.problem, ["options", "planner"], lambda: self._show_breaks())
        follow(self.session.problem, "wishes", lambda: self._show_wishes())
        follow(work, "why", lambda: self._tell_groups())
        follow(work, "preview", lambda: self._show_preview())
        follow(work, "pinned", lambda: self._show_pinned())
        follow(work, ["points", "infeasible"], lambda: draw(self.pareto, self.session))
        follow(look, ["metric", "across"], lambda: draw(self.pareto, self.session))
        follow(look, ["selection", "presenting", "step"], lambda: self._seek())
        follow(look, ["selection", "serial"], lambda: self.ranges.mark(look.selection))
        follow(look, ["expanded", "colour"], lambda: self._show_dag(refit=False))
        follow(look, ["memory", "aligned", "axis"], lambda: self._show_memory())
        follow(look, "by_hand", lambda: self._show_by_hand())
        follow(work, "attempt", lambda: self._show_attempt())
        follow(look, "serial", lambda: self._turn_serial())
        follow(look, "unit", lambda: self._set_unit(look.unit))

    def turn(self, theme: Theme) -> None:
        """Light or dark from now on: what is on screen, and what is made later."""
        before = replace(self.theme)
        self.theme.become(theme)
        with pn.io.hold():
            below = (self.dag, self.dag.overview, self.timeline, self.pareto, self.brush)
            later = [view.figure for view in below]
            recolour(self.map.figure.document, before, self.theme, later)
            self.map.turn(self.theme)
            self.occupancy.turn(self.theme)
            if self.session.work.shown:
                self._show_dag(refit=False)
                draw(self.pareto, self.session)

    def _show_cards(self) -> None:
        work = self.session.work
        if work.shown and not work.preview:
            budgets = self.session.planning.known.budgets_of(work.shown_for)
            self.cards.object = cards_html(work.shown, self.session.stale, budgets)

    def _tell_groups(self) -> None:
        """The alternative costs of the groups' operators arrive later than the plan."""
        shown, why = self.session.work.shown, self.session.work.why
        if shown and why:
            bands = kind_of(shown).bands(shown, why)
            for view in (self.map.groups, self.timeline.groups):
                view.tell(bands)
            self.dag.tell(shown, bands)

    def _show_preview(self) -> None:
        """The groups and their cost while the budget moves; the program comes later."""
        shown, preview = self.session.work.shown, self.session.work.preview
        if shown is None:
            return
        if not preview:
            self._show_cards()
            self.dag.regroup()
            return
        self.cards.object = preview_html(shown, preview)
        if (groups := group_of(preview, len(shown.graph.operators))) is not None:
            self.dag.regroup(groups)

    def _show_plan(self) -> None:
        self._show_cards()
        self._show_memory()
        self._show_dag(refit=True)
        self._show_timeline()
        self.ranges.mark(self.session.look.selection)
        draw(self.pareto, self.session)

    def _show_pinned(self) -> None:
        self._show_memory()
        if self.session.work.shown and self.session.look.colour == "difference":
            self._show_dag(refit=False)

    def _show_memory(self) -> None:
        """The address map and occupancy, on the same axes as the pinned plan where there is one."""
        shown, pinned = self.session.work.shown, self.session.work.pinned
        if shown is None:
            return
        by = self.session.look.aligned
        axis = axis_of(shown, self.session.look.axis, serial=self.session.look.serial)
        last = max(shown.steps, warp(shown, pinned, by)(pinned.steps) if pinned else 0)
        end = end_of(axis, last)
        self.map.rows = None  # what it has drawn is of another plan
        self.steps.update(start=0, end=end, reset_start=0, reset_end=end)
        kind, key = kind_of(shown), self.session.look.memory
        memory = kind.memory(shown, key)
        self.map.show(shown, memory, pinned, kind.region(shown, key), by, axis)
        self._seek()
        self.occupancy.show(shown, pinned, by, axis, memory)
        self.occupancy.set_axis(timed=not axis.same)
        self.brush.show(shown, axis, memory, end)
        self.under.visible = self.brush.wanted
        self.ranges.mark(self.session.look.selection)
        self._show_by_hand()
        comparing = pinned is not None
        self.legend.object = map_legend_html(kind.looks, differs_html() if comparing else "")

    def _show_by_hand(self) -> None:
        shown, look = self.session.work.shown, self.session.look
        if shown:
            memory = kind_of(shown).memory(shown, look.memory)
            self.map.lift(shown if look.by_hand else None, memory)
        self._show_attempt()

    def _show_attempt(self) -> None:
        if shown := self.session.work.shown:
            self.map.tell(shown, self.session.work.attempt)

    def _show_dag(self, *, refit: bool) -> None:
        shown, look = self.session.work.shown, self.session.look
        self.dag.differs = differing(self.session)
        self.dag.show(shown, look.expanded, look.colour, refit=refit)
        self.overview.visible = self.dag.overview.wanted
        self.dag.tell(shown, kind_of(shown).bands(shown, self.session.work.why))
        self._show_breaks()
        self._show_wishes()

    def _show_breaks(self) -> None:
        if shown := self.session.work.shown:
            self.dag.mark(shown, self.session.look.expanded, self.session.breaks.nodes)

    def _show_wishes(self) -> None:
        wishes = self.session.problem.wishes
        if shown := self.session.work.shown:
            self.map.wish(wishes)
            self.dag.wish(shown, self.session.look.expanded, wishes)

    def _turn_serial(self) -> None:
        """Engines one after the other have other times."""
        if not self.map.moved.same:
            self._show_memory()
        self._show_timeline()

    def _show_timeline(self) -> None:
        shown, look = self.session.work.shown, self.session.look
        self.timeline.show(shown, look.serial)
        self.lanes_title.object = heading(
            term("Timeline", "timeline"), timeline_title(shown, look.serial)
        )
        self.lanes_legend.object = timeline_legend_html(shown, look.serial)

    def _seek(self) -> None:
        """Where the drawing merges pieces, the browser has to be told those of the selection."""
        shown, look = self.session.work.shown, self.session.look
        if shown is None:
            return
        if look.presenting and not look.selection:
            self.map.seek(spoken_tensors(shown, look.step))
        else:
            self.map.seek(kind_of(shown).drawn(shown, look.selection))

    def _set_unit(self, unit: str) -> None:
        self.map.set_unit(unit)
        self.occupancy.set_unit(unit)

    def _choose(self, selection: str) -> None:
        """Select, or take for the wish that waits; a second time on the same thing deselects it.

        This is for the server: the browser does it by itself as long as no wish waits.
        """
        look = self.session.look
        if self.session.what_if.picked(selection):
            return
        if look.panel == "solver":
            look.panel = "details"
        look.selection = "" if look.selection == selection else selection

    def __panel__(self) -> pn.Column:
        session, wide = self.session, {"sizing_mode": "stretch_width"}

        def plot(view: Any) -> pn.pane.Bokeh:
            return pn.pane.Bokeh(view.figure, margin=0, **wide)

        def box(name: str) -> dict[str, Any]:
            return {"css_classes": ["box", name], "stylesheets": [BOX], **wide}

        def lanes() -> list[Any]:
            head = self.lanes_title, self.lanes_legend, serial_switch(session), alone("time")
            return [pn.Row(*head, css_classes=["bar"], margin=0, **wide), plot(self.timeline)]

        def front() -> list[Any]:
            return [ParetoBar(session), plot(self.pareto)]

        def graph() -> list[Any]:
            bar = pn.Row(DagBar(session, self.dag), alone("network"), margin=0, **wide)
            return [bar, plot(self.dag), self.overview]

        ways = ButtonBar()
        for add in (add_time, add_hex, add_hand):
            add(ways, session)
        add_alone(ways, "memory")
        parts = self.legend, MemorySwitch(session), ways
        head = seen(pn.Row, *parts, css_classes=["bar"], margin=0, **wide)
        views = plot(self.map), plot(self.occupancy)
        memory = seen(pn.Column, head, HandBar(session), *views, self.under, **box("memory"))
        timeline = near(pn.Column, 232, lanes, **box("lanes"))
        right = pn.Column(
            near(pn.Column, 344, front, **box("pareto-box")),
            pn.Column(self.live_title, self.live, **box("live-box")),
            pn.Column(self.corner, **box("corner-box")),
            css_classes=["right"],
            width=330,
            margin=(0, 0, 0, 8),
        )
        left = seen(pn.Column, memory, self.split, timeline, css_classes=["left"], margin=0, **wide)
        top = seen(
            pn.Column,
            self.cards,
            Status(session),
            Message(session),
            margin=0,
            **wide,
        )
        return seen(
            pn.Column,
            top,
            self.stepper,
            self.stepper.told,
            AuditBar(session),
            self.planners,
            self.compare,
            pn.Row(left, right, css_classes=["views"], margin=0, **wide),
            near(pn.Column, 240, graph, "graph", **box("graph-box")),
            self.pool,
            self.stream,
            LiveSolver(session),
            self.cursor.client,
            css_classes=["explorer"],
            margin=0,
            **wide,
        )
