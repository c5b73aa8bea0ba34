"""The machine: a preset, and under a folded head the numbers of it that can be changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import panel as pn

import planners as sp
from app.machines import MachineNumbers
from app.session import Session
from app.style import COMPACT
from app.views.following import follow
from app.views.later import seen
from app.views.number_fields import NumberFields
from app.views.planner_options import LINK

FOLLOWED = ["machine", "machine_fields"]


class MachineField(pn.viewable.Viewer):
    """A list of presets, a head that says what is changed, and a field for each number."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.numbers = session, MachineNumbers(session)
        self._mirroring = False
        machines = {machine.title: name for name, machine in sp.presets().items()}
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (2, 8)}
        self.preset = pn.widgets.Select(
            label="Machine",
            options=machines,
            css_classes=["machine"],
            stylesheets=[COMPACT],
            **wide,
        )
        self.preset.param.watch(self._chosen, "value")
        self.head = pn.widgets.Button(
            css_classes=["machine-numbers"],
            stylesheets=[COMPACT, LINK],
            on_click=lambda _e: self.open(not self.rest.visible),
            description="Bandwidths, latencies and energies: planned with what is typed here",
            **wide,
        )
        self.fields = NumberFields(css_classes=["number-fields"], **wide)
        self.fields.on_key(lambda key: self._typed(key))
        self.back = pn.widgets.Button(
            label="Back to the preset",
            css_classes=["machine-back"],
            stylesheets=[COMPACT],
            on_click=lambda _e: self._back(),
            **wide,
        )
        self.rest = pn.Column(
            self.fields, self.back, visible=False, sizing_mode="stretch_width", margin=0
        )
        follow(session.problem, FOLLOWED, lambda: self._mirror())
        self._mirror()

    def open(self, opened: bool) -> None:
        """Unfold the numbers, or fold them."""
        self.rest.visible = opened
        self._mirror()

    def _chosen(self, event: Any) -> None:
        if not self._mirroring and event.new:
            self.session.change(machine=event.new)

    def _typed(self, key: str) -> None:
        name, _, text = key.partition(" ")
        self.numbers.enter(name, text)
        self._mirror()

    def _back(self) -> None:
        self.numbers.back()
        self._mirror()

    def _mirror(self) -> None:
        """Show what the problem has; the fields only once they are to be seen."""
        self._mirroring = True
        try:
            self.preset.value = self.session.problem.machine
        finally:
            self._mirroring = False
        words, opened = self.numbers.words, self.rest.visible
        self.head.label = ("▾" if opened else "▸") + " Machine's numbers" + (words and f": {words}")
        self.back.disabled = not words
        if opened:
            self.fields.rows = [asdict(row) for row in self.numbers.rows]

    def __panel__(self) -> pn.Column:
        return seen(
            pn.Column, self.preset, self.head, self.rest, sizing_mode="stretch_width", margin=0
        )
