"""The options of a planner in the what-if panel, made from what its type says of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

import planners as sp
from app.model.option_keys import offered, own_of, read, title, type_of, typed
from app.model.options import SOLVER, chosen, solver_names
from app.session.session import Session
from app.widgets.bound import bind_to
from planners.core.options import Spec

Act = Callable[[Callable[[], object]], None]
FULL = {"width": "96%"}
NARROW = {"description_width": "88px"}
FIELDS = ("options", "planner", "wishes")


class OptionWidgets:
    """Widgets that follow the options of one planner and change them; some are folded."""

    def __init__(self, session: Session, planner: str, act: Act) -> None:
        self.session, self.planner, self.act = session, planner, act
        self.specs = {n: spec for n, spec in type_of(planner).own().items() if spec.place != "none"}
        self.here = own_of(planner, {SOLVER: solver_names()})
        self.widgets = {name: self._made(spec) for name, spec in self.specs.items()}
        session.problem.param.watch(lambda *_: self._rule_out(), list(FIELDS))
        self._rule_out()

    @property
    def box(self) -> w.VBox:
        """Options in front, and below them the others, folded."""
        front = [self.widgets[n] for n, spec in self.specs.items() if spec.place == "front"]
        rest = [self.widgets[n] for n, spec in self.specs.items() if spec.place == "more"]
        more = w.Accordion(children=[w.VBox(rest)], titles=("More options",), selected_index=None)
        return w.VBox([*front, *([more] if rest else [])], layout=FULL)

    def _made(self, spec: Spec) -> Any:
        widget = option_widget(spec, self.here.get(spec.name, ()))
        as_text = isinstance(widget, w.Text)

        def value() -> Any:
            if self.session.problem.planner != self.planner:
                return widget.value
            current = getattr(chosen(self.session.problem), spec.name)
            if as_text:
                return typed(spec, current)
            return self._offer(widget, spec, current)

        def take(entered: Any) -> None:
            given = read(spec, entered) if as_text else entered
            self.act(lambda: self.session.choose(**{spec.name: given}))

        bind_to(widget, self.session.problem, FIELDS, value, take, self._wrong)
        return widget

    def _offer(self, widget: Any, spec: Spec, held: Any) -> Any:
        if held not in possible(widget):
            with widget.hold_trait_notifications():
                widget.options = list(offered(spec, held, self.here.get(spec.name, ())).items())
                widget.value = held
        return held

    def _wrong(self, error: sp.SpillwayError | None) -> None:
        if error is not None:
            self.act(lambda: setattr(self.session.work, "notice", str(error)))

    def _rule_out(self) -> None:
        """Disable options that the others fix, and say why."""
        if self.session.problem.planner != self.planner:
            return
        ruled_out = chosen(self.session.problem).ruled_out()
        for name, widget in self.widgets.items():
            widget.disabled = name in ruled_out
            widget.tooltip = ruled_out.get(name, self.specs[name].help)


def option_widget(spec: Spec, here: Sequence[Any] = ()) -> Any:
    """A widget for an option, by what sort of value it has."""
    look = {"description": title(spec), "layout": FULL, "tooltip": spec.help}
    if spec.kind == "flag":
        return w.Checkbox(value=spec.default, indent=False, **look)
    if choices := offered(spec, spec.default, here):
        return w.Dropdown(options=list(choices.items()), value=spec.default, style=NARROW, **look)
    return w.Text(
        value=typed(spec, spec.default),
        placeholder=spec.empty,
        continuous_update=False,
        style=NARROW,
        **look,
    )


def possible(widget: Any) -> Sequence[Any]:
    """The values that a widget can have."""
    if isinstance(widget, w.Dropdown):
        return [item[1] if isinstance(item, tuple) else item for item in widget.options]
    return (True, False)
