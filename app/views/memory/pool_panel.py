"""The circular pool of an overlap plan: as a ring, run by run, and what a smaller pool costs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import panel as pn

from app.jobs.handlers.code import can_write_code
from app.model.sizes import format_exact
from app.session.session import Session
from app.views.fronts.ram_front import RamFront
from app.views.memory.ring import RingView
from app.views.memory.run_bars import RunBars
from app.widgets.button_bar import alone
from app.widgets.deferred import fill, hidden_box
from app.widgets.following import follow
from app.widgets.legends import pool_legend_html
from app.widgets.palette import Theme
from app.widgets.style import COMPACT, TEXT


class PoolPanel(pn.viewable.Viewer):
    """Three figures in a row; hidden for plans without a pool."""

    def __init__(self, session: Session, theme: Theme, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.theme = session, theme
        self.code = pn.widgets.Button(
            label="Download C",
            css_classes=["download-c"],
            stylesheets=[COMPACT],
            description="the network in C99, in int8, in one pool of exactly these bytes",
            on_click=lambda _e: session.coding.start(),
            margin=(0, 6),
            visible=False,
        )
        self.box = hidden_box("pool")
        follow(session.work, "shown", lambda: self._show())
        follow(session.work, "coding", lambda: self._show_code())

    @cached_property
    def ring(self) -> RingView:
        """The pool at the cursor."""
        return RingView(self.theme)

    @cached_property
    def bars(self) -> RunBars:
        """The runs of the pool, and the bytes of each."""
        return RunBars(self.theme)

    @cached_property
    def front(self) -> RamFront:
        """Work against bytes of the pool."""
        return RamFront(self.theme, lambda size: self._ask(size))

    def _show(self) -> None:
        shown = self.session.work.shown
        self.box.visible = shown.pool is not None
        if shown.pool is None:
            return
        self.bars.show(shown)
        self.front.show(shown)
        self._show_code()
        fill(self.box, self._rows)

    def _show_code(self) -> None:
        work = self.session.work
        self.code.visible = can_write_code(work.shown)
        self.code.param.update(
            label="Writing C …" if work.coding else "Download C", disabled=work.coding
        )

    def _ask(self, size: int) -> None:
        self.session.choose(budget=format_exact(size), objective="macs")

    def _rows(self) -> list[Any]:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        legend = pn.pane.HTML(
            pool_legend_html(),
            css_classes=["pool-legend"],
            stylesheets=[TEXT],
            sizing_mode="stretch_width",
            margin=(2, 6),
        )
        plots = pn.Row(
            pn.pane.Bokeh(self.ring.figure, margin=(4, 2), width=246),
            pn.pane.Bokeh(self.bars.figure, **wide),
            pn.pane.Bokeh(self.front.figure, margin=0, width=270),
            css_classes=["plots"],
            **wide,
        )
        return [pn.Row(legend, self.code, alone("pool"), **wide), plots]

    def __panel__(self) -> pn.Column:
        return self.box
