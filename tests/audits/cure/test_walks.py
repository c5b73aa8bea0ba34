"""Distances of the runtime's kernels against their loops, written out with every read and write."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from planners.audits.cure.kernels import KERNELS, distance, in_place
from planners.audits.cure.read_order import NOTHING, Window
from planners.importers.tflite.file import TfliteFile, read_tflite
from tests.audits.cure.loops import Event, loops
from tests.importers.tflite_models import TfliteWriter

SAME, VALID = 0, 1


def needed(events: list[Event], input_width: int, output_width: int) -> int:
    """The least distance, from what the kernel's own loops read after each write."""
    least = 0
    lowest = None
    for kind, element in reversed(events):
        if kind == "read":
            lowest = element if lowest is None else min(lowest, element)
        elif lowest is not None:
            least = max(least, (element + 1) * output_width - lowest * input_width)
    return least


def one(path: Path, writer: TfliteWriter) -> TfliteFile:
    return read_tflite(writer.save(path / "one.tflite"))


def drawn_window(rng: random.Random, kind: str) -> TfliteWriter:
    """A convolution or a pool of a shape drawn by chance, perhaps in groups."""
    w = TfliteWriter()
    dtype = rng.choice(["int8", "int16", "float32"])
    batch, high, wide = rng.choice([1, 1, 2]), rng.randint(1, 7), rng.randint(1, 7)
    groups = rng.choice([1, 1, 2]) if kind == "CONV_2D" else 1
    channels = groups * rng.randint(1, 3)
    taps = [rng.randint(1, 4), rng.randint(1, 4)]
    stride = [rng.randint(1, 3), rng.randint(1, 3)]
    dilation = [1, 1] if "POOL" in kind else [rng.randint(1, 2), rng.randint(1, 2)]
    reach = [(t - 1) * d + 1 for t, d in zip(taps, dilation)]
    padding = rng.choice([SAME, VALID])
    if reach[0] > high or reach[1] > wide:
        padding = SAME
    made = channels
    if kind == "CONV_2D":
        made = groups * rng.randint(1, 3)
    elif kind == "DEPTHWISE_CONV_2D":
        made = channels * rng.randint(1, 3)
    size = [n if padding == SAME else n - r + 1 for n, r in zip((high, wide), reach)]
    out = [-(-n // s) for n, s in zip(size, stride)]
    x = w.tensor((batch, high, wide, channels), dtype)
    operands = [x]
    if kind == "CONV_2D":
        operands.append(w.weight((made, *taps, channels // groups), "int8"))
    elif kind == "DEPTHWISE_CONV_2D":
        operands.append(w.weight((1, *taps, made), "int8"))
    y = w.tensor((batch, *out, made), dtype)
    given = {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1]}
    if "POOL" in kind:
        given |= {"FilterHeight": taps[0], "FilterWidth": taps[1]}
    else:
        given |= {"DilationHFactor": dilation[0], "DilationWFactor": dilation[1]}
    options = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}
    w.operator(kind, operands, [y], options.get(kind, "Pool2DOptions"), **given)
    w.inputs, w.outputs = [x], [y]
    return w


def drawn_elements(rng: random.Random, kind: str) -> TfliteWriter:
    """An element-wise operator, with an operand that is stretched where there are two."""
    w = TfliteWriter()
    before, after = rng.choice([("int8", "int8"), ("int8", "int16"), ("int16", "int8")])
    if kind not in ("QUANTIZE", "SOFTMAX", "DEQUANTIZE"):
        after = before
    out = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
    operands = [w.tensor(out, before)]
    if KERNELS[kind].operands == 2:
        ones = [rng.choice(["neither", "first", "second"]) for _ in out]
        operands = [
            w.tensor(tuple(1 if one == which else n for one, n in zip(ones, out)), before)
            for which in ("first", "second")
        ]
    y = w.tensor(out, after)
    w.operator(kind, operands, [y])
    w.inputs, w.outputs = operands, [y]
    return w


def drawn_pad(rng: random.Random, kind: str) -> TfliteWriter:
    w = TfliteWriter()
    shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
    around = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in shape]
    x = w.tensor(shape, "int8")
    pads = w.tensor((len(shape), 2), "int32", np.array(around, np.int32))
    y = w.tensor(tuple(n + a + b for n, (a, b) in zip(shape, around)), "int8")
    w.operator(kind, [x, pads], [y])
    w.inputs, w.outputs = [x], [y]
    return w


def drawn_sums(rng: random.Random, kind: str) -> TfliteWriter:
    w = TfliteWriter()
    rows, read, made = rng.randint(1, 4), rng.randint(1, 6), rng.randint(1, 6)
    dtype = rng.choice(["int8", "float32"])
    x = w.tensor((rows, read), dtype)
    y = w.tensor((rows, made), dtype)
    w.operator(kind, [x, w.weight((made, read), dtype)], [y], "FullyConnectedOptions")
    w.inputs, w.outputs = [x], [y]
    return w


DRAWN = {
    **dict.fromkeys(KERNELS, drawn_elements),
    **dict.fromkeys(
        ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"), drawn_window
    ),
    "PAD": drawn_pad,
    "FULLY_CONNECTED": drawn_sums,
}


@pytest.mark.parametrize("kind", KERNELS)
def test_distances_are_the_least_that_the_loops_allow(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    for _ in range(60):
        file = one(tmp_path, DRAWN[kind](rng, kind))
        operator = file.subgraphs[0].operators[0]
        tensors = file.subgraphs[0].tensors
        out = tensors[operator.outputs[0]]
        for tensor in dict.fromkeys(operator.inputs[: KERNELS[kind].operands]):
            events = loops(file, operator, tensor)
            widths = [np.dtype(tensors[n].dtype).itemsize for n in (tensor, out.number)]
            found = distance(file, operator, tensor)
            assert found == needed(events, *widths), (kind, tensors[tensor], out)


def test_an_operand_that_is_read_at_any_time_is_kept_apart(tmp_path: Path) -> None:
    w = TfliteWriter()
    x, weights = w.tensor((2, 4), "int8"), w.tensor((4, 4), "int8")
    y = w.tensor((2, 4), "int8")
    w.operator("FULLY_CONNECTED", [x, weights], [y])
    w.inputs, w.outputs = [x, weights], [y]
    file = one(tmp_path, w)
    operator = file.subgraphs[0].operators[0]
    assert distance(file, operator, weights) is None
    assert distance(file, operator, x) == 3


@pytest.mark.parametrize(
    ("kind", "shape", "out"),
    [
        ("CONV_2D", (1, 4, 4, 2), (1, 5, 4, 2)),  # not the size that its window gives
        ("MAX_POOL_2D", (1, 4, 4, 2), (1, 4, 4, 3)),
        ("ADD", (1, 4), (1, 3)),
        ("SOFTMAX", (1, 4), (4, 1)),
        ("PAD", (4,), (3,)),
        ("FULLY_CONNECTED", (1, 4), (2, 4)),
        ("TRANSPOSE", (2, 3), (3, 2)),  # no kernel of the table
    ],
)
def test_what_does_not_suit_a_kernel_is_kept_apart(
    kind: str, shape: tuple[int, ...], out: tuple[int, ...], tmp_path: Path
) -> None:
    w = TfliteWriter()
    x, y = w.tensor(shape, "int8"), w.tensor(out, "int8")
    w.operator(kind, [x, w.weight((4, 1, 1, 2) if "CONV" in kind else (1, 2), "int32")], [y])
    w.inputs, w.outputs = [x], [y]
    file = one(tmp_path, w)
    assert distance(file, file.subgraphs[0].operators[0], x) is None


@pytest.mark.parametrize(
    ("kind", "out", "said"),
    [("RESHAPE", (6,), True), ("RESHAPE", (5,), False), ("SQUEEZE", (6,), False)],
)
def test_only_a_reshape_is_in_place(
    kind: str, out: tuple[int, ...], said: bool, tmp_path: Path
) -> None:
    w = TfliteWriter()
    x, y = w.tensor((2, 3), "int8"), w.tensor(out, "int8")
    w.operator(kind, [x], [y])
    w.inputs, w.outputs = [x], [y]
    file = one(tmp_path, w)
    assert in_place(file, file.subgraphs[0].operators[0]) is said


def test_every_kernel_says_where_it_was_read() -> None:
    for kind, kernel in KERNELS.items():
        assert kernel.source.startswith("tensorflow/lite/"), kind
    assert len(KERNELS) == 21


def test_windows_hang_over_on_both_sides() -> None:
    """Seven taps on three places: the first is read under each window."""
    assert Window(7, 1, 1, 3).first(3, 3).tolist() == [0, 0, 0]
    assert Window(2, 1, 2, 1).first(3, 3).tolist() == [1, 0, 1]
    assert Window(1, 5, 1, 0).first(2, 3).tolist() == [0, NOTHING]
    for taps, stride, dilation, before in product((1, 2, 3), (1, 2), (1, 2, 3), (0, 1, 2)):
        window = Window(taps, stride, dilation, before)
        for count, size in product((1, 3), (1, 4)):
            plain = [
                min(
                    (
                        p
                        for t in range(taps)
                        if 0 <= (p := k * stride - before + t * dilation) < size
                    ),
                    default=NOTHING,
                )
                for k in range(count)
            ]
            assert window.first(count, size).tolist() == plain
