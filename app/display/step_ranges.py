"""A range of steps as a selection, and what happens in it. No Panel here."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from app.display.displayed_plan import DisplayedPlan
from planners.core.tables.build import table_of
from planners.core.tables.table import LOAD, STORE
from planners.simulator.records.interval_columns import columns_of_intervals

STEPS = re.compile(r"steps:(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class StepRange:
    """The steps from `start` up to `stop`, without it."""

    start: int
    stop: int

    @property
    def selection(self) -> str:
        """The range as a selection, its steps counted from one as the page does."""
        return f"steps:{self.start + 1}-{self.stop}"


@dataclass(frozen=True, slots=True)
class RangeFacts:
    """What happens in a range: bytes that cross the chip's edge, seconds from its first instruction
    to its last, seconds that each engine waits, the most bytes held and in which step."""

    moved_in_bytes: int
    moved_out_bytes: int
    tensors_in: int
    tensors_out: int
    seconds: float
    waits_s: dict[str, float]
    peak_bytes: int
    peak_step: int
    operators: tuple[str, ...]
    by_kind: dict[str, int]


def range_of(selection: str, steps: int) -> StepRange | None:
    """The range that is selected, as far as the plan has such steps; None for anything else."""
    if not (match := STEPS.fullmatch(selection)):
        return None
    first, last = sorted((int(match[1]), int(match[2])))
    start, stop = max(0, first - 1), min(steps, last)
    return StepRange(start, stop) if start < stop else None


def between(start: float, stop: float, steps: int) -> StepRange | None:
    """The steps that a drag from one place on the axis to another touches."""
    low, high = sorted((start, stop))
    first, last = max(0, int(np.floor(low))), min(steps, int(np.ceil(high)))
    return StepRange(first, last) if first < last else None


def facts_in(shown: DisplayedPlan, span: StepRange) -> RangeFacts:
    """All of it. Raises `BadInput` for a program of more instructions than are ever drawn."""
    moves = {kind: _moves(shown, span, kind) for kind in (LOAD, STORE)}
    times = columns_of_intervals(shown.trace.intervals)
    inside = times.at(np.flatnonzero((times.step >= span.start) & (times.step < span.stop)))
    seconds = float(inside.stop_s.max() - inside.start_s.min()) if len(inside) else 0.0
    waits = {engine: taken for engine, taken in inside.by_engine(inside.stall_s).items() if taken}
    held_bytes = shown.report.occupancy[span.start : span.stop]
    ran = dict.fromkeys(name for names in shown.ran[span.start : span.stop] for name in names)
    by_kind: dict[str, int] = {}
    for name, size in (item for sizes in moves.values() for item in sizes.items()):
        kind = shown.graph.tensors[name].kind
        by_kind[kind] = by_kind.get(kind, 0) + size
    return RangeFacts(
        moved_in_bytes=sum(moves[LOAD].values()),
        moved_out_bytes=sum(moves[STORE].values()),
        tensors_in=len(moves[LOAD]),
        tensors_out=len(moves[STORE]),
        seconds=seconds,
        waits_s=waits,
        peak_bytes=max(held_bytes, default=0),
        peak_step=span.start + int(np.argmax(held_bytes)) if len(held_bytes) else span.start,
        operators=tuple(ran),
        by_kind=by_kind,
    )


def _moves(shown: DisplayedPlan, span: StepRange, kind: int) -> dict[str, int]:
    """Bytes of each tensor that transfers of a kind bring over the chip's edge in a range."""
    program = shown.plan.program
    table = table_of(program)
    if table is None:
        return {}
    offchip = {memory.name for memory in program.memories if memory.offchip}
    away = np.array([*(name in offchip for name in table.memories), False], np.bool_)
    rows = np.flatnonzero(
        (table.kind == kind) & (table.step >= span.start) & (table.step < span.stop)
    )
    source = table.first[:-1][rows]
    crossing = source[away[table.memory[source + (kind == STORE)]]]
    sizes: dict[str, int] = {}
    for at in crossing.tolist():
        name = table.tensors[table.tensor[at]]
        sizes[name] = sizes.get(name, 0) + int(table.size[at])
    return sizes
