"""Tables of a plan as CSV, for spreadsheets and notebooks. No Panel.

Steps count from 1 and include both ends, as the explorer writes them; bytes and addresses are
integers, times are seconds. A cell that a spreadsheet would take for a formula is quoted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import planners as sp
from app.display.compare import comparable, differences, totals
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import step_story
from planners.core.colours import stay_of

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV; names from a visitor's file cannot become formulas."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(head)
    lines.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def tensors_csv(shown: DisplayedPlan) -> str:
    """A row for each tensor: what it is, how large, where it stays, what it moves."""
    graph = shown.graph
    about = ("tensor", "kind", "shape", "bytes", "made_by", "readers")
    head = (*about, "stays", "first_step", "last_step", "held_byte_steps", "noncompulsory_bytes")
    residencies: dict[str, list[tuple[int, int, int]]] = {}
    for residency in shown.report.residencies:
        residencies.setdefault(residency.tensor, []).append(
            (*shown.columns(residency), residency.size_bytes)
        )

    def row(name: str) -> tuple[Any, ...]:
        tensor, there = graph.tensors[name], residencies.get(name, [])
        writer = graph.producer.get(name)
        writer_name = graph.operators[writer].name if writer is not None else ""
        life = (min(a for a, _, _ in there) + 1, max(b for _, b, _ in there)) if there else ("", "")
        byte_steps = sum((b - a) * size for a, b, size in there)
        shape = "x".join(map(str, tensor.shape))
        size, readers = graph.size_bytes(name), len(graph.consumers[name])
        return (
            name,
            tensor.kind,
            shape,
            size,
            writer_name,
            readers,
            len(there),
            *life,
            byte_steps,
            shown.moved_bytes.get(name, 0),
        )

    return table(head, (row(name) for name in graph.tensors))


def residencies_csv(shown: DisplayedPlan) -> str:
    """A row for each range of bytes of each stay on chip: the rectangles of the address map."""
    head = ("tensor", "memory", "first_step", "last_step", "start", "stop", "bytes", "stay")
    outputs = shown.graph.outputs

    def rows() -> Iterable[Sequence[Any]]:
        for residency in shown.report.residencies:
            left, right = shown.columns(residency)
            kind = stay_of(residency.origin, residency.ending, residency.tensor in outputs)
            for span in residency.spans:
                size = span.stop - span.start
                yield (
                    residency.tensor,
                    residency.memory,
                    left + 1,
                    right,
                    span.start,
                    span.stop,
                    size,
                    kind,
                )

    return table(head, rows())


def timeline_csv(shown: DisplayedPlan, serial: bool = False) -> str:
    """A row for each interval of each engine, and what it waited for."""
    trace = shown.serial_trace if serial else shown.trace
    head = ("engine", "step", "start_s", "stop_s", "stall_s", "cause", "what")
    return table(head, (_interval(item) for item in trace.intervals))


def _interval(item: sp.Interval) -> Sequence[Any]:
    times = (item.start_s, item.stop_s, item.stall_s)
    return (item.engine, item.step + 1, *times, item.cause, item.label)


def live_csv(shown: DisplayedPlan, step: int) -> str:
    """What is on chip while a step computes, largest first."""
    head = ("step", "tensor", "memory", "bytes", "address")
    return table(
        head,
        (
            (
                step + 1,
                residency.tensor,
                residency.memory,
                residency.size_bytes,
                residency.spans[0].start,
            )
            for residency in shown.live(step)
        ),
    )


def steps_csv(shown: DisplayedPlan) -> str:
    """A row for each step: what it runs, when, what is held, and what happened in sentences."""
    head = ("step", "operators", "start_s", "stop_s", "bytes_held", "story")
    return table(
        head,
        (
            (
                step + 1,
                " ".join(shown.ran[step]),
                *shown.step_seconds[step],
                shown.report.occupancy[step],
                " ".join(sentence.text for sentence in step_story(shown, step)),
            )
            for step in range(shown.steps)
        ),
    )


def differences_csv(here: DisplayedPlan, there: DisplayedPlan) -> str:
    """Totals of two plans, and a row for each tensor that they treat differently.

    Of plans of different graphs the totals alone.
    """
    rows: list[Sequence[Any]] = [
        (name, "total", unit, other, mine, mine - other)
        for name, mine, other, unit in totals(here, there)
    ]
    for item in differences(here, there) if comparable(here, there) else ():
        rows.append(
            (item.tensor, item.kind, "B", item.there_bytes, item.here_bytes, item.delta_bytes)
        )
    return table(("name", "kind", "unit", "pinned", "here", "difference"), rows)
