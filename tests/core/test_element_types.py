"""Bytes that follow from element types: one rule, box by box, and accumulators until complete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planners as sp
from planners.core.element_types import (
    BITS,
    ONNX_TYPES,
    PT2_TYPES,
    TFLITE_TYPES,
    accumulator,
    bits_of_type,
    read_width,
    usual_width,
)
from planners.core.graph import Graph, Operator, Tensor
from planners.core.program import Piece, piece_bytes


def typed(dtype: str, shape: tuple[int, ...] = (2, 7), out: str = "") -> Graph:
    """One operator from `x` to `y`, counted as it is."""
    tensors = {"x": Tensor("x", shape, "input", dtype), "y": Tensor("y", shape, dtype=out or dtype)}
    op = Operator("op", "relu", ("x",), ("y",))
    return Graph("typed", tensors, (op,), ("x",), ("y",), "native")


@pytest.mark.parametrize(
    ("dtype", "whole", "row"),
    [
        ("bool", 14, 7),
        ("int8", 14, 7),
        ("float8_e5m2", 14, 7),
        ("int4", 7, 4),  # 14 elements of 4 bits; a row of 7 is rounded up
        ("uint2", 4, 2),
        ("float16", 28, 14),
        ("bfloat16", 28, 14),
        ("float32", 56, 28),
        ("int64", 112, 56),
        ("complex128", 224, 112),
    ],
)
def test_a_box_takes_its_bits_rounded_up_to_bytes(dtype: str, whole: int, row: int) -> None:
    graph = typed(dtype)
    assert graph.size_bytes("x") == whole
    assert piece_bytes(graph, Piece("x", ((0, 1), (0, 7)))) == row
    assert graph.with_bytes_per_element(3).size_bytes("x") == 42  # one width, whatever the type


def test_every_type_of_torch_and_numpy_is_known() -> None:
    """numpy's small types are those of ml_dtypes, which onnx brings."""
    import ml_dtypes
    import torch

    for dtype in {value for value in vars(torch).values() if isinstance(value, torch.dtype)}:
        name = str(dtype).removeprefix("torch.")
        if bits_of_type(name) >= 8:
            assert bits_of_type(name) == 8 * dtype.itemsize
    for name, kind in vars(ml_dtypes).items():
        if isinstance(kind, type) and name not in ("finfo", "iinfo"):
            assert name in BITS, name
            if bits_of_type(name) >= 8:
                assert bits_of_type(name) == 8 * np.dtype(kind).itemsize


def test_every_type_of_onnx_is_known() -> None:
    import onnx
    from onnx.helper import tensor_dtype_to_np_dtype

    told = {name: number for name, number in onnx.TensorProto.DataType.items() if number}
    assert {*told} - {"STRING"} == {*ONNX_TYPES}
    for theirs, ours in ONNX_TYPES.items():
        assert str(tensor_dtype_to_np_dtype(told[theirs])) == ours


def test_every_type_of_tflite_is_known() -> None:
    """The schema of the package, and what LiteRT 2.3 has added to it."""
    import tflite

    told = {number: name for name, number in vars(tflite.TensorType).items() if name.isupper()}
    told |= {19: "INT2", 20: "UINT4", 21: "FLOAT8_E4M3FN", 22: "FLOAT8_E5M2"}
    sizeless = {5: "string", 13: "resource", 14: "variant"}
    assert {number: name.lower() for number, name in told.items()} == TFLITE_TYPES | sizeless


def test_every_type_of_pt2_files_is_known() -> None:
    from torch._export.serde.schema import ScalarType
    from torch._export.serde.serialize import _TORCH_TO_SERIALIZE_DTYPE

    told = {int(code): str(dtype)[6:] for dtype, code in _TORCH_TO_SERIALIZE_DTYPE.items()}
    assert told == PT2_TYPES
    assert {code.value for code in ScalarType} - {*told} == {ScalarType.UNKNOWN.value}


def test_a_type_that_is_not_known_is_named() -> None:
    with pytest.raises(sp.BadInput, match="type 'posit8' of 'x'.*number instead of 'native'"):
        typed("posit8")
    assert typed("int8").with_bytes_per_element(1).bytes_per_element == 1


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [("int8", "int32"), ("int16", "int32"), ("float16", "float32"), ("float32", "float32")],
)
def test_sums_have_their_accumulators_type(dtype: str, wide: str) -> None:
    assert accumulator(dtype) == wide
    graph = typed(dtype)
    assert graph.sum_bytes(graph.operators[0], 7) == 7 * bits_of_type(wide) // 8
    plain = graph.with_bytes_per_element(1)
    assert plain.sum_bytes(plain.operators[0], 7) == 7


def test_sums_are_no_narrower_than_what_they_become() -> None:
    graph = typed("int8", out="float64")
    assert graph.sum_bytes(graph.operators[0], 2) == 16


def test_files_say_that_types_are_counted() -> None:
    graph = typed("int8", out="float32")
    assert Graph.from_json(graph.to_json()) == graph
    assert graph.to_json()["bytes_per_element"] == "native"
    assert ("bytes per element", "each of its type: int8, float32") in graph.facts()
    assert "byte(s) an element, whatever its type" in graph.with_bytes_per_element(1).width_words


@pytest.mark.parametrize("width", [0, -1, 1.5, True, "own", None])
def test_no_other_width_is_taken(width: object) -> None:
    with pytest.raises(sp.BadInput, match="bytes per element must be a whole number .* 'native'"):
        replace(typed("int8"), bytes_per_element=width)  # type: ignore[arg-type]


def test_a_width_is_typed() -> None:
    assert (read_width("4"), read_width(" Native ")) == (4, "native")
    with pytest.raises(sp.BadInput, match="bytes per element"):
        read_width("four")


def test_mixed_types_are_counted_as_they_are() -> None:
    assert usual_width(["float32", "float32"]) == 1
    assert usual_width(["int8"]) == 1
    assert usual_width(["float32", "int64"]) == "native"
    assert usual_width(["float32", "posit8"]) == "native"  # and says that it does not know it


def test_budgets_are_sums_of_bytes() -> None:
    tensors = {
        "x": Tensor("x", (3,), "input", "int64"),
        "a": Tensor("a", (5,), dtype="int8"),
        "b": Tensor("b", (3,), dtype="float16"),
    }
    ops = (Operator("p", "p", ("x",), ("a",)), Operator("q", "q", ("a",), ("b",)))
    found = sp.budgets(Graph("g", tensors, ops, ("x",), ("b",), "native"))
    assert (found.MR, found.MP) == (24 + 5, 24 + 5)


@pytest.mark.parametrize("planner", ["fusion", "overlap"])
def test_maps_below_a_byte_are_refused_where_they_would_be_cut(planner: str) -> None:
    graph = typed("int4")
    with pytest.raises(sp.BadInput, match=f"{planner} cuts maps, and 'x' is int4"):
        sp.plan(graph, planner, 64)
    for other in ("cosma", "streaming"):
        assert sp.check(sp.plan(graph, other, 64)).peak_bytes == 14
