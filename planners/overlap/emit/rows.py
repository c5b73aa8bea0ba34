"""Runs that make whole rows: one instruction for so many rows of an output, or for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planners.core.graph import Operator
from planners.core.program import Instruction, Item, Operand, Piece
from planners.core.relations import full
from planners.overlap.emit.writer import RunWriter
from planners.overlap.kernels.row_lines import RowPull
from planners.overlap.model.rows import Span, blocks, in_place, lowest_left, spans_read


class RowsWriter(RunWriter):
    """Rows pulled through a group: what is made, and what is no longer held, of each tensor."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.at_once = self.run.rows
        if len(self.last.outputs) > 1:  # All of them at once.
            self.at_once = self.pool.rows(self.last.outputs[0]).count
        self.maker = {op.outputs[0]: op for op in self.ops[:-1]}
        self.readers: dict[str, list[Operator]] = {}
        for op in self.ops:
            for name in op.inputs:
                self.readers.setdefault(name, []).append(op)
        self.left = {(name, op.name): self._left(op, name) for op in self.ops for name in op.inputs}
        self.done = {op.name: 0 for op in self.ops}
        self.wanted: dict[str, int] = {}
        self.gone = dict.fromkeys(self.readers, 0)
        self.held: dict[tuple[str, int], Operand] = {}

    def _left(self, op: Operator, name: str) -> dict[int, int]:
        """By rows that are made: the lowest row of an input that is still to be read."""
        each = self.at_once if len(self.ops) == 1 else 1
        spans = spans_read(self.pool.graph, op, each)[op.inputs.index(name)]
        starts = [start for start, _ in blocks(self.pool.rows(op.outputs[0]).count, each)]
        left = lowest_left(spans, self.pool.rows(name).count)
        return dict(zip([*starts, self.pool.rows(op.outputs[0]).count], left, strict=False))

    def instructions(self) -> Iterator[Item]:
        count, pull = self.pool.rows(self.last.outputs[0]).count, None
        if self.maker:
            graph = self.pool.graph
            positions = [graph.index[op.name] for op in self.ops]
            pull = RowPull(graph, positions, self.at_once)
        for number, (start, stop) in enumerate(blocks(count, self.at_once), 1):
            if pull is not None:
                self.wanted = {name: pull.made[name][number] for name in self.maker}
            rows = f" row {start}" if stop == start + 1 else f" rows {start} to {stop - 1}"
            self.steps.append(self.title + rows * (stop - start < count))
            if not start:  # Rows in front of all that is read make room, in a fixed order.
                for name in self.readers:
                    if name in self.dying:
                        yield from self._forget(name, self._low(name))
            yield from self._make(self.last, start, stop)
        for name in self.readers:
            if name in self.dying:
                yield from self._forget(name, self.pool.rows(name).count)

    def _make(self, op: Operator, start: int, stop: int) -> Iterator[Instruction]:
        """Rows of an operator's output, after the rows that they read, and of these all at once
        that the rows of the group's output take."""
        spans = self._spans(op, start, stop)
        for name in spans:
            if name in self.buffers:
                maker = self.maker[name]
                if self.done[maker.name] < self.wanted[name]:
                    yield from self._make(maker, self.done[maker.name], self.wanted[name])
        reads = [o for name, span in spans.items() for o in self._operands(name, span)]
        writes = self._operands(op.outputs[0], (start, stop))
        for name in op.outputs[1:]:  # Several outputs are made at once.
            writes += self.pool.whole(name)
        self.done[op.name] = stop
        frees = self._frees(writes, reads) if op is self.last else ()
        whole = full(self.pool.graph.tensors[op.outputs[0]].shape)
        written = whole if len(op.outputs) > 1 else self.pool.rows(op.outputs[0]).box(start, stop)
        yield self.compute(op, reads, writes, frees, boxes=(written,))
        freed = {reads[at].piece for at in frees}
        for name in op.inputs:
            if name in self.buffers or name in self.dying:
                yield from self._forget(name, self._low(name), freed)

    def _spans(self, op: Operator, start: int, stop: int) -> dict[str, Span]:
        """The rows of each input that are read for some rows of the output."""
        every = spans_read(self.pool.graph, op, self.at_once if len(self.ops) == 1 else 1)
        by_input = {}
        for name, spans in zip(op.inputs, every, strict=True):
            inside = spans[start:stop]
            if len(self.ops) == 1:
                inside = spans[start // self.at_once : start // self.at_once + 1]
            read = [span for span in inside if span[0] < span[1]]
            by_input[name] = (min(a for a, _ in read), max(b for _, b in read)) if read else (0, 0)
        return by_input

    def _operands(self, name: str, rows: Span) -> list[Operand]:
        """What holds some rows of a tensor, in its ring or in the pool."""
        if name in self.buffers:
            return [self._in_ring(name, number) for number in range(*rows)]
        return self.pool.in_rows(name, rows)

    def _in_ring(self, name: str, number: int) -> Operand:
        if (name, number) not in self.held:
            rows, buffer = self.pool.rows(name), self.buffers[name]
            at = number * rows.size_bytes % buffer.size_bytes
            self.held[name, number] = self.in_buffer(name, rows.box(number, number + 1), at)
        return self.held[name, number]

    def _frees(self, writes: list[Operand], reads: list[Operand]) -> tuple[int, ...]:
        """Reads that end before the writes: of elements that are made in their own place."""
        return tuple(
            at
            for at, read in enumerate(reads)
            if read.piece.tensor in self.dying
            and in_place(self.pool.graph, self.last, read.piece.tensor)
            and self._rows_of(read)[1] <= self._low(read.piece.tensor)
            and any(self.pool.meets(write, read) for write in writes)
        )

    def _rows_of(self, operand: Operand) -> Span:
        return self.pool.rows(operand.piece.tensor).span(operand.piece.box)

    def _low(self, name: str) -> int:
        """The lowest row of a tensor that is still to be read."""
        return min(self.left[name, op.name][self.done[op.name]] for op in self.readers[name])

    def _forget(
        self, name: str, upto: int, freed: set[Piece] | frozenset[Piece] = frozenset()
    ) -> Iterator[Instruction]:
        """Release the rows of a tensor up to here."""
        if name in self.buffers:
            upto = min(upto, self.done[self.maker[name].name])
        for operand in self._operands(name, (self.gone[name], max(self.gone[name], upto))):
            if self._rows_of(operand)[1] > upto:
                break  # A piece of several rows, of which some are still read.
            self.gone[name] = self._rows_of(operand)[1]
            self.held.pop((name, self._rows_of(operand)[0]), None)
            yield from self.released((operand,), freed)
