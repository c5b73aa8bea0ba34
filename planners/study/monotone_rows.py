"""A plan for less memory is a plan for more: rows of a sweep that are no worse in a larger budget.

Searches that a clock ends may find worse plans in more memory. Of rows of one network, planner and
machine the best plan for less is then the row's: its facts, and in `planned_bytes` the budget that
it was made for. What was proven of all plans in the budget, and the seconds, stay the row's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planners.core.registry import planner as find_planner

AIMS: Mapping[str, tuple[str, ...]] = {
    "traffic": ("objective_bytes",),
    "traffic_then_latency": ("objective_bytes", "makespan_s"),
    "latency": ("makespan_s",),
}
"""By a planner's objective: the columns by which one row is better than another."""
OWN = ("model", "planner", "budget", "budget_bytes", "machine", "latency_floor_s")
SECONDS = ("plan_s", "wall_s", "cpu_s")


def aim_of(planner: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that a planner with options makes small; none where rows are not compared."""
    info = find_planner(planner)
    spec = info.options.specs().get("objective") if info.options else None
    usual = spec.default if spec is not None else None
    return AIMS.get(str(options.get("objective", usual)), ())


def no_worse_in_more(
    rows: Sequence[Mapping[str, Any]], aims: Sequence[tuple[str, ...]]
) -> list[dict[str, Any]]:
    """The rows, each with the best plan of those for at most its budget; by the aim of each."""
    improved = [{**row, "planned_bytes": _planned(row)} for row in rows]
    alike: dict[object, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        if aims[number] and row["objective_bytes"] is not None:
            alike[row["model"], row["planner"], row["machine"], row["weights"]].append(number)
    for numbers in alike.values():
        best: dict[str, Any] | None = None
        for number in sorted(numbers, key=lambda n: rows[n]["budget_bytes"]):
            row, aim = improved[number], aims[number]
            if best is not None and _values(best, aim) < _values(row, aim):
                improved[number] = row = _with_plan(row, best, aim)
            best = row
    return improved


def _planned(row: Mapping[str, Any]) -> int | None:
    return None if row["objective_bytes"] is None else row["budget_bytes"]


def _values(row: Mapping[str, Any], aim: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[column] for column in aim)


def _with_plan(
    row: Mapping[str, Any], best: Mapping[str, Any], aim: Sequence[str]
) -> dict[str, Any]:
    """A row with the plan of another, for less memory; its gap is to what was proven of its own."""
    kept = {name: row[name] for name in (*OWN, *SECONDS)}
    bound = row[aim[0]] * (1 - row["gap"])
    gap = max(0.0, 1 - bound / best[aim[0]]) if best[aim[0]] else 0.0
    bound_bytes = min(row["bound_bytes"], best["objective_bytes"])
    return {**best, **kept, "bound_bytes": bound_bytes, "gap": gap, "status": "feasible"}
