"""The segment-overlap planner: the least RAM of a network, and what it costs to go below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planners.errors import BadInput, BudgetTooSmall
from planners.graph.model import Graph
from planners.machine import Machine, with_scratchpad
from planners.overlap.emit import emit
from planners.overlap.front import Point, all_ways, front, is_chain
from planners.overlap.layout import Layout
from planners.overlap.options import checked
from planners.overlap.turning import turned
from planners.plan import Claims, Plan
from planners.program import Program
from planners.progress import Clock, ProgressCallback
from planners.simulator.account import account

NOTE_BOUND = (
    "objective and bound are bytes of RAM; the bound holds over all splits of the network's blocks "
    "into these runs that repeat no more work"
)


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """Run a network in a circular pool of RAM, outputs over dying inputs (vMCU).

    Options: `objective` (`macs`: within the budget the least work that is done again, then the
    least RAM; `ram`: the least RAM), `fuse` (operators may run together; without, each runs
    alone), `parameters` (count them, read in place from flash), `time_limit` in seconds.

    Claims: `objective_bytes` is the RAM. Raises `BudgetTooSmall` with the least RAM and the block
    that binds, `BadInput` for options that do not exist.
    """
    chosen = checked(options)
    clock = Clock(chosen["time_limit"], progress)
    if not is_chain(graph):
        raise BadInput(f"{graph.name} is no chain of small blocks")
    points = front(graph, all_ways(graph, clock, fuse=chosen["fuse"]))
    point = _chosen(graph, points, budget_bytes, chosen["objective"])
    layout = turned(graph, point.ways, point.ram_bytes)
    clock.report("instructions", point.ram_bytes, point.bound_bytes)
    return finished(graph, machine, budget_bytes, layout, point.bound_bytes, points, chosen, clock)


def finished(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    layout: Layout,
    bound_bytes: int,
    points: Sequence[Point],
    chosen: Mapping[str, Any],
    clock: Clock,
) -> Plan:
    """The plan of a layout."""
    machine = with_scratchpad(machine, budget_bytes)
    program = emit(graph, machine, layout, chosen["parameters"])
    claims = _claims(graph, program, layout.pool_bytes, bound_bytes, clock)
    clock.report("done", layout.pool_bytes, bound_bytes)
    return Plan(
        planner="overlap",
        graph=graph,
        machine=machine,
        budget_bytes=budget_bytes,
        program=program,
        claims=claims,
        options={key: chosen[key] for key in ("objective", "fuse", "parameters")},
        notes=_notes(graph, layout, chosen),
        details={"layout": layout.to_json(), "front": [point_json(graph, p) for p in points]},
    )


def point_json(graph: Graph, point: Point) -> dict[str, Any]:
    """A point of the front as plain data, with the block that binds."""
    binding = point.binding
    names = [op.name for op in graph.operators[binding.first : binding.stop]]
    return {"ram_bytes": point.ram_bytes, "extra_macs": point.extra_macs, "binding": names}


def _chosen(graph: Graph, points: Sequence[Point], budget_bytes: int, objective: str) -> Point:
    """The point of the front that an objective asks for; points come with falling RAM."""
    least = points[-1]
    if least.ram_bytes > budget_bytes:
        way = least.binding
        tensors = tuple(dict.fromkeys(t for run in way.runs for t in (*run.reads, *run.writes)))
        name = graph.operators[way.first].name
        remedy = f"the least RAM by overlap is {least.ram_bytes} bytes"
        raise BudgetTooSmall(least.ram_bytes, budget_bytes, name, tensors, remedy)
    if objective == "ram":
        return least
    return next(point for point in points if point.ram_bytes <= budget_bytes)


def _claims(
    graph: Graph, program: Program, pool_bytes: int, bound_bytes: int, clock: Clock
) -> Claims:
    moved = account(graph, program)
    return Claims(
        status="optimal" if bound_bytes == pool_bytes else "feasible",
        objective_bytes=pool_bytes,
        bound_bytes=bound_bytes,
        compulsory_bytes=moved.compulsory_bytes,
        noncompulsory_bytes=moved.traffic_bytes - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
        plan_s=clock.elapsed_s,
        solver="segment overlap",
    )


def _notes(graph: Graph, layout: Layout, chosen: Mapping[str, Any]) -> tuple[str, ...]:
    joined = sum(len(run.operators) > 1 for run in layout.runs)
    counted = "parameters read in place from flash" if chosen["parameters"] else "activations only"
    return (
        f"{counted}, {graph.bytes_per_element} byte(s) an element, granularity {graph.granularity}",
        f"{len(graph.operators)} operators in {len(layout.runs)} kernels, {joined} of them fused, "
        f"in a circular pool of {layout.pool_bytes} bytes",
        NOTE_BOUND,
    )
