"""A planning process's answers about fused groups: the partition at a budget, and why it is so.

A process keeps what it has computed about the groups of the last few problems; the server sends it
all requests about these (`affinity_of`), so that a slider gets its answer in milliseconds.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import planners as sp
from app.jobs.job_context import JobContext
from app.jobs.protocol import HOMES, Request
from app.jobs.worker_affinity import affinity_of
from app.model.machines import machine_of
from planners.core.masks import bits
from planners.core.progress import Clock, Progress
from planners.fusion.explain import Explainer
from planners.fusion.partitions_by_budget import PartitionsByBudget
from planners.fusion.search.bound import compulsory_bytes

REACH_S = 40.0
PREVIEW_S = 0.08  # asked again, it continues where it stopped


_known: OrderedDict[str, PartitionsByBudget] = OrderedDict()


def partitions_of(context: JobContext, problem: Mapping[str, Any]) -> PartitionsByBudget:
    """What is known of a problem's groups; the last few problems are kept."""
    home = affinity_of(problem)
    if home not in _known:
        graph, machine = context.graph(problem), machine_of(problem)
        _known[home] = PartitionsByBudget(graph, machine, problem["options"])
        while len(_known) > HOMES:
            _known.popitem(last=False)
    _known.move_to_end(home)
    return _known[home]


def run_reach(context: JobContext, request: Request) -> None:
    """Prepare for all budgets up to one, and report the least budget with a plan."""
    partitions, reach = partitions_of(context, request.problem), request.more["budget_bytes"]

    def goes_on(_moment: Progress) -> bool:
        return not context.stopped

    context.result("reach", least_bytes=partitions.least_bytes, reach_bytes=0)
    partitions.reach(reach, Clock(REACH_S, goes_on))
    if not context.stopped:
        context.result("reach", least_bytes=partitions.least_bytes, reach_bytes=reach)


def run_preview(context: JobContext, request: Request) -> None:
    """The best partition at a budget, without its program."""
    began = time.perf_counter()
    partitions, budget = partitions_of(context, request.problem), request.more["budget_bytes"]
    try:
        partition = partitions.partition(budget, Clock(PREVIEW_S))
    except sp.BudgetTooSmall as error:
        context.result("preview", budget_bytes=budget, need_bytes=error.need_bytes)
        return
    ways = [partitions.model.best(mask, budget) for mask in partition.groups]
    proof: dict[str, Any] = {"bound_bytes": partition.bound_bytes, "status": partition.status}
    if request.problem["options"].get("joint"):  # maps that stay on chip are not yet known
        proof = {"bound_bytes": compulsory_bytes(partitions.graph), "status": "heuristic"}
    context.result(
        "preview",
        budget_bytes=budget,
        traffic_bytes=partition.objective_bytes,
        **proof,
        buffer_bytes=max((way.buffer_bytes for way in ways if way), default=0),
        tiles=sum(way.strips for way in ways if way),
        groups=[list(bits(mask)) for mask in partition.groups],
        worked_s=time.perf_counter() - began,
    )


def run_why(context: JobContext, request: Request) -> None:
    """Report what the groups of a plan would cost otherwise, and why they are as they are."""
    partitions, parameters = partitions_of(context, request.problem), request.more
    joint = bool(request.problem["options"].get("joint"))
    reasons = reasons_of(partitions, parameters["groups"], parameters["budget_bytes"], joint)
    for name, facts in zip(parameters["names"], reasons, strict=True):
        if context.stopped:
            return
        context.result("why", group=name, facts=facts)


def reasons_of(
    partitions: PartitionsByBudget, groups: Sequence[Sequence[int]], budget_bytes: int, joint: bool
) -> Iterator[dict[str, Any]]:
    """Of each group, as positions of operators: what it would cost otherwise, and why it is so."""
    masks = [sum(1 << i for i in group) for group in groups]
    explainer = Explainer(partitions.model, masks, budget_bytes, joint=joint)
    for k in range(len(masks)):
        yield {
            "alone_bytes": explainer.alone_bytes(k),
            "single": explainer.why_single(k),
            "neighbours": [asdict(pair) for pair in explainer.neighbours(k)],
        }
