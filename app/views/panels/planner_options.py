"""The planner and its options; those that the others rule out are disabled, with the reason."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

import planners as sp
from app.model.glossary import term
from app.model.option_keys import own_of
from app.model.options import BREAKS, SOLVER, break_nodes, cuts, solver_names
from app.session.session import Session
from app.widgets.bound import bind, bind_to
from app.widgets.chips import CLEAR, PICK, TAKE, Chips
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.option_fields import ROW, WIDE, OptionFields
from app.widgets.style import CHOICES, FIELD, LINK, PLAIN, SMALL, TIP
from app.widgets.whole_number import WholeNumber


class PlannerOptions(pn.viewable.Viewer):
    """The fields of the chosen planner's options, and break nodes by hand.

    The choice of the planner is made here for another place.
    """

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.planner = pn.widgets.Select(
            label="Planner",
            options={info.title: name for name, info in sp.planners().items()},
            css_classes=["planner"],
            **WIDE,
        )
        look = {"width": 70, "margin": (2, 8, 2, 0), "stylesheets": [FIELD]}
        self.limit = WholeNumber(session, "time_limit", "Limit (s)", "limit", **look)
        self.first, self.front, self.rest = (pn.Column(**ROW) for _ in range(3))
        self._forms: dict[str, OptionFields] = {}
        self._make_breaks()
        self._make_more()
        bind(self.planner, session.problem, "planner", change=session.change)
        follow(session.problem, "planner", lambda: self._fill())
        follow(session.problem, list(session.problem.param), lambda: self._mirror())
        follow(session.work, ["shown", "shown_for"], lambda: self._show_breaks())
        self._fill()
        self._open(bool(self.form.unusual()))
        self._mirror()

    @property
    def form(self) -> OptionFields:
        """The fields of the chosen planner's options, made when they are first shown."""
        planner = self.session.problem.planner
        if planner not in self._forms:
            option_values = own_of(planner, {BREAKS: self.breaks})
            here = own_of(planner, {SOLVER: solver_names()})
            self._forms[planner] = OptionFields(self.session, planner, option_values, here)
        return self._forms[planner]

    def _make_breaks(self) -> None:
        self.by_hand = pn.widgets.RadioButtonGroup(
            options={"automatic": False, "by hand": True},
            css_classes=["switch", "by-hand"],
            variant="outline",
            stylesheets=[CHOICES],
            margin=(0, 4),
        )
        bind_to(
            self.by_hand,
            self.session.problem,
            ["options"],
            lambda: break_nodes(self.session.problem) is not None,
            lambda by_hand: self.session.breaks.by_hand(by_hand),
        )
        self.chips = Chips(css_classes=["breaks"], sizing_mode="stretch_width", margin=(3, 8, 0, 8))
        self.chips.on_key(lambda key: self._tapped(key))
        self.about_breaks = pn.pane.HTML(
            "", css_classes=["about-breaks"], margin=(0, 8), stylesheets=[PLAIN]
        )
        title = pn.pane.HTML(
            f"<label>{term('Break nodes', 'break node')} ✂</label>",
            margin=(4, 8),
            stylesheets=[TIP, PLAIN],
        )
        head = pn.Row(title, self.by_hand, sizing_mode="stretch_width", margin=(3, 0))
        visible = cuts(self.session.problem)
        self.breaks = seen(pn.Column, head, self.chips, self.about_breaks, visible=visible, **ROW)

    def _make_more(self) -> None:
        self.rest.visible = False
        self.more = pn.widgets.Button(
            css_classes=["more-options"],
            stylesheets=[SMALL, LINK],
            on_click=lambda _e: self._open(not self.rest.visible),
            sizing_mode="stretch_width",
            margin=(2, 8),
        )

    def _fill(self) -> None:
        """Put the fields of the chosen planner in their places."""
        form = self.form
        self.first.objects = [form.first] if form.first is not None else []
        self.front.objects = [form.front]
        self.rest.objects = [form.rest]
        self.more.visible = form.folds

    def _open(self, opened: bool) -> None:
        self.rest.visible = opened
        self._name_more()

    def _name_more(self) -> None:
        """Say in the head of the folded part which of its options are not at their defaults."""
        unusual = self.form.unusual()
        words = f": {', '.join(unusual)}" if unusual else ""
        self.more.label = ("▾" if self.rest.visible else "▸") + f" More options{words}"

    def _mirror(self) -> None:
        """Update what depends on the problem but is no field of one option."""
        self.breaks.visible = cuts(self.session.problem)
        self._show_breaks()
        self._name_more()

    def _show_breaks(self) -> None:
        by_hand = break_nodes(self.session.problem) is not None
        names = list(self.session.breaks.nodes)
        self.chips.param.update(names=names, removable=by_hand)
        self.chips.visible = bool(names)
        self.about_breaks.object = (
            f'<span class="faint">{escape(breaks_text(by_hand, names))}</span>'
        )

    def _tapped(self, key: str) -> None:
        if key.startswith(TAKE):
            self.session.breaks.toggle(key.removeprefix(TAKE))
        elif key == CLEAR:
            self.session.choose(break_nodes=[])
        elif key.startswith(PICK):
            self.session.cursor.to_operator(key.removeprefix(PICK))

    def __panel__(self) -> pn.Column:
        return seen(
            pn.Column,
            pn.Row(self.first, self.limit.field, **ROW),
            self.limit.wrong,
            self.front,
            self.more,
            self.rest,
            css_classes=["planner-options"],
            **ROW,
        )


def breaks_text(by_hand: bool, names: list[str]) -> str:
    """What can be done about the break nodes."""
    if by_hand:
        return "Select an operator in the graph and press b to set or remove a break node there."
    return "" if names else "Break nodes are found when the network is planned."
