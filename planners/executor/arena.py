"""Real bytes for a program: one arena a memory, and host copies, moved as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch

from planners.core.boxes import within
from planners.core.element_types import accumulator
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Tensor
from planners.core.program import AddressSpace, Box, Memory, Operand, Piece, Region, Span

ELEMENT_BYTES = 4
LARGEST = 2**34  # Bytes: filling more than a machine has would take down more than this process.
POISON = 0xFF  # Four such bytes are a NaN: reading unwritten or released bytes shows.


@dataclass(frozen=True, slots=True)
class ByteFormat:
    """How values become bytes: `ELEMENT_BYTES` each, `scale` to a planned one, or each as it is.

    Of a plan with one width for all elements, values are float32, and whole numbers int32. Of a
    plan that counts types a value has its own, and an arena has just the bytes that are planned.
    """

    native: bool
    scale: int

    @staticmethod
    def for_graph(graph: Graph) -> ByteFormat:
        """That of a graph's plans. Raises `BadInput` for widths that nothing is held in."""
        width = graph.bytes_per_element
        if isinstance(width, int):
            if ELEMENT_BYTES % width:
                raise BadInput(
                    f"execute runs in float32: plans of 1, 2 or 4 bytes an element, not {width}"
                )
            return ByteFormat(False, ELEMENT_BYTES // width)
        for name, tensor in graph.tensors.items():
            if not graph.whole_bytes(name) or not hasattr(torch, tensor.dtype):
                raise BadInput(
                    f"execute has no elements of {tensor.dtype}, which {name!r:.60} is made of: "
                    "plan with 1, 2 or 4 bytes an element"
                )
        return ByteFormat(True, 1)

    def held(self, dtype: torch.dtype) -> torch.dtype:
        """The type that values of this one are held in."""
        return dtype if self.native else held_dtype(dtype)

    def checked(self, value: torch.Tensor) -> torch.Tensor:
        """The value, once it is sure that it can be held."""
        return value if self.native else checked(value)

    def own(self, tensor: Tensor) -> torch.dtype:
        """What a tensor is held as before anything is known of its values."""
        return torch_type(tensor) if self.native else torch.float32

    def sums(self, graph: Graph, op: Operator) -> torch.dtype | None:
        """The type of an operator's sums until they are complete; None for that of its values."""
        output = graph.tensors[op.outputs[0]]
        if not self.native or graph.sum_bytes(op, 1) == graph.bytes_of(output.name, 1):
            return None
        dtype: torch.dtype = getattr(torch, accumulator(graph.tensors[op.inputs[0]].dtype))
        return dtype


def torch_type(tensor: Tensor) -> torch.dtype:
    """The type of a tensor's elements, float32 where torch has none of that name."""
    dtype: torch.dtype = getattr(torch, tensor.dtype, torch.float32)
    return dtype


class Arena:
    """The bytes of a program's memories, in a format.

    A plan made for one byte an element runs with every address and size scaled by four. A whole
    tensor keeps the order of axes that its kernel wrote it in; any other piece is held in the
    order of its axes.
    """

    def __init__(self, spaces: AddressSpace, form: ByteFormat) -> None:
        self.form, self.scale = form, form.scale
        self.spaces = spaces
        roots = [m for m in spaces.memories.values() if m.parent is None and m.addressed]
        if (total := sum(self._size(memory) for memory in roots)) > LARGEST:
            raise BadInput(f"execute allocates what it plans: {total} bytes are over {LARGEST}")
        try:
            self.bytes = {
                memory.name: torch.full((self._size(memory),), POISON, dtype=torch.uint8)
                for memory in roots
            }
        except RuntimeError as error:  # What torch raises where it gets no memory.
            raise BadInput(f"execute allocates what it plans: no room for {total} bytes") from error
        self.layout: dict[tuple[str, Piece], tuple[torch.dtype, tuple[int, ...]]] = {}

    def _size(self, memory: Memory) -> int:
        if memory.size_bytes is None:
            raise BadInput(f"memory {memory.name} has addresses and no size")
        return memory.size_bytes * self.scale

    @property
    def size_bytes(self) -> int:
        """Bytes really allocated."""
        return sum(arena.numel() for arena in self.bytes.values())

    def write(self, operand: Operand, value: torch.Tensor, whole: bool) -> None:
        """Put a value, of the piece's shape, at the operand's region."""
        strides = dense_strides(value) if whole else contiguous(value.shape)
        if strides is None:
            strides = contiguous(value.shape)
        self.layout[self.key(operand)] = (value.dtype, strides)
        flat = torch.empty_strided(value.shape, strides, dtype=self.form.held(value.dtype))
        flat.copy_(self.form.checked(value))
        data = flat.as_strided((flat.numel(),), (1,)).view(torch.uint8)
        if data.numel() != operand.region.size_bytes * self.scale:
            raise BadInput(
                f"the model's {operand.piece.tensor!r:.60} is {value.dtype}, which is not the "
                "graph's type: import the model again"
            )
        self.write_bytes(operand.region, data)

    def write_part(self, operand: Operand, box: Box, value: torch.Tensor) -> None:
        """Put a value at a box of a piece, which is held in the order of its axes."""
        shape = tuple(stop - start for start, stop in operand.piece.box)
        self.layout[self.key(operand)] = (value.dtype, contiguous(shape))
        elements = self._elements(operand.region, self.form.held(value.dtype))
        part = elements.view(shape)[within(box, operand.piece.box)]
        part.copy_(self.form.checked(value))
        self.write_bytes(
            operand.region, elements.view(torch.uint8)
        )  # It may be no view of the arena.

    def read(self, operand: Operand) -> torch.Tensor:
        """The value of a resident piece: a view of the arena where its bytes are in one place."""
        dtype, strides = self.layout[self.key(operand)]
        shape = tuple(stop - start for start, stop in operand.piece.box)
        flat = self._elements(operand.region, self.form.held(dtype))
        return flat.as_strided(shape, strides).to(dtype)

    def copy_in(
        self, operand: Operand, value: torch.Tensor, dtype: torch.dtype, strides: tuple[int, ...]
    ) -> None:
        """Copy bytes that are held elsewhere in this layout."""
        self.layout[self.key(operand)] = (dtype, strides)
        self.write_bytes(operand.region, value)

    def _elements(self, region: Region, dtype: torch.dtype) -> torch.Tensor:
        """A region as elements: a view of the arena where they lie in one place, aligned."""
        data = self.read_bytes(region)
        aligned = not data.storage_offset() % dtype.itemsize
        return (data if aligned else data.clone()).view(dtype)

    def layout_of(self, operand: Operand) -> tuple[torch.dtype, tuple[int, ...]]:
        """Type and strides of a resident piece."""
        return self.layout[self.key(operand)]

    def poison(self, region: Region) -> None:
        """Make the bytes of a region unusable."""
        for memory, start, stop in self._slices(region):
            self.bytes[memory][start:stop] = POISON

    def read_bytes(self, region: Region) -> torch.Tensor:
        """The bytes of a region, in its order; a view unless a ring wraps within it."""
        parts = [self.bytes[memory][start:stop] for memory, start, stop in self._slices(region)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def write_bytes(self, region: Region, data: torch.Tensor) -> None:
        """Overwrite a region's bytes. Raises `ValueError` where the sizes differ."""
        if data.numel() != region.size_bytes * self.scale:
            raise ValueError(f"{data.numel()} bytes for a region of {region.size_bytes}")
        at = 0
        for memory, start, stop in self._slices(region):
            self.bytes[memory][start:stop] = data[at : at + stop - start]
            at += stop - start

    def _slices(self, region: Region) -> list[tuple[str, int, int]]:
        return [
            (span.memory, span.start * self.scale, span.stop * self.scale)
            for span in self.spaces.spans(region)
        ]

    def key(self, operand: Operand) -> tuple[str, Piece]:
        """What a resident piece is known by: its memory's root and itself."""
        spans: tuple[Span, ...] = self.spaces.spans(operand.region)
        return spans[0].memory, operand.piece


class HostCopy:
    """A tensor at its home: its bytes in the layout that it came in, or piece by piece."""

    def __init__(self, shape: tuple[int, ...], form: ByteFormat, dtype: torch.dtype) -> None:
        self.shape, self.form, self.dtype = shape, form, dtype
        self.strides = contiguous(shape)
        size = prod(shape) * form.held(dtype).itemsize
        self.bytes = torch.full((size,), POISON, dtype=torch.uint8)

    @staticmethod
    def from_tensor(value: torch.Tensor, form: ByteFormat) -> HostCopy:
        """A copy of a value that exists outside: a graph input or a parameter."""
        copy = HostCopy(tuple(value.shape), form, value.dtype)
        copy.strides = dense_strides(value) or copy.strides
        copy._held().copy_(form.checked(value))
        return copy

    def take(self, other: HostCopy, piece: Piece) -> None:
        """Copy a piece from another home."""
        self.dtype = other.dtype
        self.box(piece).copy_(other.box(piece))

    def _held(self) -> torch.Tensor:
        return self.bytes.view(self.form.held(self.dtype)).as_strided(self.shape, self.strides)

    def value(self) -> torch.Tensor:
        """The tensor, in its own type and layout."""
        return self._held().to(self.dtype)

    def box(self, piece: Piece) -> torch.Tensor:
        """The elements of a piece, as a view."""
        return self._held()[tuple(slice(start, stop) for start, stop in piece.box)]


def held_dtype(dtype: torch.dtype) -> torch.dtype:
    """How a type is held in four bytes. Raises `BadInput` for one that cannot be."""
    if dtype == torch.float32:
        return dtype
    if dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
        return torch.int32
    raise BadInput(f"execute runs in float32 and whole numbers, not {dtype}")


def checked(value: torch.Tensor) -> torch.Tensor:
    """The value, once it is sure that four bytes an element hold it."""
    limits = torch.iinfo(torch.int32)
    if value.dtype == torch.int64 and value.numel():
        if int(value.min()) < limits.min or int(value.max()) > limits.max:
            raise BadInput("a whole number beyond 32 bits cannot be held in four bytes")
    return value


def contiguous(shape: tuple[int, ...] | torch.Size) -> tuple[int, ...]:
    """Strides, in elements, of the order of the axes."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return tuple(strides)


def dense_strides(value: torch.Tensor) -> tuple[int, ...] | None:
    """The value's strides where it fills its bytes without gaps or repeats, else None."""
    expected = 1
    for stride, n in sorted((s, n) for s, n in zip(value.stride(), value.shape, strict=True)):
        if n != 1:
            if stride != expected:
                return None
            expected *= n
    return tuple(value.stride())
