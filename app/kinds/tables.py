"""Rows of the tables that several kinds of plans share: what is live, what is largest, stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import planners as sp
from app.display.banks import several
from app.display.displayed_plan import DisplayedPlan
from app.display.names import tensor_path
from app.kinds.kind import Row, address_text, fact
from app.model.state import tensor_selection
from planners.core.colours import STAYS, ink_on, stay_of
from planners.core.units import format_bytes

MOST = 12
MOST_LIVE = 40


def live_by_tensor(
    shown: DisplayedPlan, step: int, unit: str, *, joined: bool = False
) -> dict[str, Row]:
    """A row for each residency at the cursor; one per tensor where they are many, or if
    `joined`."""
    outputs = set(shown.graph.outputs)
    live = shown.live(step)
    pieces: dict[str, list[sp.Residency]] = {}
    for number, residency in enumerate(live):
        # So many pieces are channels or rows: their sum is more useful.
        many = joined or len(live) > MOST_LIVE
        pieces.setdefault(residency.tensor if many else str(number), []).append(residency)
    largest = max((sum(r.size_bytes for r in some) for some in pieces.values()), default=1)
    rows = {key: _live_row(some, outputs, largest, unit) for key, some in pieces.items()}
    if several(shown):
        for key, some in pieces.items():
            rows[key]["cells"][1] = f"{some[0].memory} {rows[key]['cells'][1]}"
    return rows


def _live_row(some: Sequence[sp.Residency], outputs: set[str], largest: int, unit: str) -> Row:
    first = some[0]
    kind = stay_of(first.origin, first.ending, first.tensor in outputs)
    colour = STAYS[kind][0]
    size = sum(r.size_bytes for r in some)
    start = min((span.start for r in some for span in r.spans), default=0)
    return {
        "key": tensor_selection(first.tensor),
        "chip": colour,
        "mark": {"came back": "▼", "leaves": "▲"}.get(kind, ""),
        "ink": ink_on(colour),
        "text": first.tensor if len(some) == 1 else f"{first.tensor}, {len(some)} pieces",
        "cells": [format_bytes(size), address_text(start, unit)],
        "share": size / largest,
    }


def largest_first(rows: Sequence[Row]) -> list[Row]:
    """Rows in falling order of their bytes."""
    return sorted(rows, key=lambda row: -float(row["share"]))


def largest_tensors(
    shown: DisplayedPlan, sizes: Mapping[str, int], where: str, why: str
) -> list[Row]:
    """The tensors with most bytes, under a title that says which they are, and why."""
    most = sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST]
    rows = [
        {
            "text": name,
            "chip": STAYS["leaves" if shown.moved_bytes.get(name) else "made here"][0],
            "cells": [format_bytes(sizes[name])],
            "share": sizes[name] / sizes[most[0]],
            "key": tensor_selection(name),
            "about": tensor_path(shown.graph, name),
        }
        for name in most
    ]
    count = f"{len(sizes)} tensors" if len(sizes) > 1 else "1 tensor"
    return [fact(f"{count} {where}: {why}. Tap one to follow it."), *rows]


def stays_of(shown: DisplayedPlan, name: str) -> list[Row]:
    """The stays of a tensor on chip: their steps, sort and address."""
    residencies = [residency for residency in shown.report.residencies if residency.tensor == name]
    rows = []
    for residency in residencies[:MOST_LIVE]:
        left, right = shown.columns(residency)
        kind = stay_of(residency.origin, residency.ending, name in shown.graph.outputs)
        text = f"steps {left + 1} – {right}: {kind}"
        where = address_text(residency.spans[0].start, "KiB")
        where = f"{residency.memory} {where}" if several(shown) else where
        rows.append({"text": text, "chip": STAYS[kind][0], "cells": [where]})
    if len(residencies) > MOST_LIVE:
        rows.append(fact(f"and {len(residencies) - MOST_LIVE} more residencies"))
    return rows
