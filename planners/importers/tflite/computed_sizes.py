"""Numbers that operators compute from shapes, which are known before a file runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from planners.importers.tflite.shapes import KnownOperands, Numbers, strided
from planners.importers.torch.said import Shape

MOST_NUMBERS = 64
"""Elements of what is taken for sizes."""


def numbers_of(call: KnownOperands, shapes: Sequence[Shape]) -> Numbers | None:
    """What an operator on sizes computes, where all of its operands are known."""
    kind = call.operator.kind
    if kind == "SHAPE":
        return np.array(call.shapes[0], np.int64)
    compute = _COMPUTE.get(kind)
    given = [n for n in call.numbers if n is not None]
    if compute is None or len(given) < len(call.numbers) or len(shapes) != 1:
        return None
    if prod(shapes[0]) > MOST_NUMBERS:
        return None
    with np.errstate(all="raise"):
        return np.asarray(compute(call, given)).reshape(shapes[0])


def _part(begin: int, size: int) -> slice:
    return slice(begin, None if size == -1 else begin + size)


_COMPUTE: Mapping[str, Callable[[KnownOperands, list[Numbers]], Any]] = {
    "RESHAPE": lambda call, given: given[0],
    "SQUEEZE": lambda call, given: given[0],
    "EXPAND_DIMS": lambda call, given: given[0],
    "CAST": lambda call, given: given[0],
    "STRIDED_SLICE": lambda call, given: strided(call, given[0]),
    "SLICE": lambda call, given: given[0][tuple(map(_part, given[1], given[2]))],
    "GATHER": lambda call, given: given[0][given[1]],
    "CONCATENATION": lambda call, given: np.concatenate(given, int(call.get("Axis"))),
    "PACK": lambda call, given: np.stack(given, int(call.get("Axis"))),
    "ADD": lambda call, given: given[0] + given[1],
    "SUB": lambda call, given: given[0] - given[1],
    "MUL": lambda call, given: given[0] * given[1],
    "FLOOR_DIV": lambda call, given: given[0] // given[1],
    "DIV": lambda call, given: np.fix(given[0] / given[1]).astype(np.int64),
    "MAXIMUM": lambda call, given: np.maximum(given[0], given[1]),
    "MINIMUM": lambda call, given: np.minimum(given[0], given[1]),
    "REDUCE_PROD": lambda call, given: np.prod(given[0], axis=tuple(given[1].reshape(-1))),
    "SUM": lambda call, given: np.sum(given[0], axis=tuple(given[1].reshape(-1))),
    "FILL": lambda call, given: np.full(tuple(given[0]), given[1]),
    "TILE": lambda call, given: np.tile(given[0], tuple(given[1])),
    "BROADCAST_TO": lambda call, given: np.broadcast_to(given[0], tuple(given[1])),
}
