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


def pooled_up(kind: str, attributes: Mapping[str, Any], data: Shape) -> Shape | None:
    """The shape that a pool with `ceil_mode` gives: no window begins in the padding behind.

    onnx infers one more where a stride is larger than the window; runtimes do as the operator's
    text says. None for all other nodes.
    """
    if kind not in POOLS or not attributes.get("ceil_mode"):
        return None
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", "NOTSET"):
        return None
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
