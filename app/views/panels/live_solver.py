"""A small window over the page while a plan takes long: best, bound and gap as they change."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

from app.session.session import Session
from app.views.panels.solver import measure, plot_html
from app.widgets.following import follow
from app.widgets.style import COMPACT, PLOT, TEXT

AFTER_S = 1.5
WINDOW = """
:host { position: fixed; right: 18px; bottom: 18px; z-index: 60; width: 372px; padding: 6px 10px;
  background: var(--sw-panel); border: 1px solid var(--sw-faint); border-radius: 8px;
  box-shadow: 0 4px 18px rgba(0,0,0,.28); }
"""
HEAD = """
.head { font-weight: 650; padding-right: 24px; margin-bottom: 2px; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
"""
CLOSE = """
:host { position: absolute; right: 2px; top: 2px; }
.bk-btn { background: none !important; border: none !important; padding: 0 7px;
  min-height: 20px; font-size: 15px; }
"""


class LiveSolver(pn.viewable.Viewer):
    """Shown once planning has taken a while, wherever the page is scrolled to; may be closed."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.closed = False
        self.text = pn.pane.HTML(
            "", css_classes=["live-solver"], stylesheets=[TEXT, PLOT, HEAD], margin=0, width=350
        )
        close = pn.widgets.Button(
            label="×",
            css_classes=["live-close"],
            description="close until the next plan",
            stylesheets=[COMPACT, CLOSE],
            on_click=lambda _e: self._close(),
            margin=0,
        )
        self.window = pn.Column(
            self.text, close, css_classes=["live-window"], stylesheets=[WINDOW], visible=False
        )
        follow(session.work, "planning", lambda: self._reopen())
        follow(session.work, ["planning", "progress"], lambda: self._show())
        follow(session.look, ["panel", "presenting"], lambda: self._show())

    def _close(self) -> None:
        self.closed = True
        self._show()

    def _reopen(self) -> None:
        self.closed = False

    def _show(self) -> None:
        work = self.session.work
        now = work.progress.get("at_s", 0.0)
        look = self.session.look  # that panel, and the presenter's bar, say the same
        hidden = self.closed or look.panel == "solver" or bool(look.presenting)
        self.window.visible = work.planning and now >= AFTER_S and not hidden
        if self.window.visible:
            problem = work.history_for
            what = ", ".join(filter(None, [problem.get("model"), problem.get("budget")]))
            plot = plot_html(work.history, now, measure(problem), 350, 110)
            doing = f"<b>{escape(str(work.progress.get('stage', '')))}</b> · {now:.1f} s"
            self.text.object = f'<div class="head">{escape(what)}</div>{plot}<div>{doing}</div>'

    def __panel__(self) -> pn.Column:
        return self.window
