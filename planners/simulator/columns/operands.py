"""What the operands of a table are in their graph and memories: sizes, roots, spans, pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from planners.core.graph import Graph
from planners.core.program import Memory, Program
from planners.core.tables.table import NOWHERE, PART, Flags, Numbers, Table
from planners.simulator.columns.undecided import require

MOST_ELEMENTS = 1 << 31
UNBOUNDED = 1 << 62


class Spans(NamedTuple):
    """Bytes `[start, stop)` of root memories, and the row each is of: one or more a row."""

    row: Numbers
    start: Numbers
    stop: Numbers


@dataclass(frozen=True)
class Operands:
    """The rows of a table, each box of which is known to lie in its tensor of the graph."""

    graph: Graph
    program: Program
    table: Table

    @cached_property
    def shapes(self) -> Numbers:
        """By tensor of the table: its shape, with 1 for axes that it does not have."""
        table = self.table
        shapes = np.ones((len(table.tensors), table.start.shape[1]), np.int64)
        for at, name in enumerate(table.tensors):
            shape = self.graph.tensors[name].shape
            require(len(shape) <= shapes.shape[1])
            shapes[at, : len(shape)] = shape
        return shapes

    def check_boxes(self) -> None:
        """Raise `Undecided` where a box is none of its tensor."""
        table, tensors = self.table, self.graph.tensors
        require(set(table.tensors) <= set(tensors))
        require(sum(tensors[name].elements for name in table.tensors) < MOST_ELEMENTS)
        ranks = [len(tensors[name].shape) for name in table.tensors]
        at, stop = table.instruction, table.stop
        require(table.rank == np.array(ranks, np.uint8)[table.tensor], at)
        inside = (table.start >= 0) & (table.start < stop) & (stop <= self.shapes[table.tensor])
        require(inside.all(axis=1), at)
        require((table.offset < UNBOUNDED) & (table.size < UNBOUNDED), at)

    @cached_property
    def elements(self) -> Numbers:
        """Elements of each row's box."""
        elements: Numbers = np.prod(self.table.stop - self.table.start, axis=1)
        return elements

    @cached_property
    def own_bytes(self) -> Numbers:
        """Bytes of each row's piece once it is complete (`Graph.bytes_of`)."""
        bits = [self.graph.bits_of(name) for name in self.table.tensors]
        return -(-self.elements * np.array(bits, np.int64)[self.table.tensor] // 8)

    @cached_property
    def piece(self) -> Numbers:
        """A number for each row's piece, the same for the same tensor and box."""
        table, shapes = self.table, self.shapes
        sizes = np.prod(shapes, axis=1)
        begins = np.cumsum(sizes) - sizes
        first = last = np.zeros(len(table.tensor), np.int64)
        for axis in range(shapes.shape[1]):
            size = shapes[table.tensor, axis]
            first = first * size + table.start[:, axis]
            last = last * size + table.stop[:, axis] - 1
        key = (first + begins[table.tensor]) * MOST_ELEMENTS + last
        return np.unique(key, return_inverse=True)[1]

    # ---- memories --------------------------------------------------------------------------

    @cached_property
    def _memory(self) -> list[Memory]:
        memories = {memory.name: memory for memory in self.program.memories}
        require(set(self.table.memories) <= set(memories))
        return list(memories.values())

    @cached_property
    def _number(self) -> dict[str, int]:
        return {memory.name: at for at, memory in enumerate(self._memory)}

    @cached_property
    def memory(self) -> Numbers:
        """The number of each row's memory in the program; that of a part is -1."""
        self._memory  # noqa: B018 - names are checked first
        numbers = [self._number[name] for name in self.table.memories]
        return np.array([*numbers, NOWHERE], np.int64)[self.table.memory]

    @cached_property
    def _roots(self) -> Numbers:
        roots = []
        for at in self._memory:
            memory = at
            while memory.parent is not None:
                memory = self._memory[self._number[memory.parent]]
            roots.append(self._number[memory.name])
        return np.array(roots, np.int64)

    @cached_property
    def level(self) -> list[str]:
        """By memory of the program: the machine's memory that it is a part of."""
        tops = [self._memory[root] for root in self._roots.tolist()]
        return [top.level or top.name for top in tops]

    def _flag(self, name: str) -> Flags:
        flags = [getattr(memory, name) for memory in self._memory]
        return np.array([*flags, False], np.bool_)[self.memory]

    @cached_property
    def root(self) -> Numbers:
        """The number of the memory whose bytes each row's really are."""
        return np.concatenate((self._roots, [NOWHERE]))[self.memory]

    @cached_property
    def addressed(self) -> Flags:
        """Whether each row's memory has addresses; no part's has."""
        return self._flag("addressed")

    @cached_property
    def offchip(self) -> Flags:
        """Whether each row's memory is off chip."""
        return self._flag("offchip")

    @cached_property
    def at_home(self) -> Flags:
        """Whether each row names a tensor's home."""
        home: Flags = ~self.addressed & (self.table.role != PART)
        return home

    @cached_property
    def sizes(self) -> Numbers:
        """By memory of the program: its size, or `UNBOUNDED`."""
        sizes = [UNBOUNDED if m.size_bytes is None else m.size_bytes for m in self._memory]
        return np.array(sizes, np.int64)

    @cached_property
    def place(self) -> Numbers:
        """Each row's offset, modulo the size of its memory where that is circular."""
        circular = np.array([m.circular for m in self._memory], np.bool_)
        offset = self.table.offset
        turns = self.addressed & circular[self.memory]
        return np.where(turns, offset % np.maximum(self.sizes[self.memory], 1), offset)

    def spans(self, rows: Numbers, size: Numbers) -> Spans:
        """The bytes of rows that have an address, in the roots. Raises `Undecided` out of range."""
        memory, start = self.memory[rows], self.table.offset[rows]
        row, at = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        instruction = self.table.instruction[rows]
        parents = np.array([self._number.get(m.parent or "", -1) for m in self._memory], np.int64)
        bases = np.array([m.base for m in self._memory], np.int64)
        circular = np.array([m.circular for m in self._memory], np.bool_)
        done: list[tuple[Numbers, ...]] = [(row[:0],) * 4]
        while len(row):
            limit = self.sizes[memory]
            require(size <= limit, instruction[row])
            start = np.where(circular[memory], start % np.maximum(limit, 1), start)
            require((start + size <= limit) | circular[memory], instruction[row])
            cut = np.flatnonzero(start + size > limit)
            here = (limit - start)[cut]
            row, memory = (np.concatenate((column, column[cut])) for column in (row, memory))
            at = np.concatenate((at, at[cut] + here))
            start = np.concatenate((start, np.zeros(len(cut), np.int64)))
            size = np.concatenate((size, size[cut] - here))
            size[cut] = here
            top = parents[memory] < 0
            done.append((row[top], start[top], (start + size)[top], at[top]))
            row, memory, start, size, at = (c[~top] for c in (row, memory, start, size, at))
            start = start + bases[memory]
            memory = parents[memory]
        row, start, stop, at = (np.concatenate(column) for column in zip(*done, strict=True))
        order = np.lexsort((at, row))
        return Spans(row[order], start[order], stop[order])
