"""Beside onnx's own inference: shapes that it leaves out or has wrong, and what it is not asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from planners.core.errors import BadInput
from planners.importers.onnx.file import label

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
    if output_shape := attributes.get("output_shape"):
        return (*channels, *list(output_shape)[-axes:])
    steps, dilations = (attributes.get(name) or [1] * axes for name in ("strides", "dilations"))
    more = attributes.get("output_padding") or [0] * axes
    pads = [0] * 2 * axes if _auto(attributes) else attributes.get("pads") or [0] * 2 * axes
    sizes = zip(data[2:], weight[2:], steps, dilations, more, pads[:axes], pads[axes:], strict=True)
    sizes_out = [(n - 1) * s + e + d * (k - 1) + 1 - a - b for n, k, s, d, e, a, b in sizes]
    if _auto(attributes).startswith("SAME"):
        sizes_out = [min(m, n * s) for m, n, s in zip(sizes_out, data[2:], steps, strict=True)]
    return (*channels, *sizes_out)


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


def with_default(node: Any) -> Any:
    """A node with the default that onnx's inference takes for another one: of a spectrum of real
    numbers, one half is given."""
    if node.op_type != "STFT" or any(a.name == "onesided" for a in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.attribute.append(onnx.helper.make_attribute("onesided", 1))
    return copy


# ---- Shapes of the operators of `ai.onnx.ml`, which skl2onnx writes and onnx infers in part only -
# They stay opaque: what a tree or a scaler computes is no product of this project's.

DOMAIN = "ai.onnx.ml"
FLOAT, INT64, STRING = (
    int(onnx.TensorProto.DataType.Value(name)) for name in ("FLOAT", "INT64", "STRING")
)
_LABELS = {
    "LinearClassifier": ("classlabels_ints", "classlabels_strings"),
    "TreeEnsembleClassifier": ("classlabels_int64s", "classlabels_strings"),
}

Known = tuple[Shape, int]
Given = Mapping[str, Any]


def learned_values(node: Any, operands: Sequence[Known]) -> dict[str, Known]:
    """Shape and type of what such a node gives, by name; nothing for those not known here."""
    rule = _RULES.get(node.op_type) if node.domain == DOMAIN else None
    if rule is None or not operands:
        return {}
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    values = rule(node.op_type, given, operands)
    return {name: value for name, value in zip(node.output, values) if name and value is not None}


def _rows(shape: Shape) -> int:
    """One vector is a batch of one."""
    return shape[0] if len(shape) > 1 else 1


def _like_first(kind: str, given: Given, operands: Sequence[Known]) -> list[Known | None]:
    shape, code = operands[0]
    return [(shape, code if kind == "Imputer" else FLOAT)]


def _columns(kind: str, given: Given, operands: Sequence[Known]) -> list[Known | None]:
    """Columns of a table by their numbers; those of a vector are a row."""
    if len(operands) < 2:
        return []
    (shape, code), (places, _) = operands[:2]
    return [((*(shape[:-1] or (1,)), prod(places)), code)]


def _regressor(kind: str, given: Given, operands: Sequence[Known]) -> list[Known | None]:
    count = given.get("targets", given.get("n_targets", 1))
    return [((_rows(operands[0][0]), int(count)), FLOAT)]


def _classifier(kind: str, given: Given, operands: Sequence[Known]) -> list[Known | None]:
    """A label, and a score for each class."""
    rows = _rows(operands[0][0])
    numbers, texts = (given.get(name) or () for name in _LABELS[kind])
    count = len(numbers or texts)
    return [((rows,), INT64 if numbers else STRING), ((rows, count), FLOAT) if count > 1 else None]


def _one_hot(kind: str, given: Given, operands: Sequence[Known]) -> list[Known | None]:
    categories = given.get("cats_int64s") or given.get("cats_strings") or ()
    return [((*operands[0][0], len(categories)), FLOAT)]


_RULES: Mapping[str, Callable[[str, Given, Sequence[Known]], list[Known | None]]] = {
    **dict.fromkeys(("Scaler", "Normalizer", "Imputer"), _like_first),
    **dict.fromkeys(("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor"), _regressor),
    **dict.fromkeys(_LABELS, _classifier),
    "ArrayFeatureExtractor": _columns,
    "OneHotEncoder": _one_hot,
}


# ---- What onnx's inference is not asked ----------------------------------------------------------
# It makes as many outputs as an attribute says, goes to an axis that no operand has, and takes an
# equation apart for as long as that lasts: of a file of a few bytes it takes all memory and time
# that there is, or ends the process (onnx 1.23.2).

AXES = frozenset({"axis", "axes", "batch_axis", "time_axis"})
MOST_LETTERS = 1000
"""Of an equation: each axis of an operand is one."""


def require_believable(node: Any, ranks: Sequence[int], path: Path) -> None:
    """Raise `BadInput` for what onnx's inference is not to see; `ranks` are the operands'."""
    for attribute in node.attribute:
        if attribute.name == "num_outputs" and node.op_type == "Split":
            _require_outputs(node, attribute.i, path)
        elif attribute.name in AXES:
            _require_axes(node, [attribute.i, *attribute.ints], ranks, path)
        elif attribute.name == "batch_dims" and not 0 <= attribute.i <= max(ranks, default=0):
            raise BadInput(f"{path}: {label(node)} has {attribute.i} axes of batches")
        elif attribute.name == "equation":
            _require_equation(node, attribute.s, path)


def _require_outputs(node: Any, count: int, path: Path) -> None:
    if count != len(node.output):
        raise BadInput(
            f"{path}: {label(node)} says that it has {count} outputs and has {len(node.output)}"
        )


def _require_axes(node: Any, axes: Sequence[int], ranks: Sequence[int], path: Path) -> None:
    """Each an axis of an operand, or one that the node adds."""
    most = max(ranks, default=0) + len(axes)
    for axis in axes:
        if not -most <= axis <= most:
            raise BadInput(f"{path}: {label(node)} goes along axis {axis}, which nothing has")


def _require_equation(node: Any, equation: bytes, path: Path) -> None:
    """With one ellipsis an operand at most, and no longer than the operands have axes."""
    parts = equation.replace(b"->", b",").split(b",")
    if len(equation) > MOST_LETTERS or any(part.count(b".") > 3 for part in parts):
        raise BadInput(f"{path}: {label(node)} has an equation that no operands suit")
