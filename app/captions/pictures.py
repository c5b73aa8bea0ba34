"""What each view shows, in a sentence or two, for those who hear the page."""

from __future__ import annotations

from collections.abc import Sequence

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.model.units import seconds_text
from planners.core.units import format_bytes
from planners.simulator.records.interval_columns import columns_of_intervals

NAMED = 3


def graph_words(shown: DisplayedPlan, visible: int) -> str:
    """The network: how many operators, drawn as how many boxes, and its ends."""
    graph = shown.graph
    first, last = graph.operators[0].name, graph.operators[-1].name
    return (
        f"Graph of {graph.name}: {len(graph.operators)} operators, drawn as {visible} boxes from"
        f" left to right, from {first} to {last}. Search with / and select with Enter."
    )


def map_words(shown: DisplayedPlan) -> str:
    """The address map: what stays on chip, and what leaves and comes back."""
    tensors = len(shown.stays)
    most = sorted(((size, name) for name, size in shown.moved_bytes.items() if size), reverse=True)
    named = ", ".join(f"{name} with {format_bytes(size)}" for size, name in most[:NAMED])
    more = f" and {len(most) - NAMED} more" if len(most) > NAMED else ""
    left = (
        f"Spilled because the memory is too small: {named}{more}."
        if most
        else "Nothing is spilled."
    )
    return (
        f"Address map: {tensors} tensors over {shown.steps} steps, up to address"
        f" {format_bytes(shown.report.extent_bytes)} of {format_bytes(shown.plan.budget_bytes)}."
        f" {left} The table next to it lists what is on chip at the cursor."
    )


def held_words(held: Sequence[int], whole_bytes: int, whole: str) -> str:
    """Occupancy: its peak, where it is, and its mean, by the bytes held in each step."""
    if not held:
        return "Bytes on chip: none."
    peak, mean = max(held), sum(held) // len(held)
    return (
        f"Bytes on chip: at most {format_bytes(peak)} (step {held.index(peak) + 1} of {len(held)}),"
        f" {format_bytes(mean)} on average, of the {format_bytes(whole_bytes)} of {whole}."
    )


def time_words(shown: DisplayedPlan, trace: sp.Trace) -> str:
    """The timeline: how long all takes, how busy each engine is, and how long engines wait."""
    whole = trace.makespan_s or 1.0
    times = columns_of_intervals(trace.intervals)
    waits = times.by_engine(times.stall_s)
    busy_texts = [
        f"{engine.replace('_', ' ')} busy {busy / whole:.0%}"
        + (f", waiting {seconds_text(waits[engine])}" if waits.get(engine) else "")
        for engine, busy in trace.busy_s.items()
    ]
    return f"Timeline: {seconds_text(trace.makespan_s)} in all; {'; '.join(busy_texts)}."
