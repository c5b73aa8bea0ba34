"""The paper's ILP of a planning problem as a file, for any solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.progress import Clock, ProgressCallback
from planners.cosma.ilp.model import build
from planners.cosma.ilp.solve import write_lp, write_mps
from planners.cosma.ilp.variables import Ilp, Kind
from planners.cosma.model.constraints import KNOWN, WishedStays, reordered, require_counted
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.options import CosmaOptions
from planners.cosma.order.peak import PEAK_WORK, minimum_peak
from planners.wishes.conflicts import require_consistent
from planners.wishes.language import parse, require_known


def export_ilp(
    graph: Graph,
    budget_bytes: int,
    options: Mapping[str, Any],
    lp: str | Path | None = None,
    mps: str | Path | None = None,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Write the equations as they stand as LP, as free MPS or as both, and say what they are.

    The planner's options choose them: (1)–(12) for `schedule=joint`, (16)–(17) for `default` and
    `mpmf`, (13)–(15) for `objective=peak` with any order. Raises `BudgetTooSmall`, `BadInput`,
    and `Cancelled` where `progress` asks to stop.
    """
    chosen = CosmaOptions.from_values({**options, "method": "ilp"})
    clock = Clock(chosen.time_limit, progress)
    ilp = _model(graph, budget_bytes, chosen, clock)
    facts: dict[str, Any] = {
        "model": graph.name,
        "kind": ilp.kind,
        "budget_bytes": budget_bytes,
        "variables": len(ilp.lp.variables()),
        "constraints": len(ilp.lp.constraints()),
        "unit_bytes": ilp.unit,
    }
    for name, path, write in (("lp", lp, write_lp), ("mps", mps, write_mps)):
        if path is not None:
            write(ilp, path)
            facts[name] = str(path)
    return facts


def _model(graph: Graph, budget_bytes: int, chosen: CosmaOptions, clock: Clock) -> Ilp:
    schedule, parameters = chosen.schedule, chosen.parameters
    kind: Kind = "full" if schedule == "joint" else "fixed"
    wishes = parse(chosen.wishes, graph)
    require_known(wishes, KNOWN, "cosma")
    require_counted(wishes, graph, parameters)
    require_consistent(wishes, graph, budget_bytes)
    wished = WishedStays.from_wishes(wishes)
    graph, order = reordered(graph, wished.before), tuple(range(len(graph.operators)))
    problem = ScheduleProblem(graph, order, parameters, budget_bytes, chosen.paper_strict, wished)
    if chosen.objective == "peak":
        if schedule == "default":
            raise BadInput("the peak of the default schedule needs no ILP: use --schedule mpmf")
        kind = "mpmf"
    elif schedule == "mpmf":
        part = clock.work(PEAK_WORK)
        peak = minimum_peak(graph, parameters, clock=part, before=wished.before)
        problem = replace(problem, schedule=peak.schedule)

    def stop() -> bool:
        clock.report("writing the ILP")
        return clock.stopped

    return build(problem, kind, paper_strict=problem.paper_strict, should_stop=stop)
