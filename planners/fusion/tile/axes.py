"""Tensors as images, channels, rows and columns, and what of an input each row needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planners.core.graph import Tensor
from planners.core.program import Box

Counts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Axes:
    """Which axes of a shape are images, rows and channels; None where it has none.

    N×C×H×W and N×C×D×H×W have rows along their third axis, N×T×F along its second.
    """

    row: int | None
    channel: int | None

    @staticmethod
    def from_shape(shape: tuple[int, ...]) -> Axes:
        if len(shape) >= 4:
            return Axes(2, 1)
        return Axes(*{3: (1, 2), 2: (None, 1)}.get(len(shape), (None, None)))


def images_of(tensor: Tensor) -> int:
    """How many images a tensor has: maps cut into windows have more than those they are cut of."""
    return tensor.shape[0] if len(tensor.shape) > 1 else 1


def rows_of(tensor: Tensor) -> int:
    """Rows of a tensor: one where it has no axis of rows."""
    return _rows(tensor.shape)


@cache
def _rows(shape: tuple[int, ...]) -> int:
    axis = Axes.from_shape(shape).row
    return 1 if axis is None else shape[axis]


def channels_of(tensor: Tensor) -> int:
    """Channels of a tensor: one where it has no axis of channels."""
    axis = Axes.from_shape(tensor.shape).channel
    return 1 if axis is None else tensor.shape[axis]


def columns_of(tensor: Tensor) -> int:
    """Columns of a tensor: one where it has no axis of columns."""
    return tensor.shape[3] if len(tensor.shape) == 4 else 1


def box_of(
    tensor: Tensor,
    rows: tuple[int, int],
    channels: tuple[int, int] | None = None,
    images: tuple[int, int] | None = None,
    columns: tuple[int, int] | None = None,
) -> Box:
    """The box of these rows, of all channels, images and columns unless some are given."""
    axes = Axes.from_shape(tensor.shape)
    box = [(0, n) for n in tensor.shape]
    if axes.row is not None:
        box[axes.row] = rows
    if channels is not None and axes.channel is not None:
        box[axes.channel] = channels
    if images is not None and tensor.shape:
        box[0] = images
    if columns is not None and len(box) == 4:
        box[3] = columns
    return tuple(box)


def rows_in(tensor: Tensor, box: Box) -> tuple[int, int]:
    """The rows of a box."""
    axis = Axes.from_shape(tensor.shape).row
    return (0, 1) if axis is None else box[axis]


def channels_in(tensor: Tensor, box: Box) -> tuple[int, int]:
    """The channels of a box."""
    axis = Axes.from_shape(tensor.shape).channel
    return (0, 1) if axis is None else box[axis]


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Rows of an input by rows of the output: `upto[k]` are needed for the first k of them,
    and none before `start[k]` for those from k on. Or columns by columns."""

    tensor: str
    upto: Counts
    start: Counts
