"""Runs of one operator, or of several with line buffers between them, as instructions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from planners.core.graph import Operator
from planners.core.program import (
    Compute,
    Instruction,
    Item,
    Operand,
    Piece,
)
from planners.core.relations import full
from planners.overlap.emit.repeated_rows import AlikeRows
from planners.overlap.emit.writer import RunWriter
from planners.overlap.kernels.candidates import newest
from planners.overlap.model.dependences import Reach
from planners.overlap.model.distance import order


class LineWriter(RunWriter):
    """Pixels pulled through a group: what is made, and what is no longer held, of each tensor."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.maker = {op.outputs[0]: op for op in self.ops}
        self.reach: dict[str, dict[str, Reach]] = {}
        for op in self.ops:
            for name in op.inputs:
                self.reach.setdefault(name, {})[op.name] = Reach(self.pool.graph, op, name)
        self.pull = {
            (name, reader): newest(reach)
            for name in self.buffers
            for reader, reach in self.reach[name].items()
        }
        self.held: dict[str, dict[int, Operand]] = {name: {} for name in self.buffers}
        self.done = {op.name: 0 for op in self.ops}
        self.gone = dict.fromkeys(self.reach, 0)
        self.frees_own = order(self.pool.graph, self.last) == "element"

    def instructions(self) -> Iterator[Item]:
        if len(self.ops) == 1 and self._mixes():
            yield from self._chunks()
        else:
            yield from self._in_rows()
        for name in self.reach:  # In a fixed order: a set's differs from one process to another.
            if name in self.dying:
                yield from self._forget(name, len(self.pool.whole(name)))

    def _begin(self, step: str) -> Iterator[Instruction]:
        """A timestep; what dies here is gone up to the first segment that is read at all."""
        self.steps.append(step)
        for name in self.reach:
            yield from self._advance(name, set())

    def _in_rows(self) -> Iterator[Item]:
        """Pixel by pixel, a timestep for each row; rows that do the same are a loop."""
        alike = AlikeRows(self.pool, self.ops, self.reach, self.pull, self.dying)
        row, skip = partial(self._row, alike), partial(self._skip, alike)
        yield from self.rows(alike.rounds(), row, skip)

    def _row(self, alike: AlikeRows, row: int) -> Iterator[Instruction]:
        yield from self._begin(self._title(alike, row))
        for number in range(row * alike.width, (row + 1) * alike.width):
            yield from self._make(self.last, number)

    def _title(self, alike: AlikeRows, row: int) -> str:
        return f"{self.title} row {row}" if alike.rows > 1 else self.title

    def _skip(self, alike: AlikeRows, start: int, stop: int) -> None:
        """Rows are done: what is made and what is gone is as they leave it."""
        self.steps += (self._title(alike, row) for row in range(start, stop))
        for op in self.ops:
            self.done[op.name] = int(alike.starts[op.name][stop])
        for name in self.gone:
            if name in self.buffers or name in self.dying:
                by = alike.low[name][stop] - alike.low[name][start]
                self.gone[name] += int(by)
        for ring in self.held.values():  # They are made anew where they are now.
            ring.clear()

    def _mixes(self) -> bool:
        """Whether an operator mixes rows, or has many outputs."""
        readers = [self.reach[name][self.last.name] for name in self.last.inputs]
        return len(self.last.outputs) > 1 or not all(reach.separable for reach in readers)

    def _chunks(self) -> Iterator[Instruction]:
        """As many segments at once as lie before all that they and later ones read.

        Each of them may read all of the input: together they name it once.
        """
        op = self.last
        apart = not any(self.pool.share(o, name) for o in op.outputs for name in op.inputs)
        if apart or len(op.outputs) > 1:
            self.steps.append(op.name)
            yield self._chunk(op, op.outputs, None)
            return
        start, count = 0, self.pool.segments(op.outputs[0]).count
        while start < count:
            stop = min(count, self._clear_of_reads(op, start))
            last = f" to {stop - 1}" if stop > start + 1 else ""
            segment = op.name if stop == count else f"{op.name} segment {start}{last}"
            yield from self._begin(segment)
            if stop <= start + 1:
                yield from self._make(op, start)
            else:
                yield self._chunk(op, op.outputs, (start, stop))
                self.done[op.name] = stop
                for name in op.inputs:
                    yield from self._advance(name, set())
            start = max(stop, start + 1)

    def _clear_of_reads(self, op: Operator, start: int) -> int:
        """Up to which segment the output may be written while what `start` reads is kept."""
        out = self.pool.segments(op.outputs[0])
        stop = out.count
        for name in op.inputs:
            if name not in self.dying or not self.pool.share(op.outputs[0], name):
                continue
            at = self.pool.layout.offsets
            ahead = (at[name] - at[op.outputs[0]]) % self.pool.layout.pool_bytes
            low = int(self.reach[name][op.name].still[start])
            if low < len(self.pool.whole(name)):
                free = ahead + low * self.pool.pitch(name)
                pitch = self.pool.pitch(op.outputs[0])
                stop = min(stop, (free + pitch - out.size_bytes) // pitch)
        return stop

    def _chunk(
        self, op: Operator, outputs: tuple[str, ...], part: tuple[int, int] | None
    ) -> Compute:
        """Segments of the outputs in one instruction, all of them where no part is named."""
        writes = [operand for name in outputs for operand in self.pool.whole(name)]
        reads = [operand for name in op.inputs for operand in self.pool.whole(name)]
        if part is not None:
            writes = writes[slice(*part)]
            reads = [
                self.pool.whole(name)[i] for name in op.inputs for i in self._span(op, name, part)
            ]
        every = None if part else [full(self.pool.graph.tensors[outputs[0]].shape)]
        return self.compute(op, reads, writes, boxes=every)

    def _span(self, op: Operator, name: str, part: tuple[int, int]) -> range:
        """All segments of an input, still there, between the least and the largest that is read."""
        reach = self.reach[name][op.name]
        low, high = int(reach.low[slice(*part)].min()), int(reach.high[slice(*part)].max())
        return range(max(low, self.gone[name]), high + 1)

    def operand(self, name: str, number: int) -> Operand:
        """A pixel in its buffer, or in the pool."""
        buffer = self.buffers.get(name)
        if buffer is None:
            return self.pool.whole(name)[number]
        ring = self.held[name]
        if number not in ring:
            segments = self.pool.segments(name)
            at = number * buffer.pixel_bytes  # The ring takes it modulo its size.
            ring[number] = self.in_buffer(name, segments.box(number), at)
        return ring[number]

    def _make(self, op: Operator, number: int) -> Iterator[Instruction]:
        """One pixel of an operator's output, after the pixels that it reads."""
        for name in op.inputs:
            if name in self.buffers:
                maker = self.maker[name]
                upto = int(self.pull[name, op.name][number])
                while self.done[maker.name] <= upto:
                    yield from self._make(maker, self.done[maker.name])
        reads = [
            self.operand(name, i)
            for name in op.inputs
            for i in self.reach[name][op.name].reads(number)
        ]
        self.done[op.name] = number + 1
        write = self.operand(op.outputs[0], number)
        frees: tuple[int, ...] = ()
        if op is self.last:
            frees = self._frees(write, reads)
        freed = {reads[i].piece for i in frees}
        yield self.compute(op, reads, (write,), frees)
        for name in (*op.inputs, op.outputs[0]):
            yield from self._advance(name, freed)

    def _frees(self, write: Operand, reads: list[Operand]) -> tuple[int, ...]:
        """Reads that end before the write, where the kernel has read them by then."""
        met = []
        for at, read in enumerate(reads):
            name = read.piece.tensor
            inside = name in self.dying and self.pool.meets(write, read)
            if inside and self._number(read) < self._low(name):
                met.append(at)
        if self.frees_own or self.pool.only_last_byte(write, [reads[at] for at in met]):
            return tuple(met)
        return ()

    def _number(self, operand: Operand) -> int:
        name = operand.piece.tensor
        base = self.pool.layout.offsets[name]
        return ((operand.region.offset or 0) - base) // self.pool.pitch(name)

    def _low(self, name: str) -> int:
        """The lowest pixel of a tensor that is still to be read."""
        return min(
            int(reach.still[self.done[reader]]) for reader, reach in self.reach[name].items()
        )

    def _advance(self, name: str, freed: set[Piece]) -> Iterator[Instruction]:
        """Release what nothing reads any more, in a buffer or of a tensor that dies here."""
        if name in self.buffers:
            written = self.done[self.maker[name].name]
            yield from self._forget(name, min(written, self._low(name)), freed)
        elif name in self.dying:
            yield from self._forget(name, self._low(name), freed)

    def _forget(
        self, name: str, upto: int, freed: set[Piece] | frozenset[Piece] = frozenset()
    ) -> Iterator[Instruction]:
        gone = [self.operand(name, number) for number in range(self.gone[name], upto)]
        for number in range(self.gone[name], upto):
            self.held.get(name, {}).pop(number, None)
        yield from self.released(gone, freed)
        self.gone[name] = max(self.gone[name], upto)
