"""Rows of a run that do the same, each moved by as much: the rounds of a loop.

What a row does follows from tables: how far each operand must be (`newest`), what is read (`low`,
`high`) and what is still to be read (`still`), per pixel that is made. All are numbers of segments.
A row does what the one before it did, moved, where these are the same numbers counted from where
the row began, and where the same reads end before the write: writes and reads move by as many
bytes, or share none in either row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from planners.core.graph import Operator
from planners.overlap.emit.pool import PoolOperands, ranges_meet
from planners.overlap.model.dependences import Numbers, Reach


class AlikeRows:
    """Which rows of a line's last output do the same, and where each tensor is when they begin."""

    def __init__(
        self,
        pool: PoolOperands,
        ops: Sequence[Operator],
        reach: Mapping[str, Mapping[str, Reach]],
        pull: Mapping[tuple[str, str], Numbers],
        dying: Collection[str],
    ) -> None:
        self.pool, self.ops, self.last, self.reach = pool, ops, ops[-1], reach
        self.pull, self.dying = pull, dying
        self.out = pool.segments(self.last.outputs[0])
        self.width = self.out.grid[-1] if self.out.grid else 1
        self.rows = self.out.count // self.width
        self.buffers = {name for name, _ in pull}
        self.starts = self._starts()
        self.low = self._low()

    def _starts(self) -> dict[str, Numbers]:
        """Of each operator, by row and once more at the end: how many segments it has made."""
        starts = {self.last.name: np.arange(self.rows + 1) * self.width}
        for op in reversed(self.ops[:-1]):
            counts = np.zeros(self.rows + 1, np.int64)
            for reader in self.reach[op.outputs[0]]:
                upto = np.append(0, self.pull[op.outputs[0], reader] + 1)
                counts = np.maximum(counts, upto[starts[reader]])
            starts[op.name] = counts
        return starts

    def _low(self) -> dict[str, Numbers]:
        """Of each tensor that is read, by row: the lowest segment that is still to be read."""
        return {
            name: np.minimum.reduce(
                [reach.still[self.starts[reader]] for reader, reach in readers.items()]
            )
            for name, readers in self.reach.items()
        }

    def rounds(self) -> list[int]:
        """Of each row: how many rows from it on do the same, itself among them."""
        tabled = self._tabled()
        return rounds_of([self._does(row) if tabled else None for row in range(self.rows)])

    def _tabled(self) -> bool:
        """Whether tables tell what each segment reads, and all read the same parameters."""
        every = (reach for readers in self.reach.values() for reach in readers.values())
        return all(reach.separable for reach in every) and all(
            same_parameters(self.pool, op) for op in self.ops
        )

    def _does(self, row: int) -> tuple[object, ...] | None:
        """What a row does, counted from where it begins; None where that tells no two apart.

        Two rows of which this is the same do the same, each tensor moved by its part of it.
        """
        does: list[object] = []
        for op in self.ops:
            start, stop = self.starts[op.name][row : row + 2].tolist()
            if (stop - start) % self._width(op.outputs[0]):
                return None
            does.append(stop - start)
            if op.outputs[0] in self.low:
                does.append(int(start - self.low[op.outputs[0]][row]))
            for name in op.inputs:
                reach, begun = self.reach[name][op.name], self.low[name][row]
                low, high = reach.low[start:stop], reach.high[start:stop]
                if (low > high).any():  # Of padding, it reads nothing.
                    return None
                numbers = [low, high, reach.still[start : stop + 1]]
                if name in self.buffers:
                    numbers.append(self.pull[name, op.name][start:stop])
                does += [(each - begun).tobytes() for each in numbers]
        for name, low in self.low.items():
            by = int(low[row + 1] - low[row])
            does.append(by)
            if by % self._width(name) or not self._frees_alike(name, row, by):
                return None
        return tuple(does)

    def _width(self, name: str) -> int:
        grid = self.pool.segments(name).grid
        return grid[-1] if grid else 1

    def _frees_alike(self, name: str, row: int, by: int) -> bool:
        """Whether the next row's writes meet the same reads as this one's, `by` segments on."""
        if name not in self.dying or name not in self.last.inputs:
            return True
        pool, output = self.pool, self.last.outputs[0]
        size, offsets = pool.layout.pool_bytes, pool.layout.offsets
        if (by * pool.pitch(name) - self.width * pool.pitch(output)) % size == 0:
            return True
        start, stop = self.starts[self.last.name][row : row + 2].tolist()
        reach = self.reach[name][self.last.name]
        first, end = int(reach.low[start:stop].min()), int(reach.high[start:stop].max()) + 1
        written, read = (
            (
                offsets[tensor] + begin * pool.pitch(tensor),
                pool.segments(tensor).size_bytes + (upto - 1 - begin) * pool.pitch(tensor),
            )
            for tensor, begin, upto in ((output, start, stop), (name, first, end))
        )
        return not ranges_meet(*written, *read, size)


def same_parameters(pool: PoolOperands, op: Operator) -> bool:
    """Whether the first and the last segment read the same parameters: so do all between."""
    output = op.outputs[0]
    segments = pool.segments(output)
    first, last = (
        pool.constants(op, output, segments.box(number)) for number in (0, segments.count - 1)
    )
    return first == last


def rounds_of(does: Sequence[object]) -> list[int]:
    """Of each row by what it does: how many rows from it on do the same, itself among them.

    The first row begins with what dies at once; None does what no other does.
    """
    count = [1] * len(does)
    for row in range(len(does) - 2, 0, -1):
        if does[row] is not None and does[row] == does[row + 1]:
            count[row] += count[row + 1]
    return count
