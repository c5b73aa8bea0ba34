"""Kernels that none of the networks here has, one operator a file: the runtime's bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planners as sp
from tests.audits.cure.networks import SAME, VALID
from tests.audits.cure.runtime import of_package, ran
from tests.audits.cure.test_executed import computed, digest
from tests.importers.tflite_models import TfliteWriter

WAYS = [  # taps, steps, padding, maps made, whether there is a bias
    ((3, 3), (2, 2), SAME, 5, True),
    ((2, 2), (2, 2), VALID, 4, False),
    ((4, 3), (3, 2), SAME, 3, True),
    ((5, 2), (1, 3), VALID, 6, True),
    ((1, 1), (2, 1), SAME, 2, True),
]
TYPES = ["int8", "int16", "float32"]


@pytest.fixture(autouse=True)
def runtime() -> None:
    of_package("tflite_micro", "")


def scaled(kind: str, scale: float) -> dict[str, object]:
    """How a tensor of this type is quantised."""
    if kind == "float32":
        return {}
    return {"scale": scale, "zero": 3} if kind == "int8" else {"scale": scale / 256}


def transposed(
    kind: str, way: tuple[tuple[int, int], tuple[int, int], int, int, bool]
) -> TfliteWriter:
    """One TRANSPOSE_CONV, with a scale for each map that it makes."""
    taps, steps, padding, made, has_bias = way
    w, rng, sides = TfliteWriter(), np.random.default_rng(made), (6, 5)
    x = w.tensor((1, *sides, 4), kind, **scaled(kind, 0.05))
    words = "float32" if kind == "float32" else "int8"
    weight = rng.integers(-127, 128, (made, *taps, 4)).astype(words)
    scales = {"scale": [0.01 + 0.003 * k for k in range(made)]} if kind != "float32" else {}
    out = [
        n * step if padding == SAME else (n - 1) * step + tap
        for n, step, tap in zip(sides, steps, taps, strict=True)
    ]
    inputs = [w.numbers([1, *out, made]), w.tensor(weight.shape, words, weight, **scales), x]
    if has_bias:
        sums = {"int8": "int32", "int16": "int64", "float32": "float32"}[kind]
        inputs.append(w.tensor((made,), sums, rng.integers(-900, 900, made).astype(sums)))
    y = w.tensor((1, *out, made), kind, **scaled(kind, 1.5))
    given = {"Padding": padding, "StrideH": steps[0], "StrideW": steps[1]}
    given["FusedActivationFunction"] = made % 2  # RELU or none
    w.inputs = [x]
    w.outputs = [w.operator("TRANSPOSE_CONV", inputs, [y], "TransposeConvOptions", **given)]
    return w


@pytest.mark.parametrize("kind", TYPES)
def test_transposed_convolutions(kind: str, tmp_path: Path) -> None:
    paths = [transposed(kind, way).save(tmp_path / f"{k}.tflite") for k, way in enumerate(WAYS)]
    for path, told in zip(paths, ran(*paths, inputs=4), strict=True):
        assert computed(path, 4) == told["outputs"], path.name


PAIRS = [  # shapes, whether each is transposed, and whether the second is a weight
    ((3, 6), (6, 5), False, False, False),
    ((2, 4, 7), (2, 7, 3), False, False, False),
    ((2, 7, 4), (2, 3, 7), True, True, False),
    ((1, 3, 4, 7), (1, 3, 5, 7), False, True, False),
    ((2, 1, 4, 6), (1, 3, 6, 5), False, False, False),  # stretched
    ((2, 3, 5), (5, 4), False, False, True),
    ((1, 2, 6, 4), (1, 2, 6, 5), True, False, True),
]


def matrices(
    kind: str, way: tuple[tuple[int, ...], tuple[int, ...], bool, bool, bool]
) -> TfliteWriter:
    """One BATCH_MATMUL."""
    left, right, adj_x, adj_y, is_weight = way
    w, rng = TfliteWriter(), np.random.default_rng(len(left))
    data = rng.integers(-127, 128, right).astype(kind) if is_weight else None
    x = w.tensor(left, kind, **scaled(kind, 0.05))
    y = w.tensor(right, kind, data, **scaled(kind, 0.07))
    front = np.broadcast_shapes(left[:-2], right[:-2])
    shape = (*front, left[-1] if adj_x else left[-2], right[-2] if adj_y else right[-1])
    z = w.tensor(shape, kind, **scaled(kind, 1.5))
    given = {"AdjX": adj_x, "AdjY": adj_y, "AsymmetricQuantizeInputs": False}
    w.inputs = [x] if is_weight else [x, y]
    w.outputs = [w.operator("BATCH_MATMUL", [x, y], [z], "BatchMatMulOptions", **given)]
    return w


@pytest.mark.parametrize("kind", TYPES)
def test_products_of_matrices(kind: str, tmp_path: Path) -> None:
    paths = [matrices(kind, way).save(tmp_path / f"{k}.tflite") for k, way in enumerate(PAIRS)]
    for path, told in zip(paths, ran(*paths, inputs=4), strict=True):
        assert computed(path, 4) == told["outputs"], path.name


@pytest.mark.parametrize("scale", [0.0003, 0.001, 2.0**-12, 0.00004])
def test_softmax_of_16_bits(scale: float, tmp_path: Path) -> None:
    paths = []
    for shape in ((64, 9), (3, 5, 2), (1, 400), (7, 1)):
        w = TfliteWriter()
        x, y = w.tensor(shape, "int16", scale=scale), w.tensor(shape, "int16", scale=2.0**-15)
        w.inputs = [x]
        w.outputs = [w.operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=1.0)]
        paths.append(w.save(tmp_path / f"{len(paths)}.tflite"))
    for path, told in zip(paths, ran(*paths, inputs=5), strict=True):
        assert computed(path, 5) == told["outputs"], path.name


@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_pixels_and_channels(kind: str, tmp_path: Path) -> None:
    paths, deep, flat = [], (1, 3, 4, 12), (1, 6, 8, 3)
    for name, before, after in (("DEPTH_TO_SPACE", deep, flat), ("SPACE_TO_DEPTH", flat, deep)):
        w = TfliteWriter()
        x, y = (w.tensor(shape, kind, **scaled(kind, 0.1)) for shape in (before, after))
        options = "".join(part.title() for part in name.split("_")) + "Options"
        w.inputs, w.outputs = [x], [w.operator(name, [x], [y], options, BlockSize=2)]
        paths.append(w.save(tmp_path / f"{name}.tflite"))
    for path, told in zip(paths, ran(*paths, inputs=2), strict=True):
        assert computed(path, 2) == told["outputs"], path.name


MOVED: list[Any] = [  # operator, options, shapes in and out, numbers behind the data
    (
        "SPACE_TO_BATCH_ND",
        "SpaceToBatchNDOptions",
        (1, 6, 9, 3),
        (6, 3, 3, 3),
        [[2, 3], [[0, 0], [0, 0]]],
        {},
    ),
    (
        "BATCH_TO_SPACE_ND",
        "BatchToSpaceNDOptions",
        (6, 3, 3, 2),
        (1, 5, 7, 2),
        [[2, 3], [[0, 1], [2, 0]]],
        {},
    ),
    (
        "MIRROR_PAD",
        "MirrorPadOptions",
        (1, 4, 5, 2),
        (1, 6, 8, 2),
        [[[0, 0], [1, 1], [2, 1], [0, 0]]],
        {"Mode": 0},
    ),
    (
        "MIRROR_PAD",
        "MirrorPadOptions",
        (1, 4, 5, 2),
        (1, 6, 9, 2),
        [[[0, 0], [1, 1], [2, 2], [0, 0]]],
        {"Mode": 1},
    ),
    ("REDUCE_MAX", "ReducerOptions", (1, 4, 5, 6), (1, 6), [[1, 2]], {"KeepDims": False}),
    ("REDUCE_MAX", "ReducerOptions", (2, 4, 5), (2, 4, 1), [[-1]], {"KeepDims": True}),
    ("REDUCE_MIN", "ReducerOptions", (1, 4, 5, 6), (1, 4, 5, 1), [[3]], {"KeepDims": True}),
    ("PACK", "PackOptions", (3, 4), (3, 2, 4), [], {"Axis": 1, "ValuesCount": 2}),
    ("PACK", "PackOptions", (1, 3, 4, 2), (1, 3, 4, 2, 2), [], {"Axis": 4, "ValuesCount": 2}),
]


@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_what_moves_or_chooses(kind: str, tmp_path: Path) -> None:
    paths = [moving(kind, *way).save(tmp_path / f"{k}.tflite") for k, way in enumerate(MOVED)]
    for path, way, told in zip(paths, MOVED, ran(*paths, inputs=3), strict=True):
        assert computed(path, 3) == told["outputs"], way


def moving(
    kind: str,
    name: str,
    options: str,
    before: tuple[int, ...],
    after: tuple[int, ...],
    numbers: list[Any],
    given: dict[str, int],
) -> TfliteWriter:
    """One such operator, of one operand or two."""
    w, own = TfliteWriter(), scaled(kind, 0.1)
    data = [w.tensor(before, kind, **own) for _ in range(given.get("ValuesCount", 1))]
    y = w.tensor(after, kind, **own)
    w.inputs = data
    operands = [*data, *map(w.numbers, numbers)]
    w.outputs = [w.operator(name, operands, [y], options, **given)]
    return w


def test_padded_batches(tmp_path: Path) -> None:
    way = ("SPACE_TO_BATCH_ND", "SpaceToBatchNDOptions", (1, 5, 7, 3), (6, 3, 3, 3))
    numbers: list[Any] = [[2, 3], [[1, 0], [0, 2]]]
    path = moving("float32", *way, numbers, {}).save(tmp_path / "real.tflite")
    (told,) = ran(path, inputs=3)
    assert computed(path, 3) == told["outputs"]
    path = moving("int8", *way, numbers, {}).save(tmp_path / "whole.tflite")
    with pytest.raises(sp.BadInput, match="no kernel for padding where zero is another element"):
        computed(path, 1)


@pytest.mark.parametrize("planner", ["cosma", "fusion"])
def test_a_plan_of_one(planner: str, tmp_path: Path) -> None:
    path = transposed("int8", WAYS[0]).save(tmp_path / "net.tflite")
    plan = sp.plan(sp.load(path), planner, "1KiB", time_limit=2)
    (told,) = ran(path, inputs=1)
    assert digest(list(sp.execute(plan, path).outputs)) == told["outputs"][0]
