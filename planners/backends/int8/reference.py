"""The reference: whole networks in int8 with whole tensors, exact in every bit.

Nothing here knows of pools or of the order of pixels. Sums of products are taken in float64, where
integers below 2^53 are exact in any order, so that they may be matrix products; none here reaches
2^31 (`quantized` sees to it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from planners.backends.int8.geometry import Image, image, stored_shape
from planners.backends.int8.net import QNet, QOp, finished, scaled
from planners.core.errors import BadInput
from planners.core.graph import Graph

Bytes = NDArray[np.int8]
Integers = NDArray[np.int64]


def run_reference(net: QNet, inputs: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """All tensors of the network from its inputs, as they lie in memory ([1, H, W, C]).

    Raises `BadInput` where an input is missing or of another shape or type.
    """
    tensors = checked(net.graph, inputs)
    for op in net.ops.values():
        images = [_operand(net.graph, op, i, tensors[name]) for i, name in enumerate(op.inputs)]
        shape = net.graph.tensors[op.output].shape
        codes = _KINDS[op.kind](op, images, image(shape))
        tensors[op.output] = codes.astype(np.int8).reshape(stored_shape(shape))
    return tensors


def checked(graph: Graph, inputs: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """The graph's inputs out of these. Raises `BadInput` where one does not do."""
    for name in graph.inputs:
        shape, value = stored_shape(graph.tensors[name].shape), inputs.get(name)
        if value is None or value.shape != shape or value.dtype != np.int8:
            have = "nothing" if value is None else f"{value.dtype} of shape {value.shape}"
            raise BadInput(f"input {name!r} must be int8 of shape {shape}, got {have}")
    return {name: inputs[name] for name in graph.inputs}


def random_inputs(net: QNet, seed: int) -> dict[str, Bytes]:
    """Inputs of all byte values, evenly."""
    rng = np.random.default_rng(seed)
    shapes = {name: stored_shape(net.graph.tensors[name].shape) for name in net.graph.inputs}
    return {name: rng.integers(-128, 128, shape, dtype=np.int8) for name, shape in shapes.items()}


def _operand(graph: Graph, op: QOp, index: int, value: Bytes) -> Integers:
    whole = value.reshape(image(graph.tensors[op.inputs[index]].shape)).astype(np.int64)
    chosen = op.channels_of(index)
    return whole if chosen is None else whole[..., chosen]


def _windows(op: QOp, value: NDArray[Any], target: Image, outside: int) -> NDArray[Any]:
    """[rows, columns, channels, R, S]: what lies under each window, `outside` beyond the image."""
    padded, reach = value, []
    for axis in (0, 1):
        reach.append((op.kernel[axis] - 1) * op.dilation[axis] + 1)
        end = (target[axis] - 1) * op.stride[axis] + reach[axis]
        before = op.padding[axis]
        after = max(0, end - before - value.shape[axis])
        pad = [(0, 0)] * 3
        pad[axis] = (before, after)
        padded = np.pad(padded, pad, constant_values=outside)
    windows = sliding_window_view(padded, reach, (0, 1))
    rows, columns = (slice(None, (target[i] - 1) * op.stride[i] + 1, op.stride[i]) for i in (0, 1))
    return windows[rows, columns, :, :: op.dilation[0], :: op.dilation[1]]


def _products(op: QOp, images: list[Integers], target: Image) -> Integers:
    assert op.weight is not None
    assert op.bias is not None
    value = (images[0] - op.zero_in[0]).astype(np.float64)
    weight = op.weight.astype(np.float64)
    if op.kind == "linear":
        sums = value.reshape(target.pixels, -1) @ weight.T
    else:
        sums = _convolved(op, _windows(op, value, target, 0), weight)
    exact = sums.reshape(target).astype(np.int64) + op.bias
    return finished(op, scaled(exact, op.multiplier, op.shift))


def _convolved(op: QOp, under: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """[rows, columns, K] out of [rows, columns, C, R, S]."""
    each, wide = under.shape[2] // op.groups, len(weight) // op.groups
    if each == wide == 1:
        return np.asarray(np.einsum("pqcrs,crs->pqc", under, weight[..., 0]))
    parts = [
        np.tensordot(
            under[:, :, g * each : (g + 1) * each],
            weight[g * wide : (g + 1) * wide],
            ((2, 3, 4), (3, 1, 2)),
        )
        for g in range(op.groups)
    ]
    return np.concatenate(parts, axis=2)


def _largest(op: QOp, images: list[Integers], target: Image) -> Integers:
    return finished(op, _windows(op, images[0], target, -128).max(axis=(3, 4)) - op.zero_out)


def _average(op: QOp, images: list[Integers], target: Image) -> Integers:
    value = images[0] - op.zero_in[0]
    sums = _windows(op, value, target, 0).sum(axis=(3, 4))
    margin = op.padding if op.count_include_pad else (0, 0)
    counted = np.ones([n + 2 * pad for n, pad in zip(value.shape, margin)] + [1], np.int64)
    left = (op.padding[0] - margin[0], op.padding[1] - margin[1])
    counts = _windows(replace(op, padding=left), counted, target, 0).sum(axis=(3, 4))
    return finished(op, scaled(sums, op.multiplier[counts], op.shift))


def _sum(op: QOp, images: list[Integers], target: Image) -> Integers:
    a, b = (value - zero for value, zero in zip(images, op.zero_in))
    return finished(op, scaled(a * op.multiplier[0] + b * op.multiplier[1], 1, op.shift))


def _product(op: QOp, images: list[Integers], target: Image) -> Integers:
    a, b = (value - zero for value, zero in zip(images, op.zero_in))
    return finished(op, scaled(a * b, op.multiplier[0], op.shift))


def _joined(op: QOp, images: list[Integers], target: Image) -> Integers:
    parts = [
        scaled(value - zero, multiplier, op.shift)
        for value, zero, multiplier in zip(images, op.zero_in, op.multiplier)
    ]
    return finished(op, np.concatenate(parts, axis=2))


def _looked_up(op: QOp, images: list[Integers], target: Image) -> Integers:
    return finished(op, images[0] - op.zero_out)


_KINDS: dict[str, Callable[[QOp, list[Integers], Image], Integers]] = {
    "conv": _products,
    "linear": _products,
    "max_pool": _largest,
    "avg_pool": _average,
    "add": _sum,
    "mul": _product,
    "cat": _joined,
    "table": _looked_up,
}
