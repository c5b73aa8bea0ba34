"""Shapes of the operators of `ai.onnx.ml`, which skl2onnx writes and onnx infers in part only.

They stay opaque: what a tree or a scaler computes is no product of this project's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import onnx

from planners.importers.onnx.rules import Shape

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
    found = rule(node.op_type, given, operands)
    return {name: value for name, value in zip(node.output, found) if name and value is not None}


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
