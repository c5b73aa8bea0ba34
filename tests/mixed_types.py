"""Graphs whose tensors have types of several widths."""

from __future__ import annotations

import random
from dataclasses import replace

from planners.core.graph import Graph

WHOLE_BYTES = ("bool", "int8", "float16", "int16", "float32", "int64", "float8_e4m3fn")
BELOW_A_BYTE = ("int4", "uint2")


def mixed(graph: Graph, seed: int, below_a_byte: str = "") -> Graph:
    """The graph with a type drawn for each tensor, counted as it is.

    `below_a_byte`: the kinds of tensors that may be of 2 or 4 bits an element.
    """
    rng = random.Random(seed)
    few = rng.sample(WHOLE_BYTES, 3)  # So that int8 meets int8, too.

    def drawn(kind: str) -> str:
        small = below_a_byte == "all" or kind == below_a_byte
        return rng.choice(BELOW_A_BYTE if small and rng.random() < 0.5 else few)

    tensors = {name: replace(t, dtype=drawn(t.kind)) for name, t in graph.tensors.items()}
    return replace(graph, tensors=tensors, bytes_per_element="native")
