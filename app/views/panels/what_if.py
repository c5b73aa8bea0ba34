"""The panel "what if": which wishes the selection allows, the wishes, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import panel as pn
import param

from app.model.checked_plan import Shown
from app.model.constraints import (
    BREAK,
    DROP,
    MARKS,
    WishOffer,
    kind_of,
    offers,
    picking_text,
    why_not_asked,
    wished_operator,
)
from app.model.options import cuts
from app.model.state import OPERATOR, TENSOR
from app.session.session import Session
from app.session.what_if import knows_wishes, numbers
from app.views.panels.comparing import amount, signed
from app.widgets.following import follow
from app.widgets.rows import Sender
from planners.core.units import format_bytes

Section = dict[str, Any]
EMPTY = "Tap a tensor or an operator: what can be wished of it is offered here."
NONE = "No wishes: the planner does as it likes."
KNOWS_NONE = "{} knows no wishes."
NOTHING_OF_IT = "There is nothing to wish of this with the planner that is chosen."
FACTS = (
    ("spill traffic", "noncompulsory_bytes", "B"),
    ("traffic", "traffic_bytes", "B"),
    ("peak", "peak_bytes", "B"),
    ("latency", "makespan_s", "s"),
)


class Board(Sender):
    """Sections with a title, a text, buttons, rows that can be removed, and a table."""

    sections = param.List(default=[], doc="Dicts: title, text, tone, buttons, rows, table.")

    def reveal(self) -> None:
        """Scroll it into sight if it is not."""
        self._send_msg({"reveal": True})

    _esm = """
export function render({ model, el }) {
  const root = document.createElement('div');
  const make = (tag, text, cls) => {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  function button(given) {
    const made = make('button', given.text, given.kind || '');
    made.title = given.about || given.text;
    if (given.about) made.setAttribute('aria-description', given.about);
    made.setAttribute('aria-label', given.said || given.text);
    if (given.on !== undefined) made.setAttribute('aria-pressed', given.on);
    made.dataset.key = given.key;
    made.disabled = !!given.disabled;
    made.onclick = () => model.send_msg({ key: given.key });
    return made;
  }
  function row(given) {
    const line = make('div', '', given.faint ? 'row faint' : 'row');
    line.append(make('span', given.mark, 'mark'));
    const words = make('span', given.text, 'words');
    if (given.note) words.append(make('small', given.note));
    line.append(words);
    if (given.key) line.append(button({ text: '✕', key: given.key, kind: 'cross',
      said: `drop ${given.text}`, about: `wish no more: ${given.text}` }));
    return line;
  }
  function table(rows) {
    const made = make('table');
    rows.forEach((cells, i) => {
      const line = make('tr');
      cells.forEach((text, j) => line.append(make(i && j ? 'td' : 'th', text, j ? 'number' : '')));
      made.append(line);
    });
    return made;
  }
  function draw() {
    const held = root.querySelector(':focus');
    const key = held ? held.dataset.key : '';
    root.replaceChildren(...model.sections.map((given) => {
      const part = make('section', '', given.tone || '');
      if (given.tone === 'wrong' || given.tone === 'picking') part.setAttribute('role', 'status');
      if (given.title) part.append(make('h4', given.title));
      if (given.text) part.append(make('p', given.text));
      (given.rows || []).forEach((item) => part.append(row(item)));
      if (given.table) part.append(table(given.table));
      if ((given.buttons || []).length) {
        const bar = make('div', '', 'buttons');
        bar.append(...given.buttons.map(button));
        part.append(bar);
      }
      return part;
    }));
    if (key) for (const node of root.querySelectorAll('button'))
      if (node.dataset.key === key) node.focus();
  }
  const show = () => root.getRootNode().host.scrollIntoView({ block: 'nearest' });
  model.on('msg:custom', () => setTimeout(show, 250));
  model.on('sections', draw);
  draw();
  return root;
}
"""
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 12px var(--sw-font);
  color: var(--sw-text); overflow-y: auto; padding: 0 4px; box-sizing: border-box; }
section { padding: 4px 2px 5px; border-top: 1px solid var(--sw-grid); }
section:first-child { border-top: none; }
h4 { margin: 0 0 3px; font-size: 12px; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 0 0 4px; line-height: 1.35; color: var(--sw-faint); overflow-wrap: anywhere; }
.buttons { display: flex; flex-wrap: wrap; gap: 4px; }
button { font: inherit; font-size: 11.5px; color: inherit; background: var(--sw-page);
  border: 1px solid var(--sw-faint); border-radius: 4px; padding: 2px 7px; cursor: pointer;
  max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button:hover:not(:disabled) { background: var(--sw-hover); }
button:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px; }
button:disabled { opacity: .5; cursor: default; }
button[aria-pressed='true'], button.main { background: #0072B2; border-color: #0072B2;
  color: #fff; }
button.cross { border: none; background: none; padding: 0 6px; flex: 0 0 auto; }
.row { display: flex; align-items: baseline; gap: 6px; padding: 1px 0; }
.row .words { flex: 1 1 auto; overflow-wrap: anywhere; }
.mark { flex: 0 0 16px; text-align: center; font-family: 'DejaVu Sans', system-ui; }
small { display: block; color: var(--sw-faint); font-size: 11px; }
.faint .words { color: var(--sw-faint); text-decoration: line-through; }
.faint small { display: inline-block; }
table { border-collapse: collapse; width: 100%; margin: 2px 0 3px; }
th { font-weight: 600; text-align: left; color: var(--sw-faint); padding: 1px 3px; }
td { padding: 1px 3px; border-top: 1px solid var(--sw-grid); }
tr:not(:first-child) th { font-weight: 400; border-top: 1px solid var(--sw-grid); }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { font-weight: 600; }
.wrong { border-left: 4px solid #D55E00; padding-left: 7px; }
.wrong p { color: inherit; }
.picking { border-left: 4px solid #0072B2; padding-left: 7px; }
.picking p { color: inherit; font-weight: 600; }
"""
    ]


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
        problem = ["wishes", "planner", "options", "parameters"]
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


