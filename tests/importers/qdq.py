"""A quantised network as ONNX files have it: QDQ around a convolution and a product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BYTES = {
    "x": 3 * 8 * 8 * 4,  # float32, as the network's user has it
    "x_q": 3 * 8 * 8,  # int8
    "conv": 5 * 8 * 8 * 4,  # float32, until it is quantised
    "conv_q": 5 * 8 * 8,  # int8
    "y": 5 * 8 * 8 * 4,  # float32
    "w_q": 5 * 3 * 3 * 3,  # int8
    "b": 5 * 4,  # float32
}
"""Bytes of each tensor by hand, by the names in the file."""


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
    shape_in, shape_out = [1, 3, 8, 8], [1, 5, 8, 8]
    graph = helper.make_graph(
        nodes,
        "qdq",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape_in)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape_out)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path
