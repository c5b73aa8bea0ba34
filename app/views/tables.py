"""Rows of the tables: what is live at the cursor, and what happened in its step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import planners as sp
from app.glossary import term
from app.shown import Shown, holes
from app.state import (
    RUN,
    TENSOR,
    group_selection,
    operator_selection,
    selected_group,
    selected_operators,
    selected_tensors,
    tensor_selection,
)
from app.story import step_story
from app.views.group_rows import group_rows
from app.views.palette import BLUE, GREY, ROLES, STAYS, ink_on, stay_of
from app.views.run_rows import run_rows, stay_rows
from app.views.stream_rows import largest_rows, layer_rows, live_stream_rows, streams_tensor
from app.views.tried_rows import tried_rows
from planners.units import format_bytes

MOST = 12
MOST_LIVE = 40
MARKS = {
    "tile": ("▦", GREY),
    "ran": ("▶", BLUE),
    "in": ("▼", STAYS["came back"][0]),
    "out": ("▲", STAYS["leaves"][0]),
    "freed": ("✕", GREY),
    "quiet": ("·", GREY),
}


def live_rows(shown: Shown, step: int, selection: str, unit: str) -> list[dict[str, Any]]:
    """A row for each residency at the cursor, largest first."""
    if shown.stream is not None:
        return live_stream_rows(shown, shown.stream, step, selection)
    outputs = set(shown.graph.outputs)
    chosen = set(selected_tensors(shown.graph, selection))
    live = shown.live(step)
    pieces: dict[str, list[sp.Residency]] = {}
    for number, residency in enumerate(live):
        # So many pieces are channels or rows: what they are together is of use.
        many = len(live) > MOST_LIVE or shown.pool is not None
        key = residency.tensor if many else str(number)
        pieces.setdefault(key, []).append(residency)
    largest = max((sum(r.size_bytes for r in some) for some in pieces.values()), default=1)
    rows = [_live_row(some, outputs, chosen, largest, unit) for some in pieces.values()]
    if shown.pool is not None:
        run = shown.pool.run_at(step)
        rows = [in_role(row, run.role(tensor)) for row, tensor in zip(rows, pieces, strict=True)]
    return sorted(rows, key=lambda row: -float(row["share"]))


def _live_row(
    some: Sequence[sp.Residency], outputs: set[str], chosen: set[str], largest: int, unit: str
) -> dict[str, Any]:
    first = some[0]
    stay = stay_of(first.origin, first.ending, first.tensor in outputs)
    colour = STAYS[stay][0]
    size = sum(r.size_bytes for r in some)
    start = min((span.start for r in some for span in r.spans), default=0)
    return {
        "key": tensor_selection(first.tensor),
        "chip": colour,
        "mark": {"came back": "▼", "leaves": "▲"}.get(stay, ""),
        "ink": ink_on(colour),
        "text": first.tensor if len(some) == 1 else f"{first.tensor}, {len(some)} pieces",
        "cells": [format_bytes(size), address_text(start, unit)],
        "share": size / largest,
        "on": first.tensor in chosen,
    }


def in_role(row: dict[str, Any], role: str) -> dict[str, Any]:
    """A row in the colour of what its tensor is to the run at the cursor."""
    colour = ROLES[role][0]
    text = f"{row['text'].split(', ')[0]}: {role}"
    return {**row, "chip": colour, "ink": ink_on(colour), "mark": "", "text": text}


def live_title(shown: Shown, step: int, memory: str) -> str:
    """How much is held at the cursor, and the largest hole."""
    live = [r for r in shown.live(step) if r.memory == memory]
    occupied = [(s.start, s.stop) for r in live for s in r.spans]
    budget = shown.pool.size_bytes if shown.pool else shown.plan.budget_bytes
    if shown.stream is not None:
        budget = next(r.size_bytes for r in shown.stream.regions if r.memory == memory)
    free = [stop - start for start, stop in holes(occupied, budget)]
    held = shown.held(step, live)
    hole, pieces = term("largest hole"), term("free", "fragmentation")
    room = (
        f"{hole} {format_bytes(max(free))} of {format_bytes(sum(free))} {pieces}"
        if free
        else "no hole: the memory is full"
    )
    whole = f"{format_bytes(budget)} {term('live', 'occupancy')}"
    most = shown.report.occupancy[step]
    if most > held and len(shown.memories) == 1:  # before parameters that have run leave
        whole += f", up to {format_bytes(most)} in this step"
    return f"<div><b>{format_bytes(held)}</b> of {whole}</div><div>{room}</div>"


def story_rows(shown: Shown, step: int, selection: str) -> list[dict[str, Any]]:
    """A row for each thing that happened in a step."""
    rows = []
    for sentence in step_story(shown, step):
        mark, colour = MARKS[sentence.mark]
        key = tensor_selection(sentence.tensor) if sentence.tensor else ""
        key = group_selection(sentence.group) if sentence.group else key
        row = {"text": sentence.text, "mark": mark, "chip": colour, "ink": ink_on(colour)}
        rows.append({**row, "key": key, "on": bool(key) and key == selection})
    return rows


def detail_rows(
    shown: Shown, selection: str, why: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """What is selected: a tensor's makers, readers and stays, or an operator's tensors and work,
    or a fused group and `why` it is one, where that is known.

    With nothing selected: the tensors that move most for want of memory, or the largest; before
    them what the best of all planners won against.
    """
    graph = shown.graph
    if not selection:
        largest = largest_rows(shown.stream) if shown.stream else _most_rows(shown)
        return [*tried_rows(shown), *largest]
    if (group := selected_group(shown, selection)) is not None:
        return group_rows(shown, group, why or {})
    if selection.startswith(RUN) and shown.pool is not None:
        return run_rows(shown, shown.pool, selected_operators(graph, selection))
    if selection.startswith(TENSOR):
        name = selection.removeprefix(TENSOR)
        if name not in graph.tensors:
            return []
        owner = streams_tensor(graph, name) if shown.stream else ""
        more = layer_rows(shown, shown.stream, owner) if shown.stream and owner else []
        return [*_tensor_rows(shown, name), *more]
    operators = selected_operators(graph, selection)
    return _operator_rows(shown, operators[0]) if operators else []


def _most_rows(shown: Shown) -> list[dict[str, Any]]:
    sizes = {name: size for name, size in shown.moved_bytes.items() if size}
    title = "moved most for want of memory"
    if not sizes:
        sizes = {r.tensor: r.size_bytes for r in shown.report.residencies}
        title = "nothing is spilled; the largest on chip"
    if shown.pool is not None:
        sizes = dict(shown.pool.sizes)
        title = "the largest in the pool"
    most = sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST]
    rows = [
        {
            "text": name,
            "chip": STAYS["leaves" if shown.moved_bytes.get(name) else "made here"][0],
            "cells": [format_bytes(sizes[name])],
            "share": sizes[name] / sizes[most[0]],
            "key": tensor_selection(name),
        }
        for name in most
    ]
    return [_fact(f"{title} ({len(sizes)} in all); tap one", ""), *rows]


def _tensor_rows(shown: Shown, name: str) -> list[dict[str, Any]]:
    graph, tensor = shown.graph, shown.graph.tensors[name]
    shape = "×".join(map(str, tensor.shape)) or "scalar"
    rows = [_fact(f"{name}: {tensor.kind} {shape}", format_bytes(graph.size_bytes(name)))]
    for operator in selected_operators(graph, tensor_selection(name)):
        made = name in graph.operators[graph.index[operator]].outputs
        rows.append(_link("made by" if made else "read by", operator, operator_selection(operator)))
    if shown.pool is not None:
        return [*rows, *stay_rows(shown, shown.pool, name)]
    stays = [stay for stay in shown.report.residencies if stay.tensor == name]
    for residency in stays[:MOST_LIVE]:
        left, right = shown.columns(residency)
        stay = stay_of(residency.origin, residency.ending, name in graph.outputs)
        text = f"steps {left + 1} – {right}: {stay}"
        where = address_text(residency.spans[0].start, "KiB")
        rows.append({"text": text, "chip": STAYS[stay][0], "cells": [where]})
    if len(stays) > MOST_LIVE:
        rows.append(_fact(f"and {len(stays) - MOST_LIVE} stays more", ""))
    return rows


def _operator_rows(shown: Shown, name: str) -> list[dict[str, Any]]:
    graph = shown.graph
    operator = graph.operators[graph.index[name]]
    rows = [_fact(f"{name}: {operator.kind}", f"{operator.macs / 1e6:.4g} M MACs")]
    if operator.block:
        rows.append(_fact(f"in {operator.block}", ""))
    if name in shown.group_of:
        group = shown.groups[shown.group_of[name]]
        rows.append(_link("in the fused group", group.name, group_selection(group.name)))
    for word, tensors in (("reads", operator.inputs), ("writes", operator.outputs)):
        for tensor in tensors:
            row = _link(word, tensor, tensor_selection(tensor))
            rows.append({**row, "cells": [format_bytes(graph.size_bytes(tensor))]})
    counted = sum(graph.size_bytes(tensor) for tensor in operator.parameters)
    if shown.stream is not None:
        return [*rows, *layer_rows(shown, shown.stream, name)]
    return [*rows, _fact("parameters", format_bytes(counted))] if counted else rows


def _fact(text: str, value: str) -> dict[str, Any]:
    return {"text": text, "cells": [value]}


def _link(word: str, name: str, key: str) -> dict[str, Any]:
    return {"text": f"{word} {name}", "cells": [""], "key": key}


def address_text(address: int, unit: str) -> str:
    """An address in KiB or hexadecimal."""
    return f"{address:#x}" if unit == "hex" else f"@{format_bytes(address)}"
