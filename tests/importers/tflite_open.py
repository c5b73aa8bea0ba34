"""Networks with sizes that are open or computed, drawn by chance, as converters write them.

Each is drawn for two sizes of what is open: axes that then differ are -1 in the signature and one
in the shape, whatever they are when the file runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from tests.importers.tflite_models import TfliteWriter

SAME, INT32 = 0, 2
Size = tuple[int, int]
"""Images, and rows of each."""


class OpenNet:
    """A network for one batch and one height, its decisions by a seed alone."""

    def __init__(self, seed: int, size: Size, steps: int) -> None:
        self.rng, self.w = Random(seed), TfliteWriter()
        self.wide = self.rng.randint(2, 6)
        self.high = size[1] or self.rng.randint(2, 6)
        self.x = self.tensor((size[0], self.high, self.wide, self.rng.randint(1, 4)))
        self.w.inputs, self.w.versions = [self.x], {"BROADCAST_TO": 2}
        self.macs = 0
        for _ in range(steps):
            getattr(self, self.rng.choice(STEPS))()
        self.w.outputs = [self.x]

    def tensor(self, shape: Sequence[int], dtype: str = "float32") -> int:
        return self.w.tensor(tuple(shape), dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.w.tensors[self.x]["shape"])

    def run(
        self, kind: str, more: Sequence[int], shape: Sequence[int], *rest: str, **given: object
    ) -> None:
        """An operator of what there is, which takes its place."""
        out = [self.tensor(shape)]
        self.x = self.w.operator(kind, [self.x, *more], out, *rest, **given)

    def whole(
        self, kind: str, reads: Sequence[int], shape: Sequence[int], *rest: str, **given: object
    ) -> int:
        """An operator on sizes."""
        out = [self.tensor(shape, "int32")]
        return self.w.operator(kind, reads, out, *rest, **given)

    def size(self, axis: int) -> int:
        """The tensor that holds one size of what there is."""
        sizes = self.whole("SHAPE", [self.x], (4,), "ShapeOptions", OutType=INT32)
        way = self.rng.random()
        if way < 0.3:
            return self.whole("GATHER", [sizes, self.w.numbers([axis])], (1,), "GatherOptions")
        if way < 0.5:
            return self.part(sizes, axis)
        ends = [self.w.numbers([n]) for n in (axis, axis + 1, 1)]
        given = {"ShrinkAxisMask": 1}
        return self.whole("STRIDED_SLICE", [sizes, *ends], (), "StridedSliceOptions", **given)

    def part(self, sizes: int, axis: int) -> int:
        """The same as a frame of a signal has it: cut out, and made a number by no sizes at all."""
        lengths = (axis, 1, 3 - axis)
        made = [self.tensor((n,), "int32") for n in lengths]
        ways = [self.w.numbers(lengths), self.w.tensor((), "int32", np.array(0, "i4"))]
        self.w.operator("SPLIT_V", [sizes, *ways], made, "SplitVOptions", NumSplits=3)
        return self.whole("RESHAPE", [made[1], self.tensor((0,), "int32")], ())

    def sizes(self, *parts: int | None) -> int:
        """A shape put together: None for the batch, as it is when the network runs."""
        each = [
            self.size(0) if n is None else self.w.tensor((), "int32", np.array(n, "i4"))
            for n in parts
        ]
        each = [self.whole("RESHAPE", [n, self.w.numbers([1])], (1,)) for n in each]
        return self.whole("CONCATENATION", each, (len(parts),), "ConcatenationOptions", Axis=0)

    def convolution(self) -> None:
        n, high, wide, read = self.shape
        stride, made = self.rng.choice([1, 1, 2]), self.rng.randint(1, 5)
        shape = (n, -(-high // stride), -(-wide // stride), made)
        self.macs += int(np.prod(shape)) * 9 * read
        given = {"Padding": SAME, "StrideH": stride, "StrideW": stride}
        self.run("CONV_2D", [self.w.weight((made, 3, 3, read)), self.w.weight((made,))], shape,
                 "Conv2DOptions", **given, DilationHFactor=1, DilationWFactor=1)  # fmt: skip

    def pool(self) -> None:
        n, high, wide, read = self.shape
        given = {"Padding": SAME, "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
        self.run(
            "MAX_POOL_2D", [], (n, -(-high // 2), -(-wide // 2), read), "Pool2DOptions", **given
        )

    def element(self) -> None:
        self.run(self.rng.choice(["RELU", "LOGISTIC", "TANH"]), [], self.shape)

    def dense(self) -> None:
        """Every pixel a row: the batch times what is in an image."""
        n, high, wide, read = self.shape
        made = self.rng.randint(1, 5)
        self.run("RESHAPE", [self.w.numbers([-1, read])], (n * high * wide, read), "ReshapeOptions")
        rows = self.shape[0]
        self.macs += rows * read * made
        weights = [self.w.weight((made, read)), self.w.weight((made,))]
        self.run("FULLY_CONNECTED", weights, (rows, made), "FullyConnectedOptions")
        self.run(
            "RESHAPE",
            [self.w.numbers([-1, 1, wide, made])],
            (n * high, 1, wide, made),
            "ReshapeOptions",
        )

    def reshape(self) -> None:
        """By a shape that is computed of the batch."""
        n, high, wide, read = self.shape
        how = self.sizes(None, wide, -1, read)
        self.run("RESHAPE", [how], (n, wide, high, read), "ReshapeOptions")

    def resize(self) -> None:
        n, high, wide, read = self.shape
        twice = self.w.numbers([2, 2])
        each = [self.size(k) for k in (1, 2)]
        each = [self.whole("RESHAPE", [k, self.w.numbers([1])], (1,)) for k in each]
        sizes = self.whole("CONCATENATION", each, (2,), "ConcatenationOptions", Axis=0)
        sizes = self.whole("MUL", [sizes, twice], (2,), "MulOptions")
        self.run("RESIZE_NEAREST_NEIGHBOR", [sizes], (n, 2 * high, 2 * wide, read),
                 "ResizeNearestNeighborOptions")  # fmt: skip

    def filled(self) -> None:
        """Zeros for each image, beside what there is."""
        n, _, _, read = self.shape
        if self.rng.random() < 0.5:
            shape, sizes = (
                self.shape,
                self.whole("SHAPE", [self.x], (4,), "ShapeOptions", OutType=INT32),
            )
        else:
            shape, sizes = (n, 1, 1, read), self.sizes(None, 1, 1, read)
        zero = self.w.tensor((), "float32", np.zeros((), np.float32))
        made = self.w.operator("FILL", [sizes, zero], [self.tensor(shape)])
        self.run("ADD", [made], self.shape, "AddOptions")

    def spread(self) -> None:
        sizes = self.whole("SHAPE", [self.x], (4,), "ShapeOptions", OutType=INT32)
        table = self.w.weight((1, 1, self.shape[2], 1))
        made = self.w.operator("BROADCAST_TO", [table, sizes], [self.tensor(self.shape)])
        self.run("MUL", [made], self.shape, "MulOptions")

    def tiled(self) -> None:
        """As many times as there are images."""
        n, high, wide, read = self.shape
        times = self.sizes(1, None, 1, 1)
        self.run("TILE", [times], (n, n * high, wide, read))

    def transposed(self) -> None:
        n, high, wide, read = self.shape
        made = self.rng.randint(1, 3)
        each = [self.size(0), self.size(1)]
        each = [self.whole("RESHAPE", [k, self.w.numbers([1])], (1,)) for k in each]
        each[1] = self.whole("MUL", [each[1], self.w.numbers([2])], (1,), "MulOptions")
        each += [self.w.numbers([2 * wide]), self.w.numbers([made])]
        sizes = self.whole("CONCATENATION", each, (4,), "ConcatenationOptions", Axis=0)
        self.macs += n * high * wide * read * made * 4
        out = [self.tensor((n, 2 * high, 2 * wide, made))]
        reads = [sizes, self.w.weight((made, 2, 2, read)), self.x]
        given = {"Padding": SAME, "StrideH": 2, "StrideW": 2}
        self.x = self.w.operator("TRANSPOSE_CONV", reads, out, "TransposeConvOptions", **given)

    def doubled(self) -> None:
        """Images twice, one behind the other."""
        n, *image = self.shape
        self.run("CONCATENATION", [self.x], (2 * n, *image), "ConcatenationOptions", Axis=0)

    def stacked(self) -> None:
        n, high, wide, read = self.shape
        self.run("PACK", [self.x], (n, high, 2, wide, read), "PackOptions", ValuesCount=2, Axis=2)
        self.run(
            "RESHAPE",
            [self.w.numbers([-1, 2, wide, read])],
            (n * high, 2, wide, read),
            "ReshapeOptions",
        )

    def cut(self) -> None:
        """All but the first of the columns, of as many images as there are."""
        n, high, wide, read = self.shape
        first = int(wide > 1)
        begins = self.w.numbers([0, 0, first, 0])
        sizes = self.sizes(None, -1, wide - first, -1)
        self.run("SLICE", [begins, sizes], (n, high, wide - first, read), "SliceOptions")

    def averaged(self) -> None:
        n, _, _, read = self.shape
        self.run("MEAN", [self.w.numbers([1, 2])], (n, 1, 1, read), "ReducerOptions", KeepDims=True)

    def turned(self) -> None:
        """Images and rows change places."""
        n, high, wide, read = self.shape
        self.run(
            "TRANSPOSE", [self.w.numbers([1, 0, 2, 3])], (high, n, wide, read), "TransposeOptions"
        )

    def padded(self) -> None:
        n, high, wide, read = self.shape
        amounts = np.array([[0, 0], [1, 0], [0, 1], [0, 0]], np.int32)
        around = self.w.tensor((4, 2), "int32", amounts)
        self.run("PAD", [around], (n, high + 1, wide + 1, read), "PadOptions")

    def dilated(self) -> None:
        """In blocks that are images of their own meanwhile."""
        n, high, wide, read = self.shape
        more = [
            self.w.numbers([1, 2]),
            self.w.tensor((2, 2), "int32", np.array([[0, 0], [0, wide % 2]], "i4")),
        ]
        half = (wide + wide % 2) // 2
        self.run("SPACE_TO_BATCH_ND", more, (2 * n, high, half, read))
        self.convolution_of_one()
        self.run("BATCH_TO_SPACE_ND", more, (n, high, wide, self.shape[3]))

    def convolution_of_one(self) -> None:
        n, high, wide, read = self.shape
        made = self.rng.randint(1, 5)
        self.macs += n * high * wide * made * read
        given = {
            "Padding": SAME,
            "StrideH": 1,
            "StrideW": 1,
            "DilationHFactor": 1,
            "DilationWFactor": 1,
        }
        reads = [self.w.weight((made, 1, 1, read)), self.w.weight((made,))]
        self.run("CONV_2D", reads, (n, high, wide, made), "Conv2DOptions", **given)


STEPS = (
    "convolution pool element dense reshape resize filled spread tiled transposed doubled stacked "
    "cut averaged turned padded dilated"
).split()


def open_network(seed: int, steps: int = 3) -> tuple[OpenNet, TfliteWriter]:
    """A network as it runs, and its file as a converter writes it, with one for what is open.

    In some the heights are open too; in some the batch was set by hand, in the inputs alone or in
    all shapes; in some only inputs and outputs say what is open.
    """
    rng = Random(seed)
    rows = rng.random() < 0.3
    batch = rng.choice([1, 1, 1, 2, 3])
    high = 1 if rows else 0
    net = OpenNet(seed, (batch, high), steps)
    ways = rng.choice(["all", "all", "ends"]), rng.choice(["inputs", "all"])
    file = OpenNet(seed, (batch, high), steps).w
    for number, signature in _signatures(seed, rows, steps):
        tensor = file.tensors[number]
        end = number in (*file.inputs, *file.outputs)
        if ways[0] == "all" or end:
            tensor["signature"] = signature
        if number not in file.inputs and (batch == 1 or ways[1] == "inputs"):
            tensor["shape"] = tuple(1 if n < 0 else n for n in signature)
    return net, file


def _signatures(seed: int, rows: bool, steps: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Of each tensor with open axes its number, and its shape with -1 for them."""
    one = OpenNet(seed, (1, int(rows)), steps).w.tensors
    other = OpenNet(seed, (5, 7 if rows else 0), steps).w.tensors
    for number, pair in enumerate(zip(one, other, strict=True)):
        shapes = (tuple(tensor["shape"]) for tensor in pair)
        signature = tuple(a if a == b else -1 for a, b in zip(*shapes, strict=True))
        if -1 in signature:
            yield number, signature


def resized_network(seed: int, steps: int = 3) -> tuple[OpenNet, TfliteWriter]:
    """A network at sizes that are given where it is read, and its file, with one for each of them.

    Batches are open in all, heights in half of them.
    """
    rng = Random(seed)
    rows = rng.random() < 0.5
    net = OpenNet(seed, (rng.randint(1, 4), rng.randint(1, 9) if rows else 0), steps)
    file = OpenNet(seed, (1, int(rows)), steps).w
    for number, signature in _signatures(seed, rows, steps):
        file.tensors[number]["signature"] = signature
    return net, file
