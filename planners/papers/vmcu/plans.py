"""Our own figures: programs of the overlap planner that `check` replayed, and what they cost.

Latency and energy (Figure 8, Table 3) are of a model of the boards (`planners.overlap.cost.mcu`),
which counts MACs, bytes and modulo operations: shares can be compared, milliseconds cannot, as it
leaves out what instructions cost besides.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

from planners.allocation.overlapping.exact import pack_overlapping
from planners.catalogue import load
from planners.catalogue.vmcu import POINTWISE, PREFIX
from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.plan import Plan
from planners.core.problem import Problem
from planners.core.progress import Clock
from planners.core.records import plain
from planners.overlap.cost.mcu import McuCost, cost
from planners.overlap.cost.work import KernelStyle, tinyengine_work, work
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, alone, line
from planners.overlap.options import SEGMENTS, OverlapOptions
from planners.overlap.place.packing import packing_of
from planners.overlap.place.padding import placed_anew
from planners.overlap.planner import finished, of_point, plan, tractable_distances
from planners.overlap.search.chain import ChainWay, turned
from planners.overlap.search.front import FrontPoint
from planners.papers.report import Row
from planners.papers.vmcu.paper import TABLE_3
from planners.simulator.claims import check


def ways(graph: Graph) -> dict[str, ChainWay]:
    """A block's way of least RAM in each form that it can run in; `plain`: operators alone."""
    best: dict[str, ChainWay] = {}
    for form, runs in _forms(graph):
        packed = pack_overlapping(packing_of(graph, runs, graph.outputs))
        assert packed is not None  # without a limit there is always one
        extra = sum(run.extra_macs for run in runs)
        way = ChainWay(0, len(graph.operators), tuple(runs), packed, extra)
        if form not in best or way.size_bytes < best[form].size_bytes:
            best[form] = way
    return best


def _forms(graph: Graph) -> Iterator[tuple[str, Sequence[RunCandidate]]]:
    positions = range(len(graph.operators))
    yield "plain", [alone(graph, position) for position in positions]
    if (run := line(graph, positions)) is not None and len(positions) > 1:
        yield "line", [run]
        for candidate in recomputing(graph, positions):
            yield candidate.form, [candidate]


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
    planned = plan(graph, load_machine(MACHINE), 2**40, {"time_limit": time_limit_s}, None)
    seconds = time.perf_counter() - began
    assert planned.claims.objective_bytes is not None
    return {
        "ram": planned.claims.objective_bytes,
        "proven": planned.claims.status == "optimal",
        "front": plain(planned.details.pool)["front"],
        "checked": _replayed(planned, MOST_OF_NETWORK),
        "seconds": seconds,
    }


def _program(graph: Graph, way: ChainWay, time_limit_s: float) -> Plan:
    """The plan that has this way only."""
    point = FrontPoint(way.size_bytes, way.extra_macs, (way,))
    layout = turned(graph, [way], way.size_bytes)
    options = {"objective": "ram", "parameters": False, "time_limit": time_limit_s}
    machine, chosen = load_machine(MACHINE), OverlapOptions.from_values(options)
    request = Problem.start(graph, machine, way.size_bytes, chosen)
    return finished(request, layout, way.packed.bound_bytes, [of_point(graph, point)])


def _replayed(plan: Plan, most: int) -> bool:
    """Replay a program on symbolic bytes; whether it was short enough. Raises `InvalidPlan`."""
    if next(islice(plan.program.instructions, most, None), None) is not None:
        return False
    check(plan)
    return True


LAYERS_ON, MODULES_ON = "stm32f767", "stm32f411"
"""The boards of Figure 8 and of Figure 9."""


def layer_cost_row(name: str) -> Row:
    """Shares of latency and energy that a pointwise layer saves against TinyEngine's kernel."""
    costs = _costs(PREFIX + name, LAYERS_ON)
    theirs, ours = costs["TinyEngine"], costs["plain"]
    return {
        "layer": name,
        "stated": POINTWISE[name].stated,
        "latency saved": 1 - ours.latency_s / theirs.latency_s,
        "energy saved": 1 - ours.energy_j / theirs.energy_j,
    }


def module_cost_row(name: str) -> Row:
    """Milliseconds of a module by form, and the paper's, which were measured."""
    costs = _costs(PREFIX + name, MODULES_ON)
    stated = dict(zip(("vMCU", "TinyEngine"), TABLE_3[name], strict=True))
    return {
        "module": name,
        "paper": stated,
        "ms": {form: 1000 * each.latency_s for form, each in costs.items()},
        "mj": {form: 1000 * each.energy_j for form, each in costs.items()},
    }


def _costs(name: str, board: str) -> dict[str, McuCost]:
    graph, machine = load(name), load_machine(board)
    costs = {"TinyEngine": cost(tinyengine_work(graph), machine)}
    for form, way in ways(graph).items():
        costs[form] = cost(work(graph, turned(graph, [way], way.size_bytes)), machine)
    return costs


BYTE = "byte"
"""Segments of one byte: the RAM of whole pixels, which lie at any byte too."""
RULES = (*SEGMENTS, BYTE)


def segment_row(name: str) -> dict[str, Any]:
    """A layer or module in the form of least RAM without repeated work: bytes and modulos."""
    graph = load(PREFIX + name)
    least = min((w for w in ways(graph).values() if not w.extra_macs), key=lambda w: w.size_bytes)
    plain = turned(graph, (least,), least.size_bytes)
    row: dict[str, Any] = {"name": name}
    for rule in RULES:
        layout = placed_anew(graph, plain, rule, Clock(60), tractable_distances(graph))
        row[rule] = {
            "bytes": layout.pool_bytes,
            "modulos": work(graph, layout).modulos,
            "padded": dict(layout.pitches),
        }
    finest = work(graph, plain, KernelStyle(segment_bytes=1)).modulos
    return row | {BYTE: {"bytes": plain.pool_bytes, "modulos": finest, "padded": {}}}
