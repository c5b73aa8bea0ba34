"""Quantised networks as `.tflite` files, made here: some of a kind, some drawn by chance."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from tests.importers.tflite_models import TfliteWriter

SAME, VALID = 0, 1
SCALE = 0.05


class Int8Net:
    """A network of int8 tensors that the runtime's kernels take, with weights drawn by chance."""

    def __init__(self, shape: Sequence[int], seed: int = 0) -> None:
        self.writer, self.rng = TfliteWriter(), np.random.default_rng(seed)
        self.image = self.tensor(shape)
        self.writer.inputs = [self.image]

    def tensor(self, shape: Sequence[int], scale: float = SCALE, zero: int = 3) -> int:
        return self.writer.tensor(tuple(shape), "int8", scale=scale, zero=zero)

    def shape(self, tensor: int) -> tuple[int, ...]:
        return tuple(self.writer.tensors[tensor]["shape"])

    def _weights(self, shape: Sequence[int]) -> int:
        data = self.rng.integers(-127, 128, tuple(shape)).astype(np.int8)
        return self.writer.tensor(tuple(shape), "int8", data, scale=0.02)

    def _bias(self, count: int) -> int:
        data = self.rng.integers(-500, 500, count).astype(np.int32)
        return self.writer.tensor((count,), "int32", data, scale=SCALE * 0.02)

    def _slid(self, x: int, stride: int, made: int) -> int:
        batch, high, wide, _ = self.shape(x)
        return self.tensor((batch, -(-high // stride), -(-wide // stride), made))

    def conv(self, x: int, made: int, taps: int = 1, stride: int = 1) -> int:
        weights = self._weights((made, taps, taps, self.shape(x)[3]))
        return self.writer.operator(
            "CONV_2D",
            [x, weights, self._bias(made)],
            [self._slid(x, stride, made)],
            "Conv2DOptions",
            **{"Padding": SAME, "StrideH": stride, "StrideW": stride},
            **{"DilationHFactor": 1, "DilationWFactor": 1},
        )

    def depthwise(self, x: int, taps: int = 3, stride: int = 1, multiplier: int = 1) -> int:
        made = self.shape(x)[3] * multiplier
        weights = self._weights((1, taps, taps, made))
        return self.writer.operator(
            "DEPTHWISE_CONV_2D",
            [x, weights, self._bias(made)],
            [self._slid(x, stride, made)],
            "DepthwiseConv2DOptions",
            **{"Padding": SAME, "StrideH": stride, "StrideW": stride},
            **{"DilationHFactor": 1, "DilationWFactor": 1, "DepthMultiplier": multiplier},
        )

    def pool(self, x: int, taps: int, stride: int, kind: str = "MAX_POOL_2D") -> int:
        return self.writer.operator(
            kind,
            [x],
            [self._slid(x, stride, self.shape(x)[3])],
            "Pool2DOptions",
            **{"Padding": SAME, "StrideH": stride, "StrideW": stride},
            **{"FilterHeight": taps, "FilterWidth": taps},
        )

    def add(self, x: int, y: int) -> int:
        return self.writer.operator("ADD", [x, y], [self.tensor(self.shape(x))], "AddOptions")

    def concat(self, x: int, y: int) -> int:
        shape = self.shape(x)
        out = self.tensor((*shape[:-1], shape[-1] + self.shape(y)[-1]))
        return self.writer.operator(
            "CONCATENATION", [x, y], [out], "ConcatenationOptions", Axis=len(shape) - 1
        )

    def pad(self, x: int, by: int) -> int:
        batch, high, wide, made = self.shape(x)
        around = np.array([[0, 0], [by, by], [by, by], [0, 0]], np.int32)
        pads = self.writer.tensor((4, 2), "int32", around)
        out = self.tensor((batch, high + 2 * by, wide + 2 * by, made))
        return self.writer.operator("PAD", [x, pads], [out], "PadOptions")

    def mean(self, x: int) -> int:
        batch, _, _, made = self.shape(x)
        axes = self.writer.numbers([1, 2])
        out = self.tensor((batch, made))
        return self.writer.operator("MEAN", [x, axes], [out], "ReducerOptions", KeepDims=False)

    def flat(self, x: int) -> int:
        shape = (1, int(np.prod(self.shape(x))))
        words = [x, self.writer.numbers(shape)]
        return self.writer.operator("RESHAPE", words, [self.tensor(shape)], "ReshapeOptions")

    def dense(self, x: int, made: int) -> int:
        rows, read = self.shape(x)
        words = [x, self._weights((made, read)), self._bias(made)]
        out = self.tensor((rows, made))
        return self.writer.operator("FULLY_CONNECTED", words, [out], "FullyConnectedOptions")

    def softmax(self, x: int) -> int:
        out = self.tensor(self.shape(x), 1 / 256, -128)
        return self.writer.operator("SOFTMAX", [x], [out], "SoftmaxOptions", Beta=1.0)

    def activation(self, kind: str, x: int, options: str = "", **given: object) -> int:
        """An element-wise operator of one operand, quantised as the runtime asks."""
        scale, zero = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}.get(kind, (SCALE, 3))
        out = self.tensor(self.shape(x), scale, zero)
        return self.writer.operator(kind, [x], [out], options, **given)

    def pair(self, kind: str, x: int, y: int, options: str = "") -> int:
        """An element-wise operator of two, the second perhaps stretched."""
        return self.writer.operator(kind, [x, y], [self.tensor(self.shape(x))], options)

    def done(self, *outputs: int) -> TfliteWriter:
        self.writer.outputs = list(outputs)
        return self.writer


def mobilenet(side: int = 24) -> TfliteWriter:
    """Depthwise and pointwise in turn, as in MobileNet v1."""
    net = Int8Net((1, side, side, 1), seed=1)
    x = net.depthwise(net.image, 3, 2, multiplier=8)
    for made, stride in ((16, 1), (32, 2), (32, 1), (64, 2)):
        x = net.conv(net.depthwise(x, 3, stride), made)
    x = net.flat(net.pool(x, 3, 3, "AVERAGE_POOL_2D"))
    return net.done(net.softmax(net.dense(x, 5)))


def inverted_residuals(side: int = 20) -> TfliteWriter:
    """Wide in the middle and added to what came in, as in MCUNet."""
    net = Int8Net((1, side, side, 3), seed=2)
    x = net.conv(net.image, 8, 3, 2)
    for taps in (3, 5, 7):
        x = net.add(x, net.conv(net.depthwise(net.conv(x, 24), taps), 8))
    x = net.conv(net.depthwise(net.conv(x, 24), 3, 2), 16)
    return net.done(net.softmax(net.dense(net.mean(x), 4)))


def residual(side: int = 16) -> TfliteWriter:
    """Two convolutions and a way round them, as in ResNet, what is added stretched once."""
    net = Int8Net((1, side, side, 3), seed=3)
    x = net.conv(net.image, 8, 3)
    for made, stride in ((8, 1), (16, 2)):
        short = x if stride == 1 else net.conv(x, made, 1, stride)
        x = net.add(net.conv(net.conv(x, made, 3, stride), made, 3), short)
    return net.done(net.softmax(net.dense(net.flat(net.pool(x, 2, 2)), 7)))


def branches(side: int = 17) -> TfliteWriter:
    """Branches of several windows joined by channels, as in Inception, and two outputs."""
    net = Int8Net((1, side, side - 4, 2), seed=4)
    x = net.conv(net.pad(net.image, 2), 6, 3, 2)
    joined = net.concat(net.concat(net.conv(x, 4), net.conv(x, 4, 5)), net.pool(x, 3, 1))
    x = net.depthwise(joined, 3, 2)
    return net.done(net.dense(net.mean(x), 3), net.softmax(net.flat(net.conv(x, 2))))


def alone(kind: str) -> TfliteWriter:
    """One operator: nothing but its input and its output is in the arena."""
    net = Int8Net((1, 12, 10, 8), seed=6)
    x, w = net.image, net.writer
    if kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "PAD"):
        y = {"CONV_2D": net.conv, "DEPTHWISE_CONV_2D": net.depthwise, "PAD": net.pad}[kind](x, 3)
    elif kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        y = net.pool(x, 3, 1, kind)
    elif kind in ("FULLY_CONNECTED", "SOFTMAX"):
        w.tensors[x]["shape"] = (40, 24)
        y = net.dense(x, 9) if kind == "FULLY_CONNECTED" else net.softmax(x)
    elif kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        other = net.tensor((1, 1, 1, 8))  # stretched
        w.inputs.append(other)
        y = net.pair(kind, x, other, OPTIONS.get(kind, "MaximumMinimumOptions"))
    elif kind == "PRELU":
        alpha = w.tensor((1, 1, 8), "int8", np.arange(-4, 4).astype(np.int8), scale=0.02)
        y = w.operator(kind, [x, alpha], [net.tensor(net.shape(x))])
    elif kind == "DEQUANTIZE":
        y = w.operator(kind, [x], [w.tensor(net.shape(x))], OPTIONS[kind])
    else:
        given = {"Alpha": 0.1} if kind == "LEAKY_RELU" else {}
        y = net.activation(kind, x, OPTIONS.get(kind, ""), **given)
    return net.done(y)


OPTIONS = {
    "ADD": "AddOptions",
    "SUB": "SubOptions",
    "MUL": "MulOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "QUANTIZE": "QuantizeOptions",
    "DEQUANTIZE": "DequantizeOptions",
}


def drawn(seed: int, operators: int = 8) -> TfliteWriter:
    """A network drawn by chance."""
    rng = Random(seed)
    net = Int8Net((1, rng.randint(3, 9), rng.randint(3, 9), rng.randint(1, 5)), seed)
    values = [net.image]
    for _ in range(operators):
        x = rng.choice(values[-3:])
        pairs = [v for v in values if net.shape(v) == net.shape(x) and v != x]
        kind = rng.choice("conv conv depthwise depthwise pool add add concat pad".split())
        if kind == "conv":
            y = net.conv(x, rng.randint(1, 8), rng.choice([1, 1, 3, 5]), rng.choice([1, 1, 2]))
        elif kind == "depthwise":
            y = net.depthwise(x, rng.choice([3, 5]), rng.choice([1, 2]), rng.choice([1, 1, 2]))
        elif kind == "pool":
            y = net.pool(x, rng.choice([2, 3]), rng.choice([1, 2]))
        elif kind == "pad":
            y = net.pad(x, 1)
        elif kind == "add":
            y = net.add(x, rng.choice(pairs or [x]))
        else:
            y = net.concat(x, rng.choice(pairs or [x]))
        values.append(y)
    used = {n for _, inputs, *_ in net.writer.operators for n in inputs}
    ends = [v for v in values[1:] if v not in used]
    last = net.softmax(net.dense(net.flat(ends[-1]), rng.randint(1, 6)))
    return net.done(*ends[:-1], last)


def recurrent(whole: bool = False) -> TfliteWriter:
    """An LSTM, whose scratch buffers the runtime places; float, or int8 with a cell of int16."""
    w, rng = TfliteWriter(), np.random.default_rng(5)
    steps, read, units = 6, 5, 4
    kind = "int8" if whole else "float32"

    def weights(*shape: int) -> int:
        if not whole:
            return w.tensor(shape, kind, rng.standard_normal(shape).astype(np.float32))
        if len(shape) == 1:
            return w.tensor(shape, "int32", rng.integers(-500, 500, shape).astype(np.int32))
        return w.tensor(shape, kind, rng.integers(-127, 128, shape).astype(np.int8), scale=0.02)

    def tensor(shape: Sequence[int], scale: float = SCALE, zero: int = 3, **more: Any) -> int:
        quantised = {"scale": scale, "zero": zero} if whole else {}
        return w.tensor(shape, kind, **quantised, **more)

    hidden = {"scale": 1 / 128, "zero": 0}
    x = tensor((1, steps, read))
    inputs = [
        x,
        *(weights(units, read) for _ in range(4)),
        *(weights(units, units) for _ in "ifco"),
    ]
    inputs += [-1, -1, -1, *(weights(units) for _ in range(4)), -1, -1]
    inputs += [tensor((1, units), **hidden, variable=True)]
    cell = {"dtype": "int16", "scale": 2.0**-11} if whole else {}
    inputs += [w.tensor((1, units), variable=True, **cell)]
    inputs += [-1] * 4
    states = w.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        inputs,
        [tensor((1, steps, units), **hidden)],
        "UnidirectionalSequenceLSTMOptions",
        FusedActivationFunction=4,
        TimeMajor=False,
    )
    flat = w.operator(
        "RESHAPE",
        [states, w.numbers([1, steps * units])],
        [tensor((1, steps * units), **hidden)],
        "ReshapeOptions",
    )
    y = w.operator(
        "FULLY_CONNECTED",
        [flat, weights(3, steps * units), weights(3)],
        [tensor((1, 3))],
        "FullyConnectedOptions",
    )
    w.inputs = [x]
    last = tensor((1, 3), 1 / 256, -128)
    w.outputs = [w.operator("SOFTMAX", [y], [last], "SoftmaxOptions", Beta=1.0)]
    return w


def recurrent_int8() -> TfliteWriter:
    """The LSTM in whole numbers."""
    return recurrent(whole=True)


NETWORKS = {
    "mobilenet": mobilenet,
    "inverted_residuals": inverted_residuals,
    "residual": residual,
    "branches": branches,
    "recurrent": recurrent,
    "recurrent_int8": recurrent_int8,
}
SIDES = {"mobilenet": 12, "inverted_residuals": 9, "residual": 8, "branches": 10}
"""Of a smaller image, for what goes through each of its pixels."""
