"""Inverted bottlenecks that compute expanded pixels anew, as instructions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planners.core.errors import BadInput
from planners.core.program import (
    Instruction,
    Item,
    Operand,
    Piece,
)
from planners.overlap.emit.repeated_rows import rounds_of, same_parameters
from planners.overlap.emit.writer import RunWriter
from planners.overlap.kernels.bottleneck import BottleneckWindows, bottleneck


class WindowWriter(RunWriter):
    """Pixels of an inverted bottleneck, in form `window`, `columns` or `tile`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.graph = self.pool.graph
        block = bottleneck(self.graph, [self.graph.index[name] for name in self.run.operators])
        if block is None:
            raise BadInput(f"{self.run.operators[0]!r} begins no inverted bottleneck to run so")
        self.block = block
        self.windows = BottleneckWindows(self.graph, block)
        self.still = self.windows.still(self.run.form)
        self.gone = 0

    def instructions(self) -> Iterator[Item]:
        """A timestep for each row; rows that do the same are a loop."""
        rows = range(self.windows.out.count // self.width)
        alike = all(same_parameters(self.pool, op) for op in self.ops)
        rounds = rounds_of([self._does(row) if alike else None for row in rows])
        yield from self.rows(rounds, self._row, self._skip)
        yield from self._forget(len(self.pool.whole(self.block.a)))

    def _skip(self, start: int, stop: int) -> None:
        """Rows are done: what is gone is as they leave it."""
        self.steps += map(self._title, range(start, stop))
        self.gone += (stop - start) * self._moves_on(start - 2)

    @property
    def width(self) -> int:
        return self.windows.out.grid[2]

    def _title(self, row: int) -> str:
        return f"{self.title} row {row}"

    def _row(self, row: int) -> Iterator[Instruction]:
        self.steps.append(self._title(row))
        if not row and self.block.add is None:  # Pixels in front of all that is read.
            yield from self._forget(int(self.still[0]))
        for number in range(row * self.width, (row + 1) * self.width):
            yield from self._pixel(number)

    def _begun(self, row: int) -> int:
        """The first pixel of A that lies under the first window of a row."""
        source = self.windows.source
        first: int = source.rows[self.windows.reach.rows[row][0]][0]
        return first * source.source.grid[2]

    def _moves_on(self, row: int) -> int:
        """By how many pixels of A the next row is further."""
        return self._begun(row + 1) - self._begun(row)

    def _does(self, row: int) -> tuple[object, ...] | None:
        """What a row does, counted from where it begins in A; None where no row need be alike.

        Two rows of which this is the same do the same, moved by their strides.
        """
        reach, source = self.windows.reach, self.windows.source
        top, bottom = reach.rows[row]
        if (
            row + 1 >= len(reach.rows)
            or bottom <= top
            or reach.rows[row + 1][0] >= len(source.rows)
        ):
            return None
        begun, wide = self._begun(row), source.source.grid[2]
        under = row * self.block.depthwise.stride[0]
        first, end = row * self.width, (row + 1) * self.width
        still = [int(low) - begun for low in self.still[first : end + 1]]
        read = [(a - begun // wide, b - begun // wide) for a, b in source.rows[top:bottom]]
        does = (top - under, bottom - under, tuple(read), tuple(still), self._moves_on(row))
        if self.block.add is None:
            return does
        out, a = (self.pool.pitch(name) for name in (self.block.last.outputs[0], self.block.a))
        if self.width * (out - a) % self.pool.layout.pool_bytes:
            return None
        return (*does, first - begun)

    def _pixel(self, number: int) -> Iterator[Instruction]:
        """One pixel of the output, tile by tile of expanded channels."""
        channels = self.pool.segments(self.block.b).channels
        tile = self.run.channels or channels
        for start in range(0, channels, tile):
            part = (start, min(start + tile, channels))
            yield from self._tile(number, part, part if self.run.form == "tile" else None)
        low = int(self.still[number + 1])
        if self.block.add is not None:
            kept = self._in_buffer(self.block.d, number, 0)
            out = self.pool.whole(self.block.last.outputs[0])[number]
            a = self.pool.whole(self.block.a)[number]
            reads = tuple(kept if n == self.block.d else a for n in self.block.add.inputs)
            yield from self._forget(min(low, number))  # The output may lie on these already.
            # The pixel of A ends here where the output takes its place.
            ends = self.block.a in self.dying and self.pool.meets(out, a) and number < low
            frees = (reads.index(a),) if ends else ()
            yield self.compute(self.block.add, reads, (out,), frees)
            yield from self.released((kept,))
            low = min(low, number + 1)
            yield from self._forget(low, *([a.piece] if ends else []))

    def _tile(
        self, number: int, part: tuple[int, int], sums: tuple[int, int] | None
    ) -> Iterator[Instruction]:
        block, windows = self.block, self.windows
        top, bottom = windows.rows(number)
        left, right = windows.columns(number)
        fresh = windows.fresh(number) if self.run.form == "columns" else (left, right)
        for r in range(top, bottom):
            for c in range(*fresh):
                at = r * windows.width + c
                a = tuple(self.pool.whole(block.a)[i] for i in windows.source.reads(at))
                yield self.compute(block.expand, a, (self._expanded(number, at, part),))
        if block.add is None and sums is None:
            yield from self._forget(int(self.still[number + 1]))
        expanded = [
            self._expanded(number, r * windows.width + c, part)
            for r in range(top, bottom)
            for c in range(left, right)
        ]
        middle = self._in_buffer(block.c, number, 0, part)
        yield self.compute(block.depthwise, expanded, (middle,))
        keep = self._kept(number)
        yield from self.released(
            operand for at, operand in enumerate(expanded) if at % (right - left) + left not in keep
        )
        out = (
            self._in_buffer(block.d, number, 0)
            if block.d in self.buffers and (block.add is not None)
            else self.pool.whole(block.d)[number]
        )
        yield self.compute(block.project, (middle,), (out,), sums=sums)
        yield from self.released((middle,))
        if sums and sums[1] == self.pool.segments(block.b).channels and block.add is None:
            yield from self._forget(int(self.still[number + 1]))

    def _kept(self, number: int) -> range:
        """Columns of the tensor that the next window of the row reads again from the buffer."""
        width = self.windows.out.grid[2]
        if self.run.form != "columns" or number % width == width - 1:
            return range(0)
        left, right = self.windows.columns(number + 1)
        return range(left, right)

    def _expanded(self, number: int, at: int, part: tuple[int, int]) -> Operand:
        """An expanded pixel in its place under the window."""
        row, column = divmod(at, self.windows.width)
        _, columns = self.block.depthwise.kernel
        stride, padding = self.block.depthwise.stride[0], self.block.depthwise.padding[0]
        under = row - (number // self.windows.out.grid[2] * stride - padding)
        return self._in_buffer(self.block.b, at, under * columns + column % columns, part)

    def _in_buffer(
        self, name: str, number: int, place: int, part: tuple[int, int] | None = None
    ) -> Operand:
        box = self.pool.segments(name).box(number, part)
        return self.in_buffer(name, box, place * self.buffers[name].pixel_bytes)

    def _forget(self, upto: int, *freed: Piece) -> Iterator[Instruction]:
        """Release pixels of A that nothing reads any more, where A dies with this run."""
        if self.block.a not in self.dying:
            return
        yield from self.released(self.pool.whole(self.block.a)[self.gone : upto], freed)
        self.gone = max(self.gone, upto)
