"""Regions of a program that run under a setting, as plain calls: autocast off, gradients on or off.

The exporter keeps such a region as a graph within the graph.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

from planners.core.errors import ImportFailed

_REGIONS = {"wrap_with_autocast": 4, "wrap_with_set_grad_enabled": 1}
"""The calls of a region, and how many settings stand before its graph among the arguments."""


def without_regions(program: Any, label: str) -> Any:
    """A program's graph with the calls of its regions in their places; it stays as it was.

    Raises `ImportFailed` for a region that changes the types of its values.
    """
    if not any(_settings(node) for node in program.graph.nodes):
        return program.graph
    module = copy.copy(program.graph_module)
    graph = torch.fx.Graph()
    returned = graph.graph_copy(program.graph, {})
    graph.output(returned)
    graph.output_node().meta = dict(program.graph.output_node().meta)
    while regions := [node for node in graph.nodes if _settings(node)]:
        for node in regions:
            _inline(graph, module, node, label)
    return graph


def _settings(node: Any) -> int:
    if node.op != "call_function":
        return 0
    return _REGIONS.get(getattr(node.target, "__name__", ""), 0)


def _inline(graph: torch.fx.Graph, module: Any, node: Any, label: str) -> None:
    count = _settings(node)
    settings, inner, operands = node.args[:count], node.args[count], node.args[count + 1 :]
    if count > 1 and settings[2]:
        raise ImportFailed(
            f"{label}: {node.name} runs under autocast to {settings[1]}: import it without, or "
            "give it the type that it is to have"
        )
    body: torch.fx.Graph = getattr(module, inner.target).graph
    places = [one for one in body.nodes if one.op == "placeholder"]
    known = dict(zip(places, operands, strict=True))
    with graph.inserting_before(node):
        returned: Any = graph.graph_copy(body, known)
    for user in list(node.users):
        with graph.inserting_before(user):
            same = graph.call_function(torch.ops.aten.alias.default, (returned[user.args[1]],))
        same.meta = dict(user.meta)
        user.replace_all_uses_with(same)
        graph.erase_node(user)
        same.name = user.name  # what is returned is known by it
    graph.erase_node(node)
    if not inner.users:
        graph.erase_node(inner)
