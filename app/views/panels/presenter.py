"""The presenter on the page: views that fill the screen, and words for the last row of a hall."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import param

from app.kinds.registry import called, kind_of
from app.model.paths import script
from app.model.presenter import LAYOUTS, USUAL
from app.session.session import Session
from app.widgets.component import Component
from app.widgets.following import follow
from planners.core.units import format_bytes

CSS = """
:root[data-presenter] #main > *, :root[data-presenter] #sidebar, :root[data-presenter] #header
  { visibility: hidden; }
:root[data-presenter] #main { background: none; overflow: hidden; }
"""
"""For the page: what is not presented is not seen."""


class Presenter(Component):
    """Places the boxes of a layout over the page, and its bar; keys and buttons are heard here."""

    layout = param.String(default="", doc="The layout's name; empty: the whole page.")
    layouts = param.Dict(default={}, doc="By name: words, boxes, sentences.")
    usual = param.String(default=USUAL, doc="The layout that comes first.")
    title = param.String(default="", doc="The plan on screen, in a line.")
    busy = param.String(default="", doc="What is being planned; empty: nothing.")
    wrong = param.String(default="", doc="What went wrong last; empty: nothing.")
    item = param.Dict(default={}, doc="Of a lecture: number, of, title, note; or empty.")

    _esm = script("within", "presenter")


def presenter(session: Session) -> Presenter:
    """The presenter of a session's page."""
    look, work = session.look, session.work
    view = Presenter(
        layouts={name: asdict(one) for name, one in LAYOUTS.items()},
        layout=look.presenting,
        width=0,
        height=0,
        margin=0,
    )
    view.param.watch(lambda event: session.teaching.present(event.new), "layout")
    view.on_msg(lambda event: hear(event.data))
    follow(look, "presenting", lambda: view.param.update(layout=look.presenting))

    def hear(message: dict[str, Any]) -> None:
        """A step that the browser does not know yet is the session's to make."""
        match message:
            case {"key": "ArrowLeft"}:
                session.cursor.step_by(-1)
            case {"key": "ArrowRight"}:
                session.cursor.step_by(1)
            case {"item": by} if by in (-1, 1):
                session.lecturing.step(by)
            case {"item": by} if by in (-2, 2):
                session.lecturing.go(session.lecturing.at + by // 2)

    def lecture() -> dict[str, Any]:
        lecturing = session.lecturing
        if not lecturing.items:
            return {}
        item, of = lecturing.item, len(lecturing.items)
        item_data = {"title": item.title, "note": item.note} if item else {}
        return {"number": lecturing.at + 1, "of": of, **item_data}

    follow(session.lecturing, ["lecture", "at"], lambda: view.param.update(item=lecture()))
    names = ["shown", "planning", "progress", "notice", "infeasible"]
    follow(work, [*names, "shown_for"], lambda: view.param.update(**told(session)))
    return view


def told(session: Session) -> dict[str, Any]:
    """What the bar says of the plan on screen, of the one in the making, and of what went wrong."""
    work = session.work
    if work.shown is None:
        return {}
    shown, why = work.shown, work.infeasible
    size = format_bytes(shown.plan.budget_bytes)
    stage, at_s = work.progress.get("stage", ""), work.progress.get("at_s", 0.0)
    wrong = work.notice
    if why:
        need = format_bytes(why["need_bytes"])
        wrong = f"{called(session.problem.planner)} needs {need}."
        if not why["proven"]:
            wrong = f"No plan was found; {need} have one."
    return {
        "title": f"{shown.graph.name} · {kind_of(shown).title(shown)} · {size}",
        "busy": f"Planning: {stage} · {at_s:.1f} s" if work.planning else "",
        "wrong": wrong,
    }