def of_selection(session: Session, shown: Shown) -> Section:
    """The selection and the wishes that it allows."""
    selection, planner = session.look.selection, session.problem.planner
    if not selection:
        return {"text": EMPTY}
    offered = offers(shown, selection, session.problem.wishes, planner)
    buttons = [button_of(offer) for offer in offered]
    operator = wished_operator(shown, selection)
    if operator and cuts(session.problem):
        text = "✂ No break here" if operator in session.breaks.nodes else "✂ Break here"
        about = "cut the network behind this operator, or no more: b"
        buttons.append({"text": text, "key": BREAK + operator, "about": about})
    section: Section = {"title": title_of(shown, selection), "buttons": buttons}
    return section if buttons else {**section, "text": NOTHING_OF_IT}


def button_of(offer: WishOffer) -> dict[str, Any]:
    """A button of the board."""
    pressed = {"on": offer.on} if offer.key.startswith(("wish ", "drop ")) else {}
    return {"text": offer.label, "key": offer.key, "about": offer.about, **pressed}


def title_of(shown: Shown, selection: str) -> str:
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


def cost(shown: Shown, without: Mapping[str, Any], pricing: bool) -> list[Section]:
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
        return "Both are proven optimal in what is made least."
    return (
        f"Not proven least ({', '.join(open_)} may be left): the difference is of these two plans."
    )


def ways_out(picking: Mapping[str, Any], why: Mapping[str, Any]) -> list[Section]:
    """The buttons beside the line above the views: give up picking, or plan without a wish."""
    if picking:
        return [{"buttons": [{"text": "Give up", "key": "give up", "about": "or press Escape"}]}]
    return [{"buttons": in_the_way(why)["buttons"]}] if why.get("wishes") else []


def in_the_way(why: Mapping[str, Any]) -> Section:
    """The wishes that leave no plan, each to be dropped; the line above the views says the rest."""
    wishes = list(why["wishes"])
    one = len(wishes) == 1
    text = "This wish is in the way:" if one else "These wishes are in the way together:"
    buttons = [
        {"text": f"Drop “{wish}”", "key": DROP + wish, "kind": "main", "about": "plan without it"}
        for wish in wishes
    ]
    need, have = why["need_bytes"], why["have_bytes"]
    short = f" They need {format_bytes(need)}, there are {format_bytes(have)}."
    short = short.replace("They need", "It needs") if one else short
    return {"title": text + (short if need > have else ""), "buttons": buttons, "tone": "wrong"}
