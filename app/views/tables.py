"""Rows of the tables: what is live at the cursor, and what happened in its step."""

from __future__ import annotations

from typing import Any

from app.shown import Shown, holes
from app.state import selected_tensors, tensor_selection
from app.story import step_story
from app.views.palette import BLUE, GREY, STAYS, ink_on, stay_of
from planners.units import format_bytes

MARKS = {
    "ran": ("▶", BLUE),
    "in": ("▼", STAYS["came back"][0]),
    "out": ("▲", STAYS["leaves"][0]),
    "freed": ("✕", GREY),
}


def live_rows(shown: Shown, step: int, selection: str, unit: str) -> list[dict[str, Any]]:
    """A row for each residency at the cursor, largest first."""
    outputs = set(shown.graph.outputs)
    chosen = set(selected_tensors(shown.graph, selection))
    live = shown.live(step)
    largest = max((r.size_bytes for r in live), default=1)
    rows = []
    for residency in live:
        stay = stay_of(residency.origin, residency.ending, residency.tensor in outputs)
        colour = STAYS[stay][0]
        start = residency.spans[0].start if residency.spans else 0
        rows.append(
            {
                "key": tensor_selection(residency.tensor),
                "chip": colour,
                "mark": {"came back": "▼", "leaves": "▲"}.get(stay, ""),
                "ink": ink_on(colour),
                "text": residency.tensor,
                "cells": [format_bytes(residency.size_bytes), address_text(start, unit)],
                "share": residency.size_bytes / largest,
                "on": residency.tensor in chosen,
            }
        )
    return rows


def live_title(shown: Shown, step: int, memory: str) -> str:
    """How much is held at the cursor, and the largest hole."""
    live = [r for r in shown.live(step) if r.memory == memory]
    occupied = [(s.start, s.stop) for r in live for s in r.spans]
    budget = shown.plan.budget_bytes
    free = [stop - start for start, stop in holes(occupied, budget)]
    held = sum(r.size_bytes for r in live)
    room = (
        f"largest hole {format_bytes(max(free))} of {format_bytes(sum(free))} free"
        if free
        else "no hole: the memory is full"
    )
    return f"<b>{format_bytes(held)}</b> of {format_bytes(budget)} live · {room}"


def story_rows(shown: Shown, step: int, selection: str) -> list[dict[str, Any]]:
    """A row for each thing that happened in a step."""
    rows = []
    for sentence in step_story(shown, step):
        mark, colour = MARKS[sentence.mark]
        key = tensor_selection(sentence.tensor) if sentence.tensor else ""
        row = {"text": sentence.text, "mark": mark, "chip": colour, "ink": ink_on(colour)}
        rows.append({**row, "key": key, "on": bool(key) and key == selection})
    return rows


def address_text(address: int, unit: str) -> str:
    """An address in KiB or hexadecimal."""
    return f"{address:#x}" if unit == "hex" else f"@{format_bytes(address)}"
