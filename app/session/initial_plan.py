"""The plan at first paint: stored with the explorer, checked when it is shown.

`python -m app.session.initial_plan` plans it again and rewrites the file.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from app.display.displayed_plan import DisplayedPlan, show
from app.kinds.registry import kind_of_planner, known_planners
from app.model.paths import ASSETS
from app.model.state import problem_with

FILE = ASSETS / "initial_plan.json"
PICTURE = ASSETS / "first_picture.json"
PLAN_S = 90


@cache
def stored_first() -> dict[str, Any]:
    """The fields of the problem, its plan as JSON, its graph's budgets and points of a sweep."""
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return stored


@cache
def first_shown() -> DisplayedPlan:
    """The stored plan, checked. Raises `InvalidPlan` where the file has been tampered with."""
    return show(json.dumps(stored_first()["plan"]))


def first_fields() -> dict[str, Any]:
    """The fields of the first problem that are not the usual ones."""
    return dict(stored_first()["problem"])


@cache
def first_picture() -> str:
    """The sentence on the first plan and a still picture of it, as JSON: what a page without a link
    shows until the plan is there. `benchmarks/pictures.py --first` makes it."""
    return PICTURE.read_text(encoding="utf-8")


def make(fields: dict[str, Any]) -> dict[str, Any]:
    """Plan the first problem, and whole tensors in the least memory that they fit, to compare."""
    from app.jobs.handlers.planning import budgets
    from app.jobs.handlers.sweep import make_plan, point
    from app.jobs.job_context import JobContext

    context, problem = JobContext(lambda line: None), request_of(fields)
    graph = context.graph(problem)
    named = budgets(context, graph, problem["weights"])
    plan = make_plan(context, graph, {**problem, "time_limit": PLAN_S}, problem["budget"])
    points = [{**point(plan), "budget_bytes": plan.budget_bytes, "problem": problem}]
    for planner in known_planners():
        if kind_of_planner(planner).whole_operators:
            options = {f"{planner}.objective": "latency"}
            whole = request_of({**fields, "planner": planner, "options": options})
            row = point(make_plan(context, graph, whole, "MR"))
            points.append({**row, "budget_bytes": named["MR"], "problem": whole})
    for row in points:
        row.pop("plan", None)
    return {"problem": fields, "plan": plan.to_json(), "budgets": named, "points": points}


def request_of(fields: dict[str, Any]) -> dict[str, Any]:
    """A problem as a worker takes it."""
    from app.session.models import Models

    return Models(problem_with(fields)).request()


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(first_fields()), separators=(",", ":")), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size} bytes")
