"""What each ONNX operator becomes, with onnx's own reference as the oracle for what it reads."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import planners as sp
from planners.core.access import detailed, needs
from planners.core.caveats import caveats
from planners.core.graph import Graph, Operator
from tests.importers.onnx_models import X, Y, graph_of, kinds, model, node, value, write


def one(
    kind: str, inputs: str = "x", weights: Any = None, opset: int = 20, **attributes: Any
) -> Any:
    """A model of one node that gives y, followed by an addition: views alone are no operators."""
    nodes = [node(kind, inputs, "v", **attributes), node("Add", "v two", "y")]
    held = {**(weights or {}), "two": np.float32(2)}
    return model(nodes, X, Y, held, opset)


def ints(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


W = {"w": (6, 4, 3, 2), "b": (6,)}
NORM = {"s": (4,), "b": (4,), "m": (4,), "q": np.ones(4, np.float32)}
CUT = {"s": ints(1, -8), "e": ints(99, -1), "a": ints(1, -1), "t": ints(2, 3)}
BACK = {"s": ints(-1), "e": ints(-99), "a": ints(1), "t": ints(-1)}
SCALES = {"s": (4,), "b": (4,)}
TURNED = {"strides": [1, 2], "pads": [1, 0, 0, 1], "dilations": [2, 1]}
PLACE = "coordinate_transformation_mode"
NEAREST = {"mode": "nearest", PLACE: "asymmetric", "nearest_mode": "floor"}
CORNERS = {"mode": "linear", PLACE: "align_corners"}
LOCAL = {
    "conv": one("Conv", "x w b", W, pads=[1, 1, 1, 0], strides=[2, 1]),
    "conv, more padding at the end": one("Conv", "x w", W, pads=[0, 1, 2, 3], strides=[2, 2]),
    "conv, same, upper": one("Conv", "x w", W, auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv, same, lower": one("Conv", "x w", W, auto_pad="SAME_LOWER", strides=[1, 3]),
    "conv, valid": one("Conv", "x w", W, auto_pad="VALID"),
    "conv in groups": one("Conv", "x w", {"w": (4, 2, 2, 2)}, group=2, dilations=[2, 1]),
    "max pool": one("MaxPool", kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]),
    "max pool, up": one("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "average pool": one("AveragePool", kernel_shape=[3, 3], auto_pad="SAME_UPPER"),
    "global average": one("GlobalAveragePool"),
    "global maximum": one("GlobalMaxPool"),
    "pad": one("Pad", "x p", {"p": ints(0, 0, 1, 2, 0, 1, 0, 3)}),
    "pad two axes": one("Pad", "x p _ a", {"p": ints(1, 2, 0, 1), "a": ints(-1, 1)}),
    "pad, attribute": one("Pad", opset=9, pads=[0, 0, 1, 2, 0, 1, 0, 3]),
    "slice": one("Slice", "x s e a t", CUT),
    "slice, attributes": one("Slice", opset=9, starts=[1, 2], ends=[3, 6], axes=[1, 3]),
    "one index": one("Gather", "x i", {"i": np.int64(-2)}, axis=2),
    "transpose": one("Transpose", perm=[0, 2, 3, 1]),
    "all turned": one("Transpose"),
    "reshape": one("Reshape", "x s", {"s": ints(0, 2, -1, 9)}),
    "flatten": one("Flatten", axis=2),
    "unsqueeze": one("Unsqueeze", "x a", {"a": ints(1, -1)}),
    "unsqueeze, attribute": one("Unsqueeze", opset=11, axes=[0, 3]),
    "expand": one("Expand", "x s", {"s": ints(3, 1, 1, 1, 1)}),
    "cat": one("Concat", "x w", {"w": (2, 4, 3, 9)}, axis=-2),
    "nearest": one("Resize", "x _ s", {"s": np.array([1, 1, 2, 3], np.float32)}, **NEAREST),
    "nearest, old": one("Upsample", "x s", {"s": np.array([1, 1, 2, 2], np.float32)}, opset=9),
    "bilinear": one("Resize", "x _ _ s", {"s": ints(2, 4, 14, 27)}, mode="linear"),
    "corners": one("Resize", "x _ _ s", {"s": ints(2, 4, 10, 5)}, **CORNERS),
    "weighted sum": one("MatMul", "x w", {"w": (9, 5)}),
    "product": one("MatMul", "w x", {"w": (2, 4, 5, 7)}),
    "slopes": one("PRelu", "x w", {"w": (4, 1, 1)}),
    "choice": one("Where", "w x z", {"w": np.array([True, False, True] * 3), "z": (4, 7, 1)}),
    "sum of three": one("Sum", "x w x", {"w": (7, 1)}),
    "greatest": one("Max", "x w", {"w": (4, 7, 9)}),
    "clip": one("Clip", "x l h", {"l": np.float32(0), "h": np.float32(6)}),
    "clip, attributes": one("Clip", opset=9, min=-0.5, max=0.5),
    "mean, kept": one("ReduceMean", "x a", {"a": ints(1, -1)}),
    "mean, attribute": one("ReduceMean", opset=13, axes=[2]),
    "mean, not kept": one("ReduceMean", "x a", {"a": ints(1, -1)}, keepdims=0),
    "softmax": one("Softmax", axis=1),
    "softmax, old": one("Softmax", axis=2, opset=11),
    "layer norm": one("LayerNormalization", "x s b", {"s": (7, 9), "b": (7, 9)}, axis=-2),
    "batch norm": one("BatchNormalization", "x s b m q", NORM),
    "transposed conv": one("ConvTranspose", "x w", {"w": (4, 3, 3, 3)}, strides=[2, 2]),
    "transposed, cut": one("ConvTranspose", "x w b", {"w": (4, 6, 2, 3), "b": (6,)}, **TURNED),
    "norm of each map": one("InstanceNormalization", "x s b", SCALES),
    "group norm": one("GroupNormalization", "x s b", SCALES, num_groups=2, opset=21),
    "one equation": one("Einsum", "x w", {"w": (9, 5)}, equation="abcd,de->abce"),
    "cast": one("Cast", to=onnx.TensorProto.FLOAT),
}  # fmt: skip
WHOLE = {
    "indices": one("Gather", "x i", {"i": ints(2, 0, 2)}, axis=1),
    "backwards": one("Slice", "x s e a t", BACK),
    "nearest, rounded": one("Resize", "x _ _ s", {"s": ints(2, 4, 5, 4)}, mode="nearest"),
    "reflected": one("Pad", "x p", {"p": ints(0, 0, 1, 1, 0, 0, 1, 1)}, mode="reflect"),
    "norm by one operand twice": one("InstanceNormalization", "x s s", {"s": (4,)}),
    "depth to space": one("DepthToSpace", blocksize=2),
    "running sum": one("CumSum", "x a", {"a": np.int64(1)}),
}  # fmt: skip


def run(made: Any, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of a model with these inputs and weights."""
    filled = onnx.ModelProto()
    filled.CopyFrom(made)
    for tensor in filled.graph.initializer:
        if tensor.name in feeds:
            tensor.CopyFrom(numpy_helper.from_array(feeds[tensor.name], tensor.name))
    names = [v.name for v in filled.graph.output]
    inputs = {v.name: feeds[v.name] for v in filled.graph.input}
    return dict(zip(names, ReferenceEvaluator(filled).run(names, inputs)))


