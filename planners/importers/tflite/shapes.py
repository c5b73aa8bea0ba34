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

    def wholes(self, place: int) -> list[int] | None:
        """The numbers in an operand, where they are known."""
        numbers = self.numbers[place] if place < len(self.numbers) else None
        return None if numbers is None else [int(n) for n in numbers.reshape(-1)]

    def outline(self) -> Numbers:
        """The first operand's shape as an array that takes no memory."""
        return np.broadcast_to(np.zeros((), np.int8), self.shapes[0])


Shapes = list[Shape] | None


def shapes_of(call: KnownOperands) -> Shapes:
    """The shapes of an operator's values; None where they cannot be known from these operands."""
    rule = _RULES.get(call.operator.kind)
    return None if rule is None or call.operator.custom else rule(call)


def is_known(operator: TfliteOperator) -> bool:
    """Whether there is a rule for the shapes that an operator gives."""
    return not operator.custom and operator.kind in _RULES


def _same(call: KnownOperands) -> Shapes:
    return [call.shapes[0]]


def _broadcast(call: KnownOperands) -> Shapes:
    return [tuple(np.broadcast_shapes(*call.shapes))]


def _window(call: KnownOperands, kernel: Sequence[int], depth: int) -> Shapes:
    """What slides over the axes between images and channels."""
    images, *sizes, _ = call.shapes[0]
    letters = "DHW"[-len(kernel) :]
    made = []
    for size, taps, letter in zip(sizes, kernel, letters, strict=True):
        stride, apart = call.get(f"Stride{letter}", 1) or 1, call.get(f"Dilation{letter}Factor", 1)
        reach = (taps - 1) * (apart or 1) + 1
        covered = size if call.get("Padding") == tflite.Padding.SAME else size - reach + 1
        made.append(-(-covered // stride))
    return [(images, *made, depth)]


def _convolution(call: KnownOperands) -> Shapes:
    filters = call.shapes[1]
    if len(filters) == 5:  # (depth, rows, columns, in, out)
        return _window(call, filters[:3], filters[4])
    return _window(call, filters[1:3], filters[0])


def _depthwise(call: KnownOperands) -> Shapes:
    return _window(call, call.shapes[1][1:3], call.shapes[1][3])


def _pool(call: KnownOperands) -> Shapes:
    kernel = call.get("FilterHeight", 1), call.get("FilterWidth", 1)
    return _window(call, kernel, call.shapes[0][-1])


def _transposed(call: KnownOperands) -> Shapes:
    sizes = call.wholes(0)
    if sizes is None:
        return None
    return [(*sizes[:3], call.shapes[1][0])]


def _dense(call: KnownOperands) -> Shapes:
    data, (made, read) = call.shapes[0], call.shapes[1]
    if call.get("KeepNumDims", False):
        return [(*data[:-1], made)]
    return [(prod(data) // read, made)]


def _product(call: KnownOperands) -> Shapes:
    one, other = call.shapes[:2]
    rows = one[-1] if call.get("AdjX", False) else one[-2]
    columns = other[-2] if call.get("AdjY", False) else other[-1]
    return [(*np.broadcast_shapes(one[:-2], other[:-2]), rows, columns)]


def _recurrent(call: KnownOperands) -> Shapes:
    return [(*call.shapes[0][:-1], call.given[0][-1])]


def _said_by(place: int) -> Callable[[KnownOperands], Shapes]:
    """An operand is the shape."""

    def rule(call: KnownOperands) -> Shapes:
        sizes = call.wholes(place)
        return None if sizes is None else [tuple(sizes)]

    return rule


def _reshape(call: KnownOperands) -> Shapes:
    sizes = call.wholes(1)
    if sizes is None:
        if len(call.shapes) > 1:
            return None
        sizes = [int(n) for n in np.atleast_1d(call.get("NewShapeAsNumpy", []))]
    whole, rest = prod(call.shapes[0]), prod(n for n in sizes if n != -1)
    made = tuple(whole // rest if n == -1 and rest else n for n in sizes)
    if prod(made) != whole or min(made, default=0) < 0:
        raise ValueError(f"{sizes} for {whole} elements")
    return [made]


def _squeeze(call: KnownOperands) -> Shapes:
    shape = call.shapes[0]
    chosen = {int(n) % len(shape) for n in np.atleast_1d(call.get("SqueezeDimsAsNumpy", []))}
    chosen = chosen or {k for k, n in enumerate(shape) if n == 1}
    return [tuple(n for k, n in enumerate(shape) if k not in chosen)]


def _expand(call: KnownOperands) -> Shapes:
    axis = call.wholes(1)
    return None if axis is None else [np.expand_dims(call.outline(), axis[0]).shape]


def _transpose(call: KnownOperands) -> Shapes:
    order = call.wholes(1)
    return None if order is None else [call.outline().transpose(order).shape]


def _concatenation(call: KnownOperands) -> Shapes:
    shape, axis = list(call.shapes[0]), int(call.get("Axis")) % len(call.shapes[0])
    shape[axis] = sum(each[axis] for each in call.shapes)
    return [tuple(shape)]


def _pack(call: KnownOperands) -> Shapes:
    shape, axis = list(call.shapes[0]), int(call.get("Axis"))
    shape.insert(axis % (len(shape) + 1), len(call.shapes))
    return [tuple(shape)]


def _unpack(call: KnownOperands) -> Shapes:
    shape = list(call.shapes[0])
    count = shape.pop(int(call.get("Axis")) % len(shape))
    return [tuple(shape)] * count


def _split(call: KnownOperands) -> Shapes:
    axis, shape = call.wholes(0), list(call.shapes[1])
    if axis is None:
        return None
    count = int(call.get("NumSplits", 1))
    shape[axis[0]] //= count
    return [tuple(shape)] * count


def _split_sizes(call: KnownOperands) -> Shapes:
    sizes, axis, shape = call.wholes(1), call.wholes(2), call.shapes[0]
    if sizes is None or axis is None:
        return None
    at = axis[0] % len(shape)
    left = shape[at] - sum(n for n in sizes if n >= 0)
    return [(*shape[:at], left if n < 0 else n, *shape[at + 1 :]) for n in sizes]


def _slice(call: KnownOperands) -> Shapes:
    begins, sizes = call.wholes(1), call.wholes(2)
    if sizes is None or (begins is None and -1 in sizes):
        return None
    begins = begins or [0] * len(sizes)
    each = zip(sizes, begins, call.shapes[0], strict=True)
    return [tuple(whole - at if n == -1 else n for n, at, whole in each)]


def strided(call: KnownOperands, data: Numbers) -> Numbers | None:
    """The part that STRIDED_SLICE takes of an array."""
    begins, ends, steps = (call.wholes(place) for place in (1, 2, 3))
    masks = [call.get(f"{name}Mask") for name in ("Ellipsis", "NewAxis")]
    if begins is None or ends is None or steps is None or any(masks) or call.get("Offset", False):
        return None
    parts: list[int | slice] = []
    for axis, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        first = None if call.get("BeginMask") >> axis & 1 else begin
        last = None if call.get("EndMask") >> axis & 1 else end
        shrinks = call.get("ShrinkAxisMask") >> axis & 1
        parts.append(begin if shrinks else slice(first, last, step))
    return data[tuple(parts)]


def _strided_shape(call: KnownOperands) -> Shapes:
    part = strided(call, call.outline())
    return None if part is None else [part.shape]


def _pad(call: KnownOperands) -> Shapes:
    amounts = call.numbers[1]
    if amounts is None:
        return None
    each = zip(call.shapes[0], amounts, strict=True)
    return [tuple(int(n + before + after) for n, (before, after) in each)]


def _resize(call: KnownOperands) -> Shapes:
    sizes, shape = call.wholes(1), call.shapes[0]
    return None if sizes is None else [(shape[0], *sizes, shape[-1])]


def _tile(call: KnownOperands) -> Shapes:
    times = call.wholes(1)
    if times is None:
        return None
    return [tuple(n * k for n, k in zip(call.shapes[0], times, strict=True))]


def _spread(call: KnownOperands) -> Shapes:
    sizes = call.wholes(1)
    return None if sizes is None else [tuple(np.broadcast_shapes(call.shapes[0], tuple(sizes)))]


def _reduce(call: KnownOperands) -> Shapes:
    axes, shape = call.wholes(1), call.shapes[0]
    if axes is None:
        return None
    gone = {axis % len(shape) for axis in axes}
    keep = call.get("KeepDims", False)
    return [tuple(1 if k in gone else n for k, n in enumerate(shape) if keep or k not in gone)]


def _best(call: KnownOperands) -> Shapes:
    axis, shape = call.wholes(1), call.shapes[0]
    if axis is None:
        return None
    at = axis[0] % len(shape)
    return [shape[:at] + shape[at + 1 :]]


def _gather(call: KnownOperands) -> Shapes:
    data, indices = call.shapes[:2]
    axis, batch = int(call.get("Axis")) % max(1, len(data)), int(call.get("BatchDims"))
    return [(*data[:axis], *indices[batch % (len(indices) + 1) :], *data[axis + 1 :])]


def _lookup(call: KnownOperands) -> Shapes:
    return [(*call.shapes[0], *call.shapes[1][1:])]


def _into_batch(call: KnownOperands) -> Shapes:
    block, around = call.wholes(1), call.numbers[2]
    if block is None or around is None:
        return None
    images, *sizes = call.shapes[0]
    for axis, (cut, (before, after)) in enumerate(zip(block, around, strict=True)):
        sizes[axis] = (sizes[axis] + int(before + after)) // cut
    return [(images * prod(block), *sizes)]


def _out_of_batch(call: KnownOperands) -> Shapes:
    block, cropped = call.wholes(1), call.numbers[2]
    if block is None or cropped is None:
        return None
    images, *sizes = call.shapes[0]
    for axis, (cut, (before, after)) in enumerate(zip(block, cropped, strict=True)):
        sizes[axis] = sizes[axis] * cut - int(before + after)
    if images % prod(block):
        raise ValueError(f"{images} images for blocks of {block}")
    return [(images // prod(block), *sizes)]


def _into_depth(call: KnownOperands) -> Shapes:
    side, (images, high, wide, depth) = int(call.get("BlockSize", 1)), call.shapes[0]
    return [(images, high // side, wide // side, depth * side**2)]


def _out_of_depth(call: KnownOperands) -> Shapes:
    side, (images, high, wide, depth) = int(call.get("BlockSize", 1)), call.shapes[0]
    return [(images, high * side, wide * side, depth // side**2)]


def _range(call: KnownOperands) -> Shapes:
    """Of sizes; of fractions the data decide."""
    start, limit, step = (call.wholes(place) for place in range(3))
    if start is None or limit is None or step is None:
        return None
    return [(len(range(start[0], limit[0], step[0])),)]


def _spectrum(call: KnownOperands) -> Shapes:
    """Of real numbers: half of the last axis, and what is in the middle."""
    sizes = call.wholes(1)
    return None if sizes is None else [(*call.shapes[0][:-2], sizes[0], sizes[1] // 2 + 1)]


def _unknown(call: KnownOperands) -> Shapes:
    """As many elements as the data decide."""
    return None


_RULES: Mapping[str, Callable[[KnownOperands], Shapes]] = {
    **dict.fromkeys((*UNARY, *ELEMENT), _same),
    **dict.fromkeys(
        "QUANTIZE DEQUANTIZE CAST SOFTMAX LOG_SOFTMAX L2_NORMALIZATION CUMSUM REVERSE_V2 "
        "LOCAL_RESPONSE_NORMALIZATION ZEROS_LIKE".split(),
        _same,
    ),
    **dict.fromkeys(BINARY, _broadcast),
    **dict.fromkeys(REDUCE, _reduce),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _pad),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), _pool),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resize),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _best),
    **dict.fromkeys(("WHERE", "UNIQUE"), _unknown),
    **dict.fromkeys(("COMPLEX_ABS", "REAL", "IMAG"), _same),
    "RANGE": _range,
    "RFFT2D": _spectrum,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _recurrent,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _recurrent,
    "CONV_2D": _convolution,
    "CONV_3D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "TRANSPOSE_CONV": _transposed,
    "FULLY_CONNECTED": _dense,
    "BATCH_MATMUL": _product,
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand,
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "SPLIT_V": _split_sizes,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_shape,
    "TILE": _tile,
    "FILL": _said_by(0),
    "BROADCAST_TO": _spread,
    "GATHER": _gather,
    "EMBEDDING_LOOKUP": _lookup,
    "SHAPE": lambda call: [(len(call.shapes[0]),)],
    "RANK": lambda call: [()],
    "SPACE_TO_BATCH_ND": _into_batch,
    "BATCH_TO_SPACE_ND": _out_of_batch,
    "SPACE_TO_DEPTH": _into_depth,
    "DEPTH_TO_SPACE": _out_of_depth,
}
