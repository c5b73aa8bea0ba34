"""TinyEngine, HMCOS and TFLite Micro, by hand on small graphs and on networks."""

from __future__ import annotations

import pytest

import planners as sp
from planners.catalogue.names import CATALOGUE
from planners.catalogue.vmcu import BottleneckShape, bottleneck
from planners.core.errors import BadInput
from planners.overlap.baselines.frameworks import (
    hmcos,
    is_depthwise,
    lifetimes,
    tflite_micro,
    tinyengine,
    workspace,
)
from planners.papers.vmcu.paper import PUBLISHED_KIB
from tests.random_graphs import random_graph

BLOCK = bottleneck(BottleneckShape("t", 4, 2, 6, 2, 3))  # A, D, E: 32 bytes; B, C: 96
STRIDED = bottleneck(BottleneckShape("t", 4, 2, 6, 3, 3, (1, 2, 1)))  # A 32, B 96, C 24, D 12


def test_tinyengine_of_a_residual_block() -> None:
    ram = tinyengine(BLOCK)
    # Expand A + B; depthwise in place beside A; project A + C + D; add A + D + E.
    assert [layer.tensor_bytes for layer in ram.layers] == [128, 128, 160, 96]
    # 1×1: 4·C_in; depthwise: 2·(4 + 2)².
    assert [layer.workspace_bytes for layer in ram.layers] == [8, 72, 24, 0]
    assert (ram.binding_operator, ram.total_bytes) == ("project", 160 + 72)


def test_tinyengine_of_a_strided_block() -> None:
    ram = tinyengine(STRIDED)
    assert [layer.tensor_bytes for layer in ram.layers] == [128, 96, 36]
    assert ram.binding_operator == "expand"


def test_a_depthwise_input_that_is_read_again_stays() -> None:
    tensors = {name: sp.Tensor(name, (1, 2, 4, 4)) for name in "yz"}
    tensors |= {"x": sp.Tensor("x", (1, 2, 4, 4), "input")}
    tensors |= {"w": sp.Tensor("w", (2, 1, 3, 3), "parameter")}
    window = ((3, 3), (1, 1), (1, 1), (1, 1))
    ops = (
        sp.Operator("dw", "conv2d", ("x",), ("y",), ("w",), 0, *window, groups=2),
        sp.Operator("add", "add", ("y", "x"), ("z",)),
    )
    graph = sp.Graph("again", tensors, ops, ("x",), ("z",))
    assert is_depthwise(graph, ops[0])
    assert [layer.tensor_bytes for layer in tinyengine(graph).layers] == [64, 96]


def test_the_stem_keeps_its_weights_in_ram() -> None:
    graph = sp.load("mobilenet_v2", input_shape=(1, 3, 96, 96))
    ram = tinyengine(graph)
    most = max(workspace(graph, op) for op in graph.operators)
    assert ram.static_bytes == most + 2 * 32 * 3 * 3 * 3
    assert tinyengine(BLOCK).static_bytes == 72


def test_whole_tensors_in_the_best_order() -> None:
    ram = hmcos(BLOCK)
    assert [layer.tensor_bytes for layer in ram.layers] == [128, 224, 160, 96]
    assert (ram.total_bytes, ram.binding_operator, ram.proven) == (224, "depthwise", True)
    for name in ("shufflenet_v2_x0_5", "mobilenet_v3_small"):
        graph = sp.load(name)
        assert hmcos(graph).total_bytes == sp.budgets(graph).MP


def test_tflite_micro_of_a_block() -> None:
    # C and B one after the other, A above both; D beside A on what B leaves.
    assert tflite_micro(BLOCK).total_bytes == 224
    assert tflite_micro(STRIDED).binding_operator == "expand"


@pytest.mark.parametrize("seed", range(30))
def test_baselines_are_ordered_as_their_rules_are(seed: int) -> None:
    graph = random_graph(seed, 9, outputs=1)
    best = hmcos(graph)
    default = max(layer.tensor_bytes for layer in tflite_micro(graph).layers)
    assert sp.budgets(graph).MP <= best.total_bytes <= default
    assert best.proven == (best.total_bytes == sp.budgets(graph).MP)
    assert tflite_micro(graph).total_bytes >= default
    assert tinyengine(graph).tensor_bytes <= default
    assert {life.id for life in lifetimes(graph, range(len(graph.operators)))} <= set(graph.tensors)


@pytest.mark.parametrize("name", PUBLISHED_KIB)
def test_tinyengine_is_within_a_kibibyte_of_what_it_publishes(name: str) -> None:
    if name not in CATALOGUE:
        pytest.skip(f"{name} is not in the catalogue")
    need = tinyengine(sp.load(name)).total_bytes / 1024
    assert need == pytest.approx(PUBLISHED_KIB[name], abs=1)


def test_nothing_to_run_is_refused() -> None:
    tensors = {"x": sp.Tensor("x", (1,), "input")}
    with pytest.raises(BadInput, match="nothing to plan"):
        tflite_micro(sp.Graph("empty", tensors, (), ("x",), ("x",)))
