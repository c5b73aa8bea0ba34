"""Small files of kernels that ask for scratch, keep state, or are refused, drawn by chance."""

from __future__ import annotations

from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from tests.audits.cure.kernels_by_type import ALONE
from tests.importers.tflite_models import TfliteWriter

SCALES = {"int8": {"scale": 0.05, "zero": 3}, "int16": {"scale": 0.05, "zero": 0}}
MAPS = ("float32", "int8", "int16")


class DrawnKernels:
    """A file of a few operators, each with inputs of its own; `state` are its variables."""

    def __init__(self, seed: int, *kinds: str) -> None:
        self.rng, self.writer = Random(seed), TfliteWriter()
        self.numbers, self.state = np.random.default_rng(seed), list[int]()
        self.placed = False
        for kind in kinds or [self.rng.choice(KINDS) for _ in range(self.rng.randint(1, 3))]:
            getattr(self, kind)()
        if kinds:
            return
        if self.state and self.rng.random() < 0.6:
            self.place()

    def save(self, path: Path) -> Path:
        return self.writer.save(path)

    def map(self, shape: tuple[int, ...], dtype: str, given: bool = False) -> int:
        made = self.writer.tensor(shape, dtype, **SCALES.get(dtype, {}))
        (self.writer.inputs if given else self.writer.outputs).append(made)
        return made

    def weights(self, shape: tuple[int, ...], dtype: str, scale: float = 0.02) -> int:
        if dtype == "float32":
            return self.writer.tensor(shape, dtype, self.numbers.normal(size=shape).astype("f4"))
        if dtype in ("int4", "int2"):
            data = self.numbers.integers(0, 256, -(-prod(shape) // (2 if dtype == "int4" else 4)))
            return self.writer.tensor(shape, dtype, data.astype(np.uint8), scale=scale)
        kind = np.int32 if dtype == "int32" else np.dtype(dtype)
        data = self.numbers.integers(-100, 100, shape).astype(kind)
        return self.writer.tensor(shape, dtype, data, scale=scale)

    def bias(self, count: int, dtype: str) -> int:
        kind = {"float32": "float32", "int8": "int32"}.get(dtype, "int64")
        return self.weights((count,), kind, 0.05 * 0.02)

    def shape(self, most: int = 4) -> tuple[int, ...]:
        return tuple(self.rng.randint(1, 9) for _ in range(self.rng.randint(1, most)))

    def operator(self, kind: str, reads: list[int], made: int, *more: Any, **given: Any) -> None:
        self.writer.operator(kind, reads, [made], *more, **given)

    def mirror_pad(self) -> None:
        dtype, shape = self.rng.choice(("float32", "int8")), self.shape()
        pads = [[self.rng.randint(0, n - 1), self.rng.randint(0, n - 1)] for n in shape]
        x = self.map(shape, dtype, given=True)
        around = self.writer.tensor((len(shape), 2), "int32", np.array(pads, np.int32))
        made = self.map(tuple(n + sum(p) for n, p in zip(shape, pads, strict=True)), dtype)
        self.operator("MIRROR_PAD", [x, around], made, "MirrorPadOptions", Mode=0)

    def reduce(self) -> None:
        kind = self.rng.choice(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"))
        dtype = "bool" if kind == "REDUCE_ALL" else self.rng.choice(MAPS)
        if kind.startswith("REDUCE_M") and dtype == "int16":
            dtype = "int8"
        shape = self.shape()
        axes = sorted(self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape))))
        keep = self.rng.random() < 0.5
        x = self.map(shape, dtype, given=True)
        if keep:
            left = tuple(1 if k in axes else n for k, n in enumerate(shape))
        else:
            left = tuple(n for k, n in enumerate(shape) if k not in axes)
        made = self.map(left, dtype)
        words = [x, self.writer.numbers(axes)]
        self.operator(kind, words, made, "ReducerOptions", KeepDims=keep)

    def add_n(self) -> None:
        dtype, shape = self.rng.choice(("float32", "int8")), self.shape()
        reads = [self.map(shape, dtype, given=True) for _ in range(self.rng.randint(2, 5))]
        self.operator("ADD_N", reads, self.map(shape, dtype), "AddNOptions")

    def layer(self) -> None:
        """A product of maps and weights, of types that go together or not."""
        kind = self.rng.choice(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"))
        dtype = self.rng.choice(MAPS)
        weights = self.rng.choice((dtype, "int8", "int8", "int4", "float32"))
        read, made, side = self.rng.choice((2, 4)), self.rng.choice((2, 4, 6)), 5
        slid = {"Padding": 0, "StrideH": 1, "StrideW": 1}
        slid |= {"DilationHFactor": 1, "DilationWFactor": 1}
        if kind == "FULLY_CONNECTED":
            x, shape, out = (3, read), (made, read), (3, made)
            options, given = "FullyConnectedOptions", {}
        elif kind == "CONV_2D":
            x, shape, out = (1, side, side, read), (made, 3, 3, read), (1, side, side, made)
            options, given = "Conv2DOptions", slid
        else:
            made = read
            x, shape, out = (1, side, side, read), (1, 3, 3, read), (1, side, side, read)
            options, given = "DepthwiseConv2DOptions", slid | {"DepthMultiplier": 1}
        words = [self.map(x, dtype, given=True), self.weights(shape, weights)]
        words.append(self.bias(made, dtype))
        self.operator(kind, words, self.map(out, dtype), options, **given)

    def transposed(self) -> None:
        dtype = self.rng.choice(MAPS)
        weights = "float32" if dtype == "float32" else "int8"
        read, made, side = 2, self.rng.choice((1, 3)), 4
        x = self.map((1, side, side, read), dtype, given=True)
        shape = self.writer.numbers([1, 2 * side, 2 * side, made])
        words = [shape, self.weights((made, 3, 3, read), weights), x]
        if self.rng.random() < 0.6:
            short = dtype == "int16" and self.rng.random() < 0.5
            bias = self.weights((made,), "int16", 0.001) if short else self.bias(made, dtype)
            words.append(bias)
        out = self.map((1, 2 * side, 2 * side, made), dtype)
        given = {"Padding": 0, "StrideH": 2, "StrideW": 2}
        self.operator("TRANSPOSE_CONV", words, out, "TransposeConvOptions", **given)

    def variable(self, shape: tuple[int, ...], dtype: str, scale: float = 0.05) -> int:
        made = self.writer.tensor(shape, dtype, scale=scale, zero=0, variable=True)
        self.state.append(made)
        return made

    def lstm(self) -> None:
        """A layer that keeps its last output and its cells, of types that go together or not."""
        dtype = self.rng.choice(MAPS)
        weights = "float32" if dtype == "float32" else "int8"
        cells = "float32" if dtype == "float32" else "int16"
        if self.rng.random() < 0.2:
            cells = self.rng.choice(("float32", "int8"))
        if dtype != "float32" and self.rng.random() < 0.1:
            weights = "float32"
        first, second, read, made = (self.rng.randint(1, 4) for _ in range(4))
        late = self.rng.random() < 0.5  # the first axis is time
        x = self.map((first, second, read), dtype, given=True)
        words = [x, *(self.weights((made, read), weights) for _ in range(4))]
        words += [self.weights((made, made), weights) for _ in range(4)] + 3 * [-1]
        words += [self.bias(made, dtype) for _ in range(4)] + 2 * [-1]
        batch = second if late else first
        words += [self.variable((batch, made), dtype), self.variable((batch, made), cells, 2**-11)]
        out = self.map((first, second, made), dtype)
        given = {"TimeMajor": late, "FusedActivationFunction": 4}
        options = "UnidirectionalSequenceLSTMOptions"
        self.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", [*words, *4 * [-1]], out, options, **given)

    def detection(self) -> None:
        """Boxes around anchors, of which the best are kept; as many as the outputs hold, because
        what is left of them is written by one of its two ways only."""
        boxes, classes = self.rng.randint(2, 9), self.rng.randint(1, 4)
        regular, behind = self.rng.random() < 0.5, self.rng.randint(0, 1)
        most = self.rng.randint(2, 6) if regular else self.rng.randint(1, min(6, boxes))
        reads = [self.map((1, boxes, 4), "float32", given=True)]
        reads.append(self.map((1, boxes, classes + behind), "float32", given=True))
        anchors = self.numbers.uniform(0.1, 0.9, (boxes, 4)).astype("f4")
        reads.append(self.writer.tensor((boxes, 4), "float32", anchors))
        shapes = ((1, most, 4), (1, most), (1, most), (1,))
        given = {"max_detections": most, "max_classes_per_detection": 1, "num_classes": classes}
        given |= {
            f"{side}_scale": scale for side, scale in zip("yxhw", (10, 10, 5, 5), strict=True)
        }
        given |= {"nms_score_threshold": -100.0, "nms_iou_threshold": 1.0}
        if regular:
            given |= {"use_regular_nms": True, "detections_per_class": self.rng.randint(1, 4)}
        outputs = [self.map(shape, "float32") for shape in shapes]
        custom = flexbuffers.Dumps(given)
        self.writer.operator("TFLite_Detection_PostProcess", reads, outputs, custom=bytes(custom))

    def typed(self) -> None:
        """A kernel over a type that it takes or not."""
        kind = self.rng.choice(sorted(ALONE))
        way = self.rng.choice(list(ALONE[kind].ways()))
        ALONE[kind].write(self.writer, **way)

    def svdf(self) -> None:
        """A layer that keeps what it has seen in a variable."""
        dtype = self.rng.choice(("float32", "int8"))
        units, rank, memory, read = self.rng.choice((2, 4)), 1, self.rng.choice((4, 8)), 3
        filters = units * rank
        x = self.map((1, read), dtype, given=True)
        time = "float32" if dtype == "float32" else "int16"
        words = [x, self.weights((filters, read), dtype), self.weights((filters, memory), time)]
        words.append(self.bias(units, dtype))
        state = self.variable((1, filters * memory), time)
        made = self.map((1, units), dtype)
        self.operator("SVDF", [*words, state], made, "SVDFOptions", Rank=rank)

    def plain(self) -> None:
        """An operator that asks for nothing, or that the runtime does not have."""
        kind = self.rng.choice(("RELU", "LOGISTIC", "GELU", "TANH", "SIGN"))
        shape = self.shape()
        self.operator(kind, [self.map(shape, "float32", True)], self.map(shape, "float32"))

    def place(self) -> None:
        """Give the variables, and some of the maps, an offset, one behind the other."""
        offsets, at, self.placed = [-1] * len(self.writer.tensors), 0, True
        for number, tensor in enumerate(self.writer.tensors):
            comes = tensor["data"] is None
            if number in self.state or (comes and self.rng.random() < 0.3):
                offsets[number] = at
                at += 16 * -(-8 * prod(tensor["shape"]) // 16)
        words = np.array([1, 1, len(offsets), *offsets], "<i4")
        self.writer.metadata["OfflineMemoryAllocation"] = words.tobytes()


KINDS = tuple(
    "mirror_pad reduce reduce add_n layer layer transposed svdf plain lstm detection typed typed"
    "".split()
)