def tensors(made: Any, rng: Any) -> dict[str, Any]:
    """Random inputs, and the weights."""
    found = {t.name: numpy_helper.to_array(t) for t in made.graph.initializer}
    for item in made.graph.input:
        sizes = [axis.dim_value for axis in item.type.tensor_type.shape.dim]
        found[item.name] = rng.standard_normal(sizes).astype(np.float32)
    return found


def spoilt(graph: Graph, op: Operator, box: Any, given: Mapping[str, Any], rng: Any) -> Any:
    """All operands, with other numbers wherever the operator says that it does not look."""
    read = dict(needs(graph, op, op.outputs[0], box))
    found = dict(given)
    for name in (*op.inputs, *op.parameters):
        if found[name].dtype != np.float32 or name == "q":  # a variance is above zero
            continue
        turned = graph.tensors[name].shape != found[name].shape
        whole = found[name].T if turned else found[name]
        noise = rng.standard_normal(whole.shape).astype(np.float32) * 100
        if name in read:
            part = tuple(slice(*axis) for axis in read[name])
            noise[part] = whole[part]
        found[name] = noise.T if turned else noise
    return found


@pytest.mark.parametrize("name", [*LOCAL, *WHOLE])
def test_a_part_needs_no_more_than_is_said(name: str, tmp_path: Path) -> None:
    made = {**LOCAL, **WHOLE}[name]
    graph = sp.from_onnx(write(made, tmp_path))
    (op,) = (op for op in graph.operators if op.outputs == graph.outputs)
    assert len(graph.operators) == 1
    rng, draw = np.random.default_rng(0), random.Random(0)
    given = tensors(made, rng)
    right = run(made, given)["y"]
    shape = graph.tensors["y"].shape
    assert right.shape == shape
    local = False
    for _ in range(12):
        starts = [draw.randrange(n) for n in shape]
        box = tuple((a, draw.randint(a + 1, n)) for a, n in zip(starts, shape))
        other = spoilt(graph, op, box, given, rng)
        local |= any(not np.array_equal(other[n], given[n]) for n in op.inputs)
        part = tuple(slice(*axis) for axis in box)
        np.testing.assert_allclose(run(made, other)["y"][part], right[part], rtol=1e-4, atol=1e-4)
    assert local == (name in LOCAL)


