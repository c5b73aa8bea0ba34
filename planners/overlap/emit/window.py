"""Inverted bottlenecks that compute expanded pixels anew, as instructions."""

from __future__ import annotations

from collections.abc import Iterator

from planners.core.details.pool import KernelRun
from planners.core.errors import BadInput
from planners.core.graph import Operator
from planners.core.loops import movement
from planners.core.program import (
    Compute,
    Instruction,
    Item,
    Operand,
    Piece,
    Region,
    Release,
    Repeat,
    piece_bytes,
)
from planners.overlap.emit.alike import rounds_of, same_parameters
from planners.overlap.emit.pool import PoolOperands
from planners.overlap.emit.whole import LEAST_ROUNDS
from planners.overlap.kernels.bottleneck import BottleneckWindows, bottleneck


def window_run(
    pool: PoolOperands, number: int, run: KernelRun, dying: frozenset[str], steps: list[str]
) -> Iterator[Item]:
    """The instructions of a run in form `window`, `columns` or `tile`."""
    yield from _Window(pool, number, run, dying, steps).run()


class _Window:
    def __init__(
        self,
        pool: PoolOperands,
        number: int,
        run: KernelRun,
        dying: frozenset[str],
        steps: list[str],
    ) -> None:
        self.pool, self.number, self.layout_run, self.steps = pool, number, run, steps
        self.graph = pool.graph
        block = bottleneck(self.graph, [self.graph.index[name] for name in run.operators])
        if block is None:
            raise BadInput(f"{run.operators[0]!r} begins no inverted bottleneck to run so")
        self.block = block
        self.windows = BottleneckWindows(self.graph, block)
        self.dying = block.a in dying
        self.still = self.windows.still(run.form)
        self.buffers = {buffer.tensor: buffer for buffer in run.buffers}
        self.gone = 0

    def run(self) -> Iterator[Item]:
        """A timestep for each row; rows that do the same are a loop."""
        rows = self.windows.out.count // self.width
        alike = all(same_parameters(self.pool, op) for op in self.ops)
        rounds = rounds_of([self._does(row) if alike else None for row in range(rows)])
        row = 0
        while row < rows:
            if rounds[row] < LEAST_ROUNDS:
                yield from self._row(row)
            else:
                first, second = (tuple(self._row(row + k)) for k in (0, 1))
                moves = movement(first, second)
                if moves is None:
                    raise AssertionError(f"row {row} of {self.block.last.name} moves otherwise")
                yield Repeat(rounds[row], first, moves)
                self.steps += map(self._title, range(row + 2, row + rounds[row]))
                self.gone += (rounds[row] - 2) * self._moves_on(row)
            row += rounds[row] if rounds[row] >= LEAST_ROUNDS else 1
        yield from self._forget(len(self.pool.whole(self.block.a)))

    @property
    def width(self) -> int:
        return self.windows.out.grid[2]

    @property
    def ops(self) -> list[Operator]:
        return [self.pool.operators[name] for name in self.layout_run.operators]

    def _title(self, row: int) -> str:
        return f"{'+'.join(self.layout_run.operators)} row {row}"

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

    @property
    def step(self) -> int:
        return len(self.steps) - 1

    def _pixel(self, number: int) -> Iterator[Instruction]:
        """One pixel of the output, tile by tile of expanded channels."""
        channels = self.pool.segments(self.block.b).channels
        tile = self.layout_run.channels or channels
        for start in range(0, channels, tile):
            part = (start, min(start + tile, channels))
            yield from self._tile(number, part, part if self.layout_run.form == "tile" else None)
        low = int(self.still[number + 1])
        if self.block.add is not None:
            kept = self._in_buffer(self.block.d, number, 0)
            out = self.pool.whole(self.block.last.outputs[0])[number]
            a = self.pool.whole(self.block.a)[number]
            reads = tuple(kept if n == self.block.d else a for n in self.block.add.inputs)
            yield from self._forget(min(low, number))  # The output may lie on these already.
            # The pixel of A ends here where the output takes its place.
            ends = self.dying and self.pool.meets(out, a) and number < low
            frees = (reads.index(a),) if ends else ()
            yield self._compute(self.block.add, reads, out, frees=frees)
            yield Release(self.step, kept.piece, kept.region)
            low = min(low, number + 1)
            yield from self._forget(low, a.piece if ends else None)

    def _tile(
        self, number: int, part: tuple[int, int], sums: tuple[int, int] | None
    ) -> Iterator[Instruction]:
        block, windows = self.block, self.windows
        top, bottom = windows.rows(number)
        left, right = windows.columns(number)
        fresh = windows.fresh(number) if self.layout_run.form == "columns" else (left, right)
        for r in range(top, bottom):
            for c in range(*fresh):
                at = r * windows.width + c
                a = tuple(self.pool.whole(block.a)[i] for i in windows.source.reads(at))
                yield self._compute(block.expand, a, self._expanded(number, at, part))
        if block.add is None and sums is None:
            yield from self._forget(int(self.still[number + 1]))
        held = [
            self._expanded(number, r * windows.width + c, part)
            for r in range(top, bottom)
            for c in range(left, right)
        ]
        middle = self._in_buffer(block.c, number, 0, part)
        yield self._compute(block.depthwise, tuple(held), middle)
        keep = self._kept(number)
        for at, operand in enumerate(held):
            if at % (right - left) + left not in keep:
                yield Release(self.step, operand.piece, operand.region)
        out = (
            self._in_buffer(block.d, number, 0)
            if block.d in self.buffers and (block.add is not None)
            else self.pool.whole(block.d)[number]
        )
        yield self._compute(block.project, (middle,), out, sums)
        yield Release(self.step, middle.piece, middle.region)
        if sums and sums[1] == self.pool.segments(block.b).channels and block.add is None:
            yield from self._forget(int(self.still[number + 1]))

    def _kept(self, number: int) -> range:
        """Columns of the tensor that the next window of the row reads again from the buffer."""
        width = self.windows.out.grid[2]
        if self.layout_run.form != "columns" or number % width == width - 1:
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
        buffer, segments = self.buffers[name], self.pool.segments(name)
        piece = Piece(name, segments.box(number, part))
        size = piece_bytes(self.graph, piece)
        region = Region(f"{self.number}:{name}", place * buffer.pixel_bytes, size)
        return Operand(piece, region)

    def _compute(
        self,
        op: Operator,
        reads: tuple[Operand, ...],
        write: Operand,
        sums: tuple[int, int] | None = None,
        frees: tuple[int, ...] = (),
    ) -> Compute:
        box = write.piece.box
        return Compute(
            self.step,
            op.name,
            (*reads, *self.pool.constants(op, op.outputs[0], box)),
            (write,),
            self.pool.macs(op, box, sums),
            frees,
            sums=sums,
        )

    def _forget(self, upto: int, freed: Piece | None = None) -> Iterator[Instruction]:
        """Release pixels of A that nothing reads any more, where A dies with this run."""
        if not self.dying:
            return
        for number in range(self.gone, upto):
            operand = self.pool.whole(self.block.a)[number]
            if operand.piece != freed:
                yield Release(self.step, operand.piece, operand.region)
        self.gone = max(self.gone, upto)
