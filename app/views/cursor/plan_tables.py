"""What the browser needs to know of a plan in order to select in it without its server."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.kinds.stream_map import WEIGHTS
from app.views.memory.address_map import is_parameter


def plan_tables(shown: DisplayedPlan) -> dict[str, Any]:
    """The graph, what runs together, and where kernels wait, as plain data for `select.js`."""
    return {
        "graph": graph_json(shown),
        "together": together(shown),
        "waits": [{"key": key, "step": step} for key, step in kind_of(shown).waits(shown)],
        "weights": WEIGHTS,
    }


def graph_json(shown: DisplayedPlan) -> dict[str, Any]:
    """The names of operators and tensors, and what is read and written as positions among them;
    `first` is the step that first runs an operator, or -1."""
    graph = shown.graph
    tensors = {name: i for i, name in enumerate(graph.tensors)}
    firsts = first_steps(shown)
    return {
        "tensors": list(tensors),
        "is_parameter": [int(is_parameter(shown, name)) for name in tensors],
        "operators": [op.name for op in graph.operators],
        "reads": [[tensors[name] for name in op.inputs] for op in graph.operators],
        "writes": [[tensors[name] for name in op.outputs] for op in graph.operators],
        "parameters": [[tensors[name] for name in op.parameters] for op in graph.operators],
        "first": [firsts.get(op.name, -1) for op in graph.operators],
    }


def together(shown: DisplayedPlan) -> list[dict[str, Any]]:
    """What runs together: operators and first step; for runs in a pool also their height."""
    index = shown.graph.index
    return [
        {
            "key": part.selection,
            "operators": [index[name] for name in part.operators],
            "step": part.step,
            **({} if part.extent_bytes is None else {"extent": part.extent_bytes}),
        }
        for part in kind_of(shown).together(shown)
    ]


def first_steps(shown: DisplayedPlan) -> dict[str, int]:
    """The first step that runs each operator."""
    firsts: dict[str, int] = {}
    for step, names in enumerate(shown.ran):
        for name in names:
            firsts.setdefault(name, step)
    return firsts
