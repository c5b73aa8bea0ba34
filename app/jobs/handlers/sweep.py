"""A planning process's answers to a sweep: a point for each budget, or what it would need."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import planners as sp
from app.jobs.job_context import JobContext, Rest
from app.jobs.protocol import Request
from app.jobs.results import results
from app.kinds.registry import front_of
from app.model.machines import machine_of
from app.model.packing import packed
from planners.simulator.bugs import bugs_explained
from planners.simulator.simulate import traced

MOST_TEXT = 2_000_000


def make_plan(
    context: JobContext, graph: sp.Graph, problem: Mapping[str, Any], budget: Any
) -> sp.Plan:
    """Run the planner that a problem names; the plan is checked as it is shown."""
    return sp.plan(
        graph,
        planner=problem["planner"],
        budget=budget,
        machine=machine_of(problem),
        time_limit=problem["time_limit"],
        weights=problem["weights"],
        progress=context.reporter(),
        replay=False,
        **problem["options"],
    )


def run_sweep(context: JobContext, request: Request) -> Rest:
    """Plan one problem under one of several budgets; the rest goes back to the queue."""
    problem, index = request.problem, request.more.get("start", 0)
    if index >= len(request.more["budgets"]):
        return None
    budget = request.more["budgets"][index]
    if outcome := known_point(context, {**problem, "budget": budget}):
        kind = "point" if "status" in outcome else "unfit"
        context.result(kind, index=index, budget_bytes=budget, **outcome)
    return {"start": index + 1} if index + 1 < len(request.more["budgets"]) else None


def known_point(context: JobContext, problem: Mapping[str, Any]) -> dict[str, Any] | None:
    """The point of a problem, from the cache or planned now; where no plan exists, what it needs
    (`need_bytes`); None where it was stopped."""
    question = Request("point", problem)
    if recalled := results().recall(question):
        return dict(json.loads(recalled.lines[0]))
    began, proven = time.monotonic(), False
    try:
        plan = make_plan(context, context.graph(problem), problem, problem["budget"])
        if context.stopped:
            return None
        with bugs_explained(plan):
            outcome, proven = point(plan), plan.claims.status == "optimal"
    except (sp.BudgetTooSmall, sp.NoPlanFound) as error:
        if error.need_bytes is None:
            raise
        outcome = {"need_bytes": error.need_bytes}
    took = time.monotonic() - began
    results().keep(question, [json.dumps(outcome)], took, proven=proven)
    return outcome


def point(plan: sp.Plan) -> dict[str, Any]:
    """One point of a sweep: what a chart needs, and the plan itself, to be loaded by a tap."""
    report = sp.check(plan)
    trace = traced(plan, report, plan.machine)
    text = json.dumps(plan.to_json(), separators=(",", ":"))
    kept = {"plan": packed(text)} if len(text) < MOST_TEXT else {}  # larger ones are planned again
    return {**measured(plan, report, trace), "full_rate_s": full_rate_s(plan, report), **kept}


def full_rate_s(plan: sp.Plan, report: sp.CheckReport) -> float | None:
    """What a checked plan would take if its array were always full; None where it has none, or
    times were given."""
    if plan.machine.is_ideal or plan.has_given_times:
        return None
    return traced(plan, report, plan.machine.at_full_rate).makespan_s


def measured(plan: sp.Plan, report: sp.CheckReport, trace: sp.Trace) -> dict[str, Any]:
    """What a chart needs of a checked plan.

    `front` has the budgets at which plans of this planner change, where the plan says so.
    """
    claims = plan.claims
    return {
        "status": claims.status,
        "gap": plan.gap,
        "objective_bytes": claims.objective_bytes,
        "bound_bytes": claims.bound_bytes,
        "compulsory_bytes": report.compulsory_bytes,
        "noncompulsory_bytes": report.noncompulsory_bytes,
        "traffic_bytes": report.traffic_bytes,
        "peak_bytes": report.peak_bytes,
        "makespan_s": trace.makespan_s,
        "energy_j": trace.energy_j,
        "own_times": plan.times is not None,
        "planner": plan.planner,
        "front": front_of(plan),
    }
