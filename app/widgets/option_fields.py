"""The fields of a planner's options, made from what its type says of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import panel as pn

from app.model.option_keys import brief, offered, read, title, type_of, typed
from app.model.options import chosen
from app.session.session import Session
from app.widgets.bound import bind_to, said_in
from app.widgets.changing_select import ChangingSelect
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.style import FIELD, PLAIN
from planners.core.options import Place, Spec

ROW: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
WIDE: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "margin": (2, 8),
    "stylesheets": [FIELD],
}
IN_A_ROW, LONG = 2, 19
"""Fields that stand side by side, and the length of label from which on a field has its own row."""


class OptionFields:
    """Widgets that follow the options of one planner and change them.

    `first` stands beside the time limit, `front` below it, `rest` is folded. `own` are panels for
    options, by name, that are more than a field; `here` are values of options available here.
    """

    def __init__(
        self,
        session: Session,
        planner: str,
        own: Mapping[str, Any],
        here: Mapping[str, Sequence[Any]],
    ) -> None:
        self.session, self.planner, self.own, self.here = session, planner, own, here
        self.specs = type_of(planner).own()
        self.widgets: dict[str, Any] = {}
        self._wrong: dict[str, pn.pane.HTML] = {}
        for name, spec in self.specs.items():
            if spec.place != "none" and name not in own:
                self._make(spec)
        self.why: dict[Place, Any] = {place: _faint("why-not") for place in ("front", "more")}
        self._rule_out()
        front, rest = self._at("front"), self._at("more")
        self.first = self.widgets.get(front[0]) if front else None
        self.front = seen(pn.Column, *self._rows(front, self.first), self.why["front"], **ROW)
        self.rest = seen(pn.Column, *self._rows(rest), self.why["more"], **ROW)
        self.folds = bool(rest)
        follow(session.problem, ["options", "planner", "wishes"], lambda: self._rule_out())

    def unusual(self) -> list[str]:
        """Folded options that are not at their defaults, in a word or two each."""
        values = chosen(self.session.problem).unusual()
        return [brief(self.specs[n], values[n]) for n in self._at("more") if n in values]

    def _at(self, place: Place) -> list[str]:
        return [name for name, spec in self.specs.items() if spec.place == place]

    def _make(self, spec: Spec) -> None:
        widget = self.widgets[spec.name] = _widget(spec, self.here.get(spec.name, ()))
        fields = ("options", "planner", "wishes")
        as_text = isinstance(widget, pn.widgets.TextInput)
        if as_text:
            self._wrong[spec.name] = _faint(f"{widget.css_classes[-1]}-wrong", visible=False)

        def value() -> Any:
            if self.session.problem.planner != self.planner:
                return widget.value
            value = getattr(chosen(self.session.problem), spec.name)
            if isinstance(widget, pn.widgets.Select) and value not in widget.options.values():
                widget.options = offered(spec, value, self.here.get(spec.name, ()))
            return typed(spec, value) if as_text else value

        def take(entered: Any) -> None:
            self.session.choose(**{spec.name: read(spec, entered) if as_text else entered})

        wrong = self._wrong.get(spec.name)
        bind_to(
            widget, self.session.problem, fields, value, take, said_in(wrong) if wrong else None
        )

    def _rows(self, names: Iterable[str], first: Any = None) -> list[Any]:
        """Fields two in a row, check boxes, panels and long names in their own; errors below."""
        rows: list[list[Any]] = []
        for name in names:
            thing = self.own[name] if name in self.own else self.widgets[name]
            if thing is first:
                continue
            typed_or_listed = isinstance(thing, pn.widgets.Select | pn.widgets.TextInput)
            alone = not typed_or_listed or len(thing.label) > LONG
            if alone or not rows or len(rows[-1]) == IN_A_ROW or None in rows[-1]:
                rows.append([])
            rows[-1] += [thing, None] if alone else [thing]
        boxes = [row[0] if None in row else pn.Row(*row, **ROW) for row in rows]
        return [*boxes, *(self._wrong[name] for name in names if name in self._wrong)]

    def _rule_out(self) -> None:
        """Disable options that the others fix, with a line that says why."""
        problem = self.session.problem
        if problem.planner != self.planner:
            return
        ruled_out = chosen(problem).ruled_out()
        for name, widget in self.widgets.items():
            widget.disabled = name in ruled_out
        for place, pane in self.why.items():
            names = [n for n in self._at(place) if n in ruled_out and n in self.widgets]
            pane.object = self._why_html({name: ruled_out[name] for name in names})
            pane.visible = bool(names)

    def _why_html(self, ruled_out: Mapping[str, str]) -> str:
        """A line for each reason, with the options that it applies to."""
        names: dict[str, list[str]] = {}
        for name, why in ruled_out.items():
            names.setdefault(why, []).append(title(self.specs[name]))
        lines = [f"{escape(', '.join(of))}: {escape(why)}." for why, of in names.items()]
        return f'<span class="faint">{"<br>".join(lines)}</span>'


def _widget(spec: Spec, here: Sequence[Any]) -> Any:
    look = {"label": title(spec), "css_classes": ["option", spec.name.replace("_", "-")], **WIDE}
    if spec.kind == "flag":
        return pn.widgets.Checkbox(value=spec.default, **look)
    if choices := offered(spec, spec.default, here):
        return ChangingSelect(options=choices, value=spec.default, **look)
    return pn.widgets.TextInput(value=typed(spec, spec.default), placeholder=spec.empty, **look)


def _faint(css: str, **look: Any) -> pn.pane.HTML:
    return pn.pane.HTML("", css_classes=[css], margin=(0, 8), stylesheets=[PLAIN], **look)
