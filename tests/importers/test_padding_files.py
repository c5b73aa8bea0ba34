"""Pads of ONNX and TensorFlow Lite files: by hand, with the numbers that stand for zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import planners as sp
from planners.core.graph import Graph
from tests.audits.cure.networks import SAME, SCALE, VALID, Int8Net
from tests.importers.tflite_models import TfliteWriter

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
INF = float("inf")
FOLDS, STAYS = True, False


def number(name: str, value: float, dtype: str = "float32") -> Any:
    return numpy_helper.from_array(np.array(value, dtype), name)


def onnx_net(
    path: Path, pad: Any, window: Any, constants: Sequence[Any], type_: int = FLOAT, opset: int = 18
) -> Path:
    """A file of a pad of (1, 2, 6, 6), to `p`, and a window that reads it."""
    graph = helper.make_graph(
        [pad, window],
        "net",
        [helper.make_tensor_value_info("x", type_, [1, 2, 6, 6])],
        [helper.make_tensor_value_info("y", type_, None)],
        [numpy_helper.from_array(np.array([0, 0, 1, 0, 0, 0, 1, 2]), "pads"), *constants],
    )
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def weight(dtype: str = "float32") -> Any:
    return numpy_helper.from_array(np.ones((3, 2, 3, 3), dtype), "w")


PAD = helper.make_node("Pad", ["x", "pads"], ["p"])
PAD_WITH = helper.make_node("Pad", ["x", "pads", "v"], ["p"])
CONV = helper.make_node("Conv", ["p", "w"], ["y"])
QUANTISED = [number(name, 0.5) for name in ("s", "t", "u")]
QLINEAR = helper.make_node("QLinearConv", ["p", "s", "z", "w", "t", "zw", "u", "zy"], ["y"])
ZEROS = [number("z", 7, "uint8"), number("zw", 0, "int8"), number("zy", 0, "uint8")]


def pool(kind: str, **given: Any) -> Any:
    return helper.make_node(kind, ["p"], ["y"], kernel_shape=[3, 3], **given)


@pytest.mark.parametrize(
    ("pad", "window", "constants", "type_", "folds"),
    [
        (PAD, CONV, [weight()], FLOAT, FOLDS),
        (PAD_WITH, CONV, [weight(), number("v", 0.0)], FLOAT, FOLDS),
        (PAD_WITH, CONV, [weight(), number("v", 0.5)], FLOAT, STAYS),
        (PAD_WITH, pool("MaxPool"), [number("v", -INF)], FLOAT, FOLDS),
        (PAD_WITH, pool("MaxPool"), [number("v", 0.0)], FLOAT, STAYS),
        (PAD_WITH, pool("MaxPool"), [number("v", 0, "uint8")], UINT8, FOLDS),
        (PAD, pool("LpPool"), [], FLOAT, FOLDS),
        (PAD, pool("AveragePool"), [], FLOAT, STAYS),
        (PAD, pool("AveragePool", count_include_pad=1), [], FLOAT, STAYS),  # two columns behind
        (PAD, pool("AveragePool", count_include_pad=1, strides=[1, 3]), [], FLOAT, FOLDS),
        (PAD_WITH, QLINEAR, [weight("int8"), number("v", 7, "uint8"), *QUANTISED, *ZEROS],
         UINT8, FOLDS),
        (PAD, QLINEAR, [weight("int8"), *QUANTISED, *ZEROS], UINT8, STAYS),
        (helper.make_node("Pad", ["x", "pads"], ["p"], mode="edge"), CONV, [weight()], FLOAT,
         STAYS),
    ],
)  # fmt: skip
def test_onnx(
    pad: Any, window: Any, constants: list[Any], type_: int, folds: bool, tmp_path: Path
) -> None:
    path = onnx_net(tmp_path / "net.onnx", pad, window, constants, type_)
    graph, kept = sp.load(path), sp.from_onnx(path, fold_padding=False)
    assert len(kept.operators) == 2
    assert kept.macs == graph.macs
    if not folds:
        assert graph == kept
        return
    (op,) = graph.operators
    assert (op.inputs, op.padding) == (("x",), (1, 0))
    assert graph.tensors["y"] == kept.tensors["y"]
    for planner in ("cosma", "fusion", "streaming"):
        sp.check(sp.plan(graph, planner, "4KiB"))


def test_a_value_that_older_files_have_as_an_attribute(tmp_path: Path) -> None:
    for value, count in ((0.0, 1), (1.0, 2)):
        pad = helper.make_node("Pad", ["x"], ["p"], pads=[0, 0, 1, 0, 0, 0, 1, 2], value=value)
        path = onnx_net(tmp_path / "net.onnx", pad, CONV, [weight()], opset=10)
        assert len(sp.load(path).operators) == count


def test_a_value_that_is_computed(tmp_path: Path) -> None:
    """Nobody knows it before the network runs."""
    made = helper.make_node("ReduceMax", ["x"], ["v"], keepdims=0)
    path = onnx_net(tmp_path / "net.onnx", PAD_WITH, CONV, [weight()])
    model = onnx.load(path)
    model.graph.node.insert(0, made)
    onnx.save(model, path)
    assert "folded_pads" not in sp.load(path).source


# ---- TensorFlow Lite -----------------------------------------------------------------------------


def pad_v2(net: Int8Net, x: int, value: int) -> int:
    """A PADV2 by (1, 0) rows and (0, 1) columns."""
    batch, high, wide, channels = net.shape(x)
    around = net.writer.tensor((4, 2), "int32", np.array([[0, 0], [1, 0], [0, 1], [0, 0]], "i4"))
    with_ = net.writer.tensor((1,), "int8", np.array([value], np.int8), scale=SCALE, zero=3)
    out = net.tensor((batch, high + 1, wide + 1, channels))
    return net.writer.operator("PADV2", [x, around, with_], [out], "PadV2Options")


def valid_pool(net: Int8Net, x: int, kind: str) -> int:
    batch, high, wide, channels = net.shape(x)
    out = net.tensor((batch, high - 1, wide - 1, channels))
    given = {"StrideH": 1, "StrideW": 1, "FilterHeight": 2, "FilterWidth": 2, "Padding": VALID}
    return net.writer.operator(kind, [x], [out], "Pool2DOptions", **given)


Build = Callable[[Int8Net, int], int]
TFLITE: dict[str, tuple[Build, bool]] = {
    "a convolution": (lambda net, x: net.conv(net.pad(x, 1), 8, 3), FOLDS),
    "by channels": (lambda net, x: net.depthwise(net.pad(x, 1), 3), FOLDS),
    "the zero point": (lambda net, x: net.conv(pad_v2(net, x, 3), 8, 3), FOLDS),
    "another number": (lambda net, x: net.conv(pad_v2(net, x, 0), 8, 3), STAYS),
    "the least": (lambda net, x: valid_pool(net, pad_v2(net, x, -128), "MAX_POOL_2D"), FOLDS),
    "zero is not the least": (
        lambda net, x: valid_pool(net, pad_v2(net, x, 3), "MAX_POOL_2D"),
        STAYS,
    ),
    "a mean": (lambda net, x: valid_pool(net, net.pad(x, 1), "AVERAGE_POOL_2D"), STAYS),
}


def both(net: Int8Net, path: Path) -> tuple[Graph, Graph]:
    net.save(path)
    return sp.load(path), sp.load(path, fold_padding=False)


@pytest.mark.parametrize("name", TFLITE)
def test_tflite(name: str, tmp_path: Path) -> None:
    build, folds = TFLITE[name]
    net = Int8Net((1, 8, 8, 4), seed=2)
    path = tmp_path / "net.tflite"
    graph, kept = both(net.done(build(net, net.conv(net.image, 4))), path)
    assert len(kept.operators) == 3
    assert len(graph.operators) == 3 - folds
    assert graph.macs == kept.macs
    if not folds:
        assert graph == kept
        return
    for planner, budget in (("cosma", "MR"), ("fusion", "600B"), ("overlap", "1KiB")):
        plan = sp.plan(graph, planner, budget, time_limit=600)
        assert sp.execute(plan, path).bit_exact


def test_sums_in_parts_know_the_padding(tmp_path: Path) -> None:
    """A layer that is computed from some of its channels each time."""
    net = Int8Net((1, 4, 4, 96), seed=8)
    graph, _ = both(
        net.done(net.conv(net.pad(net.conv(net.image, 96), 1), 32, 3)), tmp_path / "w.tflite"
    )
    plan = sp.plan(graph, "fusion", "1800B", time_limit=600)
    assert any(getattr(item, "sums", None) for item in plan.program.instructions)
    assert sp.execute(plan, tmp_path / "w.tflite").bit_exact


def test_a_pad_that_changes_scales_stays(tmp_path: Path) -> None:
    net = Int8Net((1, 8, 8, 4), seed=2)
    x = net.pad(net.image, 1)
    net.writer.tensors[x]["zero"] = 5
    graph, kept = both(net.done(net.conv(x, 8, 3)), tmp_path / "net.tflite")
    assert graph == kept


def test_the_least_float_is_what_a_pool_begins_with(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 4, 4, 1))
    around = w.tensor((4, 2), "int32", np.array([[0, 0], [1, 0], [1, 0], [0, 0]], "i4"))
    least = w.tensor((1,), "float32", np.array([np.finfo(np.float32).min], np.float32))
    p = w.operator("PADV2", [x, around, least], [w.tensor((1, 5, 5, 1))], "PadV2Options")
    given = {"StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3, "Padding": VALID}
    y = w.operator("MAX_POOL_2D", [p], [w.tensor((1, 2, 2, 1))], "Pool2DOptions", **given)
    w.inputs, w.outputs = [x], [y]
    path = w.save(tmp_path / "net.tflite")
    graph = sp.load(path)
    assert [op.padding for op in graph.operators] == [(1, 1)]
    assert sp.execute(sp.plan(graph), path).bit_exact


def test_same_after_a_pad(tmp_path: Path) -> None:
    """SAME adds a row behind what is padded already: 9 rows, 8 of the data."""
    w = TfliteWriter()
    x = w.tensor((1, 8, 8, 1))
    around = w.tensor((4, 2), "int32", np.array([[0, 0], [1, 0], [0, 0], [0, 0]], "i4"))
    p = w.operator("PAD", [x, around], [w.tensor((1, 9, 8, 1))], "PadOptions")
    given = {"StrideH": 2, "StrideW": 2, "DilationHFactor": 1, "DilationWFactor": 1}
    y = w.tensor((1, 5, 4, 1))
    w.operator("CONV_2D", [p, w.weight((1, 3, 3, 1))], [y], "Conv2DOptions", Padding=SAME, **given)
    w.inputs, w.outputs = [x], [y]
    path = w.save(tmp_path / "net.tflite")
    graph = sp.load(path)
    assert [op.padding for op in graph.operators] == [(2, 0)]
    for planner, budget in (("cosma", "MR"), ("fusion", "76B")):
        assert sp.execute(sp.plan(graph, planner, budget), path).bit_exact
