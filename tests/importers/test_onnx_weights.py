"""Products with weights that do not come straight from an initialiser."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.importers.onnx_models import graph_of, kinds, node

ROWS, READ, WIDTH = 3, 5, 7
INT8 = np.ones((READ, WIDTH), np.int8)
SHAPE = np.array([READ, WIDTH], np.int64)
ONE = onnx.numpy_helper.from_array(np.ones(1, np.float32))
SCALE = {"s": np.float32(0.1), "z": np.int8(0)}
WAYS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "as it is": ([], {"w": (READ, WIDTH)}),
    "dequantised": ([node("DequantizeLinear", "v s z", "w")], {"v": INT8, **SCALE}),
    "the same": ([node("Identity", "v", "w")], {"v": (READ, WIDTH)}),
    "cast": ([node("Cast", "v", "w", to=1)], {"v": np.ones((READ, WIDTH), np.float16)}),
    "transposed": ([node("Transpose", "v", "w")], {"v": (WIDTH, READ)}),
    "of one number": ([node("ConstantOfShape", "v", "w", value=ONE)], {"v": SHAPE}),
    "scaled": ([node("Mul", "v c", "w")], {"v": (READ, WIDTH), "c": np.float32(2)}),
}  # fmt: skip


def turned(item: Any) -> Any:
    """A weight, or its shape, with its axes the other way round; a number as it is."""
    return item[::-1] if isinstance(item, tuple) or item.shape == (2,) else item.T


@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("bias", [None, (WIDTH,), (1, WIDTH), (ROWS, 1), (ROWS, WIDTH), (1,)])
@pytest.mark.parametrize("how", WAYS)
def test_a_gemm_has_its_macs_wherever_its_weight_comes_from(
    how: str, bias: tuple[int, ...] | None, flag: int, tmp_path: Path
) -> None:
    nodes, weights = WAYS[how]
    weights = {name: turned(item) for name, item in weights.items()} if flag else weights
    nodes = [*nodes, node("Gemm", "x w" + " b" * bool(bias), "y", transB=flag)]
    weights = weights | ({"b": bias} if bias else {})
    graph = graph_of(nodes, tmp_path, weights, inputs={"x": [ROWS, READ]})
    assert graph.macs == ROWS * READ * WIDTH
    assert "opaque" not in graph.source
    assert {kind for op in kinds(graph) for kind in op} <= {
        *("linear", "matmul", "add", "dequantize", "to", "permute", "t", "constant", "mul")
    }
    if bias and prod(bias) == WIDTH and how in ("as it is", "the same"):
        assert len(graph.operators) == 1
        assert sum(op.kind == "linear" for op in graph.operators) == 1


def test_a_gemm_of_two_activations(tmp_path: Path) -> None:
    inputs = {"x": [READ, ROWS], "w": [WIDTH, READ], "b": [1, WIDTH]}
    nodes = [node("Gemm", "x w b", "y", transA=1, transB=1)]
    graph = graph_of(nodes, tmp_path, inputs=inputs)
    assert graph.macs == ROWS * READ * WIDTH
    assert graph.tensors["y"].shape == (ROWS, WIDTH)
    assert "opaque" not in graph.source


def test_a_large_weight_of_one_number(tmp_path: Path) -> None:
    nodes = [node("ConstantOfShape", "s", "w", value=ONE), node("Conv", "x w", "y")]
    weights = {"s": np.array([64, 32, 3, 3], np.int64)}
    graph = graph_of(nodes, tmp_path, weights, inputs={"x": [1, 32, 8, 8]})
    (conv,) = graph.operators
    assert (conv.kind, conv.macs) == ("conv2d", 36 * 64 * 32 * 9)
    assert "opaque" not in graph.source
