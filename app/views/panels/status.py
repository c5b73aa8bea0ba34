"""The line under the cards: what the numbers rest on, or what is being planned instead."""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from typing import Any

import panel as pn

from app.captions.notes import assumptions
from app.model.glossary import marked
from app.model.machines import title_of
from app.model.units import seconds_text
from app.session.session import Session
from app.views.panels.solver import progress_text, spark_svg
from app.widgets.buttons import button
from app.widgets.deferred import seen, show_in_row
from app.widgets.style import PLAIN, SMALL, TIP, WORKING
from planners.core.units import format_bytes

LOW: dict[str, Any] = {
    "margin": (0, 6),
    "stylesheets": [SMALL, ".bk-btn { padding: 1px 8px; min-height: 22px; }"],
    "visible": False,
}
IMPORTING = "importing "
REST_TERMS = {"operators": "granularity"}
CSS = """
.status { display: flex; align-items: center; gap: 8px; white-space: nowrap; overflow: hidden;
  height: 24px; font-size: 12px; }
.status > span { overflow: hidden; text-overflow: ellipsis; }
.rest { color: var(--sw-faint); margin-left: 9px; }
.former { background: #E69F00; color: #10161c; border-radius: 4px; padding: 1px 7px;
  flex: 0 1 auto; }
.status svg { flex: 0 0 auto; border-bottom: 1px solid var(--sw-faint); }
.spin { flex: 0 0 auto; margin: 0; }
"""


class Status(pn.viewable.Viewer):
    """One line of constant height, so that nothing moves when planning begins or ends."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.text = pn.pane.HTML(
            "",
            css_classes=["progress"],
            stylesheets=[TIP, PLAIN, WORKING, CSS],
            sizing_mode="stretch_width",
            margin=0,
        )
        self.cancel = button("Cancel", "cancel", session.cancel, color="danger", **LOW)
        self.back = button("Back to it", "back", session.back, **LOW)
        work, problem = session.work, session.problem
        names = ["planning", "progress", "shown", "shown_for", "infeasible", "notice", "preview"]
        names += ["recalled"]
        work.param.watch(lambda *_: self._show(), names)
        problem.param.watch(lambda *_: self._show(), list(problem.param))
        self._show()

    def _show(self) -> None:
        work, stale = self.session.work, self.session.stale
        show_in_row(self.cancel, work.planning)
        show_in_row(self.back, stale and not work.planning)
        self.text.object = f'<div class="status">{status_html(self.session)}</div>'

    def __panel__(self) -> pn.Row:
        return seen(
            pn.Row,
            self.text,
            self.cancel,
            self.back,
            height=26,
            margin=0,
            sizing_mode="stretch_width",
            css_classes=["status-row"],
        )


def status_html(session: Session) -> str:
    """While planning: what, how far, and that the plan below is of the former choice."""
    work = session.work
    if work.shown is None:
        return ""
    former = f'<span class="former">shown below: still {escape(_former(session))}</span>'
    if work.planning:
        if "groups" in work.preview:
            former = '<span class="former">groups: of the new budget</span>' + former
        spark = spark_svg(work.history, work.progress.get("at_s", 0.0), 90, 20)
        name = escape(f"{session.problem.model}, {session.problem.budget}")
        named = str(work.progress.get("stage", "")).startswith(IMPORTING)
        doing = "" if named else f"Planning {name}: "
        doing = f'<span class="working">{doing}{progress_text(work.progress)}</span>'
        return f'<i class="spin"></i>{doing}{spark}{former if session.stale else ""}'
    if preview := work.preview:
        return f'<span class="rest">{preview_text(preview, work.shown.plan.budget_bytes)}</span>'
    if session.stale:
        return f'{former}<span class="rest">differs from what is chosen above</span>'
    text = escape(recalled_text(work.recalled)) + marked(assumptions(work.shown), REST_TERMS)
    return f'<span class="rest">{text}</span>'


def _former(session: Session) -> str:
    """The problem of the plan on screen, by what tells it from the chosen one."""
    shown, problem = session.work.shown, session.work.shown_for
    assert shown is not None
    what = f"{shown.graph.name}, {problem.get('budget', '')}"
    differs = {
        name for name in problem if problem[name] != getattr(session.problem, name, problem[name])
    }
    if differs & {"model", "budget"}:
        return what
    if differs & {"machine", "machine_fields"}:
        return f"{what}, on “{title_of(shown.plan.machine)}”"
    return f"{what}, by {shown.plan.planner}" + (" as it was" if "planner" not in differs else "")


def recalled_text(recalled: Mapping[str, Any]) -> str:
    """When a plan from the disk was made; empty for one that was made just now."""
    if not recalled:
        return ""
    day = time.strftime("%-d %b %Y", time.localtime(recalled["at"]))
    return f"from the cache, planned in {seconds_text(recalled['took_s'])} on {day} · "


def preview_text(preview: Mapping[str, Any], budget_bytes: int) -> str:
    """What is on screen while the budget moves."""
    size = format_bytes(preview["budget_bytes"])
    if "need_bytes" in preview:
        return f"{size} is too little: {format_bytes(preview['need_bytes'])} is the least"
    took = seconds_text(preview["worked_s"])
    below = f"below the graph is still the plan in {format_bytes(budget_bytes)}"
    return f"groups at {size}, found in {took}: release the slider to plan; {below}"
