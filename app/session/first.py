"""The plan at first paint: stored with the explorer, checked when it is shown.

`python -m app.session.first` plans it again and rewrites the file.
"""

from __future__ import annotations

import io
import json
from functools import cache
from typing import Any

from app.model.checked_plan import Shown, show
from app.model.places import ASSETS

FILE = ASSETS / "first.json"


@cache
def stored_first() -> dict[str, Any]:
    """The stored problem, its plan as JSON text, its graph's budgets and the points of a sweep."""
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return stored


@cache
def first_shown() -> Shown:
    """The stored plan, checked. Raises `InvalidPlan` where the file has been tampered with."""
    return show(json.dumps(stored_first()["plan"]))


def make() -> dict[str, Any]:
    """Plan the first problem and sweep its budgets."""
    from app.jobs.desk import Desk
    from app.jobs.handlers.planning import budgets
    from app.jobs.handlers.sweep import make_plan, point
    from app.session.models import Models
    from app.session.sweeping import sweep_budgets

    problem = Models().request()
    desk = Desk(io.StringIO())
    graph = desk.graph(problem)
    named = budgets(desk, graph, problem["weights"])
    points = []
    for size in sweep_budgets(named):
        row = point(make_plan(desk, graph, problem, size))
        row.pop("plan", None)
        points.append({**row, "budget_bytes": size, "problem": problem})
    plan = make_plan(desk, graph, problem, problem["budget"])
    return {"plan": plan.to_json(), "budgets": named, "points": points}


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(), separators=(",", ":")), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size} bytes")
