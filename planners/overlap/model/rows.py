"""Tensors in rows, the coarser segments: what some rows of an output read, and how far it lies.

A row is what lies under one index of the outermost axis that a tensor has: of a map in the order
NHWC all columns and channels of a row, of a sequence a vector. An instruction makes several rows,
or all. It reads each weight once for all of them, so it reads them to the end: what it writes lies
in front of all that it and later ones read (eq. 1 of the vMCU paper, with rows for segments). Where
an element is made of the elements of its own place, it may take theirs, as with pixels. Where rows
may lie, a kernel that goes pixel by pixel is right too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from planners.core.access import ELEMENTWISE, NORMS, needs
from planners.core.graph import Graph, Operator
from planners.core.program import Box
from planners.core.relations import full
from planners.overlap.model.distance import order
from planners.overlap.model.separable import AnswersByLook, look

Span: TypeAlias = tuple[int, int]
"""Rows `[start, stop)` of a tensor."""
_spans = AnswersByLook[tuple[list[Span], ...]](20_000)


class TensorRows:
    """The rows of a tensor in the order in which they lie: number i at i · `size_bytes`."""

    def __init__(self, graph: Graph, tensor: str) -> None:
        self.tensor, self.shape = tensor, graph.tensors[tensor].shape
        outer = (0, 2, 3) if len(self.shape) == 4 else range(len(self.shape) - 1)
        self.axis = next((axis for axis in outer if self.shape[axis] > 1), None)
        self.count = 1 if self.axis is None else self.shape[self.axis]
        self.size_bytes = graph.size_bytes(tensor) // self.count

    def box(self, start: int, stop: int) -> Box:
        """The box of some rows."""
        if self.axis is None:
            return full(self.shape)
        whole = full(self.shape)
        return (*whole[: self.axis], (start, stop), *whole[self.axis + 1 :])

    def span(self, box: Box) -> Span:
        """The rows that a box touches."""
        return (0, 1) if self.axis is None else box[self.axis]


def blocks(count: int, rows: int) -> list[Span]:
    """So many rows at a time, the last time what is left."""
    return [(start, min(start + rows, count)) for start in range(0, count, rows)]


def spans_read(graph: Graph, op: Operator, rows: int) -> tuple[list[Span], ...]:
    """For each input the rows that are read for each block of so many rows of the output.

    Where a block reads none the span is (0, 0). An operator of several outputs has one block.
    """

    def ask() -> tuple[list[Span], ...]:
        return tuple(map(list, zip(*_asked(graph, op, rows), strict=True)))

    return _spans.get((look(graph, op), rows), ask)


def _asked(graph: Graph, op: Operator, rows: int) -> Iterator[list[Span]]:
    sources = [TensorRows(graph, name) for name in op.inputs]
    if len(op.outputs) != 1:
        yield [(0, source.count) for source in sources]
        return
    out = TensorRows(graph, op.outputs[0])
    for block in blocks(out.count, rows):
        yield _of_block(graph, op, sources, out, block)


def _of_block(
    graph: Graph, op: Operator, sources: Sequence[TensorRows], out: TensorRows, block: Span
) -> list[Span]:
    read = dict(needs(graph, op, out.tensor, out.box(*block)))
    return [s.span(read[s.tensor]) if s.tensor in read else (0, 0) for s in sources]


def skipped(graph: Graph, op: Operator, tensor: str) -> int:
    """How many rows of an input lie in front of the first that is read: all where none is."""
    every = TensorRows(graph, op.outputs[0]).count
    ((start, stop),) = spans_read(graph, op, every)[op.inputs.index(tensor)]
    return start if start < stop else TensorRows(graph, tensor).count


def lowest_left(spans: Sequence[Span], count: int) -> list[int]:
    """The lowest row that each block and those behind it read; `count` where they read none."""
    lowest = [count]
    for start, stop in reversed(spans):
        lowest.append(min(lowest[-1], start) if start < stop else lowest[-1])
    return lowest[::-1]


def in_place(graph: Graph, op: Operator, tensor: str) -> bool:
    """Whether each element of the output is made of this input's element of the same place."""
    out = graph.tensors[op.outputs[0]]
    plain = op.kind in ELEMENTWISE | NORMS and len(op.outputs) == 1
    same = graph.tensors[tensor].shape == out.shape
    # Elements that become wider would be written over those of other places.
    same = same and graph.bytes_of(out.name, 1) <= graph.bytes_of(tensor, 1)
    return plain and same and order(graph, op) == "element"


def row_distance(graph: Graph, op: Operator, tensor: str, rows: int) -> int | None:
    """The least d in bytes at which an operator that makes so many rows at once may overlap.

    None where they must lie apart, as in `distance`. It is never below that distance.
    """
    if len(op.outputs) != 1:
        return None
    if in_place(graph, op, tensor):
        return 0
    out, source = TensorRows(graph, op.outputs[0]), TensorRows(graph, tensor)
    spans = spans_read(graph, op, rows)[op.inputs.index(tensor)]
    left = lowest_left(spans, source.count)
    d = 0
    for (_, stop), low in zip(blocks(out.count, rows), left, strict=False):
        if low < source.count:
            d = max(d, stop * out.size_bytes - low * source.size_bytes)
    return d if d < graph.size_bytes(out.tensor) else None
