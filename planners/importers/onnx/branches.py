"""`If` nodes whose condition is known: the branch that is taken, as nodes around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSet
from pathlib import Path
from typing import Any

import onnx

from planners.core.errors import BadInput
from planners.importers.onnx.file import in_order, label


def branch_nodes(
    node: Any, taken: bool, names: MutableSet[str], path: Path
) -> tuple[dict[str, Any], list[Any]]:
    """The weights of the branch that is taken, by name, and its nodes in an order that can run.

    Each value that has the name of another gets a new one; the last nodes give the values of
    `node`. `names` are those of all values so far, and grow. Raises `BadInput`.
    """
    wanted = "then_branch" if taken else "else_branch"
    graphs = [a.g for a in node.attribute if a.name == wanted]
    if len(graphs) != 1:
        raise BadInput(f"{path}: {label(node)} has no {wanted}")
    (graph,) = graphs
    if len(node.output) > len(graph.output):
        raise BadInput(
            f"{path}: {label(node)} gives {len(node.output)} values, and the branch that is taken "
            f"{len(graph.output)}"
        )
    constants = {tensor.name: tensor for tensor in graph.initializer}
    nodes = in_order(graph, constants, path, outer=names)
    new = {name: fresh_name(name, names) for name in _defined(graph)}
    inside = [renamed(item, new) for item in nodes]
    pairs = zip(graph.output, node.output, strict=False)
    ends = [
        onnx.helper.make_node("Identity", [new.get(value.name, value.name)], [name])
        for value, name in pairs
        if name
    ]
    return {new[name]: tensor for name, tensor in constants.items()}, [*inside, *ends]


def renamed(node: Any, new: Mapping[str, str]) -> Any:
    """A node with the values that it reads and gives under new names, in its branches too."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    _rename(copy.input, new)
    _rename(copy.output, new)
    for attribute in copy.attribute:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            _rename_in(graph, new)
    return copy


def _rename(names: Any, new: Mapping[str, str]) -> None:
    names[:] = [new.get(name, name) for name in names]


def _rename_in(graph: Any, new: Mapping[str, str]) -> None:
    """What a branch reads from around it; names of its own stay."""
    inner_names = set(_defined(graph))
    outer = {name: other for name, other in new.items() if name not in inner_names}
    nodes = [renamed(node, outer) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in graph.output:
        value.name = outer.get(value.name, value.name)


def _defined(graph: Any) -> Iterator[str]:
    """The names that a branch gives to values."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


def fresh_name(name: str, names: MutableSet[str]) -> str:
    """A name like this one that no value has; `names` grow."""
    while name in names:
        name += "'"
    names.add(name)
    return name
