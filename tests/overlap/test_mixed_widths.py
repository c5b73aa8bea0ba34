"""Distances where an operator's input and output have elements of other widths, in bytes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from planners.core.graph import Graph
from planners.overlap.model.distance import distance, order
from tests.overlap.byte_ring import Reads, survives
from tests.overlap.test_distance import linear, random_window

WIDTHS = {"int8": 1, "float16": 2, "float32": 4, "int64": 8}
PAIRS = [(a, b) for a in WIDTHS for b in WIDTHS if a != b]


def verify(graph: Graph, reads: Reads, types: tuple[str, str]) -> None:
    """Right at d; and a byte less than the elements' difference below d, corrupted."""
    retyped = {"x": types[0], "y": types[1]}
    tensors = {n: replace(t, dtype=retyped.get(n, "int8")) for n, t in graph.tensors.items()}
    graph = replace(graph, tensors=tensors, bytes_per_element="native")
    (op,) = graph.operators
    widths = (WIDTHS[types[0]], WIDTHS[types[1]])
    shapes = (graph.tensors["x"].shape, graph.tensors["y"].shape)
    kernel = order(graph, op)
    found = distance(graph, op, "x")
    d = graph.size_bytes("y") if found is None else found
    assert survives(reads, shapes, d, kernel, widths=widths)
    slack = max(0, widths[1] - widths[0])
    if found is not None and d > slack:
        assert not survives(reads, shapes, d - slack - 1, kernel, widths=widths)


@pytest.mark.parametrize("kind", ["conv", "depthwise", "pool"])
def test_windows_are_right_to_the_byte(kind: str) -> None:
    rng = random.Random(kind)
    for number in range(48):
        verify(*random_window(rng, kind), PAIRS[number % len(PAIRS)])


def test_products_are_right_to_the_byte() -> None:
    rng = random.Random(3)
    for pair in PAIRS:
        sizes = [rng.randint(1, 5) for _ in range(3)]
        verify(*linear(*sizes), pair)
