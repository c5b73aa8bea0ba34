"""How far in front of a dying input an output must begin, so that no byte is lost (eq. 1).

In the pool a tensor of four axes lies pixel by pixel (NHWC), any other row-major; the pixels, or
the vectors along the last axis, are its segments. A kernel writes its output in raster order while
later elements still need some of the input. With b_Out = b_In − d, element t of the output falls
on element t − d of the input, so

    d = max over t of (t + 1) − (lowest element that is still to be read once t is written),

and no smaller distance will do. What is read are the boxes of `planners.core.access`, hulls where
a window is dilated, so a distance may be larger than a kernel needs, never smaller. Where input
and output have elements of other widths, both sides are counted in bytes: element t of the output
ends (t + 1) · w_Out bytes from its beginning, and the lowest left begins at its place · w_In.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.core.access import CONVOLUTIONS, ELEMENTWISE, NORMS, POOLS, is_local, needs
from planners.core.boxes import Box
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator
from planners.core.relations import Shape, full
from planners.overlap.model.separable import AnswersByLook, look, rows_and_columns, streams

Order = Literal["element", "segment"]
MOST_SEGMENTS = 2048
"""Segments that are asked for one by one; where there are more, whole rows or planes are."""

_NEVER = np.iinfo(np.int64).max // 4
_ADAPTIVE = frozenset(f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3))


def order(graph: Graph, op: Operator) -> Order:
    """How a kernel goes through a segment of its output.

    `element`: each output channel reads its own channel only (element-wise operators, depthwise
    convolutions, pools), so an element is written after its own reads, and only those of later
    elements remain. `segment` (all others): a channel is written after its sum, and the next
    channel reads all of the segment's window again.
    """
    kinds = {part.kind for part in op.parts} or {op.kind}
    if not kinds <= ELEMENTWISE | NORMS | {op.kind} or len(op.outputs) != 1:
        return "segment"
    if op.kind in _ADAPTIVE:
        same = graph.tensors[op.inputs[0]].shape[:2] == graph.tensors[op.outputs[0]].shape[:2]
        return "element" if same and len(op.inputs) == 1 else "segment"
    out = graph.tensors[op.outputs[0]]
    if not op.inputs or not is_local(graph, op, out) or op.kind == "linear":
        return "segment"
    if op.kind in CONVOLUTIONS:
        channels = graph.tensors[op.inputs[0]].shape[1]
        return "element" if op.groups == channels == out.shape[1] else "segment"
    return "element"


def distance(graph: Graph, op: Operator, tensor: str) -> int | None:
    """The least d = b_In − b_Out ≥ 0 in bytes at which `op` may write over its input `tensor`.

    None where they must lie apart: the operator has not exactly one output, or nothing of
    it could lie on the input. Any larger distance is as good. Together they take
    max(|In| + d, |Out|) bytes; for a linear or pointwise In[M,K] → Out[M,N] these are
    max(MN, MK) + min(N, K) − 1 elements (section 4). Raises `BadInput` where `op` does not read
    `tensor`.
    """
    if tensor not in op.inputs:
        raise BadInput(f"{op.name} does not read {tensor}: its inputs are {', '.join(op.inputs)}")
    if len(op.outputs) != 1:
        return None
    d = _distances(graph, op)[op.inputs.index(tensor)]
    return d if d < graph.size_bytes(op.outputs[0]) else None


@dataclass(frozen=True, slots=True)
class _Reads:
    """The lowest element of the input that each segment of the output reads, in raster order.

    `own`: each channel of a segment, of `size`, is made of its own channel; else all are of all.
    """

    lowest: NDArray[np.int64]
    size: int
    own: bool

    def distance(self, widths: Widths) -> int:
        """The least distance in bytes, for elements of these widths."""
        begin = np.arange(len(self.lowest), dtype=np.int64) * self.size * widths.output
        left = np.minimum(self.lowest, _NEVER // widths.input) * widths.input
        # Once a segment is complete, all later ones are still to be read.
        later = np.minimum.accumulate(left[::-1])[::-1][1:]
        d = int((begin[1:] - later).max(initial=0))
        if self.size > 1 or widths.output > widths.input:
            d = max(d, int((begin + self._rise(widths) - left).max(initial=0)))
        return max(0, d)

    def _rise(self, widths: Widths) -> int:
        """Bytes of a segment that must lie in front of the lowest that it reads.

        All but its last element or, where each channel reads its own, as many as the output's
        elements are wider. One that is wider than an element read ends with that one, so that no
        segment is written over but the lowest that is read.
        """
        if not self.own:
            return self.size * widths.output - min(widths)
        wider = widths.output - widths.input
        return max(wider, self.size * wider)


class Widths(NamedTuple):
    """Bytes of an element of an operator's input, and of its output."""

    input: int
    output: int


