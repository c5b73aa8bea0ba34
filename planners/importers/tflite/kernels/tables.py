"""Functions of 16 bits by tables of 513 places with straight lines between them.

The runtime fills them at its start, in float32, and lowers each place by half of what the line
behind it is above the function in its middle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planners.importers.tflite.kernels.elements import exponential
from planners.importers.tflite.kernels.fixed_point import Integers, multiplier, scaled

Real: TypeAlias = NDArray[np.float32]
STEPS, LEAST, MOST = 512, -(2**15), 2**15 - 1


def softmax(x: Integers, scale: float) -> NDArray[np.int16]:
    """Along the last axis, in Q0.15; `scale` is what a step of x means, times beta."""
    below = x - x.max(axis=-1, keepdims=True)
    fine = scaled(below, *multiplier(scale / (10 / 65535))) + MOST  # from −10 on
    powers = _looked_up(_exponential(), np.clip(fine, LEAST, MOST))
    total = powers.sum(axis=-1, keepdims=True)
    zeros = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)  # in front, of 32 bits
    part = ((total << (zeros - 1)) + (1 << 13)) >> 14
    one_over = _looked_up(_reciprocal(), np.clip(part - (1 << 15) - (1 << 16), LEAST, MOST))
    right = 31 - zeros
    made = (powers * one_over + (np.int64(1) << (right - 1))) >> right
    shares: NDArray[np.int16] = np.clip(made, 0, MOST).astype(np.int16)
    return shares


@cache
def _exponential() -> Integers:
    return _table(exponential, -10.0, 0.0)


@cache
def _reciprocal() -> Integers:
    def over_one_more(x: Real) -> Real:
        made: Real = np.float32(1) / (np.float32(1) + x)
        return made

    return _table(over_one_more, 0.0, 1.0)


def _table(function: Callable[[Real], Real], first: float, last: float) -> Integers:
    """A function from `first` to `last` whose values are −1 to 1 in Q0.15."""
    one = np.float32(2**15)
    step = np.float32(np.float32(last) - np.float32(first)) / np.float32(STEPS)
    place = np.float32(first) + np.arange(STEPS + 1, dtype=np.float32) * step
    value, middle = function(place) * one, function(place[:-1] + step / np.float32(2)) * one
    between = _rounded((value[1:] + _rounded(value[:-1])) / np.float32(2))
    bias = _rounded((between - _rounded(middle)) / np.float32(2))
    places = np.append(_rounded(value[:-1]) - bias, _rounded(value[-1:]))
    made: Integers = np.clip(places, LEAST, MOST).astype(np.int64)
    return made


def _rounded(x: Real) -> Real:
    made: Real = np.trunc(x + np.copysign(np.float32(0.5), x)).astype(np.float32)
    return made


def _looked_up(table: Integers, x: Integers) -> Integers:
    at, rest = 256 + (x >> 7), x & 0x7F
    made: Integers = table[at] + (((table[at + 1] - table[at]) * rest + 64) >> 7)
    return made
