"""Networks for networkx."""

from __future__ import annotations

import networkx as nx
import pytest

import planners as sp


@pytest.mark.parametrize("name", ["squeezenet1_1", "googlenet", "mobilenet_v2", "densenet121"])
def test_every_operator_and_every_read_is_there(name: str) -> None:
    graph = sp.load(name)
    found = graph.to_networkx()
    assert nx.is_directed_acyclic_graph(found)
    ends = len(graph.inputs) + len(graph.outputs)
    assert found.number_of_nodes() == len(graph.operators) + ends
    reads = sum(len(op.inputs) for op in graph.operators)
    assert found.number_of_edges() == reads + len(graph.outputs)
    assert sum(macs for _, macs in found.nodes(data="macs", default=0)) == graph.macs
    weights = {name for _, names in found.nodes(data="parameters", default=()) for name in names}
    assert sum(map(graph.size_bytes, weights)) == graph.parameter_bytes
    for source, target, tensor, facts in found.edges(keys=True, data=True):
        assert facts["size_bytes"] == graph.size_bytes(tensor)
        assert facts["shape"] == graph.tensors[tensor].shape
        if target in graph.index:
            assert tensor in graph.operators[graph.index[target]].inputs
        if source in graph.index:
            assert tensor in graph.operators[graph.index[source]].outputs


def test_the_default_schedule_is_an_order_of_it() -> None:
    found = sp.load("googlenet").to_networkx()
    position = dict(found.nodes(data="position"))
    for source, target in found.edges():
        if position[source] is not None and position[target] is not None:
            assert position[source] < position[target]
