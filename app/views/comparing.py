"""How two plans differ, told in a table: totals, and a row for each tensor."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

from app.compare import (
    MOVED,
    ONLY_HERE,
    ONLY_THERE,
    RETIMED,
    SPILLED_HERE,
    SPILLED_THERE,
    comparable,
    differences,
    totals,
)
from app.options import that_count, word
from app.session import Session
from app.shown import Shown
from app.state import tensor_selection
from app.style import COMPACT, TEXT
from app.views.following import follow
from app.views.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, ink_on
from app.views.rows import Rows
from app.views.units import joules_text, seconds_text
from planners.units import format_bytes

MARKS = {
    SPILLED_HERE: ("▲", ORANGE),
    SPILLED_THERE: ("△", SKY),
    ONLY_HERE: ("+", GREEN),
    ONLY_THERE: ("−", PURPLE),
    RETIMED: ("↔", BLUE),
    MOVED: ("↕", GREY),
}
LISTED = 200
BY_HAND = ", moved by hand"


class ComparePanel(pn.viewable.Viewer):
    """Pin, swap, let go; totals of both plans and a row for each tensor that differs."""

    def __init__(self, session: Session, choose: Any, height: int, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.pin = self._button("Pin this plan  (p)", "pin", session.pins.pin)
        self.swap = self._button("Swap  (c)", "swap", session.pins.swap)
        self.drop = self._button("Let go", "unpin", session.pins.unpin)
        self.title = pn.pane.HTML(
            "", stylesheets=[TEXT], css_classes=["compare-title"], margin=(2, 4)
        )
        self.rows = Rows(
            css_classes=["differences"],
            empty="Pin a plan, then change budget or planner: how they differ is told here.",
            height=height - 58,
            sizing_mode="stretch_width",
        )
        self.rows.on_key(lambda key: choose(key))
        follow(session.work, ["shown", "pinned"], lambda: self._show())
        follow(session.look, "selection", lambda: self._show())
        self._show()

    def _button(self, label: str, name: str, act: Any) -> pn.widgets.Button:
        return pn.widgets.Button(
            label=label,
            css_classes=[name],
            stylesheets=[COMPACT],
            on_click=lambda _e: act(),
            margin=(0, 3),
        )

    def _show(self) -> None:
        work = self.session.work
        self.swap.visible = self.drop.visible = work.pinned is not None
        self.rows.head = ["", "pinned", "here", "difference"] if work.pinned else []
        self.rows.rows = compare_rows(work.shown, work.pinned, self.session.look.selection)
        if work.pinned:
            here, there = plan_names(work.shown_for, work.pinned_for)
            here += BY_HAND if work.shown.moved else ""
            there += BY_HAND if work.pinned.moved else ""
            self.title.object = f"here <b>{escape(here)}</b> · pinned <b>{escape(there)}</b>"
        else:
            self.title.object = ""

    def __panel__(self) -> pn.Column:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        return pn.Column(
            pn.Row(self.pin, self.swap, self.drop, **wide), self.title, self.rows, **wide
        )


def plan_names(here: dict[str, Any], there: dict[str, Any]) -> tuple[str, str]:
    """Two plans by what they were asked for differently."""
    both = that_count(here), that_count(there)
    names = [name for name in both[0] if both[0][name] != both[1].get(name)] or ["budget"]
    words = [", ".join(word(name, fields.get(name, "")) for name in names) for fields in both]
    return words[0], words[1]


def compare_rows(
    here: Shown | None, there: Shown | None, selection: str = ""
) -> list[dict[str, Any]]:
    """Totals first; then the tensors that differ, with their spill traffic in both plans."""
    if here is None or there is None:
        return []
    rows = []
    for name, mine, other, unit in totals(here, there):
        cells = [amount(other, unit), amount(mine, unit), signed(mine - other, unit)]
        rows.append({"text": name, "cells": cells})
    if not comparable(here, there):
        return [*rows, {"text": "Another graph: tensors are not compared.", "cells": [""]}]
    found = differences(here, there)
    for item in found[:LISTED]:
        mark, colour = MARKS[item.kind]
        key = tensor_selection(item.tensor)
        both = [format_bytes(item.there_bytes), format_bytes(item.here_bytes)]
        cells = [*both, signed(item.delta_bytes, "B")]
        row = {"text": f"{item.tensor}: {item.kind}", "cells": cells, "key": key, "chip": colour}
        rows.append({**row, "mark": mark, "ink": ink_on(colour), "on": key == selection})
    rest = len(found) - LISTED
    return [*rows, {"text": f"and {rest} more", "cells": [""]}] if rest > 0 else rows


def amount(value: float, unit: str) -> str:
    """A quantity in a unit that suits it."""
    return {"B": format_bytes, "s": seconds_text, "J": joules_text}[unit](value)


def signed(value: float, unit: str) -> str:
    """A difference with its sign; a dash for none."""
    if not value:
        return "="
    return ("+" if value > 0 else "−") + amount(abs(value), unit)
