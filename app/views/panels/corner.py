"""The lower right corner: the selection, the solver's progress, two plans, what if."""

from __future__ import annotations

from typing import Any

import panel as pn

from app.model.state import PANELS
from app.session.session import Session
from app.views.panels.comparing import ComparePanel
from app.views.panels.solver import measure, solver_html
from app.views.panels.tables import detail_rows
from app.views.panels.what_if import WhatIfPanel
from app.views.switches import switch
from app.widgets.following import follow
from app.widgets.later import seen
from app.widgets.rows import BarRows
from app.widgets.style import PLOT, TEXT

HEIGHT = 250
CSS = """
table { border-collapse: collapse; width: 100%; font-size: 12px; }
td { padding: 1px 4px; border-top: 1px solid var(--sw-grid); }
td:last-child { text-align: right; white-space: nowrap; }
:host { overflow-y: auto; padding: 0 4px; box-sizing: border-box; }
"""


class Corner(pn.viewable.Viewer):
    """Four panels in one place; a new selection brings its own to the front."""

    def __init__(self, session: Session, choose: Any, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "height": HEIGHT, "margin": 0}
        self.details = BarRows(css_classes=["details"], empty="nothing is on chip", **wide)
        self.details.on_key(lambda key: choose(key))
        self.solver = pn.pane.HTML(
            "", css_classes=["solver-panel"], stylesheets=[TEXT, PLOT, CSS], **wide
        )
        self.compare = ComparePanel(session, choose, HEIGHT)
        self.compared = pn.Column(self.compare, **wide)
        self.wishes = pn.Column(WhatIfPanel(session, HEIGHT), **wide)
        work, look = session.work, session.look
        follow(work, ["shown", "why"], lambda: self._show_details())
        follow(look, "selection", lambda: self._show_details())
        follow(work, ["history", "progress", "shown"], lambda: self._show_solver())
        follow(look, "panel", lambda: self._turn())
        self._turn()

    def _show_details(self) -> None:
        work = self.session.work
        self.details.rows = detail_rows(work.shown, self.session.look.selection, work.why)

    def _show_solver(self) -> None:
        work = self.session.work
        self.solver.object = solver_html(work.history, work.progress, measure(work.history_for))

    def _turn(self) -> None:
        panels = zip(PANELS, (self.details, self.solver, self.compared, self.wishes), strict=True)
        for name, panel in panels:
            panel.visible = name == self.session.look.panel

    def __panel__(self) -> pn.Column:
        return seen(
            pn.Column,
            switch(self.session, "panel", {name: name for name in PANELS}, ["panel"]),
            self.details,
            self.solver,
            self.compared,
            self.wishes,
            sizing_mode="stretch_width",
            margin=0,
        )
