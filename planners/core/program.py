"""What every planner emits: instructions that move and compute pieces of tensors in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple, TypeAlias

from planners.core.boxes import Box as Box
from planners.core.graph import Graph, Tensor

"""A half-open range `[start, stop)` along each axis; `()` for a scalar."""


class Piece(NamedTuple):
    """A box of a tensor, held densely: contiguous in the order of its axes."""

    tensor: str
    box: Box

    @property
    def elements(self) -> int:
        return prod(stop - start for start, stop in self.box)


def whole(tensor: Tensor) -> Piece:
    """The piece that is all of a tensor."""
    return Piece(tensor.name, tuple((0, n) for n in tensor.shape))


class Region(NamedTuple):
    """Bytes `[offset, offset + size)` of a memory, modulo its size where it is circular.

    `offset` is None in a memory without addresses (host, storage): the tensor's home there.
    """

    memory: str
    offset: int | None
    size_bytes: int


class Operand(NamedTuple):
    """A piece and where it is."""

    piece: Piece
    region: Region


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a program.

    `size_bytes` is None where nothing bounds it. `addressed` is False for host memory and
    storage, which keep each tensor at its home. `offchip` says that bytes moved between it and an
    on-chip memory count as traffic. A memory with a `parent` is a window of it that starts at
    `base`: its addresses are the parent's, moved (and wrapped, where it is circular). `level`
    names the machine's memory that a memory without a parent is a part of, where that is not its
    own name.
    """

    name: str
    size_bytes: int | None
    circular: bool = False
    offchip: bool = False
    addressed: bool = True
    parent: str | None = None
    base: int = 0
    level: str | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """Copy a piece towards the compute engine: from host or storage, or from ring to ring.

    A `joined` load is one transfer together with the load right before it: they start when all of
    them can, and their bytes are there, and no longer needed at the source, when all have ended.
    Without an `engine` the machine chooses one (`planners.core.engines`).
    """

    step: int
    piece: Piece
    source: Region
    target: Region
    engine: str = ""
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Store:
    """Copy a piece away from the compute engine; the source stays resident until released.

    Without an `engine` the machine chooses one.
    """

    step: int
    piece: Piece
    source: Region
    target: Region
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Compute:
    """Run an operator, or the part of it that makes `writes`, on pieces that are resident.

    Each read names one resident piece exactly; several may cover what the operator needs of one
    tensor. `frees` indexes the reads that end with this instruction, before its writes begin, so
    that an output may take the place of a dying input.

    `sums` is a range of the operator's reduced channels (axis 1 of a convolution's data, the last
    of a linear's) whose products this instruction adds to its writes; None for all of them. The
    first part of a piece places it; it is unfinished until its parts' ranges are complete. What
    follows the sum (bias, norm, activation) is applied by the part that completes it. Until then
    its region has the bytes of accumulators (`Graph.sum_bytes`), which each part names; a piece
    that is complete takes its own bytes, from the same first one on, and the rest is free.

    `parts` holds for each write the box of that piece that this instruction makes; empty where it
    makes all of them. The first part of a piece places it; it is unfinished until its parts, which
    must not overlap, cover it. There are `sums` or `parts`, never both.
    """

    step: int
    operator: str
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    macs: int
    frees: tuple[int, ...] = ()
    engine: str = "compute"
    sums: tuple[int, int] | None = None
    parts: tuple[Box, ...] = ()

    @property
    def made(self) -> tuple[Piece, ...]:
        """What this instruction makes of each write: the piece, or its part."""
        if not self.parts:
            return tuple(operand.piece for operand in self.writes)
        both = zip(self.writes, self.parts, strict=True)
        return tuple(Piece(operand.piece.tensor, part) for operand, part in both)

    @property
    def written(self) -> tuple[tuple[Region, int], ...]:
        """Each region written, with the bytes that are: all, or those of its part."""
        if not self.parts:
            return tuple((region, region.size_bytes) for _, region in self.writes)
        return tuple(
            (region, region.size_bytes * part.elements // piece.elements)
            for (piece, region), part in zip(self.writes, self.made, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Release:
    """End a residency: the bytes are free from here on."""

    step: int
    piece: Piece
    region: Region


@dataclass(frozen=True, slots=True)
class Barrier:
    """Nothing after it starts before everything in front of it has ended."""

    step: int


Instruction: TypeAlias = Load | Store | Compute | Release | Barrier
Move: TypeAlias = "tuple[int | Move, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop: `count` rounds of a body, of which each is the one before, moved.

    `moves` says for each item of the body how it moves in a round: for an instruction by how much
    each of its numbers grows (`planners.core.loops.numbers`: its step, where its boxes begin, its
    offsets), for a loop the same for each item of that loop's body.
    """

    count: int
    body: tuple[Item, ...]
    moves: tuple[Move, ...]


Item: TypeAlias = Instruction | Repeat


@dataclass(frozen=True)
class Program:
    """Instructions in program order over memories, and where tensors are before and after.

    `instructions` may be written as loops (`planners.core.loops.LoopedInstructions`); whoever
    iterates gets every round. `homes` says which memory holds each kind of tensor at the start
    (`input`, `parameter`) and at the end (`output`); what a run keeps for the next one starts with
    the inputs and ends with the outputs. Without a home for `parameter`, parameters are not
    counted: operators read them from somewhere that this program does not plan. `steps` names
    each timestep.
    """

    memories: tuple[Memory, ...]
    instructions: Iterable[Instruction]
    homes: Mapping[str, str]
    steps: tuple[str, ...]

    def home(self, tensor: Tensor) -> str | None:
        """The memory that holds a tensor at the start; None where it is not counted, or not there.

        State is where inputs are.
        """
        if tensor.kind == "activation":
            return None
        return self.homes.get("input" if tensor.kind == "state" else tensor.kind)

    @property
    def counts_parameters(self) -> bool:
        return "parameter" in self.homes

    def memory(self, name: str) -> Memory:
        """The memory of that name. Raises `KeyError`."""
        for memory in self.memories:
            if memory.name == name:
                return memory
        raise KeyError(name)


def piece_bytes(graph: Graph, piece: Piece) -> int:
    """Bytes of a piece, held densely: those of its elements, rounded up (`Graph.bytes_of`)."""
    return graph.bytes_of(piece.tensor, piece.elements)


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `[start, stop)` of a memory that has no parent."""

    memory: str
    start: int
    stop: int


MOST_KNOWN = 20_000
"""Regions of which spans are kept: an operand is placed, read and released soon after another."""


class AddressSpace:
    """Translates regions into spans of root memories: windows are shifted, rings are wrapped."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self.memories = {m.name: m for m in memories}
        self._known: dict[Region, tuple[Span, ...]] = {}

    def root(self, name: str) -> Memory:
        """The memory whose bytes these really are."""
        memory = self.memories[name]
        while memory.parent is not None:
            memory = self.memories[memory.parent]
        return memory

    def level(self, name: str) -> str:
        """The machine's memory that a memory is a part of, by name."""
        root = self.root(name)
        return root.level or root.name

    def spans(self, region: Region) -> tuple[Span, ...]:
        """The bytes of a region in its root memory, in the order in which the region has them.

        Raises `ValueError` where the region does not lie in its memory, or has no address.
        """
        spans = self._known.get(region)
        if spans is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            spans = self._known[region] = self._spans(region)
        return spans

    def _spans(self, region: Region) -> tuple[Span, ...]:
        memory = self.memories[region.memory]
        if region.offset is None:
            raise ValueError(f"no address in {region.memory}")
        start, size = region.offset, region.size_bytes
        limit = memory.size_bytes
        if start < 0 or size < 0:
            raise ValueError(f"{region.memory}@{start} is out of range")
        if memory.circular:
            if limit is None or size > limit:
                raise ValueError(f"{size} bytes do not fit the ring {memory.name} of {limit}")
            start %= limit
            parts = [(start, min(start + size, limit))]
            if start + size > limit:
                parts.append((0, start + size - limit))
        else:
            if limit is not None and start + size > limit:
                raise ValueError(
                    f"[{start}, {start + size}) is out of range in {memory.name} of {limit} bytes"
                )
            parts = [(start, start + size)]
        if memory.parent is None:
            return tuple(Span(memory.name, a, b) for a, b in parts)
        return tuple(
            span
            for a, b in parts
            for span in self._spans(Region(memory.parent, memory.base + a, b - a))
        )
