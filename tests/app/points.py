"""Points of a chart made by hand, for tests."""

from __future__ import annotations

from typing import Any

COSMA: dict[str, Any] = {"planner": "cosma", "options": {}, "weights": "counted"}
FUSION: dict[str, Any] = {"planner": "fusion", "options": {}, "weights": "counted"}


def made(
    budget: int, traffic: float, problem: dict[str, Any] = COSMA, **more: Any
) -> dict[str, Any]:
    """A point made by hand."""
    at = {"budget_bytes": budget, "peak_bytes": budget, "traffic_bytes": traffic}
    at |= {"makespan_s": traffic / 10, "energy_j": traffic / 7, "status": "optimal", "gap": 0.0}
    at |= {"bound_bytes": traffic - 5, "compulsory_bytes": 2, "noncompulsory_bytes": 3}
    return {**at, "problem": problem, "front": [], **more}