@pytest.mark.parametrize(
    ("made", "macs"),
    [
        (one("Conv", "x w", {"w": (6, 4, 3, 3)}), 2 * 6 * 5 * 7 * 4 * 9),
        (one("Conv", "x w", {"w": (4, 2, 3, 3)}, group=2), 2 * 4 * 5 * 7 * 2 * 9),
        (one("ConvTranspose", "x w", {"w": (4, 3, 3, 3)}), 2 * 4 * 7 * 9 * 3 * 9),
        (one("MatMul", "x w", {"w": (9, 5)}), 2 * 4 * 7 * 9 * 5),
        (one("MatMul", "w x", {"w": (3, 7)}), 2 * 4 * 3 * 7 * 9),
        (one("Einsum", "x w", {"w": (9, 5)}, equation="abcd,de->abce"), 2 * 4 * 7 * 9 * 5),
        (one("MaxPool", kernel_shape=[3, 3]), 0),
        (one("Softmax"), 0),
    ],
)
def test_macs(made: Any, macs: int, tmp_path: Path) -> None:
    assert sp.from_onnx(write(made, tmp_path)).macs == macs


@pytest.mark.parametrize("flags", [{}, {"transB": 1}, {"transA": 1}, {"transA": 1, "transB": 1}])
def test_gemm_is_a_linear_layer(flags: dict[str, int], tmp_path: Path) -> None:
    weight = (5, 3) if flags.get("transB") else (3, 5)
    inputs = {"x": [3, 2] if flags.get("transA") else [2, 3]}
    nodes = [node("Gemm", "x w b", "y", **flags)]
    graph = graph_of(nodes, tmp_path, {"w": weight, "b": (5,)}, inputs=inputs)
    (op,) = graph.operators
    assert (op.kind, op.macs, op.parameters) == ("linear", 2 * 3 * 5, ("w", "b"))
    assert graph.tensors["w"].shape == (5, 3)
    assert kinds(graph) == [["permute"] * flags.get("transA", 0) + ["linear"]]


