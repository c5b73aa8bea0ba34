"""Rows of the tables: what is live at the cursor, and what happened in its step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.display.banks import several
from app.display.displayed_plan import DisplayedPlan, holes
from app.display.names import tensor_text
from app.display.step_ranges import range_of
from app.kinds.facts import operator_facts, tensor_facts
from app.kinds.kind import Row, fact, link
from app.kinds.range_rows import range_rows
from app.kinds.registry import kind_of, step_story
from app.model.glossary import term
from app.model.state import (
    TENSOR,
    group_selection,
    operator_selection,
    selected_operators,
    tensor_selection,
)
from app.views.fronts.tried_rows import tried_rows
from planners.core.colours import BLUE, GREY, STAYS, ink_on
from planners.core.units import format_bytes

MARKS = {
    "tile": ("▦", GREY),
    "ran": ("▶", BLUE),
    "in": ("▼", STAYS["came back"][0]),
    "out": ("▲", STAYS["leaves"][0]),
    "freed": ("✕", GREY),
    "quiet": ("·", GREY),
}


def live_rows(shown: DisplayedPlan, step: int, unit: str) -> list[Row]:
    """A row for each residency at the cursor, largest first."""
    return kind_of(shown).live(shown, step, unit)


def live_title(shown: DisplayedPlan, step: int, memory: str) -> str:
    """How much is held at the cursor, and the largest hole."""
    live = [r for r in shown.live(step) if r.memory == memory]
    occupied = [(s.start, s.stop) for r in live for s in r.spans]
    budget = kind_of(shown).room(shown, memory)
    free = [stop - start for start, stop in holes(occupied, budget)]
    held_bytes = shown.held(step, live)
    hole, pieces = term("largest hole"), term("free", "fragmentation")
    room = (
        f"{hole} {format_bytes(max(free))} of {format_bytes(sum(free))} {pieces}"
        if free
        else "no hole: the memory is full"
    )
    whole = f"{format_bytes(budget)} {term('live', 'occupancy')}"
    whole += f" in {memory}" if several(shown) else ""
    most = shown.report.occupancy[step]
    alone = len(shown.memories) == 1 and not several(shown)
    if most > held_bytes and alone:  # before parameters that have run leave
        whole += f", up to {format_bytes(most)} in this step"
    return f"<div><b>{format_bytes(held_bytes)}</b> of {whole}</div><div>{room}</div>"


def story_rows(shown: DisplayedPlan, step: int) -> list[Row]:
    """A row for each thing that happened in a step."""
    rows = []
    for sentence in step_story(shown, step):
        mark, colour = MARKS[sentence.mark]
        key = tensor_selection(sentence.tensor) if sentence.tensor else ""
        key = group_selection(sentence.group) if sentence.group else key
        look = {"mark": mark, "chip": colour, "ink": ink_on(colour)}
        rows.append({"text": sentence.text, **look, "key": key})
    return rows


def detail_rows(
    shown: DisplayedPlan, selection: str, why: Mapping[str, Any] | None = None
) -> list[Row]:
    """The selection: a tensor's writers, readers and stays, or an operator's tensors and work, or a
    fused group and `why` it is one, where that is known.

    With nothing selected: the tensors that move most for lack of memory, or the largest; before
    them the candidates that the best of all planners was chosen from.
    """
    graph, kind = shown.graph, kind_of(shown)
    if not selection:
        return [*tried_rows(shown), *kind.largest(shown)]
    if (span := range_of(selection, shown.steps)) is not None:
        return range_rows(shown, span)
    if (rows := kind.of_part(shown, selection, why or {})) is not None:
        return rows
    if selection.startswith(TENSOR):
        name = selection.removeprefix(TENSOR)
        return _tensor_rows(shown, name) if name in graph.tensors else []
    operators = selected_operators(graph, selection)
    return _operator_rows(shown, operators[0]) if operators else []


def _tensor_rows(shown: DisplayedPlan, name: str) -> list[Row]:
    graph = shown.graph
    about = f"{name}: {tensor_text(graph, name)}"
    rows = [fact(about, format_bytes(graph.size_bytes(name))), *_leaving_rows(shown, name)]
    for operator in selected_operators(graph, tensor_selection(name)):
        is_output = name in graph.operators[graph.index[operator]].outputs
        rows.append(
            link("made by" if is_output else "read by", operator, operator_selection(operator))
        )
    return [*rows, *tensor_facts(shown, name), *kind_of(shown).of_tensor(shown, name)]


def _leaving_rows(shown: DisplayedPlan, name: str) -> list[Row]:
    """Why a tensor leaves the chip, as the step says in which it first does, and why what makes it
    runs as it does."""
    out = shown.facts.stored.get(name) if shown.moved_bytes.get(name) else None
    if out is None:
        return []
    graph, selection, rows = shown.graph, tensor_selection(name), list[Row]()
    for step in (max(0, out - 1), out):  # what makes room for a step is told in the one before
        for row in story_rows(shown, step):
            if row["key"] == selection and row["mark"] == MARKS["out"][0] and not rows:
                rows.append({**row, "text": f"step {step + 1}: {row['text']}", "key": ""})
    if name in graph.producer:
        maker = graph.operators[graph.producer[name]].name
        parts = kind_of(shown).part_of(shown, maker)
        rows += [row for row in parts if row["text"].startswith("why: ")]
    return rows


def _operator_rows(shown: DisplayedPlan, name: str) -> list[Row]:
    graph = shown.graph
    operator = graph.operators[graph.index[name]]
    rows = [fact(f"{name}: {operator.kind}", f"{operator.macs / 1e6:.4g} M MACs")]
    rows += operator_facts(shown, name)
    rows += kind_of(shown).part_of(shown, name)
    for word, tensors in (("reads", operator.inputs), ("writes", operator.outputs)):
        for tensor in tensors:
            row = link(word, tensor, tensor_selection(tensor))
            rows.append({**row, "cells": [format_bytes(graph.size_bytes(tensor))]})
    return [*rows, *kind_of(shown).of_operator(shown, name)]
