"""The whole comparison: the shelf of plans, their problems, totals, and every tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from html import escape
from io import StringIO
from typing import Any

import panel as pn

from app.display.compare import (
    KINDS,
    Difference,
    allocations,
    comparable,
    differences,
    fields_that_differ,
    operator_kinds,
    totals,
)
from app.display.displayed_plan import DisplayedPlan
from app.model.machines import called, summary_of
from app.model.options import word
from app.model.state import ALIGNED, tensor_selection
from app.session.session import Session
from app.views.panels.comparing import amount, difference_cells, signed
from app.widgets.buttons import button
from app.widgets.changing_select import ChangingSelect
from app.widgets.files_field import FileField
from app.widgets.following import follow
from app.widgets.legends import switch
from app.widgets.marks import MARKS
from app.widgets.reveal import Reveal
from app.widgets.rows import BarRows
from app.widgets.style import BOX, COMPACT, TEXT
from planners.core.colours import ink_on
from planners.core.units import format_bytes

WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
LISTED = 300
ALL, COSTLY = "all kinds", "what costs bytes"
"""Of two plans in which none costs other bytes, all are listed."""
SORTS: Mapping[str, Callable[[Difference, DisplayedPlan], Any]] = {
    "traffic": lambda d, shown: (-abs(d.delta_bytes), -size_of(shown, d.tensor), d.tensor),
    "size": lambda d, shown: (-size_of(shown, d.tensor), d.tensor),
    "kind": lambda d, shown: (KINDS.index(d.kind), -abs(d.delta_bytes), d.tensor),
    "name": lambda d, shown: d.tensor,
}
NOTHING = (
    "Nothing is pinned. Pin the plan on screen (s), then change budget, planner or machine; or "
    "take a plan from a file, or a point of the chart of all planners with “a tap pins it”."
)


class Comparison(pn.viewable.Viewer):
    """Made when it is first opened; `table` writes the differences of two plans."""

    def __init__(
        self,
        session: Session,
        table: Callable[[DisplayedPlan, DisplayedPlan], str],
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.session, self.table = session, table
        self.made = False
        self.reveal = Reveal()
        self.box = pn.Column(
            css_classes=["box", "comparison"],
            stylesheets=[BOX],
            visible=False,
            sizing_mode="stretch_width",
        )
        follow(session.look, "comparing", lambda: self._open())
        follow(session.work, ["shown", "pinned", "shelf", "pinning"], lambda: self._show())
        follow(session.look, "aligned", lambda: self._show_tensors())
        self._open()

    def _open(self) -> None:
        if self.session.look.comparing and not self.made:
            self.made = True
            self._widgets()
            self.box[:] = [self.reveal, self._layout()]
        self.box.visible = self.session.look.comparing
        if self.box.visible:
            self.reveal.bring()
        self._show()

    def _widgets(self) -> None:
        pins = self.session.pins
        small: dict[str, Any] = {"stylesheets": [COMPACT], "margin": (0, 4)}
        self.shelf = ChangingSelect(
            label="compared with", css_classes=["shelf"], width=230, **small
        )
        self.shelf.param.watch(lambda event: self._chosen(event.new), "value")
        self.called = pn.widgets.TextInput(
            label="called", css_classes=["kept-name"], width=170, **small
        )
        self.called.param.watch(lambda event: pins.rename(event.new), "value")
        words = "Drop a plan here, or browse"
        self.file = FileField(words=words, css_classes=["compare-file"], width=190, margin=(0, 4))
        self.file.param.watch(lambda event: self._taken(*event.new), "whole")
        self.head = pn.pane.HTML(
            "", css_classes=["asked"], stylesheets=[TEXT], **{**WIDE, "margin": (2, 6)}
        )
        self.kind = ChangingSelect(
            label="kind", options=[COSTLY], css_classes=["difference-kind"], width=190, **small
        )
        self.sort = pn.widgets.Select(
            label="sorted by",
            options=list(SORTS),
            css_classes=["difference-sort"],
            width=96,
            **small,
        )
        for widget in (self.kind, self.sort):
            widget.param.watch(lambda _event: self._show_tensors(), "value")
        self.totals = BarRows(css_classes=["totals"], empty=NOTHING, sizing_mode="stretch_width")
        self.tensors = BarRows(
            selects=True,
            css_classes=["tensor-differences"],
            max_height=210,
            sizing_mode="stretch_width",
        )

    def _layout(self) -> pn.Column:
        session, pins = self.session, self.session.pins

        def close() -> None:
            session.look.comparing = False

        def csv() -> StringIO:
            work = session.work
            both = work.shown is not None and work.pinned is not None
            return StringIO(self.table(work.shown, work.pinned) if both else "")

        saved = pn.widgets.FileDownload(
            callback=csv,
            filename="differences.csv",
            label="CSV",
            css_classes=["differences-csv"],
            stylesheets=[COMPACT],
            width=70,
            margin=(0, 3),
        )
        title = pn.pane.HTML(
            '<div class="title"><b>Compare</b><span>pinned → on screen</span></div>',
            stylesheets=[TEXT],
            **{**WIDE, "margin": (4, 6)},
        )
        head = pn.Row(title, saved, button("Close  ×", "close-comparison", close), **WIDE)
        views = {"overlaid": False, "one above the other": True}
        shelf = pn.Row(
            self.shelf,
            self.called,
            button("Pin this plan  (s)", "keep-plan", pins.pin),
            button("Swap  (c)", "swap-plan", pins.swap),
            button("Remove", "drop-plan", pins.unpin),
            self.file,
            css_classes=["bar"],
            **WIDE,
        )
        for item in shelf.objects[2:]:
            item.align = "end"
        looks = pn.Row(
            switch(session, "split", views, ["split"]),
            pn.pane.HTML(
                '<span class="faint">align by</span>', stylesheets=[TEXT], margin=(5, 0, 0, 8)
            ),
            switch(session, "aligned", {name: name for name in ALIGNED}, ["aligned"]),
            button("Differences in the graph", "graph-differences", self._colour),
            css_classes=["bar"],
            **WIDE,
        )
        filters = pn.Row(self.kind, self.sort, margin=0)
        left = pn.Column(self.totals, width=430, margin=(0, 8, 0, 0))
        right = pn.Column(filters, self.tensors, **WIDE)
        sides = pn.Row(left, right, css_classes=["sides"], **WIDE)
        return pn.Column(head, shelf, self.head, looks, sides, **WIDE)

    def _colour(self) -> None:
        look = self.session.look
        look.colour = "kind" if look.colour == "difference" else "difference"

    def _chosen(self, name: str | None) -> None:
        if name and name != self.session.pins.chosen:
            self.session.pins.choose(name)

    def _taken(self, name: str, content: bytes | str) -> None:
        if isinstance(content, str):
            self.session.work.notice = content
        else:
            self.session.pins.take_file(content, name)

    def _show(self) -> None:
        work, pins = self.session.work, self.session.pins
        if not self.made or not self.session.look.comparing:
            return
        names = [kept.name for kept in work.shelf]
        if self.shelf.options != names:
            self.shelf.options = names
        self.shelf.value = pins.chosen or None
        self.shelf.disabled = self.called.disabled = not names
        self.called.value = pins.chosen
        self.head.object = asked_html(self.session)
        self.totals.head = ["", "pinned", "here", "difference", ""] if work.pinned else []
        self.totals.rows = total_rows(work.shown, work.pinned)
        self._show_tensors()

    def _show_tensors(self) -> None:
        work, look = self.session.work, self.session.look
        if not self.made or not look.comparing:
            return
        here, there = work.shown, work.pinned
        same = comparable(here, there)
        changed = differences(here, there, look.aligned) if same else []
        counts = Counter(item.kind for item in changed)
        costly = [item for item in changed if item.delta_bytes] or changed
        options = {f"{COSTLY} ({len(costly)})": COSTLY, f"{ALL} ({len(changed)})": ALL}
        options |= {f"{MARKS[k][0]} {k} ({counts[k]})": k for k in KINDS if counts[k]}
        chosen = self.kind.value if self.kind.value in options.values() else COSTLY
        if self.kind.options != options:
            self.kind.param.update(options=options, value=chosen)
        wanted = costly if chosen == COSTLY else [i for i in changed if chosen in (ALL, i.kind)]
        self.tensors.empty = empty_text(here, there)
        self.tensors.head = ["tensor", "size", "pinned", "here", "difference"] if wanted else []
        ordered = sorted(wanted, key=lambda item: SORTS[self.sort.value](item, here))
        if same:
            cells_of = difference_cells(here, there)
            rows = [tensor_row(item, here, cells_of(item)) for item in ordered[:LISTED]]
        self.tensors.rows = rows if same else []

    def __panel__(self) -> pn.Column:
        return self.box


def differing(session: Session) -> Mapping[str, str] | None:
    """By operator how the pinned plan differs, where the graph is coloured by that."""
    work = session.work
    if session.look.colour != "difference" or not comparable(work.shown, work.pinned):
        return None
    return operator_kinds(work.shown, work.pinned)


def size_of(shown: DisplayedPlan, tensor: str) -> int:
    """Bytes of a tensor."""
    return shown.graph.size_bytes(tensor) if tensor in shown.graph.tensors else 0


def asked_html(session: Session) -> str:
    """The fields of the problems that differ, and what cannot be compared."""
    work = session.work
    if work.pinning:
        return '<span class="faint"><i class="spin"></i>the plan is being read and checked …</span>'
    if work.pinned is None or work.shown is None:
        return ""
    texts = [
        f"<b>{escape(name.rpartition('.')[2].replace('_', ' '))}</b> "
        f"{escape(text(name, there, work.pinned))} → {escape(text(name, here, work.shown))}"
        for name, there, here in fields_that_differ(work.shown_for, work.pinned_for)
    ]
    if allocations(work.shown, work.pinned):
        both = escape(work.pinned.plan.planner), escape(work.shown.plan.planner)
        return f"The same tensors, live in the same steps: by {both[0]} → by {both[1]}."
    if work.shown is work.pinned:
        return "This plan is pinned. Choose another model, machine, budget or planner above."
    lines = [", ".join(texts) or "Both solve the same problem."]
    machines = called(work.pinned.plan.machine), called(work.shown.plan.machine)
    if machines[0] != machines[1]:
        lines.append(
            f"Latency and energy: pinned on {escape(machines[0])}, here on {escape(machines[1])}."
        )
    if not comparable(work.shown, work.pinned):
        lines.append("Another graph: only the totals are compared, not the tensors.")
    return "<br>".join(lines)


def text(name: str, value: Any, shown: DisplayedPlan) -> str:
    """A field's value in words; for a budget by name its bytes too."""
    if name == "budget":
        size = format_bytes(shown.plan.budget_bytes)
        return size if str(value)[:1].isdigit() else f"{value} ({size})"
    if name == "machine_fields" and value:
        return summary_of(shown.plan.machine.name, str(value))
    return word(name, value if value is not None else "") or "none"


