"""How far the quantised weights of files are shortened by entropy coding, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import planners as sp
from tests.importers.tflite_models import TfliteWriter

VALUES = np.array([0] * 8 + [1] * 4 + [-1] * 2 + [5, -7], np.int8).reshape(2, 8)
"""Of 16 elements a half, a quarter, an eighth and two sixteenths: 1.875 bits each."""
BITS = 0.5 * 1 + 0.25 * 2 + 0.125 * 3 + 2 * (1 / 16) * 4


def test_of_a_tflite_file(tmp_path: Path) -> None:
    writer = TfliteWriter()
    data = writer.tensor((1, 8), "int8", scale=0.05, zero=3)
    weights = writer.tensor((2, 8), "int8", VALUES, scale=0.02)
    bias = writer.tensor((2,), "int32", np.array([1, 2], np.int32), scale=0.001)
    out = writer.tensor((1, 2), "int8", scale=0.05, zero=3)
    writer.inputs = [data]
    writer.operator("FULLY_CONNECTED", [data, weights, bias], [out], "FullyConnectedOptions")
    writer.outputs = [out]
    graph = sp.load(writer.save(tmp_path / "model.tflite"))
    found = {t.dtype: t.compressed for t in graph.tensors.values() if t.kind == "parameter"}
    assert found == {"int8": pytest.approx(BITS / 8, abs=1e-6), "int32": 1.0}


def test_of_an_onnx_file(tmp_path: Path) -> None:
    constants = [
        numpy_helper.from_array(VALUES.T.copy(), "w"),
        numpy_helper.from_array(np.float32(0.1), "scale"),
        numpy_helper.from_array(np.int8(0), "zero"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["weight"]),
        helper.make_node("MatMul", ["x", "weight"], ["y"]),
    ]
    ends = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in (("x", 8), ("y", 2))
    ]
    graph = helper.make_graph(nodes, "one", ends[:1], ends[1:], constants)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    found = sp.load(path).tensors["w"]
    assert found.compressed == pytest.approx(BITS / 8, abs=1e-6)


def test_equal_weights_are_next_to_nothing(tmp_path: Path) -> None:
    writer = TfliteWriter()
    data = writer.tensor((1, 8), "int8", scale=0.05)
    weights = writer.tensor((2, 8), "int8", np.ones((2, 8), np.int8), scale=0.02)
    out = writer.tensor((1, 2), "int8", scale=0.05)
    writer.inputs = [data]
    writer.operator("FULLY_CONNECTED", [data, weights], [out], "FullyConnectedOptions")
    writer.outputs = [out]
    graph = sp.load(writer.save(tmp_path / "model.tflite"))
    assert sp.Graph.from_json(graph.to_json()) == graph
    assert [t.compressed for t in graph.tensors.values() if t.kind == "parameter"] == [1e-6]