def test_sizes_that_the_graph_computes(tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w", "c", pads=[1] * 4),
        node("Shape", "c", "s"),
        node("Gather", "s zero", "n", axis=0),
        node("Unsqueeze", "n axes", "nn"),
        node("Concat", "nn rest", "t", axis=0),
        node("Reshape", "c t", "r"),
        node("Shape", "r", "rs", start=1, end=2),
        node("Cast", "rs", "f", to=onnx.TensorProto.FLOAT),
        node("Mul", "f third", "g"),
        node("Floor", "g", "h"),
        node("Cast", "h", "k", to=onnx.TensorProto.INT64),
        node("Slice", "r zeros k ones", "y"),
    ]
    weights = {
        "w": (6, 4, 3, 3), "zero": np.int64(0), "axes": ints(0), "rest": ints(-1),
        "third": np.array([1 / 3], np.float32), "zeros": ints(0), "ones": ints(1),
    }  # fmt: skip
    options = {"inputs": {"x": ["n", 4, 7, 9]}, "input_shape": (2, 4, 7, 9)}
    graph = graph_of(
        [*nodes, node("Exp", "y", "z")], tmp_path, weights, outputs={"z": None}, **options
    )
    assert [op.kind for op in graph.operators] == ["conv2d", "exp"]
    assert graph.tensors["z"].shape == (2, 6 * 7 * 9 // 3)
    assert set(graph.tensors) == {"x", "w", "c", "z"}


def test_scales_that_the_graph_computes(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "s", start=2),
        node("Cast", "s", "f", to=onnx.TensorProto.FLOAT),
        node("Cast", "whole", "sizes", to=onnx.TensorProto.FLOAT),
        node("Div", "sizes f", "r"),
        node("Concat", "front r", "scales", axis=0),
        node("Resize", "x _ scales", "y", mode="nearest"),
    ]
    weights = {"whole": ints(14, 27), "front": np.ones(2, np.float32)}
    graph = graph_of(nodes, tmp_path, weights)
    assert graph.tensors["y"].shape == (2, 4, 14, 27)
    assert graph.parameter_count == 0


def test_small_weights_stay_weights(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Expand", "w s", "e"),
        node("Add", "x e", "a"),
        node("Mul", "v two", "vv"),
        node("Add", "a vv", "y"),
    ]
    graph = graph_of(nodes, tmp_path, {"w": (9,), "v": (9,), "two": np.float32(2)})
    assert [op.parameters for op in graph.operators] == [("w",), ("v",)]
    assert kinds(graph) == [["expand", "add"], ["mul", "add"]]


def test_split_and_its_items(tmp_path: Path) -> None:
    nodes = [node("Split", "x sizes", "a b c", axis=1), node("Mul", "a c", "y")]
    graph = graph_of(nodes, tmp_path, {"sizes": ints(1, 2, 1)})
    (op,) = graph.operators
    assert (op.inputs, op.outputs) == (("x",), ("y",))
    box = ((0, 2), (0, 1), (3, 4), (0, 9))
    assert needs(graph, op, "y", box) == [("x", ((0, 2), (0, 4), (3, 4), (0, 9)))]
    whole = sp.from_onnx(tmp_path / "made.onnx", granularity="aten")
    assert [op.kind for op in whole.operators] == ["split_with_sizes", "mul"]
    assert whole.operators[0].outputs == ("a", "c")


def test_a_split_has_as_many_outputs_as_it_says(tmp_path: Path) -> None:
    nodes = [node("Split", "x", "a b", axis=2, num_outputs=3), node("Relu", "a", "y")]
    with pytest.raises(sp.BadInput, match="says that it has 3 outputs and has 2"):
        sp.load(write(model(nodes, {"x": [2, 4, 6, 9]}, Y), tmp_path))


