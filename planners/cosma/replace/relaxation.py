"""The capacity relaxation of a fixed schedule: one binary a gap, rows only where it is over-full.

It is exact but for addresses: where its runs can be packed, the plan is optimal for the schedule.
The paper's equations (1)–(8), (12), (16), (17) collapse to it, since between two uses a tensor is
best kept for all of the gap or for none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, gcd
from typing import TYPE_CHECKING

from planners.core.progress import Clock
from planners.cosma.model.problem import ScheduleProblem, UseGap

if TYPE_CHECKING:
    import numpy as np
    from scipy.optimize import LinearConstraint


MOST_NODES = 1_000_000
"""Of the solver's tree; in limited work it has a node for each look at the clock."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Gaps to drop, their cost in bytes, and a proven lower bound on any such cost."""

    dropped: frozenset[UseGap]
    objective_bytes: int
    bound_bytes: int


def relax(problem: ScheduleProblem, clock: Clock | None = None) -> Relaxed | None:
    """The cheapest gaps to drop so that every step fits.

    None where the solver found nothing in the time and the work of the clock.
    """
    clock = clock or Clock(60.0)
    rows = _overfull_rows(problem)
    columns = sorted({gap for row in rows for gap in row[0]})
    if not columns:
        cost = problem.cost(problem.spilled)
        return Relaxed(problem.spilled, cost, cost)
    # Here and not above: most plans spill nothing, and importing the solver takes longer than they.
    import numpy as np
    from scipy.optimize import Bounds, milp

    position = {gap: i for i, gap in enumerate(columns)}
    stores = _store_columns(problem, columns)
    unit = gcd(*(problem.lines[gap.line].size_bytes for gap in columns))
    result = milp(
        c=_costs(problem, columns, stores, unit),
        integrality=np.ones(len(columns) + len(stores)),
        bounds=Bounds(0, 1),
        constraints=_constraints(problem, rows, position, stores, unit),
        options={
            "time_limit": clock.solver_s,
            "node_limit": int(min(MOST_NODES, 1 + clock.looks_left)),
            "mip_rel_gap": 0.0,
        },
    )
    if result.status == 1:
        clock.end()  # Its nodes or its time were over.
    if result.x is None:
        return None
    dropped = frozenset(gap for gap, value in zip(columns, result.x, strict=False) if value > 0.5)
    dropped |= problem.spilled
    objective = problem.cost(dropped)
    dual = result.mip_dual_bound
    bound = objective if dual is None else max(0, ceil(dual - 1e-6)) * unit
    if dual is not None:
        bound += problem.cost(problem.spilled)  # tensors of their own: no column is about them
    return Relaxed(dropped, objective, min(objective, bound))


def _overfull_rows(problem: ScheduleProblem) -> list[tuple[list[UseGap], int]]:
    """For each step that cannot hold everything: the gaps across it, and bytes to be freed."""
    settled = problem.kept | problem.spilled
    across: list[list[UseGap]] = [[] for _ in problem.schedule]
    for gap in problem.gaps:
        if gap not in settled:
            for step in gap.interior:
                across[step].append(gap)
    tightest: dict[tuple[UseGap, ...], int] = {}
    for step, gaps in enumerate(across):
        load = problem.needed[step] + sum(problem.lines[g.line].size_bytes for g in gaps)
        if load > problem.budget_bytes:
            key = tuple(gaps)
            tightest[key] = max(tightest.get(key, 0), load - problem.budget_bytes)
    return [(list(gaps), excess) for gaps, excess in tightest.items()]


def _store_columns(problem: ScheduleProblem, columns: Sequence[UseGap]) -> dict[int, int]:
    """A column for each tensor that would have to be written before its first drop."""
    lines = sorted({g.line for g in columns if not problem.lines[g.line].host_copy})
    return {line: len(columns) + i for i, line in enumerate(lines)}


def _costs(
    problem: ScheduleProblem, columns: Sequence[UseGap], stores: dict[int, int], unit: int
) -> np.ndarray:
    import numpy as np

    sizes = [problem.lines[g.line].size_bytes // unit for g in columns]
    return np.array(sizes + [problem.lines[line].size_bytes // unit for line in stores], float)


def _constraints(
    problem: ScheduleProblem,
    rows: Sequence[tuple[list[UseGap], int]],
    position: dict[UseGap, int],
    stores: dict[int, int],
    unit: int,
) -> LinearConstraint:
    """Free enough at each over-full step, write before a drop."""
    import numpy as np
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    entries: list[tuple[int, int, float]] = []
    lower: list[float] = []
    for gaps, excess in rows:
        # ceil is valid: what is freed is a multiple of the unit.
        entries += [
            (len(lower), position[g], problem.lines[g.line].size_bytes // unit) for g in gaps
        ]
        lower.append(-(-excess // unit))
    for gap, at in position.items():
        if gap.line in stores:
            entries += [(len(lower), at, -1.0), (len(lower), stores[gap.line], 1.0)]
            lower.append(0.0)
    row, column, value = (np.array(item) for item in zip(*entries, strict=True))
    shape = (len(lower), len(position) + len(stores))
    return LinearConstraint(csr_array((value, (row, column)), shape=shape), lb=np.array(lower))
