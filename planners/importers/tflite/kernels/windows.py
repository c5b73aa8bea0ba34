"""What slides or multiplies: convolutions, pools, and linear layers.

Sums of whole numbers are exact in any order; those of float32 go in the runtime's order, one
product after the other, so that they are rounded as it rounds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.importers.tflite.kernels.call import KernelCall, QuantisedAs, Unsupported
from planners.importers.tflite.kernels.fixed_point import (
    multiplier,
    multipliers,
    scaled,
    scaled_wide,
)

Real = NDArray[np.float32]
MOST_AT_ONCE = 2**26
"""Elements under all windows that are laid out, each as often as it is read."""
LARGEST = 2**28
"""Elements of a map with its padding: strides of a file may ask for any number."""


class _Slide(NamedTuple):
    """A window over maps: taps, steps, dilation, rows and columns of padding in front, sizes."""

    taps: tuple[int, int]
    steps: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    out: tuple[int, int]

    def padded(self, data: NDArray[Any], value: Any) -> NDArray[Any]:
        """Maps with all that any window covers."""
        sides = []
        for axis in range(2):
            reach = (self.out[axis] - 1) * self.steps[axis]
            reach += (self.taps[axis] - 1) * self.dilation[axis] + 1
            behind = reach - self.before[axis] - data.shape[1 + axis]
            sides.append((self.before[axis], max(0, behind)))
        rows, columns = (sum(sides[axis]) + data.shape[1 + axis] for axis in range(2))
        if data.shape[0] * rows * columns * data.shape[3] > LARGEST:
            raise ValueError(f"windows over {rows:,} by {columns:,} elements")
        return np.pad(data, ((0, 0), *sides, (0, 0)), constant_values=value)

    def views(self, padded: NDArray[Any]) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """For each tap, row by row, the element under it in every window: (n, rows, columns, c)."""
        for r in range(self.taps[0]):
            for c in range(self.taps[1]):
                first = r * self.dilation[0], c * self.dilation[1]
                spans = [
                    slice(a, a + (n - 1) * step + 1, step)
                    for a, n, step in zip(first, self.out, self.steps, strict=True)
                ]
                yield r, c, padded[:, spans[0], spans[1]]


def _slide(call: KernelCall, taps: tuple[int, int], out: tuple[int, ...]) -> _Slide:
    data = call.array(0)
    steps = (int(call.get("StrideH", 1)) or 1, int(call.get("StrideW", 1)) or 1)
    dilation = tuple(int(call.get(f"Dilation{a}Factor", 1)) or 1 for a in "HW")
    before = [0, 0]
    if call.get("Padding", 0) == tflite.Padding.SAME:
        for axis in range(2):
            reach = (out[1 + axis] - 1) * steps[axis] + dilation[axis] * (taps[axis] - 1) + 1
            before[axis] = max(0, reach - data.shape[1 + axis]) // 2
    return _Slide(taps, steps, (dilation[0], dilation[1]), (before[0], before[1]), (out[1], out[2]))


def convolution(call: KernelCall) -> list[NDArray[Any]]:
    """CONV_2D with filters (out, rows, columns, in)."""
    return [finished(call, convolved(call))]


def convolved(call: KernelCall) -> NDArray[Any]:
    """Its sums of products alone."""
    weight = call.array(1)
    slide = _slide(call, (weight.shape[1], weight.shape[2]), call.out.shape)
    if call.array(0).shape[-1] != weight.shape[3]:
        raise Unsupported("groups")
    if call.whole():
        data = slide.padded(call.centred(0).astype(np.float64), 0.0)
        return _whole_sums(slide, data, weight.astype(np.float64)).astype(np.int64)
    total = np.zeros((*call.out.shape[:3], len(weight)), np.float32)
    for r, c, view in slide.views(slide.padded(call.array(0), np.float32(0))):
        _products(total, view, weight[:, r, c])
    return total


def _whole_sums(
    slide: _Slide, data: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[Any]:
    """Products of all that is under each window at once, or tap by tap where that is much."""
    if len(data) * prod(slide.out) * prod(weight.shape[1:]) <= MOST_AT_ONCE:
        under = np.concatenate([view for _, _, view in slide.views(data)], axis=-1)
        return np.asarray(under @ weight.reshape(len(weight), -1).T)
    total = np.zeros((len(data), *slide.out, len(weight)), np.float64)
    for r, c, view in slide.views(data):
        total += view @ weight[:, r, c].T
    return total


def _products(total: Real, data: Real, weight: Real) -> None:
    """Add (…, in) times (out, in) to (…, out), channel after channel."""
    for channel in range(weight.shape[1]):
        total += data[..., channel, None] * weight[:, channel]


def transposed(call: KernelCall) -> list[NDArray[Any]]:
    """TRANSPOSE_CONV of a shape, filters (out, rows, columns, in), data, and a bias or none."""
    places = (2, 1, 3)
    call = replace(
        call,
        inputs=tuple(call.maybe(place) for place in places),
        given=(call.type_of(2), call.type_of(1), call.given[3] if len(call.given) > 3 else None),
    )
    data: NDArray[Any] = call.array(0)
    weight, whole = call.array(1), call.whole()
    if whole:
        data, weight = call.centred(0).astype(np.float64), weight.astype(np.float64)
    total = np.zeros(call.out.shape, data.dtype)
    # What an element gets comes from the rows of the data in order: from the filters' last tap on.
    spans = [list(reversed(_scattered(call, axis))) for axis in range(2)]
    for r, under, above in spans[0]:
        for c, left, right in spans[1]:
            view, read = total[:, above, right], data[:, under, left]
            if whole:
                view += read @ weight[:, r, c].T
            else:
                _products(view, read, weight[:, r, c])
    return [finished(call, total.astype(np.int64) if whole else total)]


def _scattered(call: KernelCall, axis: int) -> list[tuple[int, slice, slice]]:
    """For each tap along rows or columns: where data are read, and where they are added up."""
    taps, n = call.array(1).shape[1 + axis], call.array(0).shape[1 + axis]
    size = call.out.shape[1 + axis]
    step = int(call.get(f"Stride{'HW'[axis]}", 1)) or 1
    before = 0
    if call.get("Padding", 0) == tflite.Padding.SAME:
        before = max(0, (-(-size // step) - 1) * step + taps - size) // 2
    spans = []
    for tap in range(taps):
        first = max(0, -((tap - before) // step))
        last = min(n - 1, (size - 1 + before - tap) // step)
        if first <= last:
            at = first * step - before + tap
            stop = at + (last - first) * step + 1
            spans.append((tap, slice(first, last + 1), slice(at, stop, step)))
    return spans


def depthwise(call: KernelCall) -> list[NDArray[Any]]:
    """DEPTHWISE_CONV_2D with filters (1, rows, columns, out)."""
    weight = call.array(1)[0]
    slide = _slide(call, (weight.shape[0], weight.shape[1]), call.out.shape)
    times = weight.shape[2] // call.array(0).shape[-1]
    if call.whole():
        data, total = slide.padded(call.centred(0), 0), np.zeros(call.out.shape, np.int64)
    else:
        data = slide.padded(call.array(0), np.float32(0))
        total = np.zeros(call.out.shape, np.float32)
    for r, c, view in slide.views(data):
        total += (np.repeat(view, times, axis=-1) if times > 1 else view) * weight[r, c]
    return [finished(call, total)]


def linear(call: KernelCall) -> list[NDArray[Any]]:
    """FULLY_CONNECTED on (rows, depth) with a weight (out, depth)."""
    return [finished(call, multiplied(call))]


def multiplied(call: KernelCall) -> NDArray[Any]:
    """Its sums of products alone."""
    data, weight = call.array(0), call.array(1)
    if call.whole():
        sums = call.centred(0).astype(np.float64) @ weight.astype(np.float64).T
        return sums.astype(np.int64)
    total = np.zeros((len(data), len(weight)), np.float32)
    _products(total, data, weight)
    return total


def matrices(call: KernelCall) -> list[NDArray[Any]]:
    """BATCH_MATMUL: products of the last two axes, those in front stretched."""
    if call.type_of(0).dtype != call.type_of(1).dtype:
        raise Unsupported(f"{call.type_of(0).dtype} times {call.type_of(1).dtype}")
    whole = call.whole()
    a, b = (call.centred(k) if whole else call.array(k) for k in range(2))
    a = np.swapaxes(a, -1, -2) if call.get("AdjX", False) else a
    b = np.swapaxes(b, -1, -2) if call.get("AdjY", False) else b
    if whole:
        both = float(np.float32(call.type_of(0).scale) * np.float32(call.type_of(1).scale))
        times = scaled_wide if call.out.dtype == "int16" else scaled
        return [call.out.clamped(times(a @ b, *multiplier(both / call.out.scale)))]
    total = np.zeros(call.out.shape, np.float32)
    for k in range(a.shape[-1]):
        total += a[..., k, None] * b[..., k, None, :]
    return [total]


def finished(call: KernelCall, sums: NDArray[Any]) -> NDArray[Any]:
    """Sums as elements: bias, the factor of each channel, zero point."""
    bias = call.maybe(2)
    if not call.whole():
        return sums if bias is None else sums + bias
    weight = call.type_of(1)
    if weight.dtype != "int8" or weight.zero:
        raise Unsupported(f"weights of {weight.dtype}")
    total = sums if bias is None else sums + bias.astype(np.int64)
    wide = call.out.dtype == "int16" and (
        call.kind != "CONV_2D" or (bias is not None and bias.dtype == np.int64)
    )
    times = scaled_wide if wide else scaled
    product = call.kind == "FULLY_CONNECTED"
    return call.out.clamped(times(total, *_factors(call.type_of(0), weight, call.out, product)))


def _factors(
    data: QuantisedAs, weight: QuantisedAs, out: QuantisedAs, product: bool
) -> tuple[Any, Any]:
    """With `product` one factor is that of the scales multiplied as float32."""
    if product and len(weight.scales) == 1:
        both = float(np.float32(data.scale) * np.float32(weight.scale))
        return multiplier(both / out.scale)
    return multipliers(data.scale * np.array(weight.scales, np.float64) / out.scale)


def largest(call: KernelCall) -> list[NDArray[Any]]:
    """MAX_POOL_2D."""
    slide = _slide(call, _taps(call), call.out.shape)
    lowest = call.type_of(0).limits[0] if call.whole() else np.finfo(np.float32).min
    views = [view for _, _, view in slide.views(slide.padded(call.array(0), lowest))]
    return [np.maximum.reduce(views)]


def average(call: KernelCall) -> list[NDArray[Any]]:
    """AVERAGE_POOL_2D: a window past the edge has fewer elements."""
    slide, data = _slide(call, _taps(call), call.out.shape), call.array(0)
    ones = slide.padded(np.ones((1, *data.shape[1:3], 1), np.int64), 0)
    count = np.add.reduce([view for _, _, view in slide.views(ones)])
    whole = call.whole()
    padded = slide.padded(data.astype(np.int64) if whole else data, 0)
    total = np.zeros(call.out.shape, padded.dtype)
    for _, _, view in slide.views(padded):
        total += view
    if not whole:
        return [total / count.astype(np.float32)]
    # Rounded to the nearest, halves away from zero; not less than what the type holds.
    half = np.where(total > 0, total + count // 2, total - count // 2)
    mean = np.sign(half) * (np.abs(half) // count)
    return [np.clip(mean, *call.out.limits).astype(call.out.dtype)]


def _taps(call: KernelCall) -> tuple[int, int]:
    return int(call.get("FilterHeight", 1)), int(call.get("FilterWidth", 1))
