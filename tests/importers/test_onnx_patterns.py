"""What exporters write out in several nodes is one call, and only that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.importers.onnx_models import graph_of, kinds, node


def test_a_weight_read_in_two_ways_is_kept_once(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", "x w", "a"),
        node("Gemm", "a w", "c", transB=1),
        node("Transpose", "w", "t", perm=[1, 0]),
        node("MatMul", "c t", "d"),
        node("MatMul", "d w", "y"),
    ]
    graph = graph_of(nodes, tmp_path, {"w": (3, 3)}, inputs={"x": [2, 3]})
    assert kinds(graph) == [["t", "linear"], ["linear"], ["linear"], ["t", "linear"]]
    assert graph.parameter_count == 9
    assert all(op.parameters == ("w",) for op in graph.operators)


def test_products_of_activations_are_no_linear_layers(tmp_path: Path) -> None:
    nodes = [node("Transpose", "x", "t", perm=[0, 1, 3, 2]), node("MatMul", "x t", "y")]
    graph = graph_of(nodes, tmp_path)
    assert kinds(graph) == [["permute", "matmul"]]
    assert graph.macs == 2 * 4 * 7 * 7 * 9


def test_gates_with_another_reader_stay_apart(tmp_path: Path) -> None:
    gate = [node("Sigmoid", "x", "s"), node("Mul", "s x", "m")]
    assert kinds(graph_of([*gate, node("Exp", "m", "y")], tmp_path)) == [["silu", "exp"]]
    shared = graph_of([*gate, node("Add", "m s", "y")], tmp_path)
    assert [op.kind for op in shared.operators] == ["sigmoid", "mul", "add"]
    seen = graph_of([*gate, node("Exp", "m", "y")], tmp_path, outputs={"y": None, "s": None})
    assert [op.kind for op in seen.operators] == ["sigmoid", "mul"]


def test_gelu_and_hardswish_need_their_numbers(tmp_path: Path) -> None:
    def gelu(root: float) -> list[list[str]]:
        nodes = [
            node("Div", "x r", "d"),
            node("Erf", "d", "e"),
            node("Add", "e one", "a"),
            node("Mul", "x a", "m"),
            node("Mul", "m half", "y"),
        ]
        numbers = {"r": np.float32(root), "one": np.float32(1), "half": np.float32(0.5)}
        return kinds(graph_of(nodes, tmp_path, numbers))

    assert gelu(2**0.5) == [["gelu"]]
    assert gelu(3.0) != [["gelu"]]

    def hard(shift: float) -> list[list[str]]:
        nodes = [
            node("Add", "x r", "a"),
            node("Clip", "a zero six", "c"),
            node("Mul", "x c", "m"),
            node("Div", "m six", "y"),
        ]
        numbers = {"r": np.float32(shift), "zero": np.float32(0), "six": np.float32(6)}
        return kinds(graph_of(nodes, tmp_path, numbers))

    assert hard(3.0) == [["hardswish"]]
    assert hard(2.0) != [["hardswish"]]


def attention(scaled: str) -> list[Any]:
    """q, k and v are x; what is in `scaled` is multiplied by a number."""
    nodes = [node("Transpose", "x", "t", perm=[0, 1, 3, 2])]
    nodes += [node("Mul", f"{name} c", f"{name}c") for name in scaled]
    left, right = ("xc" if "x" in scaled else "x"), ("tc" if "t" in scaled else "t")
    nodes += [node("MatMul", f"{left} {right}", "s"), node("Add", "s m", "sm")]
    return [*nodes, node("Softmax", "sm", "p"), node("MatMul", "p x", "y")]


def test_attention_is_known_by_both_scales(tmp_path: Path) -> None:
    weights = {"c": np.float32(0.5), "m": (7, 7)}
    graph = graph_of(attention("xt"), tmp_path, weights)
    (op,) = graph.operators
    assert (op.kind, op.parameters) == ("scaled_dot_product_attention", ("m",))
    assert op.macs == 2 * 4 * 7 * 7 * (9 + 9)
    apart = graph_of(attention("x"), tmp_path, weights)
    assert [op.kind for op in apart.operators] == ["matmul", "add", "softmax", "matmul"]
    assert apart.macs == graph.macs
