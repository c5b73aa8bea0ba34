"""Shapes that operators give when they run, by the shapes of their operands.

LiteRT computes all of them anew, whatever a file says. Axes are in the file's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.importers.tflite.file import TfliteOperator
from planners.importers.tflite.lowering import BINARY, ELEMENT, REDUCE, UNARY
from planners.importers.torch.aten_calls import Shape

Numbers = NDArray[Any]


class UnknownSizes(ValueError):
    """The numbers in an operand are not known, or what an operator does with them is not."""


@dataclass(frozen=True, slots=True)
class KnownOperands:
    """An operator with what is known of its operands, () and None where one is left out.

    `given` are the shapes of its values as the file has them.
    """

    operator: TfliteOperator
    shapes: tuple[Shape, ...]
    numbers: tuple[Numbers | None, ...]
    given: tuple[Shape, ...]

    def get(self, name: str, default: Any = 0) -> Any:
        return self.operator.get(name, default)

    def option(self, name: str) -> list[int]:
        """Numbers that the operator has as an option."""
        return [int(n) for n in np.atleast_1d(self.get(f"{name}AsNumpy", []))]

    def array(self, place: int) -> Numbers:
        """The numbers in an operand. Raises `UnknownSizes` where they are not known."""
        numbers = self.numbers[place] if place < len(self.numbers) else None
        if numbers is None:
            raise UnknownSizes(f"operand {place} of {self.operator.kind}")
        return numbers

    def wholes(self, place: int) -> list[int]:
        """The same, one after the other."""
        return [int(n) for n in self.array(place).reshape(-1)]

    def axis(self, place: int) -> int:
        """The one number in an operand, as an axis of the first."""
        return self.wholes(place)[0] % len(self.shapes[0])

    def outline(self) -> Numbers:
        """The first operand's shape as an array that takes no memory."""
        return np.broadcast_to(np.zeros((), np.int8), self.shapes[0])


Rule = Callable[[KnownOperands], list[Shape]]


def shapes_of(call: KnownOperands) -> list[Shape] | None:
    """The shapes of an operator's values; None where they cannot be known from these operands."""
    rule = None if call.operator.custom else _RULES.get(call.operator.kind)
    try:
        return None if rule is None else rule(call)
    except UnknownSizes:
        return None


def is_known(operator: TfliteOperator) -> bool:
    """Whether there is a rule for the shapes that an operator gives."""
    return not operator.custom and operator.kind in _RULES


