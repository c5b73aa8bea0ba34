"""The panel "what if": which wishes the selection allows, the wishes, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import panel as pn

from app.display.displayed_plan import DisplayedPlan
from app.display.wish_offers import BREAK, DROP, WishOffer, offers, wished_operator
from app.model.options import cuts
from app.model.state import OPERATOR, TENSOR
from app.model.wishes import MARKS, kind_of, picking_text, why_not_asked
from app.session.session import Session
from app.session.what_if import knows_wishes, numbers
from app.views.panels.comparing import amount, signed
from app.widgets.board import Board, Section, in_the_way
from app.widgets.following import follow
from planners.core.units import format_bytes

EMPTY = "Tap a tensor or an operator to see which wishes it offers."
NONE = "No wishes: the planner decides everything."
KNOWS_NONE = "{} does not support wishes."
NOTHING_OF_IT = "The chosen planner offers no wishes for this."
FACTS = (
    ("spill traffic", "noncompulsory_bytes", "B"),
    ("traffic", "traffic_bytes", "B"),
    ("peak", "peak_bytes", "B"),
    ("latency", "makespan_s", "s"),
)


class WhatIfPanel(pn.viewable.Viewer):
    """The board, kept up to date."""

    def __init__(self, session: Session, choose: object, height: int, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.board = Board(css_classes=["what-if"], height=height, sizing_mode="stretch_width")
        self.board.on_key(lambda key: session.what_if.act(key))
        names = ["shown", "shown_for", "planning", "infeasible", "picking", "wished", "pricing"]
        follow(session.work, names, lambda: self._show())
        follow(session.look, ["selection", "panel"], lambda: self._show())
        follow(session.look, "panel", lambda: self._reveal())
        problem = ["wishes", "planner", "options", "weights"]
        follow(session.problem, problem, lambda: self._show())
        self._show()

    def _show(self) -> None:
        if self.session.work.shown and self.session.look.panel == "what if":
            self.board.sections = sections(self.session)

    def _reveal(self) -> None:
        if self.session.look.panel == "what if":
            self.board.reveal()

    def __panel__(self) -> Board:
        return self.board


def sections(session: Session) -> list[Section]:
    """Everything that the panel shows now."""
    work, problem = session.work, session.problem
    parts = [in_the_way(work.infeasible)] if work.infeasible.get("wishes") else []
    if work.picking:
        parts.append(picking(work.picking))
    else:
        parts.append(of_selection(session, work.shown))
    parts.append(wishes_section(session))
    if problem.wishes and work.shown_for.get("wishes"):
        parts += cost(work.shown, work.wished, work.pricing)
    return parts


def picking(waiting: Mapping[str, Any]) -> Section:
    """What to tap next, and how to give up."""
    button = {"text": "Give up", "key": "give up", "about": "or press Escape"}
    return {"text": picking_text(waiting), "tone": "picking", "buttons": [button]}


def of_selection(session: Session, shown: DisplayedPlan) -> Section:
    """The selection and the wishes that it allows."""
    selection, planner = session.look.selection, session.problem.planner
    if not selection:
        return {"text": EMPTY}
    offered = offers(shown, selection, session.problem.wishes, planner)
    buttons = [button_of(offer) for offer in offered]
    operator = wished_operator(shown, selection)
    if operator and cuts(session.problem):
        text = "✂ No break here" if operator in session.breaks.nodes else "✂ Break here"
        about = "set or remove a break node at this operator: b"
        buttons.append({"text": text, "key": BREAK + operator, "about": about})
    section: Section = {"title": title_of(shown, selection), "buttons": buttons}
    return section if buttons else {**section, "text": NOTHING_OF_IT}


def button_of(offer: WishOffer) -> dict[str, Any]:
    """A button of the board."""
    pressed = {"on": offer.on} if offer.key.startswith(("wish ", "drop ")) else {}
    return {"text": offer.label, "key": offer.key, "about": offer.about, **pressed}


def title_of(shown: DisplayedPlan, selection: str) -> str:
    """What is selected, in a few words."""
    name = selection.split(":", 1)[-1]
    if selection.startswith(TENSOR) and name in shown.graph.tensors:
        return f"{name}, {format_bytes(shown.graph.size_bytes(name))}"
    if selection.startswith(OPERATOR) and name in shown.graph.index:
        return f"{name} ({shown.graph.operators[shown.graph.index[name]].kind})"
    return name


def wishes_section(session: Session) -> Section:
    """The wishes, each with a cross; those that are not sent to the planner say why."""
    problem = session.problem
    buttons = []
    if problem.wishes:
        buttons.append({"text": "Clear all", "key": "clear", "about": "wish nothing"})
    undo = "the last move by hand, or back to the plan before: Ctrl+Z"
    buttons.append({"text": "Undo", "key": "undo", "about": undo})
    if not problem.wishes:
        text = NONE if knows_wishes(problem.planner) else KNOWS_NONE.format(problem.planner)
        return {"text": text, "buttons": buttons}
    rows = []
    for text in problem.wishes:
        reason = why_not_asked(text, problem.planner)
        row = {"text": text, "mark": MARKS.get(kind_of(text), "?"), "key": DROP + text}
        rows.append(
            {**row, "faint": bool(reason), "note": f"not asked: {reason}" if reason else ""}
        )
    some = "1 wish" if len(rows) == 1 else f"{len(rows)} wishes"
    pending = "being planned" if session.work.planning and session.stale else ""
    title = f"{some}, {pending}" if pending else some
    return {"title": title, "rows": rows, "buttons": buttons}


def cost(shown: DisplayedPlan, without: Mapping[str, Any], pricing: bool) -> list[Section]:
    """What the wishes cost: the plan with them and without, and the difference."""
    if not without:
        text = "Planning without the wishes, to say what they cost…" if pricing else ""
        return [{"text": text}] if text else []
    here = numbers(shown)
    table = [["what they cost", "without", "with", "difference"]]
    for name, of, unit in FACTS:
        mine, bare = float(here[of]), float(without[of])
        table.append([name, amount(bare, unit), amount(mine, unit), signed(mine - bare, unit)])
    return [{"table": table, "text": how_sure(here, without)}]


def how_sure(here: Mapping[str, Any], without: Mapping[str, Any]) -> str:
    """Whether both plans are proven optimal, as far as that is known."""
    words = {"with": here, "without": without}
    open_ = [f"{word} {of['gap']:.1%}" for word, of in words.items() if of["status"] != "optimal"]
    if not open_:
        return "Both are proven optimal by their objective."
    return (
        f"Not proven least ({', '.join(open_)} may be left): the difference is of these two plans."
    )
