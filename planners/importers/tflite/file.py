"""TensorFlow Lite files read as untrusted data: plain records of what is in them, lengths checked.

Nothing but the generated reader of the schema (package `tflite`) touches the bytes, and each vector
is measured before it is read: one that says to be longer than the file is refused. Weights stay
where they lie: a record says where.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.core.element_types import TFLITE_TYPES
from planners.core.errors import BadInput
from planners.core.reading_limits import TABLE, NamedBytes

IDENTIFIER, IDENTIFIER_AT = b"TFL3", 4
LARGEST_FILE = 2**31 - 1
MOST_OPERATORS, MOST_TENSORS, MOST_SUBGRAPHS = 2**16, 2**18, 2**8
MOST_AXES = 8
MOST_LETTERS = 500
_SIZELESS = {5: "string", 13: "resource", 14: "variant"}
SIZELESS = frozenset(_SIZELESS.values())
_TYPES = TFLITE_TYPES | _SIZELESS
_TABLES = frozenset("Buffers OperatorCodes Subgraphs Metadata Tensors Operators".split())
_ARRAYS = {
    **{name: name for name in "float16 float32 float64 int8 uint8 int16 uint16 int32".split()},
    **{name: name for name in "uint32 int64 uint64 bool".split()},
}
_CODES: Mapping[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)
}
_OPTIONS: Mapping[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOptions).items() if isinstance(number, int)
}
_NEWER_OPTIONS: Mapping[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOptions2).items() if isinstance(number, int)
}
BROKEN = (struct.error, IndexError, ValueError, TypeError, OverflowError, AssertionError)
"""What the generated reader raises where references lead astray."""


@dataclass(frozen=True, slots=True)
class TfliteTensor:
    """A tensor of a subgraph: its axes in the file's order, its type as torch names it.

    `data` are the bytes in the file of a constant, from and to, `external` says that they lie in
    another file; `scales` and `zeros` quantise it, along `axis` where they are several. `sparsity`
    is the file's table of one that is stored so. `signature` has -1 for each axis whose size the
    file leaves open, and in `shape` that is one; it is empty where none is.
    """

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    data: tuple[int, int] | None
    variable: bool
    sparsity: Any = None
    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()
    axis: int = 0
    external: bool = False
    signature: tuple[int, ...] = ()

    @property
    def open_axes(self) -> int:
        """How many axes the file leaves open."""
        return self.signature.count(-1)

    @property
    def constant(self) -> bool:
        return self.data is not None or self.external

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class TfliteOperator:
    """An operator: `kind` as the schema names it, or a custom one's own name.

    `inputs` and `outputs` are numbers of tensors, −1 where one is left out. `custom_options` are
    bytes that only its kernel understands.
    """

    number: int
    kind: str
    custom: bool
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any
    path: Path
    custom_options: bytes = b""

    def get(self, name: str, default: Any = None) -> Any:
        """An option, as the schema names it: `StrideH`. Raises `BadInput` where it is broken."""
        read = getattr(self.options, name, None)
        try:
            return default if read is None else read()
        except BROKEN as error:
            raise BadInput(f"{self.path}: {self.label} has options that are broken") from error

    @property
    def label(self) -> str:
        """It as messages name it."""
        return f"operator {self.number} ({self.kind:.40})"


@dataclass(frozen=True, slots=True)
class TfliteSubgraph:
    """Tensors, and operators in the order in which a runtime runs them."""

    name: str
    tensors: tuple[TfliteTensor, ...]
    operators: tuple[TfliteOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class TfliteFile:
    """A file: its subgraphs, the first of them what is run, and where metadata lie in it."""

    path: Path
    data: bytes
    subgraphs: tuple[TfliteSubgraph, ...]
    metadata: Mapping[str, tuple[int, int]]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def numbers(self, tensor: TfliteTensor) -> NDArray[Any] | None:
        """The numbers of a constant; None where it is none, or of a type that is no number's."""
        kind = _ARRAYS.get(tensor.dtype)
        if tensor.data is None or kind is None:
            return None
        start, stop = tensor.data
        dtype = np.dtype(kind).newbyteorder("<")
        if tensor.sparsity is not None:
            return self._dense(tensor, np.frombuffer(self.data[start:stop], dtype))
        if stop - start != tensor.elements * dtype.itemsize:
            raise BadInput(
                f"{self.path}: tensor {tensor.name!r:.80} has {stop - start} bytes for "
                f"{tensor.elements} elements of {tensor.dtype}"
            )
        return np.frombuffer(self.data[start:stop], dtype).reshape(tensor.shape)

    def _dense(self, tensor: TfliteTensor, values: NDArray[Any]) -> NDArray[Any]:
        from planners.importers.tflite.sparse import dense, sparsity_of

        try:
            return dense(values, tensor.shape, sparsity_of(tensor.sparsity))
        except BROKEN as error:
            raise BadInput(
                f"{self.path}: tensor {tensor.name!r:.80} is sparse in a way that is broken: "
                f"{error!s:.80}"
            ) from error


