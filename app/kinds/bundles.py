"""Long programs of pixels, bundled for drawing: what comes and goes together is one.

A program of overlap has a piece for each pixel: a hundred thousand of them, which no browser can
draw and no eye can separate. Its timesteps are rows of outputs. Here each step keeps one compute
for each operator and one transfer and one release for each tensor; pixels that are on chip in the
same steps are one residency. A pixel counts for a step if it is on chip when the step holds most
bytes.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.bundle_program import bundled_program
from app.kinds.bundle_residencies import bundled_stays
from app.kinds.bundle_times import bundled_intervals
from app.model.packing import packed
from planners.core.loops import MOST_INSTRUCTIONS
from planners.core.progress import ProgressCallback
from planners.core.tables.build import table_of
from planners.simulator.records.interval_columns import columns_of_intervals
from planners.simulator.residencies import Residencies
from planners.simulator.simulate import traced


def checked_bundled(plan: sp.Plan, progress: ProgressCallback | None = None) -> DisplayedPlan:
    """Check and time a plan, and bundle it; its text is sent later. Raises `InvalidPlan`."""
    report = sp.check(plan, progress)
    return bundled(DisplayedPlan(plan, report, traced(plan, report, plan.machine), ""))


def is_bundled(plan: sp.Plan) -> bool:
    """Whether a plan has a piece for each pixel: it is drawn in bundles."""
    return plan.details.pool is not None


def plan_text(plan: sp.Plan) -> str:
    """A plan's JSON, packed."""
    return packed(json.dumps(plan.to_json(), separators=(",", ":")))


def bundled(shown: DisplayedPlan) -> DisplayedPlan:
    """The same plan with fewer and larger pieces, for drawing and for its sentences.

    Raises `BadInput` for a program of more instructions than are ever drawn.
    """
    replayed_rows, program = shown.report.residencies, shown.plan.program
    replayed = replayed_rows.replayed if isinstance(replayed_rows, Residencies) else None
    table = replayed.operands.table if replayed else table_of(program)
    if table is None:
        raise sp.BadInput(f"programs of more than {MOST_INSTRUCTIONS:,} instructions are not drawn")
    shorter, place = bundled_program(program, table)
    drawn = DisplayedPlan(
        replace(shown.plan, program=shorter), shown.report, shown.trace, shown.packed
    )
    firsts = [0, *np.searchsorted(_steps(drawn), np.arange(1, drawn.steps + 1)).tolist()]
    bounds = np.searchsorted(table.step, np.arange(drawn.steps + 1))
    residencies = tuple(bundled_stays(drawn, shown.residency_columns, bounds, firsts))
    times = tuple(bundled_intervals(columns_of_intervals(shown.trace.intervals), place))
    return replace(
        drawn,
        report=replace(shown.report, residencies=residencies),
        trace=replace(shown.trace, intervals=times),
    )


def _steps(drawn: DisplayedPlan) -> list[int]:
    return [item.step for item in drawn.instructions]
