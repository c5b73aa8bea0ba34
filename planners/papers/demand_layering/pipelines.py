"""Table II and Figures 12 and 16: the seven pipelines as programs, replayed, with their energy."""

from __future__ import annotations

from dataclasses import replace
from math import isclose

from planners.api import simulate
from planners.core.machine import load_machine
from planners.core.plan import Plan, streamed_of
from planners.core.program import Load, Program
from planners.papers.demand_layering.paper import PIPELINES, TABLE_2
from planners.papers.demand_layering.sections import section_graph
from planners.papers.table import Row
from planners.simulator.claimed import check
from planners.simulator.moved import energy
from planners.streaming import plan
from planners.streaming.model.layers import units_of
from planners.streaming.model.times import NAME, Xavier
from planners.streaming.schedule.pipelines import fixed

BOARD_BYTES = 2**34
"""The board's memory: what no plan here is bound by."""
BASELINE_W = 10.0
"""Assumed: what the board draws whatever it does. The paper prints no watts."""


def pipelines_row(name: str) -> Row:
    """One network in all pipelines: memory of the rings, delay, joules, and the paper's percent."""
    graph, machine = section_graph(name), load_machine(NAME)
    made = {
        key: plan(graph, machine, BOARD_BYTES, {"pipeline": key}) for key in ("pre", *PIPELINES)
    }
    rows = {key: _pipeline(each) for key, each in made.items()}
    pre = rows["pre"]
    for row in rows.values():
        row["saved"] = 100 * (1 - row["memory_bytes"] / pre["memory_bytes"])
        row["added"] = 100 * (row["delay_s"] / pre["delay_s"] - 1)
    for key, (saved, added) in zip(PIPELINES, TABLE_2[name], strict=True):
        rows[key] |= {"paper_saved": saved, "paper_added": added}
    alone = fixed("sync", Xavier(graph).of(units_of(graph), 3, overlapped=False)).delay_s
    return {
        "network": name,
        "pipelines": rows,
        "sync_alone": 100 * (alone / pre["delay_s"] - 1),
    }


def _pipeline(found: Plan) -> Row:
    """Memory and delay of a plan, and whether its program, replayed, has them.

    Raises `InvalidPlan` where the program is wrong.
    """
    streamed = streamed_of(found)
    check(found)
    ends = simulate(found).makespan_s
    joules = energy(_without_preload(found), found.machine)
    return {
        "memory_bytes": sum(streamed.rings.values()),
        "delay_s": streamed.delay_s,
        "kernel_s": streamed.kernel_s,
        "replayed": isclose(ends, streamed.delay_s + streamed.preload_s, rel_tol=1e-9),
        "energy": dict(joules) | {"baseline": BASELINE_W * streamed.delay_s},
    }


def _without_preload(found: Plan) -> Program:
    """What one inference does: preloaded parameters are read before."""
    program = found.program
    if streamed_of(found).pipeline != "pre":
        return program
    kinds = {name: tensor.kind for name, tensor in found.graph.tensors.items()}
    kept = [
        item
        for item in program.instructions
        if not (isinstance(item, Load) and kinds[item.piece.tensor] == "parameter")
    ]
    return replace(program, instructions=tuple(kept))
