"""The table of a run in a circular pool: what it reads and writes where, and its workspace."""

from __future__ import annotations

from collections.abc import Sequence

from app.display.displayed_plan import DisplayedPlan
from app.display.pool import FORMS, PoolRuns
from app.kinds.kind import Row, fact
from app.model.state import operator_selection, tensor_selection
from planners.core.colours import ROLES, ink_on
from planners.core.units import format_bytes


def run_rows(shown: DisplayedPlan, pool: PoolRuns, operators: Sequence[str]) -> list[Row]:
    """Rows on the run of some operators."""
    run = pool.run_of(operators[0]) if operators else None
    if run is None:
        return []
    rows = [
        fact(f"run {run.number + 1} of {len(pool.runs)}: {FORMS[run.run.form]}", ""),
        fact(f"steps {run.start_step + 1} – {run.stop_step}", ""),
        fact("RAM that it needs", format_bytes(pool.extent_bytes(run))),
    ]
    if run.distance_bytes is not None:
        text = f"distance d before {run.over}"
        rows.append(fact(text, f"{run.distance_bytes:,} B"))
    for tensor in run.alive:
        size = format_bytes(pool.sizes[tensor])
        where = f"{size} @{pool.layout.offsets[tensor]:,}"
        rows.append(_of_role(run.role(tensor), tensor, where))
    for buffer in run.run.buffers:
        where = f"{format_bytes(buffer.size_bytes)} @{buffer.offset:,}"
        row = _of_role("workspace", buffer.tensor, where)
        rows.append({**row, "text": f"{row['text']}, {buffer.pixels} pixels"})
    rows.append({**fact("operators, and their work", ""), "title": True})
    for name in run.run.operators:
        operator = shown.graph.operators[shown.graph.index[name]]
        row = fact(f"{name} ({operator.kind})", f"{operator.macs / 1e6:.4g} M MACs")
        rows.append({**row, "key": operator_selection(name)})
    return rows


def stay_rows(shown: DisplayedPlan, pool: PoolRuns, tensor: str) -> list[Row]:
    """The role of a tensor in each run that it is there in."""
    rows = []
    for run in pool.runs:
        inner = [b.offset for b in run.run.buffers if b.tensor == tensor]
        if tensor not in run.alive and not inner:
            continue
        role = run.role(tensor)
        offset = inner[0] if inner else pool.layout.offsets[tensor]
        text = f"{role} of {run.name}, steps {run.start_step + 1} – {run.stop_step}"
        rows.append({**fact(text, f"@{offset:,}"), "chip": ROLES[role][0]})
    return rows


def in_role(row: Row, role: str) -> Row:
    """A row in the colour of its tensor's role in the run at the cursor."""
    colour = ROLES[role][0]
    text = f"{row['text'].split(', ')[0]}: {role}"
    return {**row, "chip": colour, "ink": ink_on(colour), "mark": "", "text": text}


def _of_role(role: str, tensor: str, value: str) -> Row:
    colour = ROLES[role][0]
    row = fact(f"{role}: {tensor}", value)
    return {**row, "chip": colour, "ink": ink_on(colour), "key": tensor_selection(tensor)}
