"""A worker's answer to a move by hand: the plan, checked and timed, or why it is invalid."""

from __future__ import annotations

import json
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.moved_by_hand import moved_plan
from app.display.wire import to_wire
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request
from app.model.packing import packed
from planners.simulator.simulate import traced


def judged(
    plan: sp.Plan, report: sp.CheckReport, residency: sp.Residency, offset: int
) -> DisplayedPlan:
    """The plan with a stay moved, checked and timed. Raises `InvalidPlan` and `BadInput`."""
    moved = moved_plan(plan, report, residency, offset)
    after = sp.check(moved)
    text = json.dumps(moved.to_json(), separators=(",", ":"))
    return DisplayedPlan(moved, after, traced(moved, after, moved.machine), packed(text))


def refusal(error: sp.InvalidPlan) -> dict[str, Any]:
    """Why `check` refuses a plan, as plain data."""
    return {"text": str(error), "step": error.step, "address": error.address, "fault": error.kind}


def run_move(context: JobContext, request: Request) -> None:
    """Move one stay of a plan, given by its place among the stays."""
    context.progress("checking every byte")
    plan = sp.Plan.from_json(json.loads(request.more["plan"]))
    report = sp.check(plan)
    residency = report.residencies[request.more["stay"]]
    try:
        shown = judged(plan, report, residency, request.more["offset"])
    except sp.InvalidPlan as error:
        context.result("refused", **refusal(error))
        return
    context.result("plan", **to_wire(shown))
