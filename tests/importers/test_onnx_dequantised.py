"""Weights that onnxruntime makes floats of in each run, which no plan has: the note names them.

What is right was seen with onnxruntime 1.32.0 on a CPU; where it is installed it is asked again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import planners as sp
from planners.core.caveats import caveats
from tests.importers.onnx_models import model, node

SHAPES: dict[str, tuple[int, ...]] = {
    **{"product": (32, 32), "second of three axes": (3, 32, 16), "first": (64, 32)},
    **{"linear": (48, 32), "window": (8, 4, 3, 3), "transposed window": (4, 8, 2, 2)},
    **{"table": (1000, 64), "sum": (64, 32)},
}
BYTES = {kind: 4 * int(np.prod(shape)) for kind, shape in SHAPES.items()}
FLOATS, IN, BOTH = (False, False), (True, False), (True, True)
NEVER = {
    # in which a weight that nothing else reads stays as it is: float maps, quantised, and both
    **{"product": {FLOATS, IN, BOTH}, "second of three axes": {IN, BOTH}, "linear": {IN, BOTH}},
    **{"window": {BOTH}},
}
DEQUANTIZED = [
    (kind, quantised, shared, shared or quantised not in NEVER.get(kind, ()))
    for kind in SHAPES
    for quantised in ((FLOATS,) if kind == "table" else (FLOATS, IN, BOTH))
    for shared in (False, True)
]


def network(kind: str, quantised: tuple[bool, bool], shared: bool) -> Any:
    """One operator that reads a weight of whole numbers through DequantizeLinear."""
    shape = SHAPES[kind]
    given = {
        **{"product": [2, 32], "second of three axes": [3, 2, 32], "first": [32, 5]},
        **{"linear": [2, 32], "window": [1, 4, 8, 8], "transposed window": [1, 4, 8, 8]},
        **{"table": [4], "sum": [64, 32]},
    }[kind]
    weight = np.random.default_rng(0).integers(-9, 9, shape).astype(np.int8)
    held = {"q": weight, "s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    nodes = [node("DequantizeLinear", "q s z", "w")]
    data, made = ("d" if quantised[0] else "x"), ("o" if quantised[1] or shared else "y")
    if quantised[0]:
        nodes += [node("QuantizeLinear", "x s z", "xq"), node("DequantizeLinear", "xq s z", "d")]
    if kind == "table":
        nodes += [node("Cast", "x", "rows", to=onnx.TensorProto.INT64)]
    nodes.append(
        {
            "product": node("MatMul", f"{data} w", made),
            "second of three axes": node("MatMul", f"{data} w", made),
            "first": node("MatMul", f"w {data}", made),
            "linear": node("Gemm", f"{data} w", made, transB=1),
            "window": node("Conv", f"{data} w", made),
            "transposed window": node("ConvTranspose", f"{data} w", made),
            "table": node("Gather", "w rows", made),
            "sum": node("Add", f"{data} w", made),
        }[kind]
    )
    if quantised[1]:
        last = "p" if shared else "y"
        nodes += [node("QuantizeLinear", "o s z", "oq"), node("DequantizeLinear", "oq s z", last)]
    if shared:
        nodes += [node("Abs", "w", "a"), node("ReduceSum", "a", "t", keepdims=0)]
        nodes += [node("Add", f"{'p' if quantised[1] else 'o'} t", "y")]
    return model(nodes, {"x": given}, {"y": None}, held)


def said(path: Path) -> list[str]:
    return [line for line in caveats(sp.load(path)).lines() if "onnxruntime" in line]


@pytest.mark.parametrize(("kind", "quantised", "shared", "made"), DEQUANTIZED)
def test_a_weight_that_is_dequantized_whole_is_named(
    kind: str, quantised: tuple[bool, bool], shared: bool, made: bool, tmp_path: Path
) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(network(kind, quantised, shared), path)
    lines = said(path)
    assert bool(lines) == made
    if made:
        assert lines[0].startswith("onnxruntime dequantizes whole, in each run, ")
        assert "those bytes are in no plan" in lines[0]


def test_the_bytes_of_a_table_of_which_four_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "table.onnx"
    onnx.save(network("table", (False, False), False), path)
    (line,) = said(path)
    assert "q (250 KiB)" in line
    assert BYTES["table"] == 256_000
    graph = sp.load(path, granularity="aten")
    assert caveats(graph).lines() == [line]
    assert max(map(graph.size_bytes, graph.tensors)) == 64_000


@pytest.mark.parametrize(("kind", "quantised", "shared", "made"), DEQUANTIZED)
def test_onnxruntime_makes_floats_of_the_weights_that_are_named(
    kind: str, quantised: tuple[bool, bool], shared: bool, made: bool, tmp_path: Path
) -> None:
    ort = pytest.importorskip("onnxruntime")
    path = tmp_path / "net.onnx"
    onnx.save(network(kind, quantised, shared), path)
    options = ort.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "run")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, {"x": np.ones(session.get_inputs()[0].shape, np.float32)})
    events = json.loads(Path(session.end_profiling()).read_text())
    runs = [e["args"] for e in events if e.get("args", {}).get("op_name") == "DequantizeLinear"]
    of_weights = {int(run["output_size"]) for run in runs if int(run["parameter_size"]) > 100}
    assert of_weights <= {BYTES[kind]}
    assert bool(said(path)) == bool(of_weights) == made