def test_opaque_operators_need_everything_and_are_noted(tmp_path: Path) -> None:
    nodes = [
        node("Twirl", "x", "h", domain="my.own"),
        node("Twist", "h", "t", domain="my.own"),
        node("MaxPool", "t", "top i", kernel_shape=[1, 1]),
        node("Exp", "top", "y"),
    ]
    shown = [value("h", X["x"]), value("t", [2, 2, 7, 9])]
    graph = graph_of(nodes, tmp_path, value_info=shown)
    assert kinds(graph) == [["my.own.Twirl"], ["my.own.Twist"], ["max_pool2d", "exp"]]
    assert graph.source["opaque"] == ["h", "t"]
    words = "2 operators are opaque, read all of what they read at once and count no MACs"
    assert caveats(graph).lines() == [f"{words}: h (my.own.Twirl), t (my.own.Twist)"]
    box = ((0, 1),) * 4
    assert needs(graph, graph.operators[1], "t", box) == [("h", ((0, 2), (0, 4), (0, 7), (0, 9)))]
    both = graph_of(nodes, tmp_path, value_info=shown, outputs={"y": None, "i": None})
    assert both.operators[2].outputs == ("top", "i")
    assert both.tensors["i"].dtype == "int64"
    assert caveats(both).opaque == ("h", "t")


def test_several_values_and_only_those_that_are_read(tmp_path: Path) -> None:
    nodes = [node("TopK", "x k", "top i", axis=1), node("Exp", "top", "y")]
    graph = graph_of(nodes, tmp_path, {"k": ints(2)})
    assert kinds(graph) == [["topk", "exp"]]
    (op,) = graph.operators
    assert (op.inputs, op.outputs, op.parameters) == (("x",), ("y",), ())
    both = graph_of(nodes, tmp_path, {"k": ints(2)}, outputs={"y": None, "i": None})
    assert [op.outputs for op in both.operators] == [("top", "i"), ("y",)]


def test_positions_are_no_weights(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "s", start=2, end=3),
        node("Squeeze", "s", "n"),
        node("Range", "zero n one", "at"),
        node("Gather", "w at", "e"),
        node("Add", "x e", "y"),
    ]
    weights = {"zero": np.int64(0), "one": np.int64(1), "w": (50, 9)}
    graph = graph_of(nodes, tmp_path, weights)
    assert kinds(graph) == [["constant", "embedding", "add"]]
    assert (graph.operators[0].parameters, graph.parameter_count) == (("w",), 450)


def test_a_recurrent_layer_counts_its_products(tmp_path: Path) -> None:
    nodes = [node("LSTM", "x w r", "y h c", hidden_size=4)]
    weights = {"w": (1, 16, 3), "r": (1, 16, 4)}
    graph = graph_of(
        nodes, tmp_path, weights, inputs={"x": [5, 2, 3]}, outputs={"y": None, "h": None}
    )
    (op,) = graph.operators
    assert (op.kind, op.outputs) == ("lstm", ("y", "h"))
    assert op.macs == 5 * 2 * 16 * (3 + 4)
    assert "opaque" not in graph.source


def test_quantised_files(tmp_path: Path) -> None:
    weights = {
        "w": np.ones((6, 4, 3, 3), np.int8), "ws": (6,), "wz": np.zeros(6, np.int8),
        "s": np.float32(0.1), "z": np.int8(0),
    }  # fmt: skip
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "d"),
        node("DequantizeLinear", "w ws wz", "dw", axis=0),
        node("Conv", "d dw", "c"),
        node("Relu", "c", "y"),
    ]
    graph = graph_of(nodes, tmp_path, weights)
    assert kinds(graph) == [["quantize", "dequantize", "dequantize", "conv2d", "relu"]]
    assert graph.operators[0].parameters == ("w", "ws", "wz")
    assert graph.macs == 2 * 6 * 5 * 7 * 4 * 9
    whole = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearConv", "q s z w ws wz s z", "c", pads=[1] * 4),
        node("DequantizeLinear", "c s z", "y"),
    ]
    graph = graph_of(whole, tmp_path, weights)
    (conv,) = graph.operators
    assert (conv.kind, conv.kernel, conv.padding) == ("conv2d", (3, 3), (1, 1))
    assert conv.parameters == ("w", "ws", "wz")
    read = dict(needs(graph, conv, "y", ((0, 1), (2, 3), (3, 4), (0, 9))))
    assert read["x"] == ((0, 1), (0, 4), (2, 5), (0, 9))
    assert (read["w"][0], read["ws"]) == ((2, 3), ((2, 3),))


