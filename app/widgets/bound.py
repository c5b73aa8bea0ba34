"""A widget bound to a field of a view-model: each follows the other, and neither echoes.

The field is the only holder of its value: a widget's new value is taken where the field would show
something else, and what the field then holds is shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import param

import planners as sp
from app.widgets.following import follow
from app.widgets.style import wrong_html

Wrong = Callable[[sp.SpillwayError | None], object]


@dataclass(frozen=True, slots=True)
class Bound:
    """A widget, the value it shows (`value`), and the handler of its input (`take`).

    `take` raises `SpillwayError` for input that cannot be used: that stays in the widget to be
    corrected, and `wrong` gets the reason, or None.
    """

    widget: Any
    value: Callable[[], Any]
    take: Callable[[Any], object]
    wrong: Wrong | None = None

    def show(self) -> None:
        """Show the current value, unless it is shown already."""
        wanted = self.value()
        if self.widget.value != wanted:
            self.widget.value = wanted
        self._say(None)

    def hear(self, entered: Any) -> None:
        """Take what a person chose or typed; a value that the program itself set is ignored."""
        if entered is None:
            return
        if entered == self.value():
            self._say(None)
            return
        try:
            self.take(entered)
        except sp.SpillwayError as error:
            if self.wrong is None:
                raise
            self._say(error)
        else:
            self.show()

    def _say(self, error: sp.SpillwayError | None) -> None:
        if self.wrong is not None:
            self.wrong(error)


def bind(
    widget: Any,
    model: param.Parameterized,
    field: str,
    *,
    to: Callable[[Any], Any] | None = None,
    back: Callable[[Any], Any] | None = None,
    change: Callable[..., object] | None = None,
    wrong: Wrong | None = None,
    also: Sequence[str] = (),
) -> Bound:
    """Bind a widget to a field of a view-model.

    `to` turns the field's value into what is shown, `back` turns input into the field's value;
    `change` takes the field by name, `model.param.update` unless another does more. `also` are
    other fields on which `to` depends.
    """
    act = change or model.param.update

    def value() -> Any:
        current = getattr(model, field)
        return current if to is None else to(current)

    def take(entered: Any) -> None:
        act(**{field: entered if back is None else back(entered)})

    return bind_to(widget, model, (field, *also), value, take, wrong)


def bind_to(
    widget: Any,
    model: param.Parameterized,
    fields: Sequence[str],
    value: Callable[[], Any],
    take: Callable[[Any], object],
    wrong: Wrong | None = None,
) -> Bound:
    """Bind a widget to what several fields mean together: see `Bound`."""
    bound = Bound(widget, value, take, wrong)
    bound.show()
    listen(widget, lambda entered: bound.hear(entered))
    follow(model, list(fields), lambda: bound.show())
    return bound


def said_in(pane: Any) -> Wrong:
    """Errors are shown in a pane, which is not there otherwise."""
    return lambda error: pane.param.update(
        object=wrong_html(error) if error else "", visible=error is not None
    )


def listen(widget: Any, act: Callable[[Any], object]) -> None:
    """Call `act` with each new value of a widget, of Panel or of a notebook."""
    if isinstance(widget, param.Parameterized):
        widget.param.watch(lambda event: act(event.new), "value")
    else:
        widget.observe(lambda event: act(event["new"]), "value")
