"""The panel "solver": the best plan so far and the proven bound, over the seconds."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn

from app.session.session import Session
from app.views.panels.solver import measure, solver_html
from app.widgets.following import follow
from app.widgets.style import PLOT, TEXT

CSS = """
table { border-collapse: collapse; width: 100%; font-size: 12px; }
td { padding: 1px 4px; border-top: 1px solid var(--sw-grid); }
td:last-child { text-align: right; white-space: nowrap; }
:host { overflow-y: auto; padding: 0 4px; box-sizing: border-box; }
"""


def solver(session: Session, choose: Callable[[str], object], height: int) -> pn.pane.HTML:
    """A drawing of the search, live while it runs; nothing in it can be chosen."""
    pane = pn.pane.HTML(
        "",
        css_classes=["solver-panel"],
        stylesheets=[TEXT, PLOT, CSS],
        sizing_mode="stretch_width",
        height=height,
        margin=0,
    )

    def show() -> None:
        work = session.work
        pane.object = solver_html(work.history, work.progress, measure(work.history_for))

    follow(session.work, ["history", "progress", "shown"], show)
    return pane
