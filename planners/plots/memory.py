"""What lies where, and how much is held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from planners.core.axis_break import above_peak, drawn_bytes, free_above
from planners.core.colours import BLUE, STAYS, stay_of
from planners.core.errors import BadInput
from planners.core.plan import Plan
from planners.core.units import format_bytes
from planners.plots.style import (
    FORMAT_BYTES,
    HEIGHT,
    KIB_TICKER,
    WIDTH,
    dressed,
    largest,
    tips,
    titled,
)
from planners.simulator.check import CheckReport
from planners.simulator.claims import check
from planners.simulator.records.residency_columns import (
    ENDINGS,
    ORIGINS,
    ResidencyColumns,
    columns_of_residencies,
)
from planners.simulator.residencies import Residencies


def address_map(plan: Plan, memory: str | None = None) -> hv.Overlay:
    """Which bytes of a memory hold which tensor during which steps: a rectangle a stay.

    Steps count from 0 along x, addresses in bytes along y; the budget is a dashed line, or
    words where it is far above. `memory`
    is the on-chip one, or another of the program. Columns of the rectangles: tensor, what becomes
    of it, size. Raises `BadInput` for a memory that holds nothing, `InvalidPlan`.
    """
    report = check(plan)
    name = memory or plan.machine.onchip
    columns = _stays_in(report, name)
    of = np.repeat(np.arange(len(columns)), np.diff(columns.first))
    lasts = (columns.stop_step - columns.start_step)[of]
    drawn = largest(lasts * (columns.span_stop - columns.span_start))
    outputs = frozenset(plan.graph.outputs)
    rows = []
    for k in drawn.tolist():
        i = int(of[k])
        tensor = columns.tensors[columns.tensor[i]]
        low, high = int(columns.span_start[k]), int(columns.span_stop[k])
        kind = stay_of(ORIGINS[columns.origin[i]], ENDINGS[columns.ending[i]], tensor in outputs)
        sides = (int(columns.start_step[i]), low, int(columns.stop_step[i]), high)
        rows.append((*sides, tensor, kind, format_bytes(high - low), STAYS[kind][0]))
    rectangles = hv.Rectangles(
        rows,
        kdims=[
            hv.Dimension("start", label="step"),
            hv.Dimension("low", label="address", unit="bytes"),
            "stop",
            "high",
        ],
        vdims=["tensor", "what", "size", "colour"],
        label=titled(f"{plan.graph.name}: {name}", len(drawn), len(of)),
    )
    styled = dressed(
        rectangles,
        color="colour",
        line_color="white",
        line_width=0.5,
        tools=["hover"],
        hover_tooltips=tips(("tensor", "tensor"), ("", "what"), ("size", "size")),
    )
    used, size = int(columns.span_stop.max(initial=0)), _size(plan, name)
    whose = "the budget" if name == plan.machine.onchip else name
    return _framed(styled, (used, size), plan, free_above(used, size, whose))


def occupancy(plan: Plan, memory: str | None = None) -> hv.Overlay:
    """The most bytes held on chip in each step; the budget is a dashed line.

    Steps count from 0. `memory` is one of the program's, with its own size as the line; of several
    memories the default is all of them together. Raises `BadInput` as `address_map`, `InvalidPlan`.
    """
    report = check(plan)
    banks = [level.size_bytes for level in plan.machine.banks]
    if memory is not None:
        occupied, limit, name = _held_in(plan, report, memory), _size(plan, memory), memory
    else:
        limit = sum(banks) if plan.slow_memories else plan.budget_bytes
        occupied, name = report.occupancy, "on chip"
    steps = np.arange(len(occupied) + 1)
    bars = hv.Histogram(
        (steps, np.asarray(occupied)),
        kdims=["step"],
        vdims=[hv.Dimension("held", label="bytes held", unit="bytes")],
        label=f"{plan.graph.name}: {name}",
    )
    styled = dressed(bars, color=BLUE, line_color=None, tools=["hover"])
    peak, of = max(occupied, default=0), "the budget" if memory is None else memory
    return _framed(styled, (peak, limit), plan, above_peak(peak, limit, of))


def _held_in(plan: Plan, report: CheckReport, name: str) -> tuple[int, ...]:
    """The most bytes that a memory holds in each step."""
    return tuple(_stays_in(report, name).held(len(plan.program.steps)).tolist())


def _stays_in(report: CheckReport, name: str) -> ResidencyColumns:
    residencies = report.residencies
    columns = (
        residencies.columns
        if isinstance(residencies, Residencies)
        else columns_of_residencies(residencies)
    )
    if name not in columns.memories:
        raise BadInput(f"nothing lies in {name!r:.60}: there are {', '.join(columns.memories)}")
    return columns.at(np.flatnonzero(columns.memory == columns.memories.index(name)))


def _size(plan: Plan, name: str) -> int:
    sizes = {memory.name: memory.size_bytes for memory in plan.program.memories}
    return plan.budget_bytes if name == plan.machine.onchip else sizes.get(name) or 0


def _framed(view: Any, sizes: Sequence[int], plan: Plan, far: str) -> hv.Overlay:
    """A view with its limit: a line, or the words `far` at the top of an axis that ends below."""
    used, limit = sizes
    top, end = max(1, 1.05 * drawn_bytes(used, limit)), len(plan.program.steps)
    line = dressed(hv.HLine(limit), color="grey", line_dash="dashed", line_width=1.5)
    framed = view * line
    if limit > top:
        words = hv.Text(0.01 * end, top, f"↑ {far}", fontsize=9, halign="left", valign="top")
        framed *= dressed(words, text_color="grey")
    return dressed(
        framed.relabel(view.label),
        show_legend=False,
        width=WIDTH,
        height=HEIGHT,
        yformatter=FORMAT_BYTES,
        yticks=KIB_TICKER,
        xlabel="step",
        xlim=(0, end),
        ylim=(0, top),
    )
