"""What a planning process answers to a sweep: a point for each budget, or what it would need."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import planners as sp
from app.machines import machine_of
from app.options import counts
from app.packing import packed
from app.results import results
from planners.simulator.simulate import own_seconds, traced

MOST_TEXT = 2_000_000


class Desk(Protocol):
    """What a job needs of its process."""

    def send(self, kind: str, **fields: Any) -> None: ...
    def graph(self, problem: Mapping[str, Any]) -> sp.Graph: ...
    def reporter(self, prefix: str = "") -> Callable[[sp.Progress], bool]: ...
    @property
    def stopped(self) -> bool: ...


def make_plan(desk: Desk, graph: sp.Graph, problem: Mapping[str, Any], budget: Any) -> sp.Plan:
    """Run the planner that a problem names."""
    return sp.plan(
        graph,
        planner=problem["planner"],
        budget=budget,
        machine=machine_of(problem),
        time_limit=problem["time_limit"],
        parameters=counts(problem),
        progress=desk.reporter(),
        **problem["options"],
    )


def run_sweep(desk: Desk, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Plan one problem under one of several budgets; the rest waits for its turn again."""
    problem, index = request["problem"], request.get("start", 0)
    if index >= len(request["budgets"]):
        return None
    budget = request["budgets"][index]
    if found := known_point(desk, {**problem, "budget": budget}):
        kind = "point" if "status" in found else "unfit"
        desk.send(kind, index=index, budget_bytes=budget, **found)
    return {"start": index + 1} if index + 1 < len(request["budgets"]) else None


def known_point(desk: Desk, problem: Mapping[str, Any]) -> dict[str, Any] | None:
    """The point of a problem, kept from before or planned now; where no plan exists, what it needs
    (`need_bytes`); None where it was stopped."""
    if known := results().recall("point", problem):
        return dict(json.loads(known.lines[0]))
    began, proven = time.monotonic(), False
    try:
        plan = make_plan(desk, desk.graph(problem), problem, problem["budget"])
        if desk.stopped:
            return None
        found, proven = point(plan), plan.claims.status == "optimal"
    except sp.BudgetTooSmall as error:
        found = {"need_bytes": error.need_bytes}
    took = time.monotonic() - began
    results().keep("point", problem, [json.dumps(found)], took, proven=proven)
    return found


def point(plan: sp.Plan) -> dict[str, Any]:
    """One point of a sweep: what a chart needs, and the plan itself to be loaded by a tap.

    `front` has the budgets at which plans of this planner change, where the plan says so.
    """
    report, claims = sp.check(plan), plan.claims
    trace = traced(plan, report, plan.machine)
    text = json.dumps(plan.to_json(), separators=(",", ":"))
    kept = {"plan": packed(text)} if len(text) < MOST_TEXT else {}  # a larger one is planned again
    return {
        "status": claims.status,
        "gap": claims.gap,
        "objective_bytes": claims.objective_bytes,
        "bound_bytes": claims.bound_bytes,
        "compulsory_bytes": report.compulsory_bytes,
        "noncompulsory_bytes": report.noncompulsory_bytes,
        "traffic_bytes": report.traffic_bytes,
        "peak_bytes": report.peak_bytes,
        "makespan_s": trace.makespan_s,
        "energy_j": trace.energy_j,
        "own_times": bool(own_seconds(plan)),
        "planner": plan.planner,
        "front": front_of(plan),
        **kept,
    }


def front_of(plan: sp.Plan) -> list[int]:
    """Budgets at which a plan's own front has a point, rising; none where it has no front."""
    if plan.planner == "streaming":
        return sorted({int(memory) for memory, _ in plan.details["streaming"]["front"]})
    return sorted({point["ram_bytes"] for point in plan.details.get("front", ())})


RUN: Mapping[str, Callable[[Any, Mapping[str, Any]], Mapping[str, Any] | None]] = {
    "sweep": run_sweep
}
