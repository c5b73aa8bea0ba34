"""The machine: a preset, and under a folded head the numbers of it that can be changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import panel as pn

import planners as sp
from app.model.machines import MachineNumbers
from app.session.session import Session
from app.widgets.bound import bind
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.number_fields import NumberFields
from app.widgets.style import FIELD, LINK, SMALL

FOLLOWED = ["machine", "machine_fields"]


class MachineField(pn.viewable.Viewer):
    """A list of presets, for another place; a head that says what is changed, and a field for each
    number."""

    rest: pn.Column

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.numbers = MachineNumbers(session.problem, lambda **fields: session.change(**fields))
        machines = {machine.title: name for name, machine in sp.presets().items()}
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (2, 8)}
        self.preset = pn.widgets.Select(
            label="Machine",
            options=machines,
            css_classes=["machine"],
            stylesheets=[FIELD],
            **wide,
        )
        bind(self.preset, session.problem, "machine", change=session.change)
        self.head = pn.widgets.Button(
            css_classes=["machine-numbers"],
            stylesheets=[SMALL, LINK],
            on_click=lambda _e: self.open(not self.rest.visible),
            description="Bandwidths, latencies and energies used for planning",
            **wide,
        )
        self.fields = NumberFields(css_classes=["number-fields"], **wide)
        self.fields.on_key(lambda key: self._typed(key))
        self.back = pn.widgets.Button(
            label="Back to the preset",
            css_classes=["machine-back"],
            stylesheets=[SMALL],
            on_click=lambda _e: self._back(),
            **wide,
        )
        self.rest = pn.Column(
            self.fields, self.back, visible=False, sizing_mode="stretch_width", margin=0
        )
        follow(session.problem, FOLLOWED, lambda: self._show())
        self._show()

    def open(self, opened: bool) -> None:
        """Unfold the numbers, or fold them."""
        self.rest.visible = opened
        self._show()

    def _typed(self, key: str) -> None:
        name, _, text = key.partition(" ")
        self.numbers.enter(name, text)
        self._show()

    def _back(self) -> None:
        self.numbers.back()
        self._show()

    def _show(self) -> None:
        """Show what is changed of the preset; the fields only once they are unfolded."""
        words, opened = self.numbers.words, self.rest.visible
        self.head.label = ("▾" if opened else "▸") + " Machine's numbers" + (words and f": {words}")
        self.back.disabled = not words
        if opened:
            self.fields.rows = [asdict(row) for row in self.numbers.rows]

    def __panel__(self) -> pn.Column:
        return seen(pn.Column, self.head, self.rest, sizing_mode="stretch_width", margin=0)
