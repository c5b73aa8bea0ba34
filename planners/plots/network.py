"""A network as it runs: operators from left to right, tensors between them."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import networkx as nx

from planners.core.colours import family_of
from planners.core.graph import Graph, assert_graph
from planners.plots.style import HEIGHT, WIDTH, dressed, tips


def graph(network: Graph) -> hv.Graph:
    """The operators of a network as nodes, coloured by family, and its tensors as edges.

    An operator stands as far right as the longest way to it has operators. Columns of the nodes:
    operator, kind, family, MACs, module; of the edges: tensor and bytes.
    """
    assert_graph(network)
    drawn = network.to_networkx()
    place = {
        node: (level, side - (len(nodes) - 1) / 2)
        for level, nodes in enumerate(nx.topological_generations(drawn))
        for side, node in enumerate(nodes)
    }
    number = {node: k for k, node in enumerate(place)}
    rows = [(*place[node], k, *_words(node, drawn.nodes[node])) for node, k in number.items()]
    nodes = hv.Nodes(
        rows,
        kdims=["x", "y", "index"],
        vdims=["operator", "kind", "family", "macs", "module", "colour"],
    )
    edges = [
        (number[a], number[b], tensor, facts["size_bytes"])
        for a, b, tensor, facts in drawn.edges(keys=True, data=True)
    ]
    view = hv.Graph((edges, nodes), vdims=["tensor", "size_bytes"], label=network.name)
    return dressed(
        view,
        node_color="colour",
        node_size=8,
        edge_line_width=0.8,
        width=WIDTH,
        height=HEIGHT,
        xaxis=None,
        yaxis=None,
        tools=["hover"],
        hover_tooltips=tips(
            ("operator", "operator"), ("kind", "kind"), ("MACs", "macs"), ("module", "module")
        ),
    )


def _words(node: Any, facts: dict[str, Any]) -> tuple[Any, ...]:
    name = node if isinstance(node, str) else node[1]
    family, colour = family_of(facts["kind"])
    macs, module = facts.get("macs", 0), facts.get("block", "")
    return name, facts["kind"], family, macs, module, colour
