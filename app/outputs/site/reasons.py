"""What the explorer's workers find out beside a plan, for a page that has none to ask."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.jobs.handlers.fused import reasons_of
from app.jobs.handlers.streaming import front_rows
from planners.fusion.partitions_by_budget import PartitionsByBudget


def reasons(shown: DisplayedPlan) -> dict[str, Any]:
    """By names of `PageLook`: why groups are fused as they are, and fronts of streamed parameters;
    empty for other plans."""
    plan, graph = shown.plan, shown.graph
    options = dict(plan.options)
    if shown.stream is not None:
        return {"fronts": dict(front_rows(graph, plan.machine, options))}
    if not shown.groups or options.get("objective", "traffic") != "traffic":
        return {}
    groups = [[graph.index[name] for name in group.operators] for group in shown.groups]
    partitions = PartitionsByBudget(graph, plan.machine, options)
    by_group = reasons_of(partitions, groups, plan.budget_bytes, bool(options.get("joint")))
    names = (group.name for group in shown.groups)
    return {"why": dict(zip(names, by_group, strict=True))}