_known = AnswersByLook[tuple[int, ...]](20_000)


def _distances(graph: Graph, op: Operator) -> tuple[int, ...]:
    """From all inputs at once, in bytes: a walk segment by segment yields all of them."""
    output = graph.bytes_of(op.outputs[0], 1)
    widths = tuple(Widths(graph.bytes_of(name, 1), output) for name in op.inputs)

    def ask() -> tuple[int, ...]:
        reads = [_closed(graph, op, tensor) for tensor in op.inputs]
        if None in reads:
            reads = list(_asked(graph, op))
        return tuple(r.distance(each) for r, each in zip(reads, widths, strict=True) if r)

    return _known.get((look(graph, op), widths), ask)


def _closed(graph: Graph, op: Operator, tensor: str) -> _Reads | None:
    """What is read, by formula; None for operators that have none."""
    out = graph.tensors[op.outputs[0]]
    shape = graph.tensors[tensor].shape
    if any(part.detailed for part in op.parts) or not is_local(graph, op, out):
        return None
    if op.kind in CONVOLUTIONS | POOLS:
        by_element = order(graph, op) == "element"
        four = len(shape) == 4
        return _windows(op, shape, out.shape, by_element) if four else None
    if op.kind == "linear":
        four = len(shape) == 4
        return None if four else _broadcast((*shape[:-1], 1), shape, out.shape, False)
    if not _broadcasts(shape, out.shape):
        return None
    return _broadcast(shape, shape, out.shape, True)


def _windows(op: Operator, shape: Shape, out: Shape, by_element: bool) -> _Reads:
    """A window over [N, C, H, W]: the first pixel of each, in closed form."""
    (batch, channels, height, width), (_, out_channels, *spatial) = shape, out
    rows, columns = (
        _first(n, size, op.kernel[a], op.stride[a], op.padding[a], op.dilation[a])
        for a, (n, size) in enumerate(zip(spatial, (height, width), strict=True))
    )
    images = np.arange(batch, dtype=np.int64)[:, None, None] * height * width
    pixels = images + rows[:, None] * width + columns
    nothing = np.broadcast_to((rows < 0)[:, None] | (columns < 0), pixels.shape)
    return _Reads(np.where(nothing, _NEVER, pixels * channels).ravel(), out_channels, by_element)


def _first(n: int, size: int, k: int, s: int, p: int, d: int) -> NDArray[np.int64]:
    """The first of `size` elements under each of n windows; −1 where there is none."""
    start = np.arange(n, dtype=np.int64) * s - p
    nothing = (start + d * (k - 1) < 0) | (start >= size)
    return np.where(nothing, -1, np.maximum(start, 0))


def _broadcasts(shape: Shape, out: Shape) -> bool:
    tail = out[len(out) - len(shape) :]
    return len(shape) <= len(out) and all(n in (1, m) for n, m in zip(shape, tail, strict=True))


