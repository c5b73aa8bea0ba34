"""Streamed parameters: delay against memory, delay against resolution, and the map's memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import panel as pn

from app.session import Session
from app.sizes import format_exact
from app.state import WEIGHED
from app.streams import AMONG
from app.style import COMPACT, TEXT
from app.views.buttons import button
from app.views.delay_front import DelayFront
from app.views.following import follow
from app.views.later import fill, hidden_box
from app.views.palette import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, Theme
from app.views.resolution_chart import ResolutionChart
from app.views.switches import switch

HINT = "At several resolutions of the input: what does each pipeline take?"


class MemorySwitch(pn.viewable.Viewer):
    """Which memory, or part of one, the address map shows; there for streamed plans only."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._mirroring = False
        self.group = pn.widgets.RadioButtonGroup(
            options={"on chip": ""},
            css_classes=["switch", "map-memory"],
            variant="outline",
            stylesheets=[COMPACT],
            margin=(0, 6),
            visible=False,
        )
        self.group.param.watch(self._chosen, "value")
        follow(session.work, "shown", lambda: self._show())
        follow(session.look, "memory", lambda: self._show())

    def _chosen(self, event: Any) -> None:
        if not self._mirroring and event.new is not None:
            self.session.look.memory = event.new

    def _show(self) -> None:
        shown = self.session.work.shown
        stream = shown.stream if shown else None
        self.group.visible = stream is not None and len(stream.regions) > 1
        if stream is None:
            return
        self._mirroring = True
        try:
            self.group.param.update(
                options={region.name: region.key for region in stream.regions},
                value=stream.region(self.session.look.memory).key,
            )
        finally:
            self._mirroring = False

    def __panel__(self) -> pn.widgets.RadioButtonGroup:
        return self.group


class StreamPanel(pn.viewable.Viewer):
    """Two figures in a row; not there for plans that stream nothing."""

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
            self.front.move(work.under, work.fronts)
            self._show_chart()
            fill(self.box, self._rows)

    @property
    def _streamed(self) -> bool:
        shown = self.session.work.shown
        return shown is not None and shown.stream is not None

    def _move(self) -> None:
        if self._streamed:
            self.front.move(self.session.work.under, self.session.work.fronts)

    def _show_chart(self) -> None:
        if self._streamed:
            self.chart.show(self.session.work.resolutions, self.session.look.weighed)

    def _show_state(self) -> None:
        work = self.session.work
        self.start.visible, self.stop.visible = not work.resolving, work.resolving
        self.state.object = work.resolved or HINT

    def _ask(self, size: int, fields: dict[str, Any]) -> None:
        self.session.change(budget=format_exact(size), **fields)

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
            pn.Row(weighed, self.start, self.stop, **wide),
            self.pipelines,
            self.state,
            pn.pane.Bokeh(self.chart.figure, **wide),
            width=430,
            margin=0,
        )
        left = pn.Column(legend, pn.pane.Bokeh(self.front.figure, **wide), **wide)
        return [pn.Row(left, right, **wide)]

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
    """A coloured mark; none where the word has its own."""
    return f'<i style="{style}"></i>' if style else ""
