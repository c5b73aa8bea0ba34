"""Tensors as images in memory, pixel by pixel, and what a window covers along an axis."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Image(NamedTuple):
    """A tensor as it lies in memory: height × width pixels of so many channels together.

    A tensor of four axes is its image; of any other, each row of the last axis is a pixel.
    """

    height: int
    width: int
    channels: int

    @property
    def pixels(self) -> int:
        return self.height * self.width


def image(shape: tuple[int, ...]) -> Image:
    """The image of a tensor of one item.

    >>> image((1, 3, 8, 9)), image((4, 5)), image((5,))
    (Image(height=8, width=9, channels=3), Image(height=4, width=1, channels=5), \
Image(height=1, width=1, channels=5))
    """
    if len(shape) == 4:
        return Image(shape[2], shape[3], shape[1])
    return Image(prod(shape[:-1]), 1, shape[-1] if shape else 1)


def stored_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a tensor as it lies in memory: channels last where there are four axes.

    >>> stored_shape((1, 3, 8, 9)), stored_shape((4, 5))
    ((1, 8, 9, 3), (4, 5))
    """
    return (shape[0], *shape[2:], shape[1]) if len(shape) == 4 else shape


class WindowSpan(NamedTuple):
    """Where a window lies along one axis: what is inside the image, and how many it averages."""

    taps: NDArray[np.int64]
    places: NDArray[np.int64]
    padded: int


@lru_cache(maxsize=65536)
def span(at: int, size: int, kernel: int, stride: int, padding: int, dilation: int) -> WindowSpan:
    """The window of output place `at` along an axis of `size`.

    `padded` counts what lies in the image or its padding, as pools with `count_include_pad` do.
    """
    taps = np.arange(kernel)
    places = at * stride - padding + taps * dilation
    inside = (places >= 0) & (places < size)
    return WindowSpan(taps[inside], places[inside], int((places < size + padding).sum()))
