"""The fused-group planner: which operators run together, strip by strip, for least traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.errors import BadInput
from planners.fusion.account import Account, account
from planners.fusion.baselines import BASELINES
from planners.fusion.emit import emit, lay_out
from planners.fusion.group import GroupModel
from planners.fusion.online import online_partition, size_table
from planners.fusion.options import DEFAULTS, checked
from planners.fusion.partition import Partition, require_singles
from planners.fusion.search import best_partition
from planners.fusion.ways import GroupPlan
from planners.graph.model import Graph
from planners.machine import Machine, with_scratchpad
from planners.plan import Claims, Plan
from planners.progress import Clock, ProgressCallback


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Partition a graph into fused groups of least off-chip traffic within a budget (Optimus).

    Options: `online` (the paper's section 6: fast, without proof), `baseline` (what Optimus is
    compared with: `no_fusion`, `fused_layer`, `dnnvm`, `efficient_s`), `channel_tile` (the least
    output channels computed at once, the paper's T_c), `double_buffer` (use what the budget
    leaves to load ahead), `free_local_layers` (the search takes element-wise, pooling and
    depth-wise operators alone for free, for comparison; what is claimed and moved counts them),
    `time_limit` in seconds. Parameters always count.

    The objective is all off-chip traffic in bytes; the bound holds over all partitions into
    groups of this cost model. Raises `BudgetTooSmall` where an operator does not fit alone, and
    `BadInput` for options that do not exist.
    """
    chosen = checked(options)
    clock = Clock(chosen["time_limit"], progress)
    clock.report("operators alone")
    model = GroupModel(graph, machine, chosen)
    require_singles(model, graph, budget_bytes)
    found = _search(model, budget_bytes, clock, chosen)
    return plan_partition(model, found, budget_bytes, chosen, clock)


def plan_partition(
    model: GroupModel,
    found: Partition,
    budget_bytes: int,
    chosen: Mapping[str, Any],
    clock: Clock,
) -> Plan:
    """The plan of a partition, each group in its best way within the budget.

    `chosen` are all of the planner's options. Raises `BadInput` for a group that does not fit.
    """
    graph = model.graph
    ways = [_way(model, mask, budget_bytes) for mask in found.groups]
    clock.report("addresses", found.objective_bytes, found.bound_bytes)
    groups = [(model.group(mask), way) for mask, way in zip(found.groups, ways, strict=True)]
    laid = lay_out(graph, groups, budget_bytes, double_buffer=chosen["double_buffer"])
    machine = with_scratchpad(model.machine, budget_bytes)
    program = emit(graph, machine, laid, budget_bytes)
    traffic = sum(way.traffic_bytes for way in ways)
    claims = _claims(found, traffic, account(graph, program), chosen, clock.elapsed_s)
    clock.report("done", claims.objective_bytes, claims.bound_bytes)
    return Plan(
        planner="fusion",
        graph=graph,
        machine=machine,
        budget_bytes=budget_bytes,
        program=program,
        claims=claims,
        options={key: chosen[key] for key in DEFAULTS},
        notes=_notes(graph, found, ways, chosen),
    )


def _search(
    model: GroupModel, budget_bytes: int, clock: Clock, chosen: Mapping[str, Any]
) -> Partition:
    """The partition by the chosen search; those of a baseline or online are heuristics."""
    graph = model.graph
    if chosen["baseline"]:
        return BASELINES[chosen["baseline"]](model, graph, budget_bytes)
    if chosen["online"]:
        table = size_table(model, graph, clock.part(0.5 * clock.left_s))
        return online_partition(model, graph, budget_bytes, clock, table)
    return best_partition(model, graph, budget_bytes, clock)


def _way(model: GroupModel, mask: int, budget_bytes: int) -> GroupPlan:
    way = model.roomiest(mask, budget_bytes)
    if way is None:
        names = ", ".join(member.op.name for member in model.group(mask).members)
        reason = model.why_not(mask) or f"nothing fits {budget_bytes} bytes"
        raise BadInput(f"the group {names:.200} cannot run: {reason}")
    return way


def _claims(
    found: Partition, traffic: int, moved: Account, chosen: Mapping[str, Any], seconds: float
) -> Claims:
    # What the search took for free is no bound on what is moved.
    bound = 0 if chosen["free_local_layers"] else min(found.bound_bytes, traffic)
    return Claims(
        status="optimal" if bound == traffic else "feasible",
        objective_bytes=traffic,
        bound_bytes=bound,
        compulsory_bytes=moved.compulsory_bytes,
        noncompulsory_bytes=traffic - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
        plan_s=seconds,
        solver=chosen["baseline"] or ("online" if chosen["online"] else "downset search"),
    )


def _notes(
    graph: Graph, found: Partition, ways: list[GroupPlan], chosen: Mapping[str, Any]
) -> tuple[str, ...]:
    tiles = sum(way.strips for way in ways)
    notes = [
        f"activations and parameters, {graph.bytes_per_element} byte(s) an element, "
        f"granularity {graph.granularity}",
        f"{len(graph.operators)} operators in {len(ways)} fused groups, {tiles} tiles",
        "objective and bound are bytes of all off-chip traffic; the bound holds over all "
        "partitions into groups that keep their halo in line buffers",
    ]
    if chosen["free_local_layers"]:
        notes.append("the search took local layers alone for free; the claims count them")
    return tuple(notes)
