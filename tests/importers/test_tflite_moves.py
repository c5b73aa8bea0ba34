"""TensorFlow Lite operators that only move elements, alone in a file or not, beside NumPy.

What says how large a value is, or where a part begins, is a constant or an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planners as sp
from tests.importers.tflite_models import TfliteWriter

RNG = np.random.default_rng(11)
MAP, ROWS = (RNG.standard_normal(shape).astype(np.float32) for shape in ((1, 4, 6, 3), (2, 5)))
CODES = RNG.integers(-128, 128, (1, 4, 6, 3)).astype(np.int8)
LINES = RNG.standard_normal((2, 3, 5)).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@dataclass(frozen=True)
class Move:
    """Operands, those of them by place that may be inputs or constants, and what NumPy gives."""

    kind: str
    operands: Sequence[Any]
    made: Sequence[np.ndarray]
    says: tuple[int, ...] = (1,)
    options: str = ""
    given: dict[str, Any] = field(default_factory=dict)


def scattered() -> np.ndarray:
    made = np.zeros((5, 5), np.float32)
    for place, row in zip((3, 1), ROWS, strict=True):
        made[place] += row
    return made


def updated() -> np.ndarray:
    made = LINES.copy()
    made[:, 1:2] = 7
    return made


MOVES = [
    Move("RESHAPE", [MAP, whole(6, 12)], [MAP.reshape(6, 12)]),
    Move("RESHAPE", [CODES, whole(1, 6, 4, 3)], [CODES.reshape(1, 6, 4, 3)]),
    Move("EXPAND_DIMS", [ROWS, whole(1)], [ROWS[:, None]]),
    Move("SQUEEZE", [MAP], [MAP[0]], (), "SqueezeOptions"),
    Move("SLICE", [MAP, whole(0, 1, 2, 0), whole(1, 2, 3, 3)], [MAP[:, 1:3, 2:5]]),
    Move("SLICE", [MAP, whole(0, 1, 2, 0), whole(1, 2, 3, 3)], [MAP[:, 1:3, 2:5]], (2,)),
    Move("SLICE", [CODES, whole(0, 1, 0, 1), whole(1, 3, 6, 2)], [CODES[:, 1:, :, 1:]], (1, 2)),
    Move(
        "STRIDED_SLICE", [MAP, whole(0, 3, 5, 0), whole(1, 0, 0, 3), whole(1, -2, -1, 1)],
        [MAP[:, 3:0:-2, 5:0:-1]], (1, 2), "StridedSliceOptions",
    ),
    Move(
        "STRIDED_SLICE", [MAP, whole(0, 1, 0, 0), whole(1, 4, 6, 3), whole(1, 2, 3, 1)],
        [MAP[:, 1:4:2, ::3]], (2,), "StridedSliceOptions",
    ),
    Move(
        "STRIDED_SLICE", [LINES, whole(1, 0, 0), whole(2, 0, 4), whole(1, 1, 1)],
        [LINES[1, ..., :4]], (2,), "StridedSliceOptions", {"ShrinkAxisMask": 1, "EllipsisMask": 2},
    ),
    Move(
        "STRIDED_SLICE", [ROWS, whole(0, 0), whole(2, 0), whole(1, 1)],
        [ROWS[:2, None]], (1,), "StridedSliceOptions", {"NewAxisMask": 2},
    ),
    Move("TRANSPOSE", [MAP, whole(0, 2, 3, 1)], [MAP.transpose(0, 2, 3, 1)]),
    Move("TRANSPOSE", [LINES, whole(2, 0, 1)], [LINES.transpose(2, 0, 1)]),
    Move(
        "SPLIT", [whole(2), MAP], np.split(MAP, 3, 2), (0,), "SplitOptions", {"NumSplits": 3}
    ),
    Move(
        "SPLIT_V", [MAP, whole(1, 4, 1), whole(2)], np.split(MAP, [1, 5], 2), (1,),
        "SplitVOptions", {"NumSplits": 3},
    ),
    Move(
        "SPLIT_V", [LINES, whole(2, 3), whole(2)], np.split(LINES, [2], 2), (2,),
        "SplitVOptions", {"NumSplits": 2},
    ),
    Move("UNPACK", [LINES], list(LINES.swapaxes(0, 1)), (), "UnpackOptions", {"Axis": 1, "Num": 3}),
    Move("PACK", [ROWS, -ROWS], [np.array([ROWS, -ROWS])], (), "PackOptions", {"ValuesCount": 2}),
    Move("TILE", [MAP, whole(1, 2, 1, 3)], [np.tile(MAP, (1, 2, 1, 3))]),
    Move("BROADCAST_TO", [ROWS, whole(3, 2, 5)], [np.stack([ROWS] * 3)]),
    Move("FILL", [whole(3, 4), np.float32(2.5)], [np.full((3, 4), 2.5, np.float32)], (0, 1)),
    Move("ZEROS_LIKE", [MAP], [MAP * 0], ()),
    Move("SHAPE", [MAP], [whole(1, 4, 6, 3)], (), "ShapeOptions", {"OutType": 2}),
    Move("RANK", [MAP], [np.array(4, np.int32)], ()),
    Move("REVERSE_V2", [MAP, whole(2)], [MAP[:, :, ::-1]]),
    Move("GATHER", [MAP, whole(3, 0, 0)], [MAP[:, [3, 0, 0]]], (1,), "GatherOptions", {"Axis": 1}),
    Move(
        "GATHER", [LINES, np.array([[2, 0], [1, 1]], np.int32)],
        [np.stack([LINES[0, [2, 0]], LINES[1, [1, 1]]])], (1,),
        "GatherOptions", {"Axis": 1, "BatchDims": 1},
    ),
    Move("GATHER_ND", [LINES, np.array([[1, 2], [0, 0]], np.int32)], [LINES[[1, 0], [2, 0]]]),
    Move("EMBEDDING_LOOKUP", [whole(1, 1, 0), ROWS], [ROWS[[1, 1, 0]]], (0, 1)),
    Move("SCATTER_ND", [whole(3, 1)[:, None], ROWS, whole(5, 5)], [scattered()], (0, 2)),
    Move(
        "DYNAMIC_UPDATE_SLICE", [LINES, np.full((2, 1, 5), 7, np.float32), whole(9, 1, -3)],
        [updated()], (1, 2),
    ),
    Move("SELECT_V2", [ROWS > 0, ROWS, np.float32(0)], [np.maximum(ROWS, 0)], (2,)),
    Move("SELECT", [np.array([True, False]), ROWS, -ROWS], [ROWS * [[1], [-1]]], (0,)),
    Move(
        "ONE_HOT", [whole(1, 3, 0), np.int32(3), np.float32(2), np.float32(-1)],
        [np.array([[-1, 2, -1], [-1, -1, -1], [2, -1, -1]])], (1, 2, 3),
        "OneHotOptions", {"Axis": -1},
    ),
    Move("CAST", [MAP * 9], [np.trunc(MAP * 9).astype(np.int32)], (), "CastOptions"),
    Move("CAST", [CODES], [CODES.astype(np.float32)], (), "CastOptions"),
    Move(
        "PAD", [MAP, np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32)],
        [np.pad(MAP, ((0, 0), (1, 2), (0, 1), (0, 0)))],
    ),
    Move(
        "RESIZE_NEAREST_NEIGHBOR", [MAP, whole(8, 12)], [MAP.repeat(2, 1).repeat(2, 2)], (1,),
        "ResizeNearestNeighborOptions",
    ),
    Move(
        "SPACE_TO_BATCH_ND", [MAP, whole(2, 2), np.zeros((2, 2), np.int32)],
        [np.concatenate([MAP[:, a::2, b::2] for a in (0, 1) for b in (0, 1)])], (1, 2),
    ),
]  # fmt: skip


def written(move: Move, places: Sequence[int], used: bool) -> tuple[TfliteWriter, list[Any]]:
    """A file with the operator alone, or used by another one; which operands say how, as inputs."""
    w, numbers, given = TfliteWriter(), [], []
    for place, value in enumerate(map(np.asarray, move.operands)):
        stored = place in move.says and place not in places
        numbers.append(w.tensor(value.shape, str(value.dtype), value if stored else None))
        if not stored:
            w.inputs.append(numbers[-1])
            given.append(value)
    types = {"SHAPE": "int32", "RANK": "int32", "CAST": str(move.made[0].dtype)}
    data = np.asarray(move.operands[{"SPLIT": 1, "FILL": 1, "SCATTER_ND": 1}.get(move.kind, 0)])
    dtype = types.get(move.kind, "float32" if data.dtype.kind not in "i" else str(data.dtype))
    dtype = "float32" if move.kind in ("EMBEDDING_LOOKUP", "ONE_HOT") else dtype
    made = [w.tensor(value.shape, dtype) for value in move.made]
    w.operator(move.kind, numbers, made, move.options, **move.given)
    w.outputs = list(made)
    if used and dtype == "float32":
        w.outputs = [
            w.operator("RELU", [n], [w.tensor(value.shape)])
            for n, value in zip(made, move.made, strict=True)
        ]
    return w, given


@pytest.mark.parametrize("used", [False, True], ids=["alone", "used"])
@pytest.mark.parametrize("inputs", [False, True], ids=["constants", "inputs"])
@pytest.mark.parametrize("move", [pytest.param(m, id=f"{m.kind}{i}") for i, m in enumerate(MOVES)])
def test_elements_move_as_numpy_moves_them(
    move: Move, inputs: bool, used: bool, tmp_path: Path
) -> None:
    w, given = written(move, move.says if inputs else (), used)
    if not given:  # no input reaches anything
        w.inputs, given = [w.tensor((1, 2))], [np.ones((1, 2), np.float32)]
        w.outputs.append(w.operator("RELU", w.inputs, [w.tensor((1, 2))]))
    path = w.save(tmp_path / "moves.tflite")
    for granularity in ("fused", "aten"):
        graph = sp.load(path, granularity=granularity)
        plan = sp.plan(graph, "cosma", "64KiB")
        sp.check(plan)
        done = sp.execute(plan, path, given)
        assert done.bit_exact
        for found, wanted in zip(done.outputs, move.made):
            expected = np.maximum(wanted, 0) if used and found.dtype == np.float32 else wanted
            assert np.array_equal(found, expected)
            assert found.shape == expected.shape


def test_an_output_that_is_not_the_first_is_its_own(tmp_path: Path) -> None:
    """Of several values one alone may be read."""
    w = TfliteWriter()
    w.inputs, rows = [w.tensor((2, 3, 5))], [w.tensor((2, 5)) for _ in range(3)]
    w.operator("UNPACK", w.inputs, rows, "UnpackOptions", Axis=1, Num=3)
    w.outputs = [w.operator("RELU", [rows[2]], [w.tensor((2, 5))])]
    path = w.save(tmp_path / "rows.tflite")
    done = sp.execute(sp.plan(sp.load(path), "cosma", "1KiB"), path, [LINES])
    assert np.array_equal(done.outputs[0], np.maximum(LINES[:, 2], 0))


def test_places_that_are_not_there_are_told(tmp_path: Path) -> None:
    wrong = {
        "GATHER": (whole(3, 0, 4), "GATHER.*: it has an index outside of 4"),
        "SLICE": (whole(0, 4, 0, 1), "SLICE.*: its part begins at 4, outside of 4"),
        "PAD": (np.full((4, 2), 2**30, np.int32), "PAD.*: its amounts of padding give another"),
    }
    for move in MOVES:
        if move.kind in wrong and 1 in move.says:
            w, given = written(move, move.says, used=True)
            given[1], words = wrong[move.kind]
            if given[1].shape != np.shape(move.operands[1]):
                continue
            path = w.save(tmp_path / "wrong.tflite")
            plan = sp.plan(sp.load(path), "cosma", "64KiB")
            with pytest.raises(sp.BadInput, match=words):
                sp.execute(plan, path, given)


def test_a_shape_that_is_an_input_is_the_file_s(tmp_path: Path) -> None:
    """A transposed convolution is as large as its value in the file, whatever it is given."""
    w = TfliteWriter()
    w.inputs = [w.tensor((4,), "int32", name="shape"), w.tensor((1, 2, 2, 3), name="x")]
    filters = w.tensor((5, 2, 2, 3), data=RNG.standard_normal((5, 2, 2, 3)).astype(np.float32))
    made = w.tensor((1, 4, 4, 5), name="y")
    ends = [w.inputs[0], filters, w.inputs[1]]
    w.operator("TRANSPOSE_CONV", ends, [made], "TransposeConvOptions", StrideH=2, StrideW=2)
    w.outputs = [made]
    path = w.save(tmp_path / "transposed.tflite")
    graph = sp.load(path)
    assert graph.macs == 240
    plan = sp.plan(graph, "cosma", "MR")
    x = RNG.standard_normal((1, 2, 2, 3)).astype(np.float32)
    kernel = w.tensors[filters]["data"]
    expected = np.zeros((1, 4, 4, 5))
    for r in range(2):
        for c in range(2):
            expected[:, r::2, c::2] = x @ kernel[:, r, c].T
    for shape in (whole(1, 4, 4, 5), whole(0, 0, 0, 0)):
        done = sp.execute(plan, path, [shape, x])
        assert done.bit_exact
        assert np.allclose(done.outputs[0], expected, atol=1e-6)
    assert sp.execute(plan, path).bit_exact


def test_a_shape_that_operators_compute_is_not_run(tmp_path: Path) -> None:
    """Exporters write a transposed convolution's shape as numbers of a map's own shape."""
    w = TfliteWriter()
    x = w.tensor((1, 2, 2, 3), name="x")
    sizes = w.operator("SHAPE", [x], [w.tensor((4,), "int32")], "ShapeOptions", OutType=2)
    some = [sizes, *(w.numbers([n]) for n in (0, 1, 1))]
    batch = [w.tensor((), "int32")]
    w.operator("STRIDED_SLICE", some, batch, "StridedSliceOptions", ShrinkAxisMask=1)
    parts = [*batch, *(w.tensor((), "int32", np.array(n, np.int32)) for n in (4, 4, 5))]
    shape = w.operator("PACK", parts, [w.tensor((4,), "int32")], "PackOptions", ValuesCount=4)
    made = w.tensor((1, 4, 4, 5), name="y")
    ends = [shape, w.weight((5, 2, 2, 3)), x]
    w.operator("TRANSPOSE_CONV", ends, [made], "TransposeConvOptions", StrideH=2, StrideW=2)
    w.inputs, w.outputs = [x], [made]
    path = w.save(tmp_path / "computed.tflite")
    graph = sp.load(path)
    assert [op.kind for op in graph.operators] == ["conv_transpose2d"]
    assert sp.execute(sp.plan(graph, "cosma", "MR"), path).bit_exact


CHANGES = [
    *(("int8", made) for made in ("int8", "uint8", "int16", "int32")),
    *(("int16", made) for made in ("int8", "int16", "int32")),
    *(("int32", made) for made in ("int8", "int16")),
    ("uint8", "int8"),
]


@pytest.mark.parametrize("scales", [(0.25, 0.5), (0.5, 0.25), (0.1, 0.0137)])
@pytest.mark.parametrize(("dtype", "made"), CHANGES)
def test_a_scale_changes_between_types(
    dtype: str, made: str, scales: tuple[float, float], tmp_path: Path
) -> None:
    """Real numbers stay: to the nearest of the other type, saturated."""
    w = TfliteWriter()
    zeros = [3 if each in ("int8", "uint8") else 0 for each in (dtype, made)]
    limits = np.iinfo(dtype)
    sizes = np.geomspace(1, 2**20, 150)
    x = np.concatenate([-sizes, [0], sizes]).clip(limits.min, limits.max).astype(dtype)[None]
    for kind, scale, zero in zip((dtype, made), scales, zeros, strict=True):
        w.tensor(x.shape, kind, scale=scale, zero=zero)
    w.inputs, w.outputs = [0], [w.operator("QUANTIZE", [0], [1])]
    path = w.save(tmp_path / "scales.tflite")
    done = sp.execute(sp.plan(sp.load(path), "cosma", "4KiB"), path, [x])
    ratio = np.float64(np.float32(scales[0])) / np.float64(np.float32(scales[1]))
    real = (x.astype(np.int64) - zeros[0]) * ratio + zeros[1]
    limits = np.iinfo(made)
    apart = np.abs(done.outputs[0].astype(np.int64) - np.clip(real, limits.min, limits.max))
    assert done.bit_exact
    assert done.outputs[0].dtype == np.dtype(made)
    assert apart.max() <= 0.5 + 1e-3
    assert len(np.unique(done.outputs[0])) > 10


@pytest.mark.parametrize(("dtype", "made"), [("int32", "int32"), ("int16", "uint8")])
def test_other_changes_of_scale_are_refused(dtype: str, made: str, tmp_path: Path) -> None:
    w = TfliteWriter()
    for kind in (dtype, made):
        w.tensor((1, 4), kind, scale=0.5)
    w.inputs, w.outputs = [0], [w.operator("QUANTIZE", [0], [1])]
    path = w.save(tmp_path / "scales.tflite")
    plan = sp.plan(sp.load(path), "cosma", "1KiB")
    with pytest.raises(sp.BadInput, match=f"no kernel for {dtype} to {made} here"):
        sp.execute(plan, path)


@pytest.mark.parametrize("shape", [(1, 7), (2, 5, 3), (1, 3, 4, 6)])
def test_log_softmax(shape: tuple[int, ...], tmp_path: Path) -> None:
    w = TfliteWriter()
    w.inputs = [w.tensor(shape)]
    w.outputs = [w.operator("LOG_SOFTMAX", w.inputs, [w.tensor(shape)], "LogSoftmaxOptions")]
    path = w.save(tmp_path / "log.tflite")
    x = (10 * RNG.standard_normal(shape)).astype(np.float32)
    done = sp.execute(sp.plan(sp.load(path), "cosma", "4KiB"), path, [x])
    wide = x.astype(np.float64)
    expected = wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))
    assert done.bit_exact
    assert np.allclose(done.outputs[0], expected, atol=1e-5)


@pytest.mark.parametrize("scale", [0.01, 0.1, 0.7, 3.0])
@pytest.mark.parametrize("shape", [(1, 256), (3, 10), (1, 3, 4, 6)])
def test_log_softmax_of_int8(scale: float, shape: tuple[int, ...], tmp_path: Path) -> None:
    """In steps of a sixteenth below 127, as the runtime has it, to the nearest."""
    w = TfliteWriter()
    w.inputs = [w.tensor(shape, "int8", scale=scale, zero=-5)]
    made = [w.tensor(shape, "int8", scale=1 / 16, zero=127)]
    w.outputs = [w.operator("LOG_SOFTMAX", w.inputs, made, "LogSoftmaxOptions")]
    path = w.save(tmp_path / "log.tflite")
    x = RNG.integers(-128, 128, shape).astype(np.int8)
    done = sp.execute(sp.plan(sp.load(path), "cosma", "4KiB"), path, [x])
    real = x * np.float64(np.float32(scale))
    real = real - real.max(axis=-1, keepdims=True)
    real = real - np.log(np.exp(real).sum(axis=-1, keepdims=True))
    expected = np.clip(real * 16 + 127, -128, 127)
    assert done.bit_exact
    assert np.abs(done.outputs[0] - expected).max() <= 0.5 + 1e-2
