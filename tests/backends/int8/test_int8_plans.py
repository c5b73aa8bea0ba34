"""Whole plans in int8: exact in their pools, and spoilt where a pool is a byte too small."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

import planners as sp
from planners.backends.int8.random_net import random_net
from planners.core.details.pool import PoolLayout
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.overlap.emit.saved_layout import layout_of
from planners.overlap.search.dag import best_layout
from tests.backends.int8_pool.execute import execute_int8
from tests.cases import cases
from tests.importers.few_blocks import few_blocks
from tests.overlap import random_nets
from tests.plans import plan_of

NETS = (
    "mobilenet_v3_small",
    "mnasnet0_5",
    "shufflenet_v2_x0_5",
    "squeezenet1_1",
)


def planned(graph: Graph, **options: object) -> PoolLayout:
    return layout_of(plan_of(graph, "overlap", 2**26, **options))


def one_byte_less(layout: PoolLayout) -> PoolLayout:
    return replace(layout, pool_bytes=layout.pool_bytes - 1)


FEW = ("mobilenet", "mobilenet_v3", "shufflenet")
"""Families of which there are a few narrow blocks."""


@cache
def network(name: str) -> Graph:
    if name not in FEW:
        return sp.load(name, input_shape=[(1, 3, 32, 32)])
    return sp.from_torch(few_blocks(name), torch.ones(1, 3, 32, 32), bytes_per_element=1)


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.long) for name in NETS)]
)
def test_plans_of_networks_are_exact_and_need_every_byte(name: str) -> None:
    graph = network(name)
    net, layout = random_net(graph, 0), planned(graph)
    done = execute_int8(layout, net)
    assert done.bit_exact
    assert done.pool_bytes == layout.pool_bytes
    assert not execute_int8(one_byte_less(layout), net).bit_exact


@pytest.mark.parametrize("options", [{"fuse": False}, {"objective": "ram"}], ids=str)
@pytest.mark.parametrize("name", ["mobilenet", pytest.param("mcunet_in0", marks=pytest.mark.long)])
def test_single_kernels_and_the_least_ram_are_exact_as_well(
    name: str, options: dict[str, object]
) -> None:
    graph = network(name)
    net, layout = random_net(graph, 0), planned(graph, **options)
    assert execute_int8(layout, net).bit_exact
    assert not execute_int8(one_byte_less(layout), net).bit_exact


def pruned(graph: Graph) -> Graph:
    """Without operators that nothing needs, and without their tensors."""
    wanted, kept = set(graph.outputs), []
    for op in reversed(graph.operators):
        if wanted & set(op.outputs):
            wanted |= {*op.inputs, *op.parameters}
            kept.append(op)
    tensors = {name: t for name, t in graph.tensors.items() if name in wanted | set(graph.inputs)}
    return replace(graph, tensors=tensors, operators=tuple(reversed(kept)))


def test_layouts_of_random_networks_are_exact() -> None:
    ran = 0
    for seed in range(cases(20)):
        graph = pruned(random_nets.random_net(seed, 3 + seed % 8)[0])
        if any(op.kind == "add" and len(op.inputs) < 2 for op in graph.operators):
            continue
        ran += 1
        net, layout = random_net(graph, seed), best_layout(graph, Clock(600)).layout
        assert execute_int8(layout, net, seed=seed).bit_exact, seed
    assert ran > cases(10)
