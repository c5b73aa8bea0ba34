"""Tensors have their files' types, and files that mix them are counted as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import planners as sp
from tests.importers.qdq import BYTES, qdq_model, two_layers
from tests.simulator.typed_modules import typed_cases


def test_a_quantised_file_has_the_bytes_of_a_hand_count(tmp_path: Path) -> None:
    """The same bytes that onnxruntime's arrays have (docs/onnx.md)."""
    graph = sp.load(qdq_model(tmp_path / "qdq.onnx"), granularity="aten")
    assert graph.bytes_per_element == "native"
    assert {name: graph.size_bytes(name) for name in graph.tensors} == BYTES
    # The convolution's product of floats, until it is quantised, is the largest need.
    assert sp.budgets(graph).MR == BYTES["c"] + BYTES["conv"]
    one = sp.load(tmp_path / "qdq.onnx", granularity="aten", bytes_per_element=1)
    assert one.size_bytes("x") == one.size_bytes("x_q") == BYTES["x_q"]
    assert one.macs == graph.macs == 5 * 8 * 8 * 27


def test_fused_operators_keep_whole_numbers_in_memory(tmp_path: Path) -> None:
    graph = sp.load(two_layers(tmp_path / "two.onnx"))
    types = {name: tensor.dtype for name, tensor in graph.tensors.items()}
    assert types.pop("x") == types.pop("y") == "float32"
    assert types == dict.fromkeys(("w1", "w2", "first", "second"), "int8")
    convolution = graph.operators[1]
    assert convolution.inputs == ("first",)
    assert [part.kind for part in convolution.parts].count("dequantize") == 2  # data and weight
    assert graph.sum_bytes(convolution, 10) == 40  # int8 products are summed as int32
    for planner in ("cosma", "fusion", "overlap", "streaming"):
        sp.plan(graph, planner, 4096, time_limit=600)


@pytest.mark.parametrize("name", typed_cases())
def test_a_module_that_mixes_types_is_counted_as_it_is(name: str) -> None:
    case = typed_cases()[name]
    graph = sp.from_torch(case.module, case.inputs)
    assert graph.bytes_per_element == "native"
    assert len(graph.element_types) > 1
    assert sp.from_torch(case.module, case.inputs, bytes_per_element=2).bytes_per_element == 2


def test_a_module_of_one_type_counts_a_byte_an_element() -> None:
    assert sp.from_torch(nn.Linear(3, 2), torch.ones(1, 3)).bytes_per_element == 1
    assert sp.from_torch(nn.Linear(3, 2).half(), torch.ones(1, 3).half()).bytes_per_element == 1


def test_catalogue_models_count_a_byte_whatever_their_types() -> None:
    assert sp.load("squeezenet1_1").bytes_per_element == 1
    assert sp.load("squeezenet1_1", bytes_per_element="native").size_bytes("x") == 4 * 3 * 224**2


def test_a_graph_on_disk_keeps_its_width(tmp_path: Path) -> None:
    case = typed_cases()["masked"]
    path = tmp_path / "graph.json"
    sp.from_torch(case.module, case.inputs).save(path)
    assert sp.load(path).bytes_per_element == "native"
    assert sp.load(path, bytes_per_element=4).bytes_per_element == 4
