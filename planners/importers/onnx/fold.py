"""The arithmetic that ONNX files do on sizes, on a few numbers at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Fold: TypeAlias = Callable[[Sequence[Any], Mapping[str, Any], Sequence[Any], Any], Any]
"""From operands, attributes, the operands' shapes and the value wanted to its elements."""


def _shape(a: Sequence[Any], attributes: Mapping[str, Any], shapes: Sequence[Any], _: Any) -> Any:
    return np.array(shapes[0][attributes.get("start", 0) : attributes.get("end")], np.int64)


def _div(a: Sequence[Any], _: Any, __: Any, ___: Any) -> Any:
    """Whole numbers are divided towards zero."""
    if not np.issubdtype(a[0].dtype, np.integer):
        return a[0] / a[1]
    if not np.all(a[1]):
        raise ValueError("it divides by zero")
    return np.sign(a[0]) * np.sign(a[1]) * (np.abs(a[0]) // np.abs(a[1]))


def _mod(a: Sequence[Any], attributes: Mapping[str, Any], _: Any, __: Any) -> Any:
    if not np.all(a[1]):
        raise ValueError("it divides by zero")
    return np.fmod(a[0], a[1]) if attributes.get("fmod") else np.mod(a[0], a[1])


def _slice(a: Sequence[Any], attributes: Mapping[str, Any], _: Any, __: Any) -> Any:
    if len(a) > 1:
        starts, ends = a[1].tolist(), a[2].tolist()
        axes = a[3].tolist() if len(a) > 3 and a[3] is not None else range(len(starts))
        steps = a[4].tolist() if len(a) > 4 and a[4] is not None else [1] * len(starts)
    else:
        starts, ends = attributes["starts"], attributes["ends"]
        axes, steps = attributes.get("axes", range(len(starts))), [1] * len(starts)
    value = a[0]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and end < -value.shape[axis]:
            end = None
        value = value[(slice(None),) * (axis % value.ndim) + (slice(start, end, step),)]
    return value


def _constant_of_shape(a: Sequence[Any], attributes: Mapping[str, Any], _: Any, value: Any) -> Any:
    from onnx import numpy_helper

    tensor = attributes.get("value")
    if tensor is not None and tensor.external_data:
        raise ValueError("its number lies in another file")
    number = 0 if tensor is None else numpy_helper.to_array(tensor).reshape(-1)[0]
    return np.full(value.shape, number)


def _range(a: Sequence[Any], _: Any, __: Any, value: Any) -> Any:
    return a[0] + np.arange(value.elements) * a[2]


def _one(function: Callable[[Any], Any]) -> Fold:
    return lambda a, attributes, shapes, value: function(a[0])


def _all(function: Callable[[Any, Any], Any]) -> Fold:
    def folded(a: Sequence[Any], _: Any, __: Any, ___: Any) -> Any:
        value = a[0]
        for item in a[1:]:
            value = function(value, item)
        return value

    return folded


def _reduce(function: Callable[..., Any]) -> Fold:
    def folded(a: Sequence[Any], attributes: Mapping[str, Any], _: Any, __: Any) -> Any:
        axes = attributes.get("axes")
        if len(a) > 1 and a[1] is not None:
            axes = a[1].tolist()
        if not axes and attributes.get("noop_with_empty_axes"):
            return a[0]
        return function(a[0], axis=tuple(axes) if axes else None)

    return folded


FOLDS: Mapping[str, Fold] = {
    "Shape": _shape,
    "Size": lambda a, attributes, shapes, value: np.array(np.prod(shapes[0], dtype=np.int64)),
    "Add": _all(np.add),
    "Sub": _all(np.subtract),
    "Mul": _all(np.multiply),
    "Max": _all(np.maximum),
    "Min": _all(np.minimum),
    "Div": _div,
    "Mod": _mod,
    "Pow": _all(np.power),
    "Neg": _one(np.negative),
    "Abs": _one(np.abs),
    "Sqrt": _one(np.sqrt),
    "Reciprocal": _one(lambda x: 1 / x),
    "Floor": _one(np.floor),
    "Ceil": _one(np.ceil),
    "Round": _one(np.round),
    "Not": _one(np.logical_not),
    "And": _all(np.logical_and),
    "Or": _all(np.logical_or),
    "Equal": _all(np.equal),
    "Less": _all(np.less),
    "LessOrEqual": _all(np.less_equal),
    "Greater": _all(np.greater),
    "GreaterOrEqual": _all(np.greater_equal),
    "Where": lambda a, attributes, shapes, value: np.where(a[0], a[1], a[2]),
    "Cast": _one(lambda x: x),
    "Identity": _one(lambda x: x),
    "Reshape": _one(lambda x: x),
    "Flatten": _one(lambda x: x),
    "Squeeze": _one(lambda x: x),
    "Unsqueeze": _one(lambda x: x),
    "Expand": lambda a, attributes, shapes, value: np.broadcast_to(a[0], value.shape),
    "Tile": lambda a, attributes, shapes, value: np.tile(a[0], a[1]),
    "Transpose": lambda a, attributes, shapes, value: np.transpose(a[0], attributes.get("perm")),
    "Concat": lambda a, attributes, shapes, value: np.concatenate(a, attributes["axis"]),
    "Gather": lambda a, attributes, shapes, value: np.take(a[0], a[1], attributes.get("axis", 0)),
    "Slice": _slice,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "ReduceProd": _reduce(np.prod),
    "ReduceSum": _reduce(np.sum),
    "ReduceMax": _reduce(np.max),
    "ReduceMin": _reduce(np.min),
}