def test_old_dropout_and_identities_vanish(tmp_path: Path) -> None:
    nodes = [
        node("Identity", "x", "i"),
        node("Dropout", "i", "d mask", ratio=0.5),
        node("Cast", "d", "c", to=onnx.TensorProto.FLOAT),
        node("Relu", "c", "r"),
        node("Identity", "r", "y"),
    ]
    graph = graph_of(nodes, tmp_path, opset=9)
    assert kinds(graph) == [["relu"]]
    assert (graph.inputs, graph.outputs) == (("x",), ("r",))


def test_uneven_padding_is_planned(tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w", "a", auto_pad="SAME_UPPER", strides=[2, 2]),
        node("Conv", "a v", "b", pads=[0, 0, 1, 1]),
        node("Relu", "b", "y"),
    ]
    graph = graph_of(
        nodes, tmp_path, {"w": (8, 4, 2, 2), "v": (4, 8, 2, 2)}, inputs={"x": [1, 4, 15, 15]}
    )
    assert [op.padding for op in graph.operators] == [(0, 0), (0, 0)]
    assert graph.tensors["y"].shape == (1, 4, 8, 8)
    for planner in ("cosma", "fusion", "overlap"):
        sp.check(sp.plan(graph, planner, "8KiB", time_limit=600))


def test_where_modules_are_known_operators_say_so(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "a"), node("MaxPool", "a", "b", kernel_shape=[2, 2])]
    nodes += [node("MaxPool", "b", "y", kernel_shape=[2, 2])]
    nodes[1].name = "/layer1/layer1.0/pool/MaxPool"
    entry = nodes[2].metadata_props.add()
    entry.key, entry.value = (
        "pkg.torch.onnx.name_scopes",
        "['', 'layer2', 'layer2.pool', 'max_pool2d']",
    )
    graph = graph_of(nodes, tmp_path)
    assert [op.block for op in graph.operators] == ["layer1.0.pool", "layer2.pool"]
    assert not any(detailed(op) for op in graph.operators)


def test_a_padding_that_is_put_together_from_pieces(tmp_path: Path) -> None:
    """As paddle2onnx writes it: its own order of sides, split, and joined in ONNX's."""
    weights = {"sides": np.array([1, 0, 2, 3]), "none": np.zeros(2, np.int64)}
    nodes = [
        node("Split", "sides", "left right top bottom", axis=0, num_outputs=4),
        node("Concat", "none top left none bottom right", "pads", axis=0),
        node("Pad", "x pads", "h"),
        node("Relu", "h", "y"),
    ]
    graph = graph_of(nodes, tmp_path, weights)
    assert graph.tensors["y"].shape == (2, 4, 7 + 2 + 3, 9 + 1)
    assert kinds(graph) == [["pad", "relu"]]
    assert not graph.parameter_count


def test_maps_that_are_split_are_no_numbers(tmp_path: Path) -> None:
    """A table of whole numbers whose pieces are read by data: it is cut where it is read."""
    weights = {"table": np.arange(12).reshape(6, 2)}
    nodes = [
        node("Split", "table", "a b", axis=0, num_outputs=2),
        node("Cast", "a", "c", to=1),
        node("MatMul", "x c", "y"),
    ]
    graph = graph_of(nodes, tmp_path, weights, inputs={"x": [5, 3]})
    assert (graph.macs, graph.tensors["y"].shape) == (5 * 3 * 2, (5, 2))
