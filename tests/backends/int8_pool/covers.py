"""Which pixels of an image a window covers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.geometry import Image, span
from planners.backends.int8.net import QOp


class WindowPixels(NamedTuple):
    """The pixels under a window: row, column, and place in the kernel (row · S + column) of each.

    `averaged` is what an average divides by.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    taps: NDArray[np.int64]
    averaged: int


def cover(op: QOp, source: Image, row: int, column: int) -> WindowPixels:
    """What the window of `op` covers of its first input for output pixel (row, column)."""
    steps = tuple(zip(op.kernel, op.stride, op.padding, op.dilation))
    down = span(row, source.height, *steps[0])
    right = span(column, source.width, *steps[1])
    shape = (len(down.taps), len(right.taps))
    count = down.padded * right.padded if op.count_include_pad else shape[0] * shape[1]
    return WindowPixels(
        np.broadcast_to(down.places[:, None], shape).ravel(),
        np.broadcast_to(right.places, shape).ravel(),
        (down.taps[:, None] * op.kernel[1] + right.taps).ravel(),
        count,
    )
