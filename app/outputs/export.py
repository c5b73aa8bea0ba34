"""A plan as files that other tools read: lifetimes as CSV, a trace for Perfetto. No Panel."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from app.display.banks import several
from app.display.displayed_plan import DisplayedPlan
from app.model.machines import title_of
from app.outputs.tables import residencies_csv, steps_csv, table, tensors_csv, timeline_csv
from planners.allocation.csv_io import COLUMNS

MICROSECONDS = 1e6


def lifetimes_csv(shown: DisplayedPlan) -> str:
    """`id,lower,upper,size` with a row for each residency, as `spillway pack` reads it.

    Steps count from 0 and are half-open, as the address map draws them; a tensor that comes back
    gets another row, with `#2` behind its name. Only the machine's own on-chip memory is written,
    or all of several: `spillway pack --machine` shares them out again.
    """
    seen: Counter[str] = Counter()
    rows: list[tuple[str | int, ...]] = []
    for residency in shown.report.residencies:
        if residency.memory == shown.memories[0] or several(shown):
            seen[residency.tensor] += 1
            again = f"#{seen[residency.tensor]}" if seen[residency.tensor] > 1 else ""
            rows.append((residency.tensor + again, *shown.columns(residency), residency.size_bytes))
    return table(COLUMNS, rows)


def trace_json(shown: DisplayedPlan, serial: bool = False) -> str:
    """The timeline in Chrome's trace format, for ui.perfetto.dev: one thread per engine, in µs."""
    trace = shown.serial_trace if serial else shown.trace
    threads = {engine: i for i, engine in enumerate(dict.fromkeys(trace.busy_s), start=1)}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": engine}}
        for engine, tid in threads.items()
    ]
    name = f"{shown.graph.name}, {title_of(shown.plan.machine)}"
    events.append({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": name}})
    events += [
        {
            "ph": "X",
            "name": item.label,
            "cat": item.engine,
            "pid": 1,
            "tid": threads[item.engine],
            "ts": item.start_s * MICROSECONDS,
            "dur": (item.stop_s - item.start_s) * MICROSECONDS,
            "args": {"step": item.step + 1, "stall_us": item.stall_s * 1e6, "cause": item.cause},
        }
        for item in trace.intervals
    ]
    seconds = shown.serial_step_seconds if serial else shown.step_seconds
    for (start, _), held_bytes in zip(seconds, shown.report.occupancy, strict=True):
        counter = {"ph": "C", "name": "bytes on chip", "pid": 1, "ts": start * MICROSECONDS}
        events.append({**counter, "args": {"bytes": held_bytes}})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))


FILES: dict[str, tuple[str, str, Callable[[DisplayedPlan], str]]] = {
    "plan": (".json", "The plan as JSON: the explorer and sp.Plan.load read it", lambda s: s.text),
    "lifetimes": (".csv", "Lifetimes as CSV: spillway pack reads them", lifetimes_csv),
    "trace": (".trace.json", "Timeline for ui.perfetto.dev", trace_json),
    "tensors": ("-tensors.csv", "Tensors as CSV", tensors_csv),
    "residencies": ("-residencies.csv", "Rectangles of the address map as CSV", residencies_csv),
    "timeline": ("-timeline.csv", "Intervals of the timeline as CSV", timeline_csv),
    "steps": ("-steps.csv", "Steps and their sentences as CSV", steps_csv),
}
"""Files of a plan alone: their suffixes, contents, and writers."""


OF_TIMES: dict[str, Callable[[DisplayedPlan, bool], str]] = {
    "trace": trace_json,
    "timeline": timeline_csv,
}


def written(name: str, shown: DisplayedPlan, *, serial: bool = False) -> str:
    """One of `FILES` as text; `serial`: times with nothing overlapped, for files that have
    times."""
    return OF_TIMES[name](shown, serial) if name in OF_TIMES else FILES[name][2](shown)
