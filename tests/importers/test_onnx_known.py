"""Standard operators that are few but known: none of them is opaque, and all shapes follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import planners as sp
from planners.core.caveats import caveats
from tests.importers.onnx_models import X, graph_of, kinds, model, node, write
from tests.importers.size_chains import examined

ELEMENTS = "Acos Acosh Asin Asinh Atan Atanh Cosh Sinh Tan Shrink".split()
ONE: dict[str, Any] = {"z": np.zeros(1, np.float32), "six": np.full(1, 6, np.float32)}


@pytest.mark.parametrize("kind", ELEMENTS)
def test_functions_of_one_element(kind: str, tmp_path: Path) -> None:
    graph = graph_of([node(kind, "x", "y")], tmp_path)
    assert not caveats(graph).lines()
    assert graph.operators[0].parts[0].relation == ("same",)


@pytest.mark.parametrize(
    ("name", "made", "opset"),
    [
        ("is nan", [node("IsNaN", "x", "b"), node("Where", "b z x", "y")], 20),
        ("is inf", [node("IsInf", "x", "b"), node("Where", "b z x", "y")], 20),
        ("at least, 12", [node("GreaterOrEqual", "x z", "b"), node("Where", "b z x", "y")], 12),
        ("at most, 14", [node("LessOrEqual", "x z", "b"), node("Where", "b z x", "y")], 14),
        ("hardmax", [node("Hardmax", "x", "y", axis=1)], 13),
        ("hardmax, old", [node("Hardmax", "x", "y", axis=1)], 11),
        ("norm", [node("LpNormalization", "x", "y", axis=1)], 20),
        ("moments", [node("MeanVarianceNormalization", "x", "y")], 13),
        ("pool", [node("LpPool", "x", "y", kernel_shape=[2, 3], strides=[2, 1])], 18),
        ("global pool", [node("GlobalLpPool", "x", "y")], 20),
        ("log sum", [node("ReduceLogSum", "x", "y", axes=[1])], 13),
        ("clip of one", [node("Clip", "x z six", "y")], 20),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_is_known_is_not_opaque(
    name: str, made: list[Any], opset: int, tmp_path: Path
) -> None:
    assert not caveats(graph_of(made, tmp_path, ONE, opset=opset)).lines()


def test_bits(tmp_path: Path) -> None:
    nodes = [
        node("Cast", "x", "i", to=6),
        node("BitwiseNot", "i", "n"),
        node("BitwiseAnd", "n i", "a"),
        node("BitwiseXor", "a i", "o"),
        node("Cast", "o", "y", to=1),
    ]
    assert not caveats(graph_of(nodes, tmp_path)).lines()


def test_groups_of_channels(tmp_path: Path) -> None:
    """onnx infers no shape for version 21 of this operator."""
    nodes = [node("GroupNormalization", "x s s", "y", num_groups=2)]
    graph = graph_of(nodes, tmp_path, {"s": (4,)}, opset=21)
    assert (graph.tensors["y"].shape, kinds(graph)) == ((2, 4, 7, 9), [["group_norm"]])


def test_deformed_convolutions_have_macs(tmp_path: Path) -> None:
    nodes = [node("DeformConv", "x w o", "y", pads=[1, 1, 1, 1], group=2)]
    weights = {"w": (6, 2, 3, 3)}
    inputs = X | {"o": [2, 18, 7, 9]}
    graph = graph_of(nodes, tmp_path, weights, inputs=inputs)
    assert graph.macs == 2 * 6 * 7 * 9 * 2 * 9
    assert not caveats(graph).lines()


def test_numbers_made_of_shapes_read_nothing(tmp_path: Path) -> None:
    nodes = [node("RandomNormalLike", "x", "n"), node("Add", "x n", "y")]
    graph = graph_of(nodes, tmp_path)
    assert [op.kind for op in graph.operators] == ["add"]
    assert not caveats(graph).opaque


def test_a_pool_that_gives_indices_is_known(tmp_path: Path) -> None:
    nodes = [
        node("MaxPool", "x", "top i", kernel_shape=[2, 2], strides=[2, 2]),
        node("Cast", "i", "f", to=1),
        node("Add", "top f", "y"),
    ]
    graph = graph_of(nodes, tmp_path)
    assert not caveats(graph).lines()
    assert graph.operators[0].outputs == ("top", "i")


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "LpPool"])
def test_no_window_begins_in_the_padding_behind(kind: str, tmp_path: Path) -> None:
    """The shapes are those of onnxruntime and PyTorch; onnx's own inference has one row more."""
    pool = node(kind, "x", "y", kernel_shape=[1, 2], strides=[2, 2], ceil_mode=1)
    graph = graph_of([pool], tmp_path, inputs={"x": [1, 2, 6, 5]})
    assert graph.tensors["y"].shape == (1, 2, 3, 3)
    padded = node(kind, "x", "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1] * 4)
    graph = graph_of([padded], tmp_path, inputs={"x": [1, 2, 6, 5]})
    assert graph.tensors["y"].shape == (1, 2, 4, 3)


def learned(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    made = node(kind, inputs, outputs, **attributes)
    made.domain = "ai.onnx.ml"
    return made


LINE = {"coefficients": [0.5] * 15, "intercepts": [0.0] * 3}
LEARNED: dict[str, tuple[list[Any], dict[str, tuple[int, ...]]]] = {
    "scaler": ([learned("Scaler", "x", "y", scale=[1.0], offset=[0.0])], {"y": (3, 5)}),
    "columns": ([learned("ArrayFeatureExtractor", "x places", "y")], {"y": (3, 2)}),
    "columns of a vector": (
        [
            node("ReduceMax", "x first", "h", keepdims=0),
            learned("ArrayFeatureExtractor", "h p", "y"),
        ],
        {"h": (5,), "y": (1, 2)},
    ),
    "line": (
        [learned("LinearRegressor", "x", "y", targets=2, coefficients=[0.0] * 10)],
        {"y": (3, 2)},
    ),
    "classes": (
        [learned("LinearClassifier", "x", "label y", classlabels_ints=[0, 4, 7], **LINE)],
        {"label": (3,), "y": (3, 3)},
    ),
    "trees": (
        [learned("TreeEnsembleClassifier", "x", "label y", classlabels_int64s=[0, 1])],
        {"label": (3,), "y": (3, 2)},
    ),
    "regression": ([learned("TreeEnsembleRegressor", "x", "y", n_targets=1)], {"y": (3, 1)}),
    "one hot": (
        [
            node("ArgMax", "x", "h", axis=1, keepdims=0),
            learned("OneHotEncoder", "h", "y", cats_int64s=[0, 1, 2]),
        ],
        {"h": (3,), "y": (3, 3)},
    ),
}
"""Operators as skl2onnx writes them, and what onnxruntime 1.32 gives for them."""


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_learned_without_layers_has_its_sizes(name: str, tmp_path: Path) -> None:
    nodes, shapes = LEARNED[name]
    weights = {"places": np.array([4, 0]), "p": np.array([[1, 2]]), "first": np.array([0])}
    read = {operand for each in nodes for operand in each.input}
    weights = {key: array for key, array in weights.items() if key in read}
    outputs = {key: None for key in ("label", "y") if key in shapes}
    made = model(nodes, {"x": [3, 5]}, outputs, weights)
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    graph = sp.from_onnx(write(made, tmp_path), granularity="aten")
    assert {key: graph.tensors[key].shape for key in shapes} == shapes
    types = {"label": "int64"} | ({"h": "int64"} if name == "one hot" else {})
    assert all(graph.tensors[key].dtype == types.get(key, "float32") for key in shapes)
    assert any(
        f"ai.onnx.ml.{each.op_type}" in {op.kind for op in graph.operators} for each in nodes
    )


def test_labels_that_are_text_are_refused(tmp_path: Path) -> None:
    nodes = [learned("TreeEnsembleClassifier", "x", "label y", classlabels_strings=[b"a", b"b"])]
    made = model(nodes, {"x": [3, 5]}, {"label": None, "y": None})
    made.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    with pytest.raises(sp.BadInput, match="'label' holds no numbers"):
        sp.from_onnx(write(made, tmp_path))


def test_a_range_of_many_known_numbers_is_no_unknown_operator(tmp_path: Path) -> None:
    """As onnx-asr's resamplers mask a batch: more numbers than are taken for sizes."""
    nodes = [
        node("Range", "start stop step", "r"),
        node("Less", "r n", "mask"),
    ]
    held = {name: np.array(n, np.int64) for name, n in zip(("start", "stop", "step"), (0, 9000, 1))}
    made = model(nodes, {"n": [1]}, {"mask": None}, held, opset=17)
    made.graph.input[0].CopyFrom(helper.make_tensor_value_info("n", TensorProto.INT64, [1]))
    graph = sp.from_onnx(write(made, tmp_path))
    assert graph.tensors["mask"].shape == (9000,)
    assert not graph.source.get("opaque")


@pytest.mark.parametrize(
    ("given", "bins"), [({}, 201), ({"onesided": 1}, 201), ({"onesided": 0}, 400)]
)
def test_a_spectrum_of_real_numbers_is_half_unless_it_says_otherwise(
    tmp_path: Path, given: dict[str, int], bins: int
) -> None:
    """As onnxruntime and onnx's reference; onnx's inference (1.23.2) has all of it by default."""
    held = {"hop": np.array(160, np.int64), "window": np.ones(400, np.float32)}
    nodes = [node("STFT", "x hop window", "y", **given)]
    graph = sp.from_onnx(
        write(model(nodes, {"x": [1, 16_400, 1]}, {"y": None}, held, 17), tmp_path)
    )
    assert graph.tensors["y"].shape == (1, 101, bins, 2)


@pytest.mark.parametrize("seed", [*range(12), 251, 285, 288, 299])
def test_arithmetic_on_sizes_is_followed(tmp_path: Path, seed: int) -> None:
    """`python -m tests.importers.size_chains` draws more."""
    assert examined(seed, tmp_path / "sizes.onnx") == "right"


def test_a_size_that_data_decide_may_stand_in_the_file(tmp_path: Path) -> None:
    """As the message says."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Cast", ["places"], ["y"], to=1),
    ]
    start = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    end = helper.make_empty_tensor_value_info("y")
    made = helper.make_model(
        helper.make_graph(nodes, "g", [start], [end]), opset_imports=[helper.make_opsetid("", 17)]
    )
    path = tmp_path / "places.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(sp.BadInput, match=r"computes it from data; if it is fixed, write it into"):
        sp.load(path)
    fixed = helper.make_tensor_value_info("places", TensorProto.INT64, [2, 4])
    made.graph.value_info.append(fixed)
    path.write_bytes(made.SerializeToString())
    assert sp.load(path).tensors["y"].shape == (2, 4)
