"""What a planning process answers to a problem: its plan, checked and timed, and named budgets."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import planners as sp
from app.display.displayed_plan import show
from app.display.wire import to_wire
from app.jobs.handlers.sweep import make_plan
from app.jobs.job_context import JobContext
from app.jobs.protocol import Answer, Request
from app.jobs.results import results
from app.kinds.bundles import checked_bundled, is_bundled, plan_text
from app.kinds.registry import kind_of_planner
from app.model.sizes import NAMED_BUDGETS
from planners.audits.shown import of_allocation
from planners.core.weights import COUNTED
from planners.simulator.bugs import bugs_explained

SIZE_INSTEAD = "type a size: named budgets need the network, which is not in the file"
FAILED = "The plan failed its check and is not shown."


def run_plan(context: JobContext, request: Request) -> None:
    """Plan one problem, then report the named budgets of its graph."""
    problem, began = request.problem, time.monotonic()
    with context.noting() as lines:
        proven = plan_and_report(context, problem)
    if not context.stopped:
        results().keep(request, lines, time.monotonic() - began, proven=proven)


def plan_and_report(context: JobContext, problem: Mapping[str, Any]) -> bool:
    """Plan and send the plan, or why there is none; returns whether it is proven to be the best."""
    graph, proven = context.graph(problem), False
    if of_allocation(graph) and problem["budget"] in NAMED_BUDGETS:
        raise sp.BadInput(f"an allocation has no {problem['budget']}: {SIZE_INSTEAD}")
    try:
        plan = make_plan(context, graph, problem, problem["budget"])
        proven = plan.claims.status == "optimal"
        send_plan(context, plan)
    except (sp.BudgetTooSmall, sp.NoPlanFound) as error:
        if error.need_bytes is None:
            raise
        spills = problem["options"].get("objective") != "peak"
        kind = kind_of_planner(problem["planner"])
        how = {"spills": spills, "exact": not kind.whole_operators, "streams": kind.streams}
        context.say(Answer("infeasible", data={**how, **infeasible(graph, error)}))
    if not context.stopped:
        send_budgets(context, graph, problem["weights"])
    return proven


def send_plan(context: JobContext, plan: sp.Plan) -> None:
    """Check and time the plan as the server will read it, and send it with the results."""
    context.progress("checking every byte")
    if is_bundled(plan):
        send_pool_plan(context, plan)
        return
    try:
        text = json.dumps(plan.to_json(), separators=(",", ":"))
        with bugs_explained(plan):
            shown = show(text, context.reporter())
    except sp.InvalidPlan as error:
        raise sp.BadInput(f"{FAILED} {error}") from error
    context.result("plan", **to_wire(shown))


def send_pool_plan(context: JobContext, plan: sp.Plan) -> None:
    """The same for a program of pixels: first what is drawn, then its text once it is written."""
    try:
        with bugs_explained(plan):
            shown = checked_bundled(plan, context.reporter())
    except sp.InvalidPlan as error:
        raise sp.BadInput(f"{FAILED} {error}") from error
    context.result("plan", **to_wire(shown))
    context.progress("writing the plan down")
    context.result("text", packed=plan_text(plan))


def infeasible(graph: sp.Graph, error: sp.BudgetTooSmall | sp.NoPlanFound) -> dict[str, Any]:
    """The bytes needed, the bytes available, and the tensors that bind with their sizes; `proven`:
    whether no plan exists."""
    return {
        "proven": isinstance(error, sp.BudgetTooSmall),
        "need_bytes": error.need_bytes,
        "have_bytes": error.have_bytes,
        "operator": error.operator,
        "remedy": getattr(error, "remedy", ""),
        "tensors": [[name, graph.size_bytes(name)] for name in error.tensors],
        "wishes": list(getattr(error, "wishes", ())),
        "text": str(error),
    }


def budgets(context: JobContext, graph: sp.Graph, weights: str) -> dict[str, Any]:
    """MR, MH and MP of a graph as plain numbers, cached by the graph's content."""
    parameters = weights == COUNTED
    question = Request("budgets", {"graph": graph.digest, "parameters": parameters})
    began = time.monotonic()
    if recalled := results().recall(question):
        return dict(json.loads(recalled.lines[0]))
    context.progress("finding the minimum peak memory (MP)")
    named = sp.budgets(graph, parameters=parameters)
    names = ("MR", "MH", "MP", "MP_proven", "MP_bound", "default_peak", "binding_operator")
    values = {name: getattr(named, name) for name in names}
    results().keep(question, [json.dumps(values)], time.monotonic() - began)
    return values


def send_budgets(context: JobContext, graph: sp.Graph, weights: str) -> None:
    """Report the named budgets of a graph; an allocation has none."""
    if not of_allocation(graph):
        context.result("budgets", **budgets(context, graph, weights))


def run_budgets(context: JobContext, request: Request) -> None:
    """Report the named budgets of a problem's graph."""
    problem = request.problem
    send_budgets(context, context.graph(problem), problem["weights"])


def run_warm(_desk: JobContext, _request: Request) -> None:
    """Import what a model import needs, so that the first import that a person requests is
    quick."""
    import torch  # noqa: F401
