"""Single layers over their own dying input, in a pool of just the planned bytes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from planners.backends.int8.random_net import random_net
from tests.backends.int8.int8_layers import LAYERS, layer, overlapped
from tests.backends.int8_pool.execute import execute_int8

SEEDS = range(40)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_at_its_distance_is_exact(kind: str) -> None:
    for seed in SEEDS:
        rng = random.Random(f"{kind}{seed}")
        graph = layer(rng, kind)
        net = random_net(graph, seed)
        for tensor in graph.operators[0].inputs:
            layout, d = overlapped(graph, tensor, rng)
            done = execute_int8(layout, net, seed=seed)
            assert done.bit_exact, (seed, tensor, d)
            assert done.pool_bytes == layout.pool_bytes


@pytest.mark.parametrize("kind", ["pointwise", "conv", "depthwise", "max_pool2d", "linear"])
def test_one_byte_nearer_most_layers_are_wrong(kind: str) -> None:
    # Some bytes that are lost would have changed nothing: a weight is zero, another is larger.
    right = wrong = 0
    for seed in range(60):
        rng = random.Random(f"{kind}{seed}")
        graph = layer(rng, kind)
        layout, d = overlapped(graph, "x", rng, less=1)
        if d >= 0:
            exact = execute_int8(layout, random_net(graph, seed), seed=seed).bit_exact
            right, wrong = right + exact, wrong + (not exact)
    assert wrong > 3 * right


def test_a_pixel_is_written_channel_after_channel() -> None:
    # Pointwise 2 → 2 in place: the second channel must see the first one's output.
    rng = random.Random(4)
    graph = layer(random.Random("pointwise0"), "pointwise")
    while graph.tensors["x"].shape != graph.tensors["y"].shape or graph.tensors["x"].shape[1] < 2:
        graph = layer(rng, "pointwise")
    net = random_net(graph, 0)
    layout, d = overlapped(graph, "x", rng)
    assert d == graph.tensors["x"].shape[1] - 1
    wrong, _ = overlapped(graph, "x", rng, less=d)
    assert execute_int8(layout, net).bit_exact
    done = execute_int8(wrong, net)
    first = {name: value[..., 0] for name, value in done.outputs.items()}
    assert np.array_equal(first["y"], done.reference["y"][..., 0])
    assert not done.bit_exact
