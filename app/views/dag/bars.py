"""The bar of the graph view, and the line for what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import panel as pn

from app.captions.notes import infeasible_story
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import called
from app.model.glossary import term
from app.model.options import cuts
from app.model.sizes import format_exact
from app.model.state import COLOURS, operator_selection
from app.model.wishes import picking_text
from app.session.session import Session
from app.views.dag.scene import find_operators
from app.views.dag.view import DagView
from app.widgets.board import Board, Section, ways_out
from app.widgets.buttons import button
from app.widgets.deferred import seen
from app.widgets.legends import switch
from app.widgets.style import FIELD, LEGEND, PLAIN, SMALL, TEXT
from planners.core.colours import ink_on
from planners.core.units import format_bytes

NAMED = 2
SPILLLESS = " With the objective “least traffic” less is enough."
INSTEAD = "instead:"
CUT, UNCUT = "✂ break (b)", "✂ no break (b)"


class DagBar(pn.viewable.Viewer):
    """Search, colours, buttons to open and close all blocks, and a legend of the colours."""

    def __init__(self, session: Session, dag: DagView, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.dag = session, dag
        self.search = pn.widgets.TextInput(
            placeholder="search by name or kind  ( / )",
            css_classes=["dag-search"],
            stylesheets=[FIELD],
            width=185,
            margin=(0, 6),
        )
        self.search.param.watch(lambda event: self._find(event.new), "value")
        self.found = pn.pane.HTML("", margin=(4, 2), stylesheets=[PLAIN], visible=False)
        self.legend = pn.pane.HTML(
            "",
            css_classes=["dag-legend"],
            sizing_mode="stretch_width",
            margin=(6, 6),
            stylesheets=[PLAIN, LEGEND],
        )
        self.what_if = pn.widgets.Button(
            label="What if…",
            css_classes=["open-what-if"],
            stylesheets=[SMALL],
            description="add a wish for the selection, and see its cost: w",
            on_click=lambda _e: session.look.param.update(panel="what if"),
            margin=(0, 3),
        )
        self.cut = pn.widgets.Button(
            label=CUT,
            css_classes=["cut"],
            stylesheets=[SMALL],
            description="set or remove a break node at the selected operator: b",
            on_click=lambda _e: session.breaks.toggle(session.breaks.selected),
            margin=(0, 3),
        )
        names = ["options", "planner"]
        session.problem.param.watch(lambda *_: self._show_cut(), names)
        session.look.param.watch(lambda *_: self._show_cut(), "selection")
        session.work.param.watch(lambda *_: self._show_cut(), "shown")
        self._show_cut()
        if session.work.shown:
            self._show_legend()
        session.work.param.watch(lambda *_: self._show_legend(), "shown")
        session.look.param.watch(lambda *_: self._show_legend(), ["colour", "expanded"])

    def _find(self, text: str) -> None:
        """Select the next operator that matches, with its blocks opened."""
        hits = find_operators(self.session.work.shown, text)
        if not hits:
            self._tell("<i>nothing found</i>" if text.strip() else "")
            return
        if self.session.what_if.picked(operator_selection(hits[0])):
            return
        self.session.cursor.to_operator(hits[0])
        self._tell(f"{len(hits)} found")

    def _tell(self, words: str) -> None:
        """Say what became of a search."""
        self.found.param.update(object=words, visible=bool(words))

    def _open_all(self) -> None:
        look, tree = self.session.look, self.session.work.shown.tree
        everything = sorted(tree.everything())
        full = everything == look.expanded and set(everything) != tree.names
        self._tell("<i>too many at once: tap a block</i>" if full else "")
        look.expanded = everything

    def _close_all(self) -> None:
        self.session.look.expanded = sorted(self.session.work.shown.opened)

    def _show_cut(self) -> None:
        """The button is shown where the network is cut, and enabled where an operator is
        selected."""
        name = self.session.breaks.selected
        self.cut.visible = cuts(self.session.problem)
        self.cut.disabled = not name
        self.cut.label = UNCUT if name in self.session.breaks.nodes else CUT

    def _show_legend(self) -> None:
        if self.dag.drawn:
            drawn = self.dag.drawn
            self.legend.object = legend_html(drawn.legend, drawn.twins, drawn.apart)

    def __panel__(self) -> pn.Row:
        return seen(
            pn.Row,
            self.search,
            self.found,
            switch(self.session, "colour", {c: c for c in COLOURS}, ["colour"]),
            button("open all", "open-all", self._open_all),
            button("close", "close-all", self._close_all),
            self.cut,
            self.what_if,
            self.legend,
            css_classes=["bar"],
            sizing_mode="stretch_width",
            margin=0,
        )


class Message(pn.viewable.Viewer):
    """One line on what went wrong, or why there is no plan and what would allow one."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.text = pn.pane.HTML(
            "",
            css_classes=["message"],
            stylesheets=[TEXT],
            sizing_mode="stretch_width",
            margin=(4, 0),
        )
        self.remedy = pn.widgets.Button(
            label="",
            color="primary",
            css_classes=["nearest"],
            stylesheets=[SMALL],
            on_click=lambda _e: self._take_remedy(),
            margin=(0, 6),
        )
        self.ways_out = Board(css_classes=["ways-out"], margin=(6, 6), visible=False)
        self.ways_out.on_key(self._go)
        self.row = seen(
            pn.Row,
            self.text,
            self.ways_out,
            self.remedy,
            css_classes=["message-row"],
            sizing_mode="stretch_width",
            margin=0,
            visible=False,
        )
        names = ["notice", "infeasible", "picking", "elsewhere", "refused"]
        session.work.param.watch(lambda *_: self._show(), names)
        self._show()

    def _show(self) -> None:
        work = self.session.work
        why = {} if work.picking else work.infeasible
        line = work.notice or (picking_text(work.picking) if work.picking else "")
        lines = [*work.refused, *([] if why or not line else [line])]
        self.row.visible = bool(why or lines)
        others = instead(work.elsewhere) if why else []
        self.ways_out.sections = ways_out(work.picking, why) or others
        self.ways_out.visible = bool(self.ways_out.sections)
        self.remedy.visible = bool(why) and why["need_bytes"] > why["have_bytes"]
        notices = [f'<div class="notice" role="alert">{escape(each)}</div>' for each in lines]
        if why:
            planner = self.session.problem.planner
            notices.append(infeasible_html(why, planner, work.shown))
            self.remedy.label = nearest(why)[0]
        self.text.object = "".join(notices)

    def _take_remedy(self) -> None:
        """A second press of the button may come when there is nothing to mend any more."""
        if why := self.session.work.infeasible:
            self.session.change(budget=nearest(why)[1])

    def _go(self, key: str) -> None:
        """Act on a button beside the line: another planner, or a wish less."""
        if key.startswith(INSTEAD):
            self.session.elsewhere.turn_to(key.removeprefix(INSTEAD))
        else:
            self.session.what_if.act(key)

    def __panel__(self) -> pn.Row:
        return self.row


