"""The circular pool of an overlap plan: as a ring, run by run, and what a smaller pool costs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import panel as pn

from app.jobs.handlers.code import can_write_code
from app.model.sizes import format_exact
from app.model.state import run_selection, tensor_selection
from app.session.session import Session
from app.views.fronts.ram_front import RamFront
from app.views.memory.ring import RingView, ring_columns
from app.views.memory.run_bars import RunBars
from app.widgets.following import follow
from app.widgets.later import fill, hidden_box
from app.widgets.legends import pool_legend_html
from app.widgets.palette import Theme
from app.widgets.style import COMPACT, TEXT


class PoolPanel(pn.viewable.Viewer):
    """Three figures in a row; hidden for plans without a pool."""

    def __init__(self, session: Session, theme: Theme, select: Any, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.theme, self.select = session, theme, select
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
        work, look = session.work, session.look
        follow(work, "shown", lambda: self._show())
        follow(work, "coding", lambda: self._show_code())
        follow(look, "selection", lambda: self._highlight())

    @cached_property
    def ring(self) -> RingView:
        """The pool at the cursor."""
        return RingView(self.theme, lambda number: self._tap_wedge(number))

    @cached_property
    def bars(self) -> RunBars:
        """The runs of the pool, and the bytes of each."""
        return RunBars(self.theme, lambda number: self._tap_run(number))

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
        self._highlight()
        fill(self.box, self._rows)

    def _show_code(self) -> None:
        work = self.session.work
        self.code.visible = can_write_code(work.shown)
        self.code.param.update(
            label="Writing C …" if work.coding else "Download C", disabled=work.coding
        )

    def _highlight(self) -> None:
        shown = self.session.work.shown
        if shown is not None and shown.pool is not None:
            self.bars.highlight(shown, self.session.look.selection)

    def _tap_wedge(self, number: int) -> None:
        """Select what lies there at the cursor: the client alone has drawn it."""
        shown, step = self.session.work.shown, self.session.look.step
        tensors = ring_columns(shown, shown.pool, step)["tensor"]
        if number < len(tensors):
            self.select(tensor_selection(tensors[number]))

    def _tap_run(self, number: int) -> None:
        """Select what runs together, and bring the cursor to its first row."""
        run = self.session.work.shown.pool.runs[number]
        self.select(run_selection(run.run.operators))
        self.session.look.step = run.start_step

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
            **wide,
        )
        return [pn.Row(legend, self.code, **wide), plots]

    def __panel__(self) -> pn.Column:
        return self.box
