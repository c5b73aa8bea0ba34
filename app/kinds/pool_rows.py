"""The strips of the address map of a circular pool, coloured by their role in each run."""

from __future__ import annotations

from collections.abc import Iterator

import planners as sp
from app.captions.fusion import part
from app.display.displayed_plan import DisplayedPlan
from app.display.pool import PoolRun, PoolRuns
from app.kinds.map_rows import Row, describe, row_of
from planners.core.colours import ROLES
from planners.core.units import format_bytes


def pool_rows(shown: DisplayedPlan, memory: str) -> Iterator[Row]:
    """A row for each span of each stay, and for each run that it is there in."""
    pool = shown.pool
    assert pool is not None
    for residency in shown.report.residencies:
        if residency.memory != memory:
            continue
        left, right = shown.columns(residency)
        at = left
        while at < right:
            run = pool.run_at(at)
            stop = min(right, max(run.stop_step, at + 1))
            for span in residency.spans:
                yield _row(shown, pool, run, residency, (at, stop), (span.start, span.stop))
            at = stop


def _row(
    shown: DisplayedPlan,
    pool: PoolRuns,
    run: PoolRun,
    residency: sp.Residency,
    steps: tuple[int, int],
    where: tuple[int, int],
) -> Row:
    role = run.role(residency.tensor)
    colour, hatch, about = ROLES[role]
    row = row_of(steps, where, "made here", residency.tensor)
    what = part(shown, residency.tensor, residency.piece.box)
    if role == "workspace":
        what = f"workspace of {run.name}, {run.run.form}"
    return {
        **row,
        "colour": colour,
        "hatch": hatch,
        "what": f"{what}; {describe(shown, residency.tensor)}",
        "size": format_bytes(residency.size_bytes),
        "story": f"{role}: {about}",
        "stay": role,
    }
