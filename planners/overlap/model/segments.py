"""Tensors as the segments that lie in the pool: pixels, or vectors along the last axis.

A segment is what a kernel loads, stores and frees at once (the paper's section 4). One of a
tensor of four axes is a pixel with all of its channels, so that the tensor lies in the order
NHWC; one of any other tensor is a vector along its last axis.
"""

from __future__ import annotations

from math import prod

from planners.core.graph import Graph
from planners.core.program import Box, Operand, Piece, Region


class Segments:
    """The segments of a tensor, in the order in which they lie: number i at i · `size_bytes`."""

    def __init__(self, graph: Graph, tensor: str) -> None:
        self.tensor, self.shape = tensor, graph.tensors[tensor].shape
        self.spatial = len(self.shape) == 4
        if self.spatial:
            batch, channels, *image = self.shape
            self.grid: tuple[int, ...] = (batch, *image)
        else:
            channels = self.shape[-1] if self.shape else 1
            self.grid = self.shape[:-1]
        self.channels = channels
        self.count = prod(self.grid)
        self.size_bytes = graph.bytes_of(tensor, channels)
        self.total_bytes = self.count * self.size_bytes

    def span_bytes(self, pitch: int) -> int:
        """From the first byte to the last, where segments are `pitch` bytes apart."""
        return max(0, self.count - 1) * pitch + self.size_bytes if self.count else 0

    def box(self, number: int, channels: tuple[int, int] | None = None) -> Box:
        """The box of a segment, or of a range of its channels."""
        at = []
        for size in reversed(self.grid):
            number, i = divmod(number, size)
            at.append((i, i + 1))
        inside = channels or (0, self.channels)
        if self.spatial:
            column, row, batch = at
            return (batch, inside, row, column)
        return (*reversed(at), inside) if self.shape else ()

    def within(self, box: Box) -> list[int]:
        """The numbers of the segments that a box touches, ascending."""
        numbers = [0]
        for (start, stop), size in zip(self._axes(box), self.grid, strict=True):
            numbers = [number * size + i for number in numbers for i in range(start, stop)]
        return numbers

    def touched(self, box: Box) -> int:
        """How many segments a box touches."""
        return prod(max(0, stop - start) for start, stop in self._axes(box))

    def ends(self, box: Box) -> tuple[int, int]:
        """The least and the largest segment that a box touches; `count` and -1 for none."""
        low = high = 0
        for (start, stop), size in zip(self._axes(box), self.grid, strict=True):
            if start >= stop:
                return self.count, -1
            low, high = low * size + start, high * size + stop - 1
        return low, high

    def _axes(self, box: Box) -> Box:
        """A box without its channels."""
        return (box[0], box[2], box[3]) if self.spatial else box[:-1]

    def operand(self, number: int, memory: str, offset: int, pitch: int = 0) -> Operand:
        """A segment of a tensor that lies at this offset of a memory, `pitch` bytes from the next.

        Without a pitch they lie close together.
        """
        region = Region(memory, offset + number * (pitch or self.size_bytes), self.size_bytes)
        return Operand(Piece(self.tensor, self.box(number)), region)
