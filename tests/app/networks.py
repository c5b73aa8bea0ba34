"""Beginnings of networks: all that a page tells of a plan, of a few operators."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import planners as sp


@cache
def beginning(name: str, last: str, side: int = 32, **settings: Any) -> sp.Graph:
    """A network of the catalogue for small images, up to the operator `last`."""
    graph = sp.load(name, input_shape=[[1, 3, side, side]], **settings)
    count = [op.name for op in graph.operators].index(last) + 1
    kept = graph.operators[:count]
    read = {name for op in kept for name in op.inputs}
    made = [name for op in kept for name in op.outputs]
    ends = tuple(name for name in made if name not in read)
    names = {*graph.inputs, *read, *made, *(name for op in kept for name in op.parameters)}
    tensors = {name: tensor for name, tensor in graph.tensors.items() if name in names}
    return replace(graph, tensors=tensors, operators=kept, outputs=ends, source={})
