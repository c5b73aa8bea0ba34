"""A problem as a Python script that plans it anew and prints what the explorer's cards say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import planners as sp
from app.links.url import UPLOADED
from app.model.machines import numbers_in
from app.model.options import options, weights_in
from app.model.sizes import plain_shape
from app.model.state import ProblemFields
from planners.core.machine import changed_numbers, preset_name

OF_THE_RUN = ("parameters", "weights", "time_limit")
"""Options that a script names separately from the planner's own."""
WIDTH = 88
PRINTED = """report = sp.check(plan)  # raises InvalidPlan unless every byte is right
trace = sp.simulate(plan)
print(f"{plan.claims.status}, gap {plan.gap:.1%}")
print(f"{report.traffic_bytes:,} bytes of traffic, {report.noncompulsory_bytes:,} of them spills")
print(f"{report.peak_bytes:,} bytes at the peak, below address {report.extent_bytes:,}")
print(f"{trace.makespan_s:.6g} s, {trace.energy_j:.6g} J")
"""


def as_python(problem: ProblemFields, file: str = "") -> str:
    """A script that plans, checks and simulates a problem; `file` is what an upload was called."""
    p = problem
    chosen = {
        "planner": p.planner,
        "budget": p.budget,
        "machine": p.machine if not p.machine_fields else _Name("machine"),
        "weights": p.weights,
        "time_limit": p.time_limit,
        **options(p),
    }
    about, lines = _graph_lines(p, file)
    if p.machine_fields:
        lines.append(_machine_line(p.machine, numbers_in(p.machine, p.machine_fields)))
    return _script(about, lines, chosen)


def plan_as_python(plan: sp.Plan, file: str = "plan.json") -> str:
    """The same of a plan, with every option that its planner had.

    Graph and machine come from the catalogue and the presets, or else from `file`, the plan.
    """
    graph, source = plan.graph, plan.graph.source
    name, shapes = source.get("catalogue"), source.get("input_shape")
    chosen: dict[str, Any] = {"planner": plan.planner, "budget": plan.budget_bytes}
    chosen |= {"machine": preset_name(plan.machine), "weights": weights_in(plan)}
    changed = changed_numbers(plan.machine)
    known_machine = changed is not None
    known_graph = isinstance(name, str) and shapes is not None and not graph.is_timed
    about, lines = "", []
    if not (known_machine and known_graph):
        about = f"# Expects {file}, the plan, in the folder where this is run."
        lines.append(f"kept = sp.Plan.load({file!r})")
    if known_graph:
        settings = {"granularity": graph.granularity, "input_shape": _lists(shapes)}
        settings |= {name: source[name] for name in ("fold_padding",) if name in source}
        lines.append(_call("graph = sp.load", [repr(name)], settings | _width(graph)))
    else:
        lines.append("graph = kept.graph")
    if changed is None:
        chosen["machine"] = _Name("kept.machine")
    elif changed:
        lines.append(_machine_line(preset_name(plan.machine), changed))
        chosen["machine"] = _Name("machine")
    if (limit := plan.options.get("time_limit")) is not None:
        chosen["time_limit"] = limit
    own_options = {k: v for k, v in plan.options.items() if k not in OF_THE_RUN}
    return _script(about, lines, chosen | own_options)


class _Name(str):
    """A word of the script, not a text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _script(about: str, graph: Sequence[str], chosen: Mapping[str, Any]) -> str:
    head = [*([about, ""] if about else []), "import planners as sp", ""]
    arguments = "".join(f"    {name}={value!r},\n" for name, value in chosen.items())
    call = f"plan = sp.plan(\n    graph,\n{arguments})\n"
    return "\n".join([*head, *graph, ""]) + call + PRINTED


def _machine_line(preset: str, numbers: Mapping[str, float]) -> str:
    """A preset with other numbers."""
    items = "".join(f"    {name!r}: {value!r},\n" for name, value in numbers.items())
    return f"machine = sp.with_numbers({preset!r}, {{\n{items}}})"


def _graph_lines(problem: ProblemFields, file: str) -> tuple[str, list[str]]:
    """What the script expects, and how it comes by its graph."""
    p, width = problem, {"bytes_per_element": problem.bytes_per_element}
    shape = plain_shape(p.input_shape)
    how: dict[str, Any] = {"granularity": p.granularity}
    if not p.model.endswith(UPLOADED):
        name = repr(p.model)
        if isinstance(shape, int):
            own_shape = _call("own = sp.load", [name], {}) + '.source["input_shape"]'
            batch = f"batch = [[{shape}, *rest] for _, *rest in own]"
            how["input_shape"] = _Name("batch")
            return "", [own_shape, batch, _call("graph = sp.load", [name], how | width)]
        how |= {"input_shape": shape} if shape is not None else {}
        return "", [_call("graph = sp.load", [name], how | width)]
    file = PurePath(file or f"{p.model.removesuffix(UPLOADED)}.json").name
    about = f"# Expects {' '.join(file.split())}, the file that was uploaded, where this is run."
    ending = PurePath(file).suffix.lower()
    if ending in (".json", ".html", ".htm"):
        plan = ending != ".json"
        read = f"sp.Plan.load({file!r}).graph" if plan else f"sp.Graph.load({file!r})"
        return about, [f"graph = {read}.with_bytes_per_element({p.bytes_per_element!r})"]
    if isinstance(shape, (list, dict)):
        how["input_shape"] = shape
    return about, [_call("graph = sp.load", [repr(file)], how | width)]


def _call(function: str, arguments: list[str], named: Mapping[str, Any]) -> str:
    """A call on one line, or with an argument a line where that is too long."""
    items = [*arguments, *(f"{name}={value!r}" for name, value in named.items())]
    line = f"{function}({', '.join(items)})"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{function}(", *(f"    {item}," for item in items), ")"])


def _width(graph: sp.Graph) -> dict[str, Any]:
    return {"bytes_per_element": graph.bytes_per_element}


def _lists(shapes: Any) -> list[list[int]]:
    return [[int(size) for size in shape] for shape in shapes]
