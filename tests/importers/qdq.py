"""A quantised network as ONNX files have it: QDQ around a convolution and a product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES = {
    "x": 3 * 8 * 8 * 4,  # float32, as the network's user has it
    "x_q": 3 * 8 * 8,  # int8
    "x_dq": 3 * 8 * 8 * 4,  # float32
    "c": 5 * 8 * 8 * 4,  # float32
    "conv": 5 * 8 * 8 * 4,  # float32, until it is quantised
    "conv_q": 5 * 8 * 8,  # int8
    "y": 5 * 8 * 8 * 4,  # float32
    "w_q": 5 * 3 * 3 * 3,  # int8
    "b": 5 * 4,  # float32
}
"""Bytes of each tensor by hand, by the names in the file."""


def two_layers(path: Path) -> Path:
    """Two quantised convolutions, what the first gives added to what the second does."""
    arrays = {
        "s": np.array(0.1, np.float32),
        "z": np.array(0, np.int8),
        "w1": np.ones((4, 3, 3, 3), np.int8),
        "w2": np.ones((4, 4, 3, 3), np.int8),
    }

    def turned(kind: str, *names: str) -> onnx.NodeProto:
        return helper.make_node(f"{kind}Linear", [names[0], "s", "z"], [names[1]])

    nodes = [
        turned("Quantize", "x", "xq"),
        turned("Dequantize", "xq", "xd"),
        turned("Dequantize", "w1", "w1d"),
        helper.make_node("Conv", ["xd", "w1d"], ["c1"], pads=[1, 1, 1, 1]),
        turned("Quantize", "c1", "first"),
        turned("Dequantize", "first", "fd"),
        turned("Dequantize", "w2", "w2d"),
        helper.make_node("Conv", ["fd", "w2d"], ["c2"], pads=[1, 1, 1, 1]),
        turned("Quantize", "c2", "second"),
        turned("Dequantize", "second", "sd"),
        helper.make_node("Add", ["sd", "fd"], ["sum"]),
        turned("Quantize", "sum", "third"),
        turned("Dequantize", "third", "y"),
    ]
    return _saved(nodes, "two", [1, 3, 8, 8], [1, 4, 8, 8], arrays, path)


def qdq_model(path: Path) -> Path:
    """`x → Q → DQ → Conv (weights through DQ) → Relu → Q → DQ → y`, at opset 13."""
    rng = np.random.default_rng(0)
    arrays = {
        "s": np.array(0.1, np.float32),
        "z": np.array(0, np.int8),
        "ws": np.array(0.02, np.float32),
        "w_q": rng.integers(-9, 9, (5, 3, 3, 3)).astype(np.int8),
        "b": rng.standard_normal(5).astype(np.float32),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "s", "z"], ["x_dq"]),
        helper.make_node("DequantizeLinear", ["w_q", "ws", "z"], ["w"]),
        helper.make_node("Conv", ["x_dq", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["conv"]),
        helper.make_node("QuantizeLinear", ["conv", "s", "z"], ["conv_q"]),
        helper.make_node("DequantizeLinear", ["conv_q", "s", "z"], ["y"]),
    ]
    return _saved(nodes, "qdq", [1, 3, 8, 8], [1, 5, 8, 8], arrays, path)


def _saved(
    nodes: list[onnx.NodeProto],
    name: str,
    given: list[int],
    made: list[int],
    arrays: dict[str, np.ndarray],
    path: Path,
) -> Path:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, made)],
        [numpy_helper.from_array(array, key) for key, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path
