"""The plan at first paint: stored with the explorer, checked when it is shown.

`python -m app.first` plans it again and rewrites the file.
"""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

from app.shown import Shown, show

FILE = Path(__file__).with_name("first.json")


@cache
def stored_first() -> dict[str, Any]:
    """The stored problem, its plan as JSON text, its graph's budgets and the points of a sweep."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@cache
def first_shown() -> Shown:
    """The stored plan, checked. Raises `InvalidPlan` where the file has been tampered with."""
    return show(json.dumps(stored_first()["plan"]))


def make() -> dict[str, Any]:
    """Plan the first problem and sweep its budgets."""
    from app.session import Session
    from app.sweep_jobs import make_plan, point
    from app.sweeping import sweep_budgets
    from app.worker import Desk, budgets

    session = Session(pool=None)  # type: ignore[arg-type]
    problem = session.request()
    desk = Desk(io.StringIO())
    graph = desk.graph(problem)
    found = budgets(desk, graph, problem["parameters"])
    points = []
    for size in sweep_budgets(found):
        row = point(make_plan(desk, graph, problem, size))
        row.pop("plan", None)
        points.append({**row, "budget_bytes": size, "problem": problem})
    plan = make_plan(desk, graph, problem, problem["budget"])
    return {"plan": plan.to_json(), "budgets": found, "points": points}


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(), separators=(",", ":")), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size} bytes")
