"""The table of a fused group: its tile and bytes, its operators, and why its neighbours are not in
it, with the cost both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.display.groups import (
    buffer_bytes,
    members_words,
    parameter_words,
    tile_words,
    tiles_words,
)
from app.model.state import group_selection, operator_selection
from planners.core.colours import group_colour, ink_on
from planners.core.units import format_bytes
from planners.fusion.explain import FusedGroup

NEVER = "–"
STAYS = "maps may stay on chip between groups; the costs below do not count that"


def group_rows(
    shown: DisplayedPlan, group: FusedGroup, why: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Rows on a group. `why` has the worker's facts about each group by name, so far."""
    reason = why.get(group.name)
    kinds = shown.graph.tensors
    loaded = sum(n for t, n in group.loads.items() if kinds[t].kind != "parameter")
    stored = sum(group.stores.values())
    return [
        _head(shown, group),
        _row(f"{tiles_words(group)}, each {tile_words(shown.graph, group)}"),
        *([_row(STAYS)] if shown.plan.options.get("joint") else []),
        *_worth(group, reason),
        *_neighbours(shown, reason),
        _row("on chip at most", buffer_bytes(shown, group)),
        _row("line buffers, if all were full at once", sum(group.lines.values())),
        _row("maps that come in", loaded),
        _row("maps that go out", stored),
        _row(f"parameters: {parameter_words(shown.graph, group)}"),
        *_operators(shown, group),
    ]


def _head(shown: DisplayedPlan, group: FusedGroup) -> dict[str, Any]:
    number = shown.groups.index(group)
    row = _row(f"{members_words(group.operators)} move", group.traffic_bytes)
    return {**row, **_chip(group.name, number)}


def _worth(group: FusedGroup, known: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What the group saves against running its operators alone; or why an operator is by itself."""
    if known is None:
        return [_row("computing the alternatives …")]
    if known["single"]:
        return [_row(f"by itself: {known['single']}")]
    alone = known["alone_bytes"]
    if alone is None:
        return [_row("an operator of it does not fit alone")]
    return [_row("run one by one, they would move", alone)]


def _neighbours(shown: DisplayedPlan, known: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Why each group that shares a tensor is separate: the cost apart and fused."""
    if not known or not known["neighbours"]:
        return []
    rows = [{"text": "why not fused with", "cells": ["apart", "as one"], "title": True}]
    for pair in known["neighbours"]:
        there = shown.groups[pair["there"]]
        together = pair["together_bytes"]
        cells = [
            format_bytes(pair["apart_bytes"]),
            NEVER if together is None else format_bytes(together),
        ]
        row = {"text": pair["reason"], "cells": cells, "key": group_selection(there.name)}
        rows.append({**row, **_chip(there.name, pair["there"])})
    return rows


def _operators(shown: DisplayedPlan, group: FusedGroup) -> list[dict[str, Any]]:
    graph = shown.graph
    rows = [{**_row("operators, and what each writes"), "title": True}]
    for name in group.operators:
        operator = graph.operators[graph.index[name]]
        output_bytes = sum(graph.size_bytes(t) for t in operator.outputs)
        cells = ["", format_bytes(output_bytes)]
        text = f"{name} ({operator.kind})"
        rows.append({"text": text, "cells": cells, "key": operator_selection(name)})
    return rows


def _chip(name: str, number: int) -> dict[str, Any]:
    colour = group_colour(number)
    return {"chip": colour, "mark": name, "ink": ink_on(colour)}


def _row(text: str, size: int | None = None) -> dict[str, Any]:
    """A fact, with bytes in the last of two columns or none."""
    return {"text": text, "cells": ["", "" if size is None else format_bytes(size)]}
