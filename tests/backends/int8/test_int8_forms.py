"""Bottlenecks in every form, in pools of just their tensors and buffers."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

import planners as sp
from planners.backends.int8.random_net import random_net
from planners.backends.int8.reference import random_inputs
from planners.core.details.pool import Form, KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.records import plain, read
from tests.backends.int8.int8_layers import block_distance, bottleneck, fused, layer
from tests.backends.int8_pool.execute import execute_int8
from tests.backends.int8_pool.run import run_layout
from tests.backends.int8_pool.runner import PoolRunner
from tests.cases import cases
from tests.importers.few_blocks import few_blocks

FORMS: tuple[Form, ...] = ("line", "window", "columns", "tile")


def case(form: Form, seed: int) -> tuple[Graph, PoolLayout]:
    rng = random.Random(f"{form}{seed}")
    expands, residual = rng.random() < 0.8, rng.random() < 0.5
    graph = bottleneck(rng, expands=expands, residual=residual)
    # With line buffers A is read once ahead of its output, and once more just under it.
    d = 0 if form == "line" and expands and residual else block_distance(graph)
    return graph, fused(graph, form, rng, d, rng.randint(1, 5))


@pytest.mark.parametrize("form", FORMS)
def test_a_bottleneck_is_exact(form: Form) -> None:
    for seed in range(cases(20, 60)):
        graph, layout = case(form, seed)
        layout = read(PoolLayout, plain(layout), "layout")
        assert execute_int8(layout, random_net(graph, seed), seed=seed).bit_exact, seed


@pytest.mark.parametrize("form", FORMS)
def test_buffers_that_are_too_small_or_lie_on_others_spoil_the_output(form: Form) -> None:
    wrong = tried = 0
    for seed in range(cases(15, 30)):
        graph, layout = case(form, seed)
        (run,) = layout.runs
        for i, buffer in enumerate(run.buffers):
            if form == "line" and buffer.pixels > 1:
                smaller = replace(buffer, pixels=buffer.pixels - 1)
            else:
                smaller = replace(buffer, offset=layout.offsets["a"])
            buffers = (*run.buffers[:i], smaller, *run.buffers[i + 1 :])
            spoilt = replace(layout, runs=(replace(run, buffers=buffers),))
            done = execute_int8(spoilt, random_net(graph, seed), seed=seed)
            wrong, tried = wrong + (not done.bit_exact), tried + 1
    assert wrong > tried / 2


def test_each_pixel_of_a_line_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int, int]] = []
    write = PoolRunner.write

    def counted(self, of, row, column, *rest):
        made.append((of.op.output, row, column))
        write(self, of, row, column, *rest)

    monkeypatch.setattr(PoolRunner, "write", counted)
    for seed in range(10):
        graph, layout = case("line", seed)
        made.clear()
        execute_int8(layout, random_net(graph, seed))
        assert len(set(made)) == len(made)


def test_columns_compute_fewer_expanded_pixels_than_windows(monkeypatch) -> None:
    counts: dict[str, int] = {}
    write = PoolRunner.write
    form = "window"

    def counted(self, of, *rest):
        counts[form] = counts.get(form, 0) + (of.op.output == "b")
        write(self, of, *rest)

    monkeypatch.setattr(PoolRunner, "write", counted)
    monkeypatch.setattr(PoolRunner, "write_pointwise", lambda *_: False)
    graph = bottleneck(random.Random(3), residual=True)
    for form in ("window", "columns"):
        layout = fused(graph, form, random.Random(0), block_distance(graph))
        assert execute_int8(layout, random_net(graph, 0)).bit_exact
    assert graph.tensors["b"].elements <= counts["columns"] * graph.tensors["b"].shape[1]
    assert counts["columns"] < counts["window"]


def apart(graph: Graph) -> PoolLayout:
    """All tensors side by side, each operator alone."""
    offsets, end = {}, 0
    for tensor in graph.tensors.values():
        if tensor.kind != "parameter":
            offsets[tensor.name] = end
            end += tensor.elements
    return PoolLayout(end, offsets, tuple(KernelRun("alone", (op.name,)) for op in graph.operators))


WHOLE = ("shufflenet_v2_x0_5", "squeezenet1_1", "mobilenet_v3_small")


@pytest.mark.parametrize(
    "name",
    [*("shufflenet", "mobilenet_v3"), *(pytest.param(n, marks=pytest.mark.long) for n in WHOLE)],
)
def test_whole_networks_are_exact(name: str) -> None:
    """A few blocks of a family, or one of the catalogue."""
    if name in WHOLE:
        graph = sp.load(name, input_shape=[(1, 3, 32, 32)])
    else:
        graph = sp.from_torch(few_blocks(name), torch.ones(1, 3, 32, 32), bytes_per_element=1)
    assert execute_int8(apart(graph), random_net(graph, 0)).bit_exact


def test_errors_say_what_does_not_suit() -> None:
    graph = layer(random.Random(0), "conv")
    net, layout = random_net(graph, 0), apart(graph)
    inputs = random_inputs(net, 0)
    with pytest.raises(BadInput, match="no place for tensor 'y'"):
        run_layout(net, replace(layout, offsets={"x": 0}), inputs)
    with pytest.raises(BadInput, match="larger than the pool of 1 bytes"):
        run_layout(net, replace(layout, pool_bytes=1), inputs)
    with pytest.raises(BadInput, match="runs 'other', which the network does not have"):
        run_layout(net, replace(layout, runs=(KernelRun("alone", ("other",)),)), inputs)
    with pytest.raises(BadInput, match="input 'x' must be int8 of shape"):
        run_layout(net, layout, {"x": inputs["x"].astype(np.int16)})
    with pytest.raises(BadInput, match="form 'window' runs an expanding convolution"):
        run_layout(net, replace(layout, runs=(KernelRun("window", ("op_y",)),)), inputs)
    block = bottleneck(random.Random(1))
    nowhere = PoolLayout(
        10_000, {"a": 0, "d": 1000}, (KernelRun("window", ("op_b", "op_c", "op_d")),)
    )
    blocks = random_net(block, 0)
    with pytest.raises(BadInput, match="has no buffer for 'b'"):
        run_layout(blocks, nowhere, random_inputs(blocks, 0))
