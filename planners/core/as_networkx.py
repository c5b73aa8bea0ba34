"""A network for networkx: operators as nodes, tensors as the edges between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

INPUT, OUTPUT = "input", "output"


def as_networkx(graph: Any) -> nx.MultiDiGraph[Any]:
    """Operators, inputs and outputs of a `Graph` as nodes, an edge for each reader of a tensor.

    Operators go by their name and have `kind`, `macs`, `block`, `parameters` (names),
    `parameter_bytes` and `position` in the default schedule. What the network reads and what it
    gives are nodes `("input", tensor)` and `("output", tensor)` of these kinds. An edge's key is
    the tensor; it has `shape` in elements, `dtype` and `size_bytes`. Parameters are no edges.
    """
    import networkx as nx

    network: nx.MultiDiGraph[Any] = nx.MultiDiGraph(
        name=graph.name, bytes_per_element=graph.bytes_per_element
    )
    for position, op in enumerate(graph.operators):
        network.add_node(op.name, position=position, **_facts(graph, op))
    producer = {tensor: op.name for op in graph.operators for tensor in op.outputs}
    for tensor in graph.inputs:
        network.add_node((INPUT, tensor), kind=INPUT)
    for op in graph.operators:
        for tensor in op.inputs:
            source = producer.get(tensor, (INPUT, tensor))
            network.add_edge(source, op.name, key=tensor, **_edge(graph, tensor))
    for tensor in graph.outputs:
        network.add_node((OUTPUT, tensor), kind=OUTPUT)
        source = producer.get(tensor, (INPUT, tensor))
        network.add_edge(source, (OUTPUT, tensor), key=tensor, **_edge(graph, tensor))
    return network


def _facts(graph: Any, op: Any) -> dict[str, Any]:
    weights = sum(map(graph.size_bytes, op.parameters))
    facts = {"kind": op.kind, "macs": op.macs, "block": op.block}
    return {**facts, "parameters": op.parameters, "parameter_bytes": weights}


def _edge(graph: Any, name: str) -> dict[str, Any]:
    tensor = graph.tensors[name]
    return {"shape": tensor.shape, "dtype": tensor.dtype, "size_bytes": graph.size_bytes(name)}
