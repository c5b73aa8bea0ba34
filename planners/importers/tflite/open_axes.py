"""Sizes that a TensorFlow Lite file leaves open: in its shapes they are one, whatever they are.

The runtime computes every shape from those of the inputs, whose open axes are as the file has
them: one, unless somebody set them, in the file or where it is read (`resized`). So does `sized`,
by the rules of `shapes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from planners.core.errors import BadInput
from planners.importers.tflite.file import (
    TfliteFile,
    TfliteOperator,
    TfliteSubgraph,
    TfliteTensor,
)
from planners.importers.tflite.shapes import KnownOperands, Numbers, is_known, shapes_of, strided
from planners.importers.torch.aten_calls import Shape

# ---- Numbers that operators compute from shapes, which are known before a file runs --------------

MOST_NUMBERS = 64
"""Elements of what is taken for sizes."""


def numbers_of(call: KnownOperands, shapes: Sequence[Shape]) -> list[Numbers]:
    """What an operator on sizes computes, a value each; nothing where an operand is not known."""
    kind = call.operator.kind
    if kind == "SHAPE":
        return [np.array(call.shapes[0], np.int64)]
    if kind == "RANK":
        return [np.array(len(call.shapes[0]), np.int64)]
    given = [n for n in call.numbers if n is not None]
    if len(given) < len(call.numbers) or sum(map(prod, shapes)) > MOST_NUMBERS:
        return []
    with np.errstate(all="raise"):
        if kind in _PARTS:
            values = _PARTS[kind](call, given, shapes)
        else:
            values = [_COMPUTE[kind](call, given)] if kind in _COMPUTE else []
        pairs = zip(values, shapes, strict=bool(values))
        return [np.asarray(numbers).reshape(shape) for numbers, shape in pairs]


def _pieces(
    data: Numbers, axis: int, shapes: Sequence[Shape], keeps_axis: bool = True
) -> Sequence[Numbers]:
    sizes = [shape[axis] if keeps_axis else 1 for shape in shapes]
    return np.split(data, np.cumsum(sizes)[:-1], axis)


_PARTS: Mapping[str, Callable[[KnownOperands, list[Numbers], Sequence[Shape]], Any]] = {
    "SPLIT": lambda call, given, shapes: _pieces(given[1], int(given[0].reshape(())), shapes),
    "SPLIT_V": lambda call, given, shapes: _pieces(given[0], int(given[2].reshape(())), shapes),
    "UNPACK": lambda call, given, shapes: _pieces(given[0], int(call.get("Axis")), shapes, False),
}


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
    "FLOOR_MOD": lambda call, given: given[0] % given[1],
    "RANGE": lambda call, given: np.arange(*(int(n.reshape(())) for n in given)),
    "REDUCE_MAX": lambda call, given: np.max(given[0], axis=tuple(given[1].reshape(-1))),
    "REDUCE_MIN": lambda call, given: np.min(given[0], axis=tuple(given[1].reshape(-1))),
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


# --------------------------------------------------------------------------------------------------

MOST_SIZE = 2**31 - 1
NO_VALUES = frozenset(
    "IF WHILE STABLEHLO_WHILE STABLEHLO_CASE "
    "VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE".split()
)
SIZES = ("int32", "int64")
MALFORMED = (LookupError, TypeError, ValueError, ArithmeticError)


def resized(file: TfliteFile, shapes: Any) -> TfliteFile | None:
    """The file as it is when its inputs have these shapes, as the runtime's resized inputs have.

    None where it has not these inputs, or an axis with another size is not open.
    """
    graph = file.subgraphs[0]
    tensors = list(graph.tensors)
    if not isinstance(shapes, list) or len(shapes) != len(graph.inputs):
        return None
    for number, shape in zip(graph.inputs, shapes, strict=True):
        tensor = tensors[number]
        ends = tensor.signature or tensor.shape
        if not isinstance(shape, list) or len(shape) != len(ends):
            return None
        if not all(map(_fits, shape, ends)):
            return None
        tensors[number] = replace(tensor, shape=tuple(shape))
    if tuple(tensors) == graph.tensors:
        return file
    first = replace(graph, tensors=tuple(tensors))
    return replace(file, subgraphs=(first, *file.subgraphs[1:]))


def _fits(size: Any, stated: int) -> bool:
    return type(size) is int and (size == stated or (stated == -1 and 0 < size <= MOST_SIZE))


def sized(file: TfliteFile, graph: TfliteSubgraph) -> TfliteSubgraph:
    """The subgraph with the sizes that its tensors have when it runs with the inputs' own.

    Where nothing is known of an operator, an axis that it leaves open must be one of its operands',
    or of what those are computed from, and these have the file's shapes. Raises `BadInput` for a
    size that is known only when the file runs.
    """
    if not any(tensor.open_axes for tensor in graph.tensors):
        return graph
    sizes = _Sizes(file, list(graph.tensors))
    sizes.open_before = {n: graph.tensors[n].open_axes for n in graph.inputs}
    for operator in graph.operators:
        if operator.kind in NO_VALUES:
            continue
        try:
            sizes.add(operator)
        except MALFORMED as error:
            raise BadInput(f"{file.path}: {operator.label} is malformed") from error
    return replace(graph, tensors=tuple(sizes.tensors))


@dataclass(slots=True)
class _Sizes:
    """What is known of sizes after some operators.

    `open_before` counts the open axes that a tensor has or is computed from; `other` are tensors
    whose shape is not the file's; `numbers` the sizes that operators compute.
    """

    file: TfliteFile
    tensors: list[TfliteTensor]
    open_before: dict[int, int] = field(default_factory=dict)
    other: set[int] = field(default_factory=set)
    numbers: dict[int, Numbers] = field(default_factory=dict)

    def add(self, operator: TfliteOperator) -> None:
        most = sum(self._open(n) for n in operator.inputs if n >= 0)
        call = self._call(operator)
        shapes = shapes_of(call)
        if shapes is None:
            self._unchanged(operator, most)
        for number, shape in zip(operator.outputs, shapes or (), strict=False):
            if shape != self.tensors[number].shape:
                if min(shape, default=1) < 1:
                    raise self._empty(operator)
                self.other.add(number)
                self.tensors[number] = replace(self.tensors[number], shape=shape)
        for number in operator.outputs:
            self.open_before[number] = self.tensors[number].open_axes or most
        self.numbers |= dict(zip(operator.outputs, numbers_of(call, shapes or [])))

    def _empty(self, operator: TfliteOperator) -> Exception:
        """Why a value has no elements: the inputs are too small for it, or the file is wrong."""
        graph = self.file.subgraphs[0]
        inputs = [self.tensors[n] for n in graph.inputs]
        if not any(tensor.open_axes for tensor in inputs):
            return ValueError("no elements")
        shapes = " and ".join("x".join(map(str, t.shape)) for t in inputs)
        return BadInput(
            f"{self.file.path}: {operator.label} gives no elements where the inputs have {shapes}: "
            "give larger sizes for the axes that the file leaves open (input_shape, --input)"
        )

    def _call(self, operator: TfliteOperator) -> KnownOperands:
        read = [self.tensors[n] if n >= 0 else None for n in operator.inputs]
        return KnownOperands(
            operator,
            tuple(() if tensor is None else tensor.shape for tensor in read),
            tuple(None if tensor is None else self._numbers(tensor) for tensor in read),
            tuple(self.tensors[n].shape for n in operator.outputs if n >= 0),
        )

    def _numbers(self, tensor: TfliteTensor) -> Numbers | None:
        if tensor.number in self.numbers:
            return self.numbers[tensor.number]
        few = tensor.elements <= MOST_NUMBERS and tensor.dtype in SIZES
        return self.file.numbers(tensor) if few and not tensor.variable else None

    def _open(self, number: int) -> int:
        return self.tensors[number].open_axes or self.open_before.get(number, 0)

    def _unchanged(self, operator: TfliteOperator, most: int) -> None:
        """Refuse an operator unless its values have the shapes that the file says."""
        has_rule = is_known(operator)
        changed = not self.other.isdisjoint(operator.inputs)
        for number in operator.outputs:
            tensor = self.tensors[number]
            if changed or tensor.open_axes > (0 if has_rule else most):
                raise BadInput(
                    f"{self.file.path}: {operator.label} computes the size of "
                    f"{tensor.name!r:.80} when it runs: convert the model with fixed shapes"
                )
