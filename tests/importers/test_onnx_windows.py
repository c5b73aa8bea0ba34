"""Where a window lies that `auto_pad`, `output_shape` or a stride beyond it decide.

The values are those of onnxruntime 1.32.0, by `benchmarks/onnx_windows.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import planners as sp


@pytest.mark.parametrize(
    ("kind", "kernel", "sizes", "given", "out", "padding"),
    [
        ("ConvTranspose", (3, 3), (6, 6), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, 12, 0),
        ("ConvTranspose", (3, 3), (6, 6), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, 12, 1),
        ("ConvTranspose", (4, 4), (6, 6), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, 12, 1),
        ("ConvTranspose", (2, 2), (7, 7), {"auto_pad": "SAME_LOWER", "strides": [3, 3]}, 20, 0),
        (
            "ConvTranspose",
            (3, 3),
            (8, 8),
            {"auto_pad": "SAME_UPPER", "strides": [2, 2], "output_padding": [1, 1]},
            16,
            1,
        ),
        ("ConvTranspose", (3, 3), (6, 6), {"strides": [2, 2], "output_shape": [12, 12]}, 12, 1),
        ("ConvTranspose", (3, 3), (6, 6), {"strides": [2, 2], "output_shape": [10, 10]}, 10, 2),
        ("ConvTranspose", (2, 2), (6, 6), {"output_shape": [5, 5]}, 5, 1),
        (
            "ConvTranspose",
            (3, 3),
            (6, 6),
            {"strides": [2, 2], "output_shape": [12, 12], "auto_pad": "SAME_UPPER"},
            12,
            0,
        ),
        ("ConvTranspose", (3, 3), (6, 6), {"strides": [2, 2], "auto_pad": "VALID"}, 13, 0),
        ("ConvTranspose", (3, 3), (6, 6), {"dilations": [2, 2], "auto_pad": "SAME_UPPER"}, 6, 2),
        ("Conv", (1, 1), (6, 6), {"auto_pad": "SAME_UPPER", "strides": [3, 3]}, 2, 0),
        ("AveragePool", (1, 1), (6, 6), {"auto_pad": "SAME_UPPER", "strides": [3, 3]}, 2, -1),
        ("MaxPool", (2, 2), (7, 7), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, 4, 1),
    ],
)
def test_where_a_window_lies(
    kind: str,
    kernel: tuple[int, ...],
    sizes: tuple[int, ...],
    given: dict[str, Any],
    out: int,
    padding: int,
    tmp_path: Path,
) -> None:
    pools = "Pool" in kind
    weight = [] if pools else [numpy_helper.from_array(np.ones((1, 1, *kernel), np.float32), "w")]
    more = {"kernel_shape": kernel} if pools else {}
    node = helper.make_node(kind, ["x"] if pools else ["x", "w"], ["y"], **given, **more)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, *sizes])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        weight,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, tmp_path / "net.onnx")
    read = sp.load(tmp_path / "net.onnx")
    (op,) = read.operators
    assert read.tensors["y"].shape == (1, 1, out, out)
    assert op.padding == (padding, padding)
    for planner in ("cosma", "fusion", "streaming"):
        sp.check(sp.plan(read, planner, "4KiB"))
