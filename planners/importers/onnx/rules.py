"""Shapes that onnx's own inference leaves out or has wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

Shape = tuple[int, ...]
LIKE_FIRST = frozenset({"GroupNormalization", "MeanVarianceNormalization"})
COMPARE = frozenset({"GreaterOrEqual", "LessOrEqual"})
POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})


def not_inferred(kind: str, operands: Sequence[tuple[Shape, int]]) -> tuple[Shape, int] | None:
    """Shape and type of operators for which versions of onnx infer none; None for all others."""
    if kind in LIKE_FIRST:
        return operands[0] if operands else None
    if kind not in COMPARE:
        return None
    try:
        shape = np.broadcast_shapes(*(shape for shape, _ in operands))
    except ValueError:
        return None
    return shape, onnx.TensorProto.BOOL


def slid(kind: str, attributes: Mapping[str, Any], operands: Sequence[Shape]) -> Shape | None:
    """The shape that a window gives where onnx infers another, or none; else None."""
    if kind == "ConvTranspose":
        return _transposed(attributes, *operands[:2])
    if kind in POOLS and attributes.get("ceil_mode") and not _auto(attributes):
        return _pooled_up(attributes, operands[0])
    return None


def _auto(attributes: Mapping[str, Any]) -> str:
    """SAME_UPPER, SAME_LOWER or VALID; empty where the node has pads of its own."""
    auto = attributes.get("auto_pad", b"NOTSET")
    text = auto.decode() if isinstance(auto, bytes) else str(auto)
    return "" if text == "NOTSET" else text


def _transposed(attributes: Mapping[str, Any], data: Shape, weight: Shape) -> Shape:
    """SAME is stride times size at most, whatever the output's padding is, as runtimes have it.

    onnx adds that padding, and says nothing where `output_shape` is less than the input's.
    """
    axes = len(data) - 2
    channels = data[0], weight[1] * attributes.get("group", 1)
    if own := attributes.get("output_shape"):
        return (*channels, *list(own)[-axes:])
    steps, dilations = (attributes.get(name) or [1] * axes for name in ("strides", "dilations"))
    more = attributes.get("output_padding") or [0] * axes
    pads = [0] * 2 * axes if _auto(attributes) else attributes.get("pads") or [0] * 2 * axes
    sizes = zip(data[2:], weight[2:], steps, dilations, more, pads[:axes], pads[axes:], strict=True)
    found = [(n - 1) * s + e + d * (k - 1) + 1 - a - b for n, k, s, d, e, a, b in sizes]
    if _auto(attributes).startswith("SAME"):
        found = [min(m, n * s) for m, n, s in zip(found, data[2:], steps, strict=True)]
    return (*channels, *found)


def _pooled_up(attributes: Mapping[str, Any], data: Shape) -> Shape:
    """The shape that a pool with `ceil_mode` gives: no window begins in the padding behind.

    onnx infers one more where a stride is larger than the window; runtimes do as the operator's
    text says.
    """
    kernel = attributes["kernel_shape"]
    axes = len(kernel)
    strides, dilations = (attributes.get(name) or [1] * axes for name in ("strides", "dilations"))
    pads = attributes.get("pads") or [0] * 2 * axes
    sizes = []
    for axis, (size, k, step, d) in enumerate(
        zip(data[2:], kernel, strides, dilations, strict=True)
    ):
        before, after = pads[axis], pads[axes + axis]
        count = -((d * (k - 1) + 1 - size - before - after) // step) + 1
        sizes.append(count - 1 if (count - 1) * step >= size + before else count)
    return (*data[:2], *sizes)
