"""In which order kernels read: for each element of an output the lowest element of an input.

All kernels here write their output element after element as it lies in memory, each once and after
its own reads. So an output may begin d bytes before an input that dies, and no byte is lost, for

    d = max over t of (t + 1) · w_Out − w_In · (lowest element that is read for any later one),

the least at which all that is written lies in front of all that is still to be read (w: bytes of an
element; t counts elements of the output). A walk is that lowest element for each of the output,
`NOTHING` where none is read. Tensors of four axes are NHWC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

Walk = NDArray[np.int64]
Shape = tuple[int, ...]
NOTHING = np.iinfo(np.int64).max // 16


def least_distance(walk: Walk, input_width: int, output_width: int) -> int:
    """The least d in bytes, zero or more, for elements of these widths."""
    if len(walk) < 2:
        return 0
    later = np.minimum.accumulate(walk[:0:-1])[::-1]
    left = np.minimum(later, NOTHING // input_width) * input_width
    written = np.arange(1, len(walk), dtype=np.int64) * output_width
    return max(0, int((written - left).max()))


@dataclass(frozen=True, slots=True)
class Window:
    """What slides along one axis: `taps` that lie `dilation` apart, from `−before` on."""

    taps: int
    stride: int
    dilation: int
    before: int

    def first(self, count: int, size: int) -> Walk:
        """The lowest of `size` places under each of `count` windows; `NOTHING` where outside."""
        start = np.arange(count, dtype=np.int64) * self.stride - self.before
        skipped = np.maximum(0, -(start // self.dilation))
        place = start + skipped * self.dilation
        return np.where((skipped < self.taps) & (place < size), place, NOTHING)


def same_padding(size: int, count: int, taps: int, stride: int, dilation: int) -> int:
    """Places before the first that `SAME` pads (`padding.h`: the smaller half)."""
    return max(0, (count - 1) * stride + (taps - 1) * dilation + 1 - size) // 2


def windows(
    shape: Shape, out: Shape, rows: Window, columns: Window, own: int | None = None
) -> Walk:
    """A window over pixels. `own` None: all channels are read for each; else a channel of the
    output reads only its own of the input, `own` of them in turn the same."""
    (batch, height, width, channels), (_, high, wide, out_channels) = shape, out
    row, column = rows.first(high, height), columns.first(wide, width)
    pixel = row[:, None] * width + column
    pixel = np.where((row[:, None] == NOTHING) | (column == NOTHING), NOTHING, pixel * channels)
    images = np.arange(batch, dtype=np.int64) * height * width * channels
    lowest = images[:, None] + pixel.ravel()
    channel = (
        np.zeros(out_channels, np.int64)
        if own is None
        else np.arange(out_channels, dtype=np.int64) // own
    )
    walk: Walk = (lowest.ravel()[:, None] + channel).ravel()
    walk[walk > NOTHING] = NOTHING
    return walk


def groups(walk: Walk, channels: int, count: int, each: int) -> Walk:
    """The same of a convolution in `count` groups, each of which reads `each` channels."""
    first = np.arange(channels, dtype=np.int64) // (channels // count) * each
    each_pixel = walk.reshape(-1, channels)
    return np.where(each_pixel == NOTHING, NOTHING, each_pixel + first).ravel()


def broadcast(shape: Shape, out: Shape) -> Walk:
    """An operand of an element-wise operator, stretched along the axes where it has one."""
    shape = (1,) * (len(out) - len(shape)) + shape
    places = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    return np.broadcast_to(places, out).ravel()


def rows_of_sums(rows: int, read: int, columns: int) -> Walk:
    """Each row of `columns` elements is of sums over `read` of the input."""
    return np.repeat(np.arange(rows, dtype=np.int64) * read, columns)


def padded(shape: Shape, out: Shape, before: Sequence[int]) -> Walk:
    """A copy with something around it; the elements of the input are read in their order."""
    walk = np.full(out, NOTHING, np.int64)
    inside = tuple(slice(b, b + n) for b, n in zip(before, shape, strict=True))
    walk[inside] = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    return walk.ravel()