def total_rows(here: DisplayedPlan | None, there: DisplayedPlan | None) -> list[dict[str, Any]]:
    """Totals of both, the difference, and that in percent."""
    if here is None or there is None:
        return []
    rows = []
    for name, mine, other, unit in totals(here, there):
        share = f"{(mine - other) / other:+.1%}".replace("-", "−") if other else ""
        cells = [amount(other, unit), amount(mine, unit), signed(mine - other, unit)]
        rows.append({"text": name, "cells": [*cells, share if mine != other else ""]})
    return rows


def empty_text(here: DisplayedPlan | None, there: DisplayedPlan | None) -> str:
    """Why there are no rows."""
    if here is None or there is None:
        return ""
    if not comparable(here, there):
        return "The plans are of different graphs: they have no tensors in common."
    return "No tensor differs."


def tensor_row(item: Difference, here: DisplayedPlan, cells: list[str]) -> dict[str, Any]:
    """A tensor: how it differs, its size, and its `difference_cells`."""
    mark, colour = MARKS[item.kind]
    key = tensor_selection(item.tensor)
    cells = [format_bytes(size_of(here, item.tensor)), *cells]
    row = {"text": f"{item.tensor}: {item.kind}", "key": key}
    look = {"chip": colour, "mark": mark, "ink": ink_on(colour)}
    return {**row, **look, "cells": cells}
