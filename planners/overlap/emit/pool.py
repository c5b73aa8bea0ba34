"""Operands of a layout: segments of tensors in the pool, of buffers, and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import overload

from planners.core.access import needs, share_of_macs
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator
from planners.core.loops import moved, movement
from planners.core.machine import Machine
from planners.core.program import (
    Box,
    Instruction,
    Item,
    Operand,
    Piece,
    Region,
    Repeat,
    piece_bytes,
)
from planners.overlap.kernels.candidates import ends
from planners.overlap.model.rows import Span, TensorRows, blocks, skipped
from planners.overlap.model.segments import Segments

# ---- A tensor that lies whole in the pool, piece by piece: made when asked for, written as loops -

LEAST_ROUNDS = 4
"""Fewer rounds that are alike are written one by one."""


class WholeTensor(Sequence[Operand]):
    """Pieces of a tensor in raster order, `width` in a row: each made when it is asked for."""

    def __init__(self, count: int, width: int, make: Callable[[int], Operand]) -> None:
        self._count, self.width = count, width
        self._make, self._made = make, dict[int, Operand]()

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Operand: ...

    @overload
    def __getitem__(self, number: slice) -> list[Operand]: ...

    def __getitem__(self, number: int | slice) -> Operand | list[Operand]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(self._count))]
        if not 0 <= number < self._count:
            raise IndexError(number)
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def each(self, make: Callable[[Operand], Instruction]) -> Iterator[Item]:
        """An instruction for each, a row of them and the rows as loops."""
        rows, odd = divmod(self._count, self.width)
        if odd or rows < LEAST_ROUNDS or self.width < LEAST_ROUNDS:
            yield from map(make, self)
            return
        first = self._row(make, 0)
        moves = movement((first,), (self._row(make, 1),))
        last = self._row(make, rows - 1)
        if moves is None or moved(first, moves[0], rows - 1) != last:
            yield from map(make, self)  # Rows of one image go on in the next one.
            return
        yield Repeat(rows, (first,), moves)

    def _row(self, make: Callable[[Operand], Instruction], row: int) -> Repeat:
        first, second = (make(self[row * self.width + i]) for i in (0, 1))
        return Repeat(self.width, (first,), movement((first,), (second,)) or ())


# --------------------------------------------------------------------------------------------------

SEGMENT, ROW, WHOLE = range(3)


class PoolOperands:
    """The segments of all tensors of a layout as operands, made once each.

    `present` are the tensors that lie whole in the pool by now.
    """

    def __init__(
        self, graph: Graph, machine: Machine, layout: PoolLayout, parameters: bool = False
    ) -> None:
        self.graph, self.machine, self.layout = graph, machine, layout
        self.parameters = parameters
        self.present: set[str] = set()
        self.operators = {op.name: op for op in graph.operators}
        self._whole: dict[str, WholeTensor] = {}
        self.segments = cache(lambda tensor: Segments(graph, tensor))
        self.rows = cache(lambda tensor: TensorRows(graph, tensor))
        if missing := [n for run in layout.runs for n in run.operators if n not in self.operators]:
            raise BadInput(f"the layout runs {missing[0]!r}, which the graph has not")
        self._grain: dict[str, int] = {}
        self._marks: dict[str, set[int]] = {}
        for run in layout.runs:
            for name in (name for names in self.ends(run) for name in names):
                self._grain[name] = min(self._grain.get(name, WHOLE), self._grain_of(run, name))
                if self._grain[name] == WHOLE:
                    self._marks.setdefault(name, {0}).add(self._skipped(run, name))

    def ends(self, run: KernelRun) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a run reads whole and what it leaves whole."""
        return ends(self.graph, [self.graph.index[name] for name in run.operators])

    def _grain_of(self, run: KernelRun, tensor: str) -> int:
        """The pieces that a run names of something that it reads or writes."""
        if not run.rows or run.form not in ("alone", "line"):
            return SEGMENT
        output = self.operators[run.operators[-1]].outputs[0]
        return ROW if run.rows < self.rows(output).count else WHOLE

    def _skipped(self, run: KernelRun, tensor: str) -> int:
        """The first rows, which none of its operators reads: they make room for the output."""
        ops = [self.operators[name] for name in run.operators]
        readers = [op for op in ops if tensor in op.inputs]
        return min((skipped(self.graph, op, tensor) for op in readers), default=0)

    def whole(self, tensor: str) -> WholeTensor:
        """All of a tensor that lies whole in the pool, in the pieces that its runs name.

        Segments, rows where every run makes rows, or one piece where every run makes all, but for
        the first rows where nothing reads them.
        """
        if tensor not in self._whole:
            if tensor not in self.layout.offsets:
                raise BadInput(f"the layout has no place for {tensor!r}")
            memory, offset = self.machine.onchip, self.layout.offsets[tensor]
            if self._grain.get(tensor, SEGMENT) == SEGMENT:
                segments, pitch = self.segments(tensor), self.pitch(tensor)
                self._whole[tensor] = WholeTensor(
                    segments.count,
                    segments.grid[-1] if segments.grid else 1,
                    lambda number: segments.operand(number, memory, offset, pitch),
                )
            else:
                in_rows = list(self._in_rows(tensor, offset))
                self._whole[tensor] = WholeTensor(len(in_rows), 1, in_rows.__getitem__)
        return self._whole[tensor]

    def _in_rows(self, tensor: str, offset: int) -> Iterator[Operand]:
        rows = self.rows(tensor)
        for start, stop in self._row_blocks(tensor):
            size = (stop - start) * rows.size_bytes
            region = Region(self.machine.onchip, offset + start * rows.size_bytes, size)
            yield Operand(Piece(tensor, rows.box(start, stop)), region)

    def _row_blocks(self, tensor: str) -> list[Span]:
        """The rows of each piece of a tensor that is not in segments."""
        count = self.rows(tensor).count
        if self._grain[tensor] == ROW:
            return blocks(count, 1)
        return [*pairwise(sorted({*self._marks[tensor], count}))]

    def in_rows(self, tensor: str, rows: Span) -> list[Operand]:
        """The pieces of a tensor that lies whole in the pool that hold some of these rows."""
        whole, count = self.whole(tensor), self.rows(tensor).count
        if self._grain.get(tensor, SEGMENT) != WHOLE:
            return whole[rows[0] * len(whole) // count : -(-rows[1] * len(whole) // count)]
        each = enumerate(self._row_blocks(tensor))
        return [whole[k] for k, (start, stop) in each if start < rows[1] and rows[0] < stop]

    def pitch(self, tensor: str) -> int:
        """Bytes from one segment of a tensor that lies whole in the pool to the next."""
        size = self.segments(tensor).size_bytes
        return max(size, self.layout.pitches.get(tensor, size))

    def constants(self, op: Operator, output: str, box: Box) -> list[Operand]:
        """The parameters that a box needs, in place, where they are counted."""
        if not self.parameters or not op.parameters:
            return []
        operands = []
        for name, part in needs(self.graph, op, output, box):
            if name in op.parameters:
                piece = Piece(name, part)
                home = Region(self.machine.parameters, None, piece_bytes(self.graph, piece))
                operands.append(Operand(piece, home))
        return operands

    def macs(self, op: Operator, box: Box, sums: tuple[int, int] | None = None) -> int:
        return share_of_macs(self.graph, op, op.outputs[0], box, sums)

    def only_last_byte(self, write: Operand, reads: Sequence[Operand]) -> bool:
        """Whether a write overlaps what is read in at most the write's last element.

        A kernel that writes channel after channel has then read all before it writes there.
        """
        size = self.layout.pool_bytes
        start = write.region.offset or 0
        inner = write.region.size_bytes - self.graph.bytes_of(write.piece.tensor, 1)
        return not any(
            ranges_meet(start, inner, read.region.offset or 0, read.region.size_bytes, size)
            for read in reads
        )

    def share(self, a: str, b: str) -> bool:
        """Whether two tensors that lie whole in the pool share a byte."""
        size, at = self.layout.pool_bytes, self.layout.offsets
        sizes = [self.segments(name).span_bytes(self.pitch(name)) for name in (a, b)]
        return ranges_meet(at[a], sizes[0], at[b], sizes[1], size)

    def meets(self, write: Operand, read: Operand) -> bool:
        """Whether two regions of the pool share a byte."""
        a, b = write.region, read.region
        size = self.layout.pool_bytes
        return ranges_meet(a.offset or 0, a.size_bytes, b.offset or 0, b.size_bytes, size)


def ranges_meet(a: int, size_a: int, b: int, size_b: int, pool: int) -> bool:
    """Whether two ranges of a ring share a byte."""
    if size_a <= 0 or size_b <= 0:
        return False
    return (b - a) % pool < size_a or (a - b) % pool < size_b
