"""Which budgets a sweep plans for, and which points may share its chart. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.options import series
from app.sizes import NAMED_BUDGETS

SWEEP_POINTS = 12
DEEPEST = 64
GRAPH_FIELDS = ("model", "input_shape", "granularity", "bytes_per_element", "parameters")


def sweep_budgets(
    budgets: Mapping[str, Any], least: int | None = None, points: int = SWEEP_POINTS
) -> list[int]:
    """Budgets from MR to what the default order needs at its peak, evenly in ratio.

    Where plans begin at `least`, far below MR, so does the sweep, down to a part of the highest.
    """
    low, high = budgets["MR"], max(budgets["default_peak"], budgets["MR"])
    if least is not None:
        low = min(low, max(least, high // DEEPEST))
    ratio = (high / low) ** (1 / (points - 1))
    even = [round(low * ratio**i) for i in range(points)]
    return sorted({*even, *(budgets[name] for name in NAMED_BUDGETS), high})


def front_budgets(shown: Any, planner: str) -> list[int]:
    """Budgets at which a plan's front has a point, rising; none where it has no such front."""
    if shown is None or shown.plan.planner != planner:
        return []
    if shown.stream is not None:
        return sorted({memory for memory, _ in shown.stream.front})
    return sorted({point["ram_bytes"] for point in shown.plan.details.get("front", ())})


def points_beside(points: list[dict[str, Any]], problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Points that may share a chart with a new sweep: same graph and machine, other planner."""
    same = (*GRAPH_FIELDS, "machine")
    return [
        p
        for p in points
        if all(p["problem"].get(k) == problem.get(k) for k in same)
        and series(p["problem"]) != series(problem)
    ]