def instead(found: list[dict[str, Any]]) -> list[Section]:
    """A button for each planner that fits where the chosen one does not."""
    buttons = [
        {
            "text": f"Plan with {called(one['planner'])}",
            "key": INSTEAD + one["planner"],
            "about": f"fits from {format_bytes(one['need_bytes'])} on",
        }
        for one in found
    ]
    return [{"buttons": buttons}] if buttons else []


def nearest(why: dict[str, Any]) -> tuple[str, str]:
    """The least budget known to suffice, in words and as the problem has it."""
    need = why["need_bytes"]
    if why["spills"] and not why.get("wishes") and not why.get("exact"):
        return f"Plan with MR = {format_bytes(need)}", "MR"
    return f"Plan with {format_bytes(need)}", format_exact(need)


def infeasible_html(why: dict[str, Any], planner: str, shown: DisplayedPlan | None = None) -> str:
    """What the planner that was asked needs, and what binds.

    The plan on screen, of whichever planner, is the one from before: of it none of this is said.
    """
    before = f" {escape(before_words(shown))}" if shown else ""
    if why.get("wishes"):
        text, _, rest = str(why["text"]).removeprefix("infeasible").lstrip(": ").partition("; ")
        return (
            '<div class="notice infeasible" role="alert"><b>No plan respects the wishes.</b> '
            f"{escape(text[:1].upper() + text[1:])}{'; ' + escape(rest) if rest else ''}."
            f"{before}</div>"
        )
    need, have = why["need_bytes"], why["have_bytes"]
    name, remedy = escape(called(planner)), "" if why["spills"] else SPILLLESS
    spilling = "" if why["spills"] else " without spills"
    size = f"<b>{_exact(need)}</b>"
    if why["proven"]:
        reason = f"{name} {term('needs', 'infeasible')} {size}{spilling}"
        short = f" {_exact(have)} are {_exact(need - have)} short."
    else:
        none = f"{name} found no plan{spilling} in {format_bytes(have)}"
        reason, short = f"{none}, and no proof that none exists", f" It has one in {size}."
    return (
        f'<div class="notice infeasible" role="alert"><b>{reason}.</b>{short}'
        f" What binds: {escape(infeasible_story(why))}.{remedy}{before}</div>"
    )


def _exact(size: int) -> str:
    """A size, to the byte where the pointer rests on it."""
    return f'<span title="{size:,} B">{format_bytes(size)}</span>'


def before_words(shown: DisplayedPlan) -> str:
    """Whose the plan on screen is, and what it fits."""
    plan = shown.plan
    whose = f"of {shown.graph.name}, by {called(plan.planner)}"
    return f"The plan below, {whose}, fits {format_bytes(plan.budget_bytes)}."


def legend_html(
    legend: list[tuple[str, str]], twins: Sequence[str] = (), apart: tuple[str, str] = ("", "")
) -> str:
    """Colours of the graph with their words, the letters of blocks that are the same, and that
    parts are not joined."""
    items = [
        f'<span><i style="background:{colour};color:{ink_on(colour)}"></i>{escape(name)}</span>'
        for name, colour in legend
    ]
    more = f" and {len(twins) - NAMED} more" if len(twins) > NAMED else ""
    if twins:
        about = "same operators, shapes and wiring"
        items.append(f'<span title="{about}">{" · ".join(twins[:NAMED])}{more}</span>')
    if apart[0]:
        look = f'title="{escape(apart[1])}" style="white-space: normal"'
        items.append(f"<span {look}>⋮ {escape(apart[0])}</span>")
    return f'<div class="legend">{"".join(items)}</div>'
