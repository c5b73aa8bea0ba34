"""What needs rows or all of its operand: softmax, means, resizing, joining, padding."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from planners.importers.tflite.kernels import fixed_point
from planners.importers.tflite.kernels.call import KernelCall, Unsupported
from planners.importers.tflite.kernels.elements import Made, exponential
from planners.importers.tflite.kernels.fixed_point import Integers, divided, multiplier, scaled
from planners.importers.tflite.kernels.moves import padding

EXPONENT_BITS, SUM_BITS = 5, 12  # in front of the point, of exponents and of their sum

LOG_STEP = 16 / 256  # of what LOG_SOFTMAX gives as int8


def softmax(call: KernelCall) -> Made:
    """SOFTMAX along the last axis."""
    x, beta = call.array(0), float(call.get("Beta", 1.0))
    if not call.whole():
        e = exponential((x - x.max(axis=-1, keepdims=True)) * np.float32(beta))
        total = np.add.accumulate(e, axis=-1)[..., -1:]  # one after the other
        return [e / total]
    if call.out.dtype == "int16":
        return [softmax_by_tables(x.astype(np.int64), call.type_of(0).scale * beta)]
    counts, _, powers, sums = _exponentials(call, beta)
    one_over, bits = fixed_point.reciprocal(sums, SUM_BITS)
    shares = divided(fixed_point.high_product(powers, one_over), bits + 31 - 8)
    return [np.where(counts, np.clip(shares - 128, -128, 127), -128).astype(np.int8)]


def _exponentials(call: KernelCall, beta: float) -> tuple[Integers, ...]:
    """Of int8, along the last axis: what counts, how far below the greatest, e to that, sums."""
    real = min(beta * call.type_of(0).scale * (1 << (31 - EXPONENT_BITS)), 2.0**31 - 1)
    factor, shift = multiplier(real)
    least = -int((2**EXPONENT_BITS - 1) * 2.0 ** (31 - EXPONENT_BITS) / 2.0**shift)
    below = call.array(0).astype(np.int64)
    below = below - below.max(axis=-1, keepdims=True)
    counts = below >= least
    fine = scaled(np.maximum(below, least), factor, shift)
    powers = fixed_point.exponential(fine, EXPONENT_BITS)
    sums = np.where(counts, divided(powers, SUM_BITS), 0).sum(axis=-1, keepdims=True)
    return counts, fine, powers, sums


def log_softmax(call: KernelCall) -> Made:
    """LOG_SOFTMAX along the last axis.

    The logarithm of a sum of whole numbers is the nearest one, which the runtime's is but for the
    last of 26 bits; four of them are left in an element.
    """
    x = call.array(0)
    if call.whole():
        if call.out[0] != "int8" or call.out[2:] != ((LOG_STEP,), 127):
            raise Unsupported(f"{call.out.dtype} of another scale than {LOG_STEP} below 127")
        counts, fine, _, sums = _exponentials(call, 1.0)
        bits = 31 - EXPONENT_BITS
        logs = np.rint(np.log(sums / 2.0 ** (31 - SUM_BITS)) * 2.0**bits).astype(np.int64)
        logarithms = divided(fine - logs, bits - 4) + 127
        return [np.where(counts, np.clip(logarithms, -128, 127), -128).astype(np.int8)]
    below = x - x.max(axis=-1, keepdims=True)
    total = np.add.accumulate(exponential(below), axis=-1)[..., -1:]  # one after the other
    return [below - np.log(total.astype(np.float64)).astype(np.float32)]


def mean(call: KernelCall) -> Made:
    """MEAN and SUM along axes."""
    x = call.array(0)
    axes = tuple(sorted({int(axis) % x.ndim for axis in call.array(1).reshape(-1)}))
    count = int(np.prod([x.shape[axis] for axis in axes]))
    shape = call.out.shape
    if not call.whole():
        rows = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(-1, count)
        total = np.add.accumulate(rows, axis=1)[:, -1]
        result = total / np.float32(count) if call.kind == "MEAN" else total
        return [result.astype(np.float32).reshape(shape)]
    sums = call.centred(0).sum(axis=axes)
    factor, shift = multiplier(call.type_of(0).scale / call.out.scale)
    if call.kind == "MEAN":
        more = min(count.bit_length() - 1, 32, 31 + shift)
        factor, shift = (factor << more) // count, shift - more
    return [call.out.clamped(scaled(sums, factor, shift)).reshape(shape)]


def extreme(choose: Any) -> Callable[[KernelCall], Made]:
    """REDUCE_MAX and REDUCE_MIN, which look at the elements as they are."""

    def run(call: KernelCall) -> Made:
        x = call.array(0)
        if call.whole() and call.type_of(0)[2:] != call.out[2:]:
            raise Unsupported("another scale than its operand's")
        axes = tuple(sorted({int(axis) % x.ndim for axis in call.array(1).reshape(-1)}))
        return [choose(x, axis=axes).reshape(call.out.shape)]

    return run


def resized(call: KernelCall) -> Made:
    """RESIZE_NEAREST_NEIGHBOR."""
    x = call.array(0)
    for axis in (1, 2):
        n, m = x.shape[axis], call.out.shape[axis]
        corners = call.get("AlignCorners", False) and m > 1
        scale = np.float32(n - 1) / np.float32(m - 1) if corners else np.float32(n) / np.float32(m)
        half = np.float32(0.5 if call.get("HalfPixelCenters", False) else 0)
        at = (np.arange(m, dtype=np.float32) + half) * scale
        at = np.trunc(at + np.float32(0.5)) if call.get("AlignCorners", False) else np.floor(at)
        x = np.take(x, np.clip(at.astype(np.int64), 0, n - 1), axis=axis)
    return [x]


def resized_smoothly(call: KernelCall) -> Made:
    """RESIZE_BILINEAR."""
    x, whole = call.array(0), call.whole()
    (y, y0, y1), (z, z0, z1) = (_between(call, axis, whole) for axis in (1, 2))
    one: Any = 1 << 10 if whole else np.float32(1)
    data = x.astype(np.int64) if whole else x
    row, column = (y - one * y0.astype(y.dtype))[:, None, None], (z - one * z0.astype(z.dtype))
    column = column[None, :, None]

    def corner(rows: Any, columns: Any, a: Any, b: Any) -> NDArray[Any]:
        return np.asarray(data[:, rows][:, :, columns] * a * b)

    parts = [
        corner(y0, z0, one - row, one - column),
        corner(y1, z0, row, one - column),
        corner(y0, z1, one - row, column),
        corner(y1, z1, row, column),
    ]
    total = parts[0] + parts[1] + parts[2] + parts[3]
    if not whole:
        return [total]
    nudged = total + np.where(total > 0, 1 << 19, -(1 << 19))
    return [(np.sign(nudged) * (np.abs(nudged) >> 20)).astype(call.out.dtype)]


def _between(call: KernelCall, axis: int, whole: bool) -> tuple[Any, Any, Any]:
    """Where each line of the result lies among those of the operand: place, line before, behind."""
    n, m = call.array(0).shape[axis], call.out.shape[axis]
    corners = call.get("AlignCorners", False) and m > 1
    above, under = (n - 1, m - 1) if corners else (n, m)
    halves = call.get("HalfPixelCenters", False)
    if whole:
        scale = ((above << 10) + under // 2) // under
        at = np.arange(m, dtype=np.int64) * scale
        at = at + scale // 2 - (1 << 9) if halves else at
        lower = np.maximum(np.sign(at) * (np.abs(at) >> 10), 0)
        behind = at + (1 << 10) - 1
        upper = np.minimum(np.sign(behind) * (np.abs(behind) >> 10), n - 1)
        return at, lower, upper
    step = np.float32(above) / np.float32(under)
    place = np.arange(m, dtype=np.float32)
    half = np.float32(0.5)
    place = (place + half) * step - half if halves else place * step
    lower = np.maximum(np.floor(place).astype(np.int64), 0)
    return place, lower, np.minimum(np.ceil(place).astype(np.int64), n - 1)


def joined(call: KernelCall) -> Made:
    """CONCATENATION: the elements as they are."""
    values = [value for value in call.inputs if value is not None]
    for place in range(len(values)):
        if call.type_of(place)[2:] != call.out[2:] and call.out.whole:
            raise Unsupported("operands of several scales")
    return [np.concatenate(values, axis=int(call.get("Axis", 0)))]


def padded(call: KernelCall) -> Made:
    """PAD and PADV2."""
    x, around = call.array(0), padding(call)
    value: Any = call.out.zero if call.out.whole else 0
    if call.kind == "PADV2":
        value = call.array(2).reshape(-1)[0]
    return [np.pad(x, around, constant_values=value)]


# ---- Functions of 16 bits by tables of 513 places ------------------------------------------------
# Straight lines lie between the places. The runtime fills them at its start, in float32, and lowers
# each place by half of what the line behind it is above the function in its middle.

Real: TypeAlias = NDArray[np.float32]
STEPS, LEAST, MOST = 512, -(2**15), 2**15 - 1


def softmax_by_tables(x: Integers, scale: float) -> NDArray[np.int16]:
    """Along the last axis, in Q0.15; `scale` is what a step of x means, times beta."""
    below = x - x.max(axis=-1, keepdims=True)
    fine = scaled(below, *multiplier(scale / (10 / 65535))) + MOST  # from −10 on
    powers = _looked_up(_exponential(), np.clip(fine, LEAST, MOST))
    total = powers.sum(axis=-1, keepdims=True)
    zeros = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)  # in front, of 32 bits
    part = ((total << (zeros - 1)) + (1 << 13)) >> 14
    one_over = _looked_up(_reciprocal(), np.clip(part - (1 << 15) - (1 << 16), LEAST, MOST))
    right = 31 - zeros
    codes = (powers * one_over + (np.int64(1) << (right - 1))) >> right
    shares: NDArray[np.int16] = np.clip(codes, 0, MOST).astype(np.int16)
    return shares


@cache
def _exponential() -> Integers:
    return _table(exponential, -10.0, 0.0)


@cache
def _reciprocal() -> Integers:
    def over_one_more(x: Real) -> Real:
        part: Real = np.float32(1) / (np.float32(1) + x)
        return part

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
    codes: Integers = np.clip(places, LEAST, MOST).astype(np.int64)
    return codes


def _rounded(x: Real) -> Real:
    whole: Real = np.trunc(x + np.copysign(np.float32(0.5), x)).astype(np.float32)
    return whole


def _looked_up(table: Integers, x: Integers) -> Integers:
    at, rest = 256 + (x >> 7), x & 0x7F
    value: Integers = table[at] + (((table[at + 1] - table[at]) * rest + 64) >> 7)
    return value
