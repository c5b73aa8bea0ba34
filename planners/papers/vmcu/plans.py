"""Our own figures: programs of the overlap planner that `check` replayed."""

from __future__ import annotations

import time
from itertools import islice
from math import prod

from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.plan import Plan
from planners.core.problem import Problem
from planners.core.records import plain
from planners.overlap.options import OverlapOptions
from planners.overlap.planner import finished, of_point, plan
from planners.overlap.search.chain import ChainWay, turned
from planners.overlap.search.front import FrontPoint
from planners.papers.table import Row
from planners.papers.vmcu.ways import ways
from planners.simulator.claimed import check

MACHINE = "npu_ideal"
MOST_OF_BLOCK, MOST_OF_NETWORK = 250_000, 1_500_000
"""Instructions: longer programs are not replayed here."""


def by_form(graph: Graph, time_limit_s: float) -> dict[str, Row]:
    """The least RAM of a block in each form that it can run in.

    Bytes in all, bytes of workspace, MACs computed again, channels of a tile (of tiles, the one
    with least RAM), and whether `check` replayed the program. Raises `InvalidPlan` where it fails.
    """
    return {form: _row(graph, way, time_limit_s) for form, way in ways(graph).items()}


def _row(graph: Graph, way: ChainWay, time_limit_s: float) -> Row:
    short = _instructions(graph, way) <= MOST_OF_BLOCK
    return {
        "bytes": way.size_bytes,
        "workspace": max(run.workspace_bytes for run in way.runs),
        "extra_macs": way.extra_macs,
        "proven": way.packed.size_bytes == way.packed.bound_bytes,
        "channels": max(run.channels for run in way.runs),
        "checked": short and _replayed(_program(graph, way, time_limit_s), MOST_OF_BLOCK),
    }


def _instructions(graph: Graph, way: ChainWay) -> int:
    """About how many instructions a way has: each pixel's computes, and its release."""
    length = 0
    for run in way.runs:
        shapes = [graph.tensors[graph.operators[p].outputs[0]].shape for p in run.operators]
        pixels = sum(prod(shape[2:]) for shape in shapes)
        if run.channels:
            window = prod(graph.operators[run.operators[1]].kernel)
            pixels = prod(shapes[-1][2:]) * window * -(-shapes[0][1] // run.channels)
        length += 2 * pixels
    return length


def network(graph: Graph, time_limit_s: float) -> Row:
    """RAM without repeated work, the front below it, seconds of planning, and whether replayed."""
    began = time.perf_counter()
    made = plan(graph, load_machine(MACHINE), 2**40, {"time_limit": time_limit_s}, None)
    seconds = time.perf_counter() - began
    assert made.claims.objective_bytes is not None
    return {
        "ram": made.claims.objective_bytes,
        "proven": made.claims.status == "optimal",
        "front": plain(made.details.pool)["front"],
        "checked": _replayed(made, MOST_OF_NETWORK),
        "seconds": seconds,
    }


def _program(graph: Graph, way: ChainWay, time_limit_s: float) -> Plan:
    """The plan that has this way only."""
    point = FrontPoint(way.size_bytes, way.extra_macs, (way,))
    layout = turned(graph, [way], way.size_bytes)
    options = {"objective": "ram", "parameters": False, "time_limit": time_limit_s}
    machine, chosen = load_machine(MACHINE), OverlapOptions.of(options)
    request = Problem.of(graph, machine, way.size_bytes, chosen)
    return finished(request, layout, way.packed.bound_bytes, [of_point(graph, point)])


def _replayed(made: Plan, most: int) -> bool:
    """Replay a program on symbolic bytes; whether it was short enough. Raises `InvalidPlan`."""
    if next(islice(made.program.instructions, most, None), None) is not None:
        return False
    check(made)
    return True
