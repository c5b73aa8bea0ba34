"""Streamed parameters: delay against memory, delay against resolution, and the map's memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import panel as pn

from app.kinds.registry import kind_of
from app.model.sizes import format_exact
from app.model.state import WEIGHED
from app.session.session import Session
from app.session.streams import AMONG
from app.views.fronts.delay_front import DelayFront
from app.views.fronts.resolution_chart import ResolutionChart
from app.widgets.bound import bind
from app.widgets.button_bar import alone
from app.widgets.buttons import button
from app.widgets.changing_select import ChangingButtons
from app.widgets.deferred import fill, hidden_box, show_in_row
from app.widgets.following import follow
from app.widgets.legends import switch
from app.widgets.palette import Theme
from app.widgets.style import COMPACT, TEXT
from planners.core.colours import BLUE, GREEN, ORANGE, PURPLE, VERMILLION

HINT = "At several resolutions of the input: how much memory and time does each pipeline need?"


class MemorySwitch(pn.viewable.Viewer):
    """Which memory, or part of one, the address map shows; only for streamed plans."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.group = ChangingButtons(
            options={"on chip": ""},
            css_classes=["switch", "map-memory"],
            variant="outline",
            stylesheets=[COMPACT],
            margin=(0, 6),
            visible=False,
        )
        self.memory = bind(self.group, session.look, "memory", to=lambda key: self._key(key))
        follow(session.work, "shown", lambda: self._show())

    def _key(self, chosen: str) -> str:
        """The region that is shown: the chosen one, or the first where the plan does not have
        it."""
        shown = self.session.work.shown
        region = kind_of(shown).region(shown, chosen) if shown else None
        return region.key if region else chosen

    def _show(self) -> None:
        shown = self.session.work.shown
        regions = kind_of(shown).regions(shown) if shown else ()
        self.group.visible = len(regions) > 1
        if not regions:
            return
        options = {region.name: region.key for region in regions}
        self.group.param.update(options=options, value=self.memory.value())

    def __panel__(self) -> pn.widgets.RadioButtonGroup:
        return self.group


class StreamPanel(pn.viewable.Viewer):
    """Two figures in a row; hidden for plans that stream nothing."""

    def __init__(self, session: Session, theme: Theme, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.theme = session, theme
        self._make_sweep()
        self.box = hidden_box("streams")
        work, look = session.work, session.look
        follow(work, ["shown", "fronts"], lambda: self._show())
        follow(work, "under", lambda: self._move())
        follow(work, "resolutions", lambda: self._show_chart())
        follow(look, "weighed", lambda: self._show_chart())
        follow(work, ["resolving", "resolved", "resolutions"], lambda: self._show_state())
        self._show_state()

    @cached_property
    def front(self) -> DelayFront:
        """Delay against memory."""
        return DelayFront(self.theme, lambda size, fields: self._ask(size, fields))

    @cached_property
    def chart(self) -> ResolutionChart:
        """Delay by resolution of the input."""
        return ResolutionChart(self.theme)

    def _make_sweep(self) -> None:
        streams = self.session.streams
        self.pipelines = pn.widgets.CheckButtonGroup(
            options=list(AMONG),
            value=list(streams.pipelines),
            css_classes=["switch", "swept"],
            variant="outline",
            stylesheets=[COMPACT],
            margin=(2, 4),
        )
        self.pipelines.param.watch(self._choose, "value")
        self.start = button(
            "Sweep resolutions", "sweep-resolutions", lambda: streams.sweep(), margin=(0, 4)
        )
        self.stop = button(
            "Stop",
            "resolutions-stop",
            lambda: streams.cancel_sweep(),
            margin=(0, 4),
            color="danger",
        )
        self.state = pn.pane.HTML(
            "", css_classes=["resolutions-state"], margin=(4, 4), stylesheets=[TEXT]
        )

    def _choose(self, event: Any) -> None:
        self.session.streams.pipelines = tuple(name for name in AMONG if name in event.new)

    def _show(self) -> None:
        work = self.session.work
        self.box.visible = self._streamed
        if self._streamed:
            self.front.show(work.shown, work.fronts)
            self.front.move(self.session.streams.under, work.fronts)
            self._show_chart()
            fill(self.box, self._rows)

    @property
    def _streamed(self) -> bool:
        shown = self.session.work.shown
        return shown is not None and kind_of(shown).streams

    def _move(self) -> None:
        if self._streamed:
            self.front.move(self.session.streams.under, self.session.work.fronts)

    def _show_chart(self) -> None:
        if self._streamed:
            self.chart.show(self.session.work.resolutions, self.session.look.weighed)

    def _show_state(self) -> None:
        work = self.session.work
        show_in_row(self.start, not work.resolving)
        show_in_row(self.stop, work.resolving)
        self.state.object = work.resolved or HINT

    def _ask(self, size: int, fields: dict[str, Any]) -> None:
        self.session.choose(budget=format_exact(size), **fields)

    def _rows(self) -> list[Any]:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        legend = pn.pane.HTML(
            legend_html(),
            css_classes=["stream-legend"],
            stylesheets=[TEXT],
            sizing_mode="stretch_width",
            margin=(2, 6),
        )
        weighed = switch(self.session, "weighed", {name: name for name in WEIGHED}, ["weighed"])
        right = pn.Column(
            pn.Row(weighed, self.start, self.stop, alone("streams"), **wide),
            self.pipelines,
            self.state,
            pn.pane.Bokeh(self.chart.figure, **wide),
            width=430,
            margin=0,
        )
        left = pn.Column(legend, pn.pane.Bokeh(self.front.figure, **wide), **wide)
        return [pn.Row(left, right, css_classes=["sides"], **wide)]

    def __panel__(self) -> pn.Column:
        return self.box


def legend_html() -> str:
    """What lines, marks and bars of the delay front mean."""
    line = "height: 0; border-top: 2.5px solid {}; vertical-align: 4px"
    thin = "height: 0; border-top: 1px solid {}; vertical-align: 4px"
    dot = "width: 9px; height: 9px; border-radius: 0; background: {}"
    bar = "width: 4px; height: 11px; background: {}"
    items = (
        (line.format(BLUE), "two stages", "the exact front of one ring: every step of delay"),
        (line.format(GREEN), "three stages", "the exact front of a CPU ring and a GPU ring"),
        (line.format(PURPLE), "this plan's layers", "where slices or one memory change the front"),
        (thin.format(BLUE), "all breakpoints", "delay at every ring size where it may change"),
        ("", "× the paper's search", "rings that grow by a step of 1 MiB, of one size"),
        (dot.format(ORANGE), "the paper's pipelines", "at the least memory of each"),
        (bar.format(VERMILLION), "bound, band", "a delay never exceeded; Monte Carlo draws"),
    )
    marks = "".join(
        f'<span title="{about}">{swatch(style)}{name}</span>' for style, name, about in items
    )
    return f'<div class="legend"><b>Streaming</b>{marks}</div>'


def swatch(style: str) -> str:
    """A coloured mark; none where the word has a mark of its own."""
    return f'<i style="{style}"></i>' if style else ""
