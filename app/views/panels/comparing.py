"""How two plans differ, as a table: totals, and a row for each tensor."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn

from app.display.compare import (
    Difference,
    addresses,
    allocations,
    comparable,
    differences,
    fields_that_differ,
    totals,
)
from app.display.displayed_plan import DisplayedPlan
from app.model.options import word
from app.model.state import tensor_selection
from app.model.units import joules_text, seconds_text
from app.session.session import Session
from app.widgets.buttons import button
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.marks import MARKS
from app.widgets.rows import BarRows
from app.widgets.style import TEXT
from planners.core.colours import ink_on
from planners.core.units import format_bytes

LISTED = 200
BY_HAND = ", moved by hand"


class ComparePanel(pn.viewable.Viewer):
    """Buttons to pin, swap and unpin; totals of both plans and a row for each tensor that
    differs."""

    def __init__(self, session: Session, choose: object, height: int, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.pin = button("Pin this plan  (s)", "pin", session.pins.pin)
        self.swap = button("Swap  (c)", "swap", session.pins.swap)
        self.drop = button("Let go", "unpin", session.pins.unpin)
        self.title = pn.pane.HTML(
            "", stylesheets=[TEXT], css_classes=["compare-title"], margin=(2, 4)
        )
        self.rows = BarRows(
            selects=True,
            css_classes=["differences"],
            empty="Pin a plan, then change budget or planner: the differences appear here.",
            height=height - 58,
            sizing_mode="stretch_width",
        )
        follow(session.work, ["shown", "pinned"], lambda: self._show())
        follow(session.look, "aligned", lambda: self._show())
        self._show()

    def _show(self) -> None:
        work = self.session.work
        self.swap.visible = self.drop.visible = work.pinned is not None
        self.rows.head = ["", "pinned", "here", "difference"] if work.pinned else []
        self.rows.rows = compare_rows(work.shown, work.pinned, self.session.look.aligned)
        if work.pinned:
            here, there = plan_names(work.shown_for, work.pinned_for)
            if allocations(work.shown, work.pinned):
                here, there = work.shown.plan.planner, work.pinned.plan.planner
            here += BY_HAND if work.shown.moved else ""
            there += BY_HAND if work.pinned.moved else ""
            self.title.object = f"here <b>{escape(here)}</b> · pinned <b>{escape(there)}</b>"
        else:
            self.title.object = ""

    def __panel__(self) -> pn.Column:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        return pn.Column(
            seen(pn.Row, self.pin, self.swap, self.drop, **wide),
            self.title,
            self.rows,
            **wide,
        )


def plan_names(here: dict[str, Any], there: dict[str, Any]) -> tuple[str, str]:
    """Names of two plans, by the fields in which their problems differ."""
    differ = fields_that_differ(here, there)
    if not differ:
        budget = here.get("budget", "")
        return budget, there.get("budget", budget)
    mine = ", ".join(word(name, value if value is not None else "") for name, _, value in differ)
    other = ", ".join(word(name, value if value is not None else "") for name, value, _ in differ)
    return mine, other


def compare_rows(
    here: DisplayedPlan | None, there: DisplayedPlan | None, by: str = "operator"
) -> list[dict[str, Any]]:
    """Totals first; then the tensors that differ, with their spill traffic in both plans; of
    allocations with their addresses."""
    if here is None or there is None:
        return []
    rows: list[dict[str, Any]] = []
    for name, mine, other, unit in totals(here, there):
        cells = [amount(other, unit), amount(mine, unit), signed(mine - other, unit)]
        rows.append({"text": name, "cells": cells})
    if not comparable(here, there):
        return [*rows, {"text": "Another graph: tensors are not compared.", "cells": [""]}]
    differing = differences(here, there, by)
    cells_of, at_places = difference_cells(here, there), allocations(here, there)
    folded = 0
    if at_places:  # Nothing moves on or off chip: the largest first.
        differing.sort(key=lambda item: -here.graph.size_bytes(item.tensor))
    else:
        costly = [item for item in differing if item.delta_bytes] or differing
        folded, differing = len(differing) - len(costly), costly
    for item in differing[:LISTED]:
        mark, colour = MARKS[item.kind]
        key = tensor_selection(item.tensor)
        size = f"{format_bytes(here.graph.size_bytes(item.tensor))}, " if at_places else ""
        row = {"text": f"{size}{item.tensor}: {item.kind}", "cells": cells_of(item), "key": key}
        row["chip"] = colour
        rows.append({**row, "mark": mark, "ink": ink_on(colour)})
    rest = len(differing) - LISTED
    rest_rows = [f"and {rest} more"] if rest > 0 else []
    rest_rows += [f"{folded} more differ in address or step, at no cost in bytes"] if folded else []
    return [*rows, *({"text": line, "cells": [""]} for line in rest_rows)]


def difference_cells(
    here: DisplayedPlan, there: DisplayedPlan
) -> Callable[[Difference], list[str]]:
    """What makes the cells of a tensor that differs: its spill traffic in both plans, and the
    difference; of allocations its addresses, and how far apart they are."""
    if not allocations(here, there):
        return lambda item: [
            format_bytes(item.there_bytes),
            format_bytes(item.here_bytes),
            signed(item.delta_bytes, "B"),
        ]
    there_at, here_at = addresses(there), addresses(here)
    return lambda item: [
        f"@{there_at[item.tensor]:,}",
        f"@{here_at[item.tensor]:,}",
        signed(here_at[item.tensor] - there_at[item.tensor], "B"),
    ]


def amount(value: float, unit: str) -> str:
    """A quantity in a unit that suits it."""
    return {"B": format_bytes, "s": seconds_text, "J": joules_text}[unit](value)


def signed(value: float, unit: str) -> str:
    """A difference with its sign; a dash for none."""
    if not value:
        return "="
    return ("+" if value > 0 else "−") + amount(abs(value), unit)