def _window(call: KnownOperands, kernel: Sequence[int], depth: int) -> list[Shape]:
    """What slides over the axes between images and channels."""
    images, *sizes, _ = call.shapes[0]
    letters = "DHW"[-len(kernel) :]
    sizes_out = []
    for size, taps, letter in zip(sizes, kernel, letters, strict=True):
        stride, apart = call.get(f"Stride{letter}", 1) or 1, call.get(f"Dilation{letter}Factor", 1)
        reach = (taps - 1) * (apart or 1) + 1
        covered = size if call.get("Padding") == tflite.Padding.SAME else size - reach + 1
        sizes_out.append(-(-covered // stride))
    return [(images, *sizes_out, depth)]


def _convolution(call: KnownOperands) -> list[Shape]:
    filters = call.shapes[1]
    if len(filters) == 5:  # (depth, rows, columns, in, out)
        return _window(call, filters[:3], filters[4])
    return _window(call, filters[1:3], filters[0])


def _pool(call: KnownOperands) -> list[Shape]:
    kernel = call.get("FilterHeight", 1), call.get("FilterWidth", 1)
    return _window(call, kernel, call.shapes[0][-1])


def _dense(call: KnownOperands) -> list[Shape]:
    data, (outputs, read) = call.shapes[0], call.shapes[1]
    if call.get("KeepNumDims", False):
        return [(*data[:-1], outputs)]
    return [(prod(data) // read, outputs)]


def _product(call: KnownOperands) -> list[Shape]:
    one, other = call.shapes[:2]
    rows = one[-1] if call.get("AdjX", False) else one[-2]
    columns = other[-2] if call.get("AdjY", False) else other[-1]
    return [(*np.broadcast_shapes(one[:-2], other[:-2]), rows, columns)]


def _reshape(call: KnownOperands) -> list[Shape]:
    sizes = call.wholes(1) if len(call.shapes) > 1 else call.option("NewShape")
    whole, rest = prod(call.shapes[0]), prod(n for n in sizes if n != -1)
    shape = tuple(whole // rest if n == -1 and rest else n for n in sizes)
    if prod(shape) != whole or min(shape, default=0) < 0:
        raise ValueError(f"{sizes} for {whole} elements")
    return [shape]


def _squeeze(call: KnownOperands) -> list[Shape]:
    shape = call.shapes[0]
    chosen = {n % len(shape) for n in call.option("SqueezeDims")}
    chosen = chosen or {k for k, n in enumerate(shape) if n == 1}
    return [tuple(n for k, n in enumerate(shape) if k not in chosen)]


def _concatenation(call: KnownOperands) -> list[Shape]:
    shape, axis = list(call.shapes[0]), int(call.get("Axis")) % len(call.shapes[0])
    shape[axis] = sum(each[axis] for each in call.shapes)
    return [tuple(shape)]


def _pack(call: KnownOperands) -> list[Shape]:
    shape, axis = list(call.shapes[0]), int(call.get("Axis"))
    shape.insert(axis % (len(shape) + 1), len(call.shapes))
    return [tuple(shape)]


def _unpack(call: KnownOperands) -> list[Shape]:
    shape = list(call.shapes[0])
    count = shape.pop(int(call.get("Axis")) % len(shape))
    return [tuple(shape)] * count


def _split(call: KnownOperands) -> list[Shape]:
    axis, shape = call.wholes(0)[0], list(call.shapes[1])
    count = int(call.get("NumSplits", 1))
    shape[axis] //= count
    return [tuple(shape)] * count


def _split_sizes(call: KnownOperands) -> list[Shape]:
    sizes, at, shape = call.wholes(1), call.axis(2), call.shapes[0]
    left = shape[at] - sum(n for n in sizes if n >= 0)
    return [(*shape[:at], left if n < 0 else n, *shape[at + 1 :]) for n in sizes]


def _slice(call: KnownOperands) -> list[Shape]:
    sizes = call.wholes(2)
    begin = call.wholes(1) if -1 in sizes or call.numbers[1] is not None else [0] * len(sizes)
    each = zip(sizes, begin, call.shapes[0], strict=True)
    return [tuple(whole - at if n == -1 else n for n, at, whole in each)]


def strided(call: KnownOperands, data: Numbers) -> Numbers:
    """The part that STRIDED_SLICE takes of an array. Raises `UnknownSizes`."""
    begins, ends, steps = (call.wholes(place) for place in (1, 2, 3))
    masks = [call.get(f"{name}Mask") for name in ("Ellipsis", "NewAxis")]
    if any(masks) or call.get("Offset", False):
        raise UnknownSizes(f"options of {call.operator.kind}")
    parts: list[int | slice] = []
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        first = None if call.get("BeginMask") >> axis & 1 else begin
        last = None if call.get("EndMask") >> axis & 1 else end
        shrinks = call.get("ShrinkAxisMask") >> axis & 1
        parts.append(begin if shrinks else slice(first, last, step))
    return data[tuple(parts)]


def _reduce(call: KnownOperands) -> list[Shape]:
    shape, keep = call.shapes[0], call.get("KeepDims", False)
    gone = {axis % len(shape) for axis in call.wholes(1)}
    return [tuple(1 if k in gone else n for k, n in enumerate(shape) if keep or k not in gone)]


def _gather(call: KnownOperands) -> list[Shape]:
    data, indices = call.shapes[:2]
    axis, batch = int(call.get("Axis")) % max(1, len(data)), int(call.get("BatchDims"))
    return [(*data[:axis], *indices[batch % (len(indices) + 1) :], *data[axis + 1 :])]


def _into_batch(call: KnownOperands) -> list[Shape]:
    block, (images, *sizes) = call.wholes(1), call.shapes[0]
    for axis, (cut, (before, after)) in enumerate(zip(block, call.array(2), strict=True)):
        sizes[axis] = (sizes[axis] + int(before + after)) // cut
    return [(images * prod(block), *sizes)]


def _out_of_batch(call: KnownOperands) -> list[Shape]:
    block, (images, *sizes) = call.wholes(1), call.shapes[0]
    for axis, (cut, (before, after)) in enumerate(zip(block, call.array(2), strict=True)):
        sizes[axis] = sizes[axis] * cut - int(before + after)
    if images % prod(block):
        raise ValueError(f"{images} images for blocks of {block}")
    return [(images // prod(block), *sizes)]


def _depth(call: KnownOperands, into: bool) -> list[Shape]:
    """Squares of pixels that become channels, or the way back."""
    side, (images, high, wide, depth) = int(call.get("BlockSize", 1)), call.shapes[0]
    if into:
        return [(images, high // side, wide // side, depth * side**2)]
    return [(images, high * side, wide * side, depth // side**2)]


def _unknown(call: KnownOperands) -> list[Shape]:
    raise UnknownSizes(f"{call.operator.kind}: as many elements as the data decide")


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        (
            *(*UNARY, *ELEMENT, "QUANTIZE", "DEQUANTIZE", "CAST", "SOFTMAX", "LOG_SOFTMAX"),
            *("L2_NORMALIZATION", "CUMSUM", "REVERSE_V2", "LOCAL_RESPONSE_NORMALIZATION"),
            *("ZEROS_LIKE", "COMPLEX_ABS", "REAL", "IMAG"),
        ),
        lambda call: [call.shapes[0]],
    ),
    **dict.fromkeys(BINARY, lambda call: [tuple(np.broadcast_shapes(*call.shapes))]),
    **dict.fromkeys(REDUCE, _reduce),
    **dict.fromkeys(
        ("PAD", "PADV2", "MIRROR_PAD"),
        lambda call: [
            tuple(int(n + a + b) for n, (a, b) in zip(call.shapes[0], call.array(1), strict=True))
        ],
    ),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), _pool),
    **dict.fromkeys(
        ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
        lambda call: [(call.shapes[0][0], *call.wholes(1), call.shapes[0][-1])],
    ),
    **dict.fromkeys(
        ("ARG_MAX", "ARG_MIN"),
        lambda call: [call.shapes[0][: call.axis(1)] + call.shapes[0][call.axis(1) + 1 :]],
    ),
    **dict.fromkeys(
        ("UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"),
        lambda call: [(*call.shapes[0][:-1], call.given[0][-1])],
    ),
    **dict.fromkeys(("WHERE", "UNIQUE"), _unknown),
    "RANGE": lambda call: [(len(range(*(call.wholes(place)[0] for place in range(3)))),)],
    # Of real numbers: half of the last axis, and what is in the middle.
    "RFFT2D": lambda call: [(*call.shapes[0][:-2], call.wholes(1)[0], call.wholes(1)[1] // 2 + 1)],
    "CONV_2D": _convolution,
    "CONV_3D": _convolution,
    "DEPTHWISE_CONV_2D": lambda call: _window(call, call.shapes[1][1:3], call.shapes[1][3]),
    "TRANSPOSE_CONV": lambda call: [(*call.wholes(0)[:3], call.shapes[1][0])],
    "FULLY_CONNECTED": _dense,
    "BATCH_MATMUL": _product,
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": lambda call: [np.expand_dims(call.outline(), call.wholes(1)[0]).shape],
    "TRANSPOSE": lambda call: [call.outline().transpose(call.wholes(1)).shape],
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "SPLIT_V": _split_sizes,
    "SLICE": _slice,
    "STRIDED_SLICE": lambda call: [strided(call, call.outline()).shape],
    "TILE": lambda call: [
        tuple(n * times for n, times in zip(call.shapes[0], call.wholes(1), strict=True))
    ],
    "FILL": lambda call: [tuple(call.wholes(0))],
    "BROADCAST_TO": lambda call: [
        tuple(np.broadcast_shapes(call.shapes[0], tuple(call.wholes(1))))
    ],
    "GATHER": _gather,
    "EMBEDDING_LOOKUP": lambda call: [(*call.shapes[0], *call.shapes[1][1:])],
    "SHAPE": lambda call: [(len(call.shapes[0]),)],
    "RANK": lambda call: [()],
    "SPACE_TO_BATCH_ND": _into_batch,
    "BATCH_TO_SPACE_ND": _out_of_batch,
    "SPACE_TO_DEPTH": lambda call: _depth(call, into=True),
    "DEPTH_TO_SPACE": lambda call: _depth(call, into=False),
}