def read_tflite(path: str | Path) -> TfliteFile:
    """Read and check a file. Raises `BadInput` with its name and what is wrong."""
    path = Path(path)
    data = _bytes(path)
    if data[IDENTIFIER_AT : IDENTIFIER_AT + len(IDENTIFIER)] != IDENTIFIER:
        raise BadInput(f"{path} is not a TensorFlow Lite file: it does not say {IDENTIFIER!r}")
    try:
        return _Reader(path, data).file()
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not a TensorFlow Lite file: a name is not text") from error
    except BROKEN as error:
        raise BadInput(f"{path} is not a TensorFlow Lite file, or is cut short") from error


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE or not path.is_file():
            raise BadInput(f"{path} is not a file of at most {LARGEST_FILE:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


class _Reader:
    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        self.named = NamedBytes(path, len(data))
        self.model = tflite.Model.GetRootAs(data, 0)
        self.buffers = [self._buffer(b) for b in self._each(self.model, "Buffers", MOST_TENSORS)]
        self.kinds = [self._kind(c) for c in self._each(self.model, "OperatorCodes", 2**12)]

    def file(self) -> TfliteFile:
        subgraphs = tuple(map(self._subgraph, self._each(self.model, "Subgraphs", MOST_SUBGRAPHS)))
        if not subgraphs or not subgraphs[0].operators:
            raise BadInput(f"{self.path} has an empty graph: there is nothing to plan")
        metadata = {}
        for entry in self._each(self.model, "Metadata", 2**12):
            if 0 < entry.Buffer() < len(self.buffers) and (at := self.buffers[entry.Buffer()]):
                metadata[self._text(entry.Name())] = at
        return TfliteFile(self.path, self.data, subgraphs, metadata)

    def _each(self, table: Any, name: str, most: int, width: int = 4) -> Iterator[Any]:
        """The entries of a vector, which cannot be longer than the file."""
        count = getattr(table, f"{name}Length")()
        if count > most or count * width > len(self.data):
            raise BadInput(f"{self.path} is broken: {name} is said to have {count:,} entries")
        self.named.take(count * (TABLE if name in _TABLES else width))
        read: Callable[[int], Any] = getattr(table, name)
        return (read(k) for k in range(count))

    def _numbers(self, table: Any, name: str, most: int = MOST_TENSORS) -> tuple[int, ...]:
        return tuple(int(n) for n in self._each(table, name, most))

    def _text(self, name: bytes | None) -> str:
        if name is not None and len(name) > MOST_LETTERS:
            name = name[:MOST_LETTERS]
            return name.decode(errors="ignore")
        return "" if name is None else name.decode()

    def _buffer(self, buffer: Any) -> tuple[int, int] | None:
        """Where the bytes of a buffer lie; None where it has none."""
        if buffer.Offset() > 1:  # Behind the flatbuffer, in files of more than 2 GB.
            start, size = int(buffer.Offset()), int(buffer.Size())
        else:
            at, size = buffer._tab.Offset(4), buffer.DataLength()
            start = buffer._tab.Vector(at) if at else 0
        if size == 0:
            return None
        if start < 0 or start + size > len(self.data):
            raise BadInput(f"{self.path} is cut short: a buffer ends behind the file")
        return start, start + size

    def _kind(self, code: Any) -> tuple[str, bool]:
        """An operator's name, and whether it is a custom one.

        Files of before 2020 have their code in a byte, which most later ones fill too, up to 127;
        the generated reader believes the byte, where there is one that is below.
        """
        number = max(_whole_of(code, 10), code.DeprecatedBuiltinCode())
        if number == tflite.BuiltinOperator.CUSTOM:
            return self._text(code.CustomCode()) or "CUSTOM", True
        return _CODES.get(number, f"builtin {number}"), False

    def _subgraph(self, graph: Any) -> TfliteSubgraph:
        tensors = tuple(
            self._tensor(number, each)
            for number, each in enumerate(self._each(graph, "Tensors", MOST_TENSORS))
        )
        operators = tuple(
            self._operator(number, each, len(tensors))
            for number, each in enumerate(self._each(graph, "Operators", MOST_OPERATORS))
        )
        ends = [self._numbers(graph, name) for name in ("Inputs", "Outputs")]
        for number in (n for numbers in ends for n in numbers):
            if not 0 <= number < len(tensors):
                raise BadInput(f"{self.path} is broken: there is no tensor {number}")
        written = {*ends[0], *(number for operator in operators for number in operator.outputs)}
        tensors = tuple(t if t.number in written else _filled(t) for t in tensors)
        return TfliteSubgraph(self._text(graph.Name()), tensors, operators, *ends)

    def _tensor(self, number: int, tensor: Any) -> TfliteTensor:
        shape = self._numbers(tensor, "Shape")
        name = self._text(tensor.Name()) or f"tensor{number}"
        if len(shape) > MOST_AXES or any(n < 0 for n in shape):
            raise BadInput(f"{self.path}: tensor {name!r:.80} cannot have the shape {shape!s:.80}")
        if not 0 <= tensor.Buffer() < max(1, len(self.buffers)):
            raise BadInput(f"{self.path} is broken: there is no buffer {tensor.Buffer()}")
        data = self.buffers[tensor.Buffer()] if self.buffers else None
        scales: tuple[float, ...] = ()
        zeros: tuple[int, ...] = ()
        axis = 0
        if (given := tensor.Quantization()) is not None:
            scales = tuple(float(n) for n in self._each(given, "Scale", MOST_TENSORS))
            zeros = tuple(int(n) for n in self._each(given, "ZeroPoint", MOST_TENSORS, 8))
            axis = given.QuantizedDimension()
        return TfliteTensor(
            number,
            name,
            shape,
            _TYPES.get(tensor.Type(), f"type {tensor.Type()}"),
            data,
            bool(tensor.IsVariable()),
            tensor.Sparsity(),
            scales,
            zeros,
            axis,
            external=_whole_of(tensor, 24) > 0,
            signature=self._numbers(tensor, "ShapeSignature"),
        )

    def _operator(self, number: int, operator: Any, count: int) -> TfliteOperator:
        at = operator.OpcodeIndex()
        if not 0 <= at < len(self.kinds):
            raise BadInput(f"{self.path} is broken: there is no operator code {at}")
        kind, custom = self.kinds[at]
        inputs, outputs = (self._numbers(operator, name) for name in ("Inputs", "Outputs"))
        for tensor in (*inputs, *outputs):
            if not -1 <= tensor < count:
                raise BadInput(f"{self.path} is broken: operator {number} has no tensor {tensor}")
        options = self._options(operator)
        custom_options = self._custom_options(operator) if custom else b""
        return TfliteOperator(
            number, kind, custom, inputs, outputs, options, self.path, custom_options
        )

    def _custom_options(self, operator: Any) -> bytes:
        """They lie behind the flatbuffer in files of more than 2 GB, as constants do."""
        start, size = operator.LargeCustomOptionsOffset(), operator.LargeCustomOptionsSize()
        if start <= 1:
            return bytes(self._each(operator, "CustomOptions", len(self.data), 1))
        if start + size > len(self.data):
            raise BadInput(f"{self.path} is cut short: an operator's options end behind the file")
        return self.data[start : start + size]

    def _options(self, operator: Any) -> Any:
        """The table of an operator's options, as the generated class has it.

        Those of newer operators lie in a second place.
        """
        table, name = operator.BuiltinOptions(), _OPTIONS.get(operator.BuiltinOptionsType(), "")
        if table is None:
            table = operator.BuiltinOptions2()
            name = _NEWER_OPTIONS.get(operator.BuiltinOptions2Type(), "")
        kind = getattr(tflite, name, None)
        if table is None or kind is None:
            return None
        options = kind()
        options.Init(table.Bytes, table.Pos)
        return options


def _filled(tensor: TfliteTensor) -> TfliteTensor:
    """A tensor that nothing makes: one without elements is a constant, whose buffer is empty."""
    is_empty = tensor.elements == 0 and not (tensor.constant or tensor.variable)
    return replace(tensor, data=(0, 0)) if is_empty else tensor


def _whole_of(table: Any, slot: int) -> int:
    """A field of 32 bits, by its place in the schema, as the file has it; 0 where it has none."""
    at = table._tab.Offset(slot)
    return int(struct.unpack_from("<i", table._tab.Bytes, table._tab.Pos + at)[0]) if at else 0