def _broadcast(shape: Shape, layout: Shape, out: Shape, by_element: bool) -> _Reads:
    """An operand of `shape`, broadcast; `layout` is that of its memory, which holds more for sums.

    Only the elements at the beginning of what a segment reads are those of `shape`.
    """
    strides = [0] * (len(out) - len(shape)) + [
        stride if n > 1 else 0 for n, stride in zip(shape, _strides(layout), strict=True)
    ]
    inner = _inner(out)
    lowest: NDArray[np.int64] = np.zeros((), np.int64)
    for axis in _raster(out)[:-1]:
        lowest = lowest[..., None] + np.arange(out[axis], dtype=np.int64) * strides[axis]
    by_channel = by_element and bool(out) and strides[inner] > 0
    return _Reads(lowest.ravel(), out[inner] if out else 1, by_channel)


def _asked(graph: Graph, op: Operator) -> Iterator[_Reads]:
    """What the operator needs segment by segment; by rows or planes if these are too many."""
    out = graph.tensors[op.outputs[0]].shape
    outer = _outer(out)
    if len(outer) == 3 and streams(graph, op):
        yield from _by_rows(graph, op)
        return
    boxes = [_at(out, outer, index) for index in np.ndindex(*(out[axis] for axis in outer))]
    read = [dict(needs(graph, op, op.outputs[0], box)) for box in boxes]
    size = prod(out) // len(boxes)
    whole = len(outer) == max(0, len(out) - 1)
    by_channel = whole and order(graph, op) == "element"
    for tensor in op.inputs:
        shape = graph.tensors[tensor].shape
        corners = np.array([_corner(boxes.get(tensor), shape) for boxes in read], np.int64)
        yield _Reads(corners, size, by_channel)


def _by_rows(graph: Graph, op: Operator) -> Iterator[_Reads]:
    """The same where what a pixel reads is what its row reads of what its column reads."""
    out = graph.tensors[op.outputs[0]].shape
    by_channel = order(graph, op) == "element"
    for tensor, (rows, columns) in zip(op.inputs, rows_and_columns(graph, op), strict=True):
        _, _, row, column = _strides(graph.tensors[tensor].shape)
        a, b = np.array(rows, np.int64), np.array(columns, np.int64)
        corners = a[:, :1] * row + b[:, 0] * column
        nothing = (a[:, 1:] <= a[:, :1]) | (b[:, 1] <= b[:, 0])
        yield _Reads(np.where(nothing, _NEVER, corners).reshape(-1), out[1], by_channel)


def _at(shape: Shape, axes: Sequence[int], index: Sequence[int]) -> Box:
    box = list(full(shape))
    for axis, at in zip(axes, index, strict=True):
        box[axis] = (at, at + 1)
    return tuple(box)


def _corner(box: Box | None, shape: Shape) -> int:
    """The lowest element of the segments that a box touches."""
    if box is None:
        return _NEVER
    if shape:  # A segment comes and goes whole, whichever of its channels are read.
        inner = _inner(shape)
        box = (*box[:inner], (0, shape[inner]), *box[inner + 1 :])
    return sum(start * stride for (start, _), stride in zip(box, _strides(shape), strict=True))


def _outer(out: Shape) -> tuple[int, ...]:
    """The axes that are gone through one by one: all but the innermost, or fewer if too many."""
    axes = _raster(out)[:-1]
    while axes and prod(out[axis] for axis in axes) > MOST_SEGMENTS:
        axes = axes[:-1]
    return axes


def _raster(shape: Shape) -> tuple[int, ...]:
    """Axes as they lie in memory, the innermost last."""
    return (0, 2, 3, 1) if len(shape) == 4 else tuple(range(len(shape)))


def _inner(shape: Shape) -> int:
    return 1 if len(shape) == 4 else len(shape) - 1


def _strides(shape: Shape) -> tuple[int, ...]:
    """Elements from one to the next along each axis."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(_raster(shape)):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)
