"""onnxruntime's own operators, as its quantiser writes them, are read like the standard ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import planners as sp
from planners.core.caveats import caveats
from tests.importers.onnx_models import model, node, write

U8 = TensorProto.UINT8


def contributed(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    made = node(kind, inputs, outputs, **attributes)
    made.domain = "com.microsoft"
    return made


def graph_of(made: Any, folder: Path) -> sp.Graph:
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return sp.from_onnx(write(made, folder))


SCALE = {"s": np.float32(0.1), "z": np.uint8(128)}


def test_a_dynamically_quantised_lstm_is_a_recurrent_layer(tmp_path: Path) -> None:
    """As `quantize_dynamic` writes it: weights of whole numbers, turned, a scale for each."""
    weights = {
        "w": np.zeros((1, 8, 16), np.int8),
        "r": np.zeros((1, 4, 16), np.int8),
        "ws": np.ones((1, 16), np.float32),
        "wz": np.zeros((1, 16), np.int8),
    }
    lstm = contributed(
        "DynamicQuantizeLSTM", "x w r _ _ h c _ ws wz ws wz", "y yh yc", hidden_size=4
    )
    after = node("Relu", "y", "out")
    sizes = {"x": [6, 2, 8], "h": [1, 2, 4], "c": [1, 2, 4]}
    made = model([lstm, after], sizes, {"out": None, "yh": None, "yc": None}, weights, opset=17)
    graph = graph_of(made, tmp_path)
    (op,) = (op for op in graph.operators if op.kind == "lstm")
    assert op.macs == 6 * 2 * (8 * 16 + 4 * 16)
    assert op.inputs == ("x", "h", "c")
    assert set(op.parameters) == {"w", "r", "ws", "wz"}
    assert [graph.tensors[name].shape for name in op.outputs] == [
        (6, 1, 2, 4),
        (1, 2, 4),
        (1, 2, 4),
    ]
    assert {graph.tensors[name].dtype for name in op.outputs} == {"float32"}
    assert not graph.source.get("opaque")


@pytest.mark.parametrize(
    ("made", "kind", "shape", "macs"),
    [
        (contributed("QLinearAdd", "a s z b s z s z", "y"), "add", (1, 4, 6, 6), 0),
        (contributed("QLinearMul", "a s z b s z s z", "y"), "mul", (1, 4, 6, 6), 0),
        (contributed("QLinearSigmoid", "a s z s z", "y"), "sigmoid", (1, 4, 6, 6), 0),
        (contributed("QLinearConcat", "s z a s z b s z", "y", axis=1), "cat", (1, 8, 6, 6), 0),
        (
            contributed("QLinearGlobalAveragePool", "a s z s z", "y", channels_last=0),
            "adaptive_avg_pool2d",
            (1, 4, 1, 1),
            0,
        ),
        (
            contributed(
                "QLinearAveragePool", "a s z s z", "y", kernel_shape=[2, 2], strides=[2, 2]
            ),
            "avg_pool2d",
            (1, 4, 3, 3),
            0,
        ),
        (contributed("QGemm", "m s z n s z _ s z", "y", transB=1), "linear", (3, 5), 3 * 5 * 7),
    ],
)
def test_operators_on_whole_numbers(
    tmp_path: Path, made: Any, kind: str, shape: tuple[int, ...], macs: int
) -> None:
    inputs = {name: None for name in made.input if name in ("a", "b", "m")}
    weights = {**SCALE, "n": np.zeros((5, 7), np.uint8)}
    file = model([made], inputs, {"y": None}, weights, opset=17)
    for value in file.graph.input:
        size = [3, 7] if value.name == "m" else [1, 4, 6, 6]
        value.CopyFrom(helper.make_tensor_value_info(value.name, U8, size))
    (op,) = graph_of(file, tmp_path).operators
    assert (op.kind, op.macs) == (kind, macs)
    graph = graph_of(file, tmp_path)
    assert (graph.tensors["y"].shape, graph.tensors["y"].dtype) == (shape, "uint8")


def test_a_product_in_whole_numbers_is_a_float_again(tmp_path: Path) -> None:
    made = contributed("DynamicQuantizeMatMul", "x n s z", "y")
    file = model([made], {"x": [2, 3, 5]}, {"y": None}, {**SCALE, "n": np.zeros((5, 7), np.uint8)})
    graph = graph_of(file, tmp_path)
    assert (graph.macs, graph.tensors["y"].shape) == (2 * 3 * 5 * 7, (2, 3, 7))
    assert graph.tensors["y"].dtype == "float32"


def test_what_a_range_decides_reads_all_of_it(tmp_path: Path) -> None:
    """`DynamicQuantizeLinear` multiplies nothing: it is known, and no operator is opaque."""
    nodes = [node("DynamicQuantizeLinear", "x", "q s z"), node("DequantizeLinear", "q s z", "y")]
    graph = sp.from_onnx(write(model(nodes, {"x": [2, 5]}, {"y": None}), tmp_path))
    assert [op.kind for op in graph.operators] == ["quantize_dynamic", "dequantize"]
    assert [graph.tensors[name].shape for name in graph.operators[0].outputs] == [(2, 5), (), ()]
    assert not caveats(graph).lines()


def test_images_with_channels_last_are_read(tmp_path: Path) -> None:
    made = contributed("QLinearGlobalAveragePool", "x s z s z", "y", channels_last=1)
    file = model([made], {"x": None}, {"y": None}, dict(SCALE), opset=17)
    file.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", U8, [1, 6, 5, 4]))
    graph = graph_of(file, tmp_path)
    (op,) = graph.operators
    assert (op.kind, op.inputs) == ("adaptive_avg_pool2d", ("x",))
    assert graph.tensors[op.outputs[0]].elements == 4


def test_onnxruntime_agrees(tmp_path: Path) -> None:
    """Shapes, where onnxruntime is installed: it is no dependency of this project."""
    runtime = pytest.importorskip("onnxruntime")
    made = contributed("QLinearConcat", "s z a s z b s z", "y", axis=1)
    file = model([made], {"a": None, "b": None}, {"y": None}, dict(SCALE), opset=17)
    for value in (*file.graph.input, *file.graph.output):
        size = [1, 8 if value.name == "y" else 4, 6, 6]
        value.CopyFrom(helper.make_tensor_value_info(value.name, U8, size))
    graph = graph_of(file, tmp_path)
    session = runtime.InferenceSession(file.SerializeToString())
    data = {name: np.zeros(graph.tensors[name].shape, np.uint8) for name in ("a", "b")}
    assert session.run(None, data)[0].shape == graph.tensors["y"].shape


def test_what_a_product_of_whole_numbers_adds_is_of_int32(tmp_path: Path) -> None:
    """As `quantize_static` writes every Gemm with a bias."""
    made = contributed("QGemm", "m s z n s z c s z", "y", transB=1)
    weights = {**SCALE, "n": np.zeros((5, 7), np.uint8), "c": np.zeros(5, np.int32)}
    file = model([made], {"m": None}, {"y": None}, weights, opset=17)
    file.graph.input[0].CopyFrom(helper.make_tensor_value_info("m", U8, [3, 7]))
    graph = graph_of(file, tmp_path)
    (op,) = graph.operators
    assert (op.kind, op.macs, op.parameters) == ("linear", 3 * 5 * 7, ("n", "c"))
    assert (graph.tensors["c"].dtype, graph.size_bytes("c"), graph.size_bytes("y")) == (
        "int32",
        20,
        15,
    )


def test_a_weight_of_four_bits_in_bytes_is_a_product(tmp_path: Path) -> None:
    """As `MatMulNBitsQuantizer` writes it: two numbers a byte, a scale for each block of 16."""
    weights = {"n": np.zeros((5, 2, 8), np.uint8), "s": np.zeros((5, 2), np.float32)}
    made = contributed("MatMulNBits", "x n s", "h", K=24, N=5, bits=4, block_size=16)
    file = model([made, node("Relu", "h", "y")], {"x": [2, 3, 24]}, {"y": None}, weights)
    graph = graph_of(file, tmp_path)
    assert (graph.macs, graph.tensors["y"].shape) == (2 * 3 * 24 * 5, (2, 3, 5))
    assert graph.parameter_bytes == 5 * 2 * 8 + 5 * 2 * 4
    assert not caveats(graph).lines()
