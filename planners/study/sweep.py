"""Many plans in one table: models × planners × budgets, in any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planners.errors import BudgetTooSmall
from planners.graph.model import Graph
from planners.machine import Machine, load_machine
from planners.plan import Plan
from planners.registry import planner as find_planner
from planners.simulator.check import check
from planners.simulator.simulate import simulate
from planners.study.budgets import resolve_budget
from planners.units import parse_size

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    *("model", "planner", "budget", "budget_bytes", "status", "objective_bytes", "bound_bytes"),
    *("gap", "noncompulsory_bytes", "compulsory_bytes", "offchip_bytes", "peak_bytes"),
    *("extent_bytes", "makespan_s", "energy_j", "operators", "timesteps", "plan_s", "solver"),
]


def sweep(
    graphs: Graph | Sequence[Graph],
    planners: str | Sequence[str] = ("cosma",),
    budgets: int | str | Sequence[int | str] = ("MR", "MH", "MP"),
    machine: str | Path | Machine = "npu_small",
    executor: Executor | None = None,
    time_limit: float = 60.0,
    on_row: Callable[[dict[str, Any]], object] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """A row for each graph, planner and budget, in that order; every plan has passed `check`.

    Columns are those of `spillway plan --json`. A budget that nothing fits in gives a row with
    status `infeasible`. With an `executor` the plans are made in it. `on_row` hears of each row
    as it comes. Wrong names and sizes are found before the first plan: `UnknownName`, `BadInput`.
    """
    import pandas as pd

    items = [graphs] if isinstance(graphs, Graph) else list(graphs)
    target = load_machine(machine)
    names = [planners] if isinstance(planners, str) else list(planners)
    labels = [budgets] if isinstance(budgets, (int, str)) else list(budgets)
    for name in names:
        find_planner(name)
    counted = bool(options.get("parameters", False))
    sizes = [[resolve_budget(g, label, parameters=counted) for label in labels] for g in items]
    tasks = [
        (graph, name, str(label), size, target, time_limit, options)
        for graph, row in zip(items, sizes, strict=True)
        for name, (label, size) in product(names, zip(labels, row, strict=True))
    ]
    rows: dict[int, dict[str, Any]] = {}
    for index, row in _run(tasks, executor):
        rows[index] = row
        if on_row is not None:
            on_row(row)
    table = pd.DataFrame([rows[i] for i in range(len(tasks))], columns=COLUMNS)
    # Whole numbers stay whole beside the empty cells of infeasible rows.
    whole = [c for c in COLUMNS if c.endswith("_bytes") or c in ("operators", "timesteps")]
    return table.astype(dict.fromkeys(whole, "Int64"))


def _run(tasks: Sequence[Any], executor: Executor | None) -> Iterator[tuple[int, dict[str, Any]]]:
    if executor is None:
        yield from ((index, _row(task)) for index, task in enumerate(tasks))
        return
    futures = {executor.submit(_row, task): index for index, task in enumerate(tasks)}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def _row(task: Any) -> dict[str, Any]:
    graph, name, label, size, machine, time_limit, options = task
    try:
        settings = {**options, "time_limit": time_limit}
        plan = find_planner(name).function()(graph, machine, size, settings, None)
    except BudgetTooSmall:
        row = dict.fromkeys(COLUMNS)
        return row | {
            "model": graph.name,
            "planner": name,
            "budget": label,
            "budget_bytes": size,
            "status": "infeasible",
        }
    check(plan)
    return {"budget": label} | summary(plan)


def summary(plan: Plan) -> dict[str, Any]:
    """A plan in one flat row of plain values: its claims, its time and its energy."""
    claims, trace = plan.claims, simulate(plan)
    return {
        "model": plan.graph.name,
        "planner": plan.planner,
        "budget_bytes": plan.budget_bytes,
        "status": claims.status,
        "objective_bytes": claims.objective_bytes,
        "bound_bytes": claims.bound_bytes,
        "gap": claims.gap,
        "noncompulsory_bytes": claims.noncompulsory_bytes,
        "compulsory_bytes": claims.compulsory_bytes,
        "offchip_bytes": claims.offchip_bytes,
        "peak_bytes": claims.peak_bytes,
        "extent_bytes": claims.extent_bytes,
        "makespan_s": trace.makespan_s,
        "energy_j": trace.energy_j,
        "operators": len(plan.graph.operators),
        "timesteps": len(plan.program.steps),
        "plan_s": claims.plan_s,
        "solver": claims.solver,
    }


def even_budgets(low: int | str, high: int | str, count: int) -> Iterable[int]:
    """`count` budgets in equal steps from `low` to `high`, both included, in bytes."""
    first, last = parse_size(low), parse_size(high)
    if count < 2 or first == last:
        return [last]
    return sorted({first + (last - first) * i // (count - 1) for i in range(count)})
