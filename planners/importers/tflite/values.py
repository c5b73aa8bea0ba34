"""What the tensors of a TensorFlow Lite subgraph are, in the order of axes that planners have.

Maps have their channels last in the file and second here, as PyTorch has them: (n, h, w, c) is
(n, c, h, w), and with depth (n, d, h, w, c) is (n, c, d, h, w). Bytes are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from planners.core.errors import BadInput
from planners.importers.tflite.file import (
    SIZELESS,
    TfliteFile,
    TfliteOperator,
    TfliteSubgraph,
    TfliteTensor,
)
from planners.importers.torch.aten_calls import NodeValue, Shape

MOST_NUMBERS = 2**12
"""Elements of a constant beyond which it is data, not numbers that shapes come from."""
LARGEST_TENSOR = 2**40


def turned(shape: Sequence[int]) -> Shape:
    """A shape of the file with its channels second."""
    rank = len(shape)
    return tuple(shape) if rank not in (4, 5) else (shape[0], shape[-1], *shape[1:-1])


def axis_here(axis: int, rank: int) -> int:
    """Where an axis of the file is once channels are second."""
    axis %= rank
    if rank not in (4, 5) or axis == 0:
        return axis
    return 1 if axis == rank - 1 else axis + 1


@dataclass(slots=True)
class TfliteValues:
    """Everything that is known of a subgraph's tensors, by name; see `NodeValues`.

    `names` are unique, by the tensors' numbers; `arrays` the few numbers that shapes come from.
    """

    names: list[str]
    of: dict[str, NodeValue] = field(default_factory=dict)
    folded: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    used: frozenset[str] = frozenset()
    tensors: dict[str, TfliteTensor] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


def values_of(file: TfliteFile, graph: TfliteSubgraph) -> TfliteValues:
    """The values of a subgraph. Raises `BadInput` for sizes that no memory has."""
    values = TfliteValues(_names(graph.tensors))
    for tensor, name in zip(graph.tensors, values.names, strict=True):
        if tensor.elements > LARGEST_TENSOR:
            raise BadInput(f"{file.path}: tensor {name!r:.80} has {tensor.elements:,} elements")
        values.of[name] = NodeValue(turned(tensor.shape), tensor.dtype)
        values.tensors[name] = tensor
        if tensor.constant and not tensor.variable and tensor.dtype not in SIZELESS:
            values.parameters.add(name)
            few = tensor.elements <= MOST_NUMBERS and tensor.sparsity is None
            if few and (array := file.numbers(tensor)) is not None:
                values.arrays[name] = array
    read = {n for op in graph.operators for n in op.inputs} | {*graph.outputs}
    values.used = frozenset(values.names[n] for n in read if n >= 0)
    return values


def _names(tensors: Sequence[TfliteTensor]) -> list[str]:
    """The tensors' names, those that are not unique with their numbers."""
    count: dict[str, int] = {}
    for tensor in tensors:
        count[tensor.name] = count.get(tensor.name, 0) + 1
    names, taken = [], set(count)
    for tensor in tensors:
        name = tensor.name
        if count[name] > 1:
            name = f"{name}:{tensor.number}"
            while name in taken:
                name += "'"
        taken.add(name)
        names.append(name)
    return names


@dataclass(frozen=True)
class TfliteNode:
    """An operator with its options and what its operands are; a `SaidNode`."""

    operator: TfliteOperator
    values: TfliteValues
    more: Mapping[str, str] = field(default_factory=dict)
    """Of an operator that keeps state: the new value of each operand that it writes."""

    @property
    def inputs(self) -> list[str]:
        """The operands that are given, in order."""
        return [self.values.names[n] for n in self.operator.inputs if n >= 0]

    @property
    def every_output(self) -> list[str]:
        """The values that it gives, in order."""
        names = [self.values.names[n] for n in self.operator.outputs if n >= 0]
        return [*names, *self.more.values()]

    @property
    def outputs(self) -> list[str]:
        """Those of them that anything reads."""
        return [name for name in self.every_output if name in self.values.used]

    def input(self, place: int) -> str:
        """The operand at a place, empty where it is left out."""
        given = self.operator.inputs
        return self.values.names[given[place]] if place < len(given) and given[place] >= 0 else ""

    def shape(self, place: int = 0) -> Shape:
        """The shape of an operand, channels second."""
        return self.values.of[self.input(place)].shape

    def rank(self, place: int = 0) -> int:
        return len(self.shape(place))

    @property
    def out(self) -> Shape:
        """The shape of the first value that it gives."""
        return self.values.of[self.every_output[0]].shape

    @property
    def file_out(self) -> list[int]:
        """The shape of the first value that it gives, as the file has it."""
        return list(self.values.tensors[self.every_output[0]].shape)

    def file_shape(self, place: int = 0) -> tuple[int, ...]:
        """The shape of an operand as the file has it."""
        return self.values.tensors[self.input(place)].shape

    def array(self, place: int) -> NDArray[Any] | None:
        """The numbers in an operand, where they are few and known."""
        return self.values.arrays.get(self.input(place))

    def whole(self, place: int) -> list[int] | None:
        """The same as whole numbers."""
        array = self.array(place)
        return None if array is None else [int(n) for n in array.reshape(-1)]

    def is_number(self, name: str) -> bool:
        """Whether an operand is one known number: no tensor that has to be kept anywhere."""
        return name in self.values.arrays and self.values.of[name].elements == 1

    def number(self, name: str) -> float:
        return float(self.values.arrays[name].reshape(-1)[0])

    def get(self, name: str, default: Any = None) -> Any:
        """An option, as the schema names it."""
        return self.operator.get(name, default)

    def zero(self, name: str) -> float:
        """The element of a value that stands for zero."""
        tensor = self.values.tensors[name]
        return float(tensor.zeros[0]) if tensor.scales and tensor.zeros else 0.0

    def is_weight(self, name: str) -> bool:
        return name in self.values.parameters

    def reshaped(self, name: str, shape: Shape) -> str:
        """Say which shape a weight has in PyTorch's words; the name."""
        if name and self.is_weight(name):
            self.values.of[name] = NodeValue(shape, self.values.of[name].dtype)
        return name
