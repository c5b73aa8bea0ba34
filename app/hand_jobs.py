"""A worker's answer to a move by hand: the plan, checked and timed, or why it is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import planners as sp
from app.by_hand import moved_plan
from app.packing import packed
from app.shown import Shown
from app.wire import to_wire
from planners.simulator.simulate import traced


def judged(plan: sp.Plan, report: sp.CheckReport, stay: sp.Residency, offset: int) -> Shown:
    """The plan with a stay moved, checked and timed. Raises `InvalidPlan` and `BadInput`."""
    moved = moved_plan(plan, report, stay, offset)
    after = sp.check(moved)
    text = json.dumps(moved.to_json(), separators=(",", ":"))
    return Shown(moved, after, traced(moved, after, moved.machine), packed(text))


def refusal(error: sp.InvalidPlan) -> dict[str, Any]:
    """Why `check` refuses a plan, as plain data."""
    return {"text": str(error), "step": error.step, "address": error.address, "fault": error.kind}


def run_move(desk: Any, request: Mapping[str, Any]) -> None:
    """Move one stay of a plan, given by its place among the stays."""
    desk.send("progress", stage="checking every byte", elapsed_s=0.0)
    plan = sp.Plan.from_json(json.loads(request["plan"]))
    report = sp.check(plan)
    stay = report.residencies[request["stay"]]
    try:
        shown = judged(plan, report, stay, request["offset"])
    except sp.InvalidPlan as error:
        desk.send("refused", **refusal(error))
        return
    desk.send("plan", **to_wire(shown))


RUN = {"move": run_move}
