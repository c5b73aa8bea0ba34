"""Graphs within the graph of a program as plain calls: regions under a setting, and fixed loops.

A region runs with autocast off, or gradients on or off. `map` and `scan` run their body once a row,
as often as there are rows: each round is written out, and the rows that it gives are stacked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from planners.core.errors import ImportFailed
from planners.importers.torch.open_sizes import with_numbers

MOST_CALLS = 2**14
"""Calls of a loop when it is written out."""

_REGIONS = {"wrap_with_autocast": 4, "wrap_with_set_grad_enabled": 1}
"""The calls of a region, and how many settings stand before its graph among the arguments."""
_LOOPS = {"map_impl", "scan"}
_BRANCHES = {"cond", "while_loop"}
_INSTEAD = {
    "flex_attention": "use torch.nn.functional.scaled_dot_product_attention",
    "associative_scan": "use torch's scan, or cumsum",
}


def without_regions(program: Any, label: str, symbols: Mapping[str, int]) -> Any:
    """A program's graph with the calls of its regions and loops in their places.

    The program stays as it was; `symbols` are the numbers of those in its sizes. Raises
    `ImportFailed` for a region that changes the types of its values, and for other graphs within.
    """
    if not any(map(_has_graph, program.graph.nodes)):
        return program.graph
    graph = torch.fx.Graph()
    graph.output(_copy_into(graph, program.graph, {}, program.graph_module))
    graph.output_node().meta = dict(program.graph.output_node().meta)
    while holders := [node for node in graph.nodes if _has_graph(node)]:
        for node in holders:
            name = node.target.__name__
            if name in _REGIONS:
                _inline(graph, node, label)
            elif name in _LOOPS:
                _unroll(graph, node, label, symbols)
            else:
                raise ImportFailed(f"{label}: {_refused(name)}")
    return graph


def _has_graph(node: Any) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def higher_order(name: str, label: str) -> Any:
    """A call that holds graphs, by its name. Raises `ImportFailed` where it is not read."""
    if name not in _LOOPS and name not in _REGIONS:
        raise ImportFailed(f"{label}: {_refused(name)}")
    return getattr(torch.ops.higher_order, name)


def _refused(name: str) -> str:
    if name in _BRANCHES:
        return (
            f"control flow that depends on data (torch.{name}) has no fixed schedule: write the "
            "calls that run without it"
        )
    return f"{name} is not read" + (f": {_INSTEAD[name]}" if name in _INSTEAD else "")


def _copy_into(graph: torch.fx.Graph, inner: Any, copies: dict[Any, Any], module: Any) -> Any:
    """Copy calls into a graph, and note the graphs that they hold; what they return."""
    returned = graph.graph_copy(inner, copies)
    for old, new in copies.items():
        if old.op == "get_attr":
            new.meta["module"] = getattr(module, old.target)
    return returned


def _body(node: Any, operands: Sequence[Any]) -> tuple[Any, dict[Any, Any]]:
    """The module of an inner graph, and what its placeholders stand for."""
    module = node.meta["module"]
    places = [one for one in module.graph.nodes if one.op == "placeholder"]
    return module, dict(zip(places, operands, strict=True))


def _inline(graph: torch.fx.Graph, node: Any, label: str) -> None:
    count = _REGIONS[node.target.__name__]
    settings, inner, operands = node.args[:count], node.args[count], node.args[count + 1 :]
    if count > 1 and settings[2]:
        raise ImportFailed(
            f"{label}: {node.name} runs under autocast to {settings[1]}: import it without, or "
            "give it the type that it is to have"
        )
    module, inputs = _body(inner, operands)
    with graph.inserting_before(node):
        returned = _copy_into(graph, module.graph, inputs, module)
    _replace(graph, node, inner, [(torch.ops.aten.alias.default, (one,)) for one in returned])


def _unroll(graph: torch.fx.Graph, node: Any, label: str, symbols: Mapping[str, int]) -> None:
    """Write out a loop: each round reads what the one before carries, and its own rows."""
    inner, *operands = node.args
    carried, rows, others = operands if node.target.__name__ == "scan" else ((), *operands)
    values = [with_numbers(row.meta["val"], symbols) for row in rows]
    rounds = values[0].shape[0] if values else 0
    calls = len(inner.meta["module"].graph.nodes)
    if not isinstance(rounds, int) or rounds * calls > MOST_CALLS:
        raise ImportFailed(
            f"{label}: {node.name} is a loop of {rounds} rounds of {calls} calls; {MOST_CALLS} "
            "calls are the most"
        )
    copies: list[Any] = []
    count = len(carried)
    with graph.inserting_before(node):
        for index in range(rounds):
            parts = [_row(graph, *one, index) for one in zip(rows, values, strict=True)]
            module, inputs = _body(inner, (*carried, *parts, *others))
            returned = _copy_into(graph, module.graph, inputs, module)
            carried = returned[:count]
            copies.append(returned[count:])
    last = [(torch.ops.aten.alias.default, (one,)) for one in carried]
    stacked = [(torch.ops.aten.stack.default, (list(one),)) for one in zip(*copies, strict=True)]
    _replace(graph, node, inner, [*last, *stacked])


def _row(graph: torch.fx.Graph, node: Any, value: torch.Tensor, index: int) -> torch.fx.Node:
    part = graph.call_function(torch.ops.aten.select.int, (node, 0, index))
    shape, strides = value.shape[1:], value.stride()[1:]
    part.meta["val"] = torch.empty_strided(shape, strides, dtype=value.dtype, device="meta")
    return part


def _replace(graph: torch.fx.Graph, node: Any, inner: Any, calls: Sequence[Any]) -> None:
    """Put calls in the places of what is picked out of a call's values."""
    for user in list(node.users):
        with graph.inserting_before(user):
            same = graph.call_function(*calls[user.args[1]])
        same.meta = dict(user.meta)
        user.replace_all_uses_with(same)
        graph.erase_node(user)
        same.name = user.name  # what is returned is known by it
    graph.erase_node(node)
    if not inner.users:
        graph.erase_node(inner)
