"""Which segments of an operand each segment of an output reads, and what is still to be read.

For what works pixel by pixel or slides a window, rows and columns are independent, with
a table for each. Anything else is worked out segment by segment.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planners.core.access import needs
from planners.core.graph import Graph, Operator
from planners.core.program import Box
from planners.overlap.model.segments import Segments
from planners.overlap.model.separable import AnswersByLook, look, rows_and_columns, streams

Numbers = NDArray[np.int64]
SAMPLES = 50
_low_high = AnswersByLook[tuple[Numbers, Numbers]](5_000)
_about = AnswersByLook[int](5_000)


class Reach:
    """What each segment of an operator's output reads of one operand, by number.

    `low` and `high` are the least and the largest segment read, per segment of the output, where
    nothing is read `count` and -1. `still[i]` is the least that segments from i on read (`count`
    where they read none; one entry more than segments), `newest[i]` the largest of those up to i.
    """

    def __init__(self, graph: Graph, op: Operator, tensor: str) -> None:
        self._graph, self._op, self.tensor = graph, op, tensor
        self.out = Segments(graph, op.outputs[0])
        self.source = Segments(graph, tensor)
        self.separable = streams(graph, op)
        place = op.inputs.index(tensor)
        self._key = (look(graph, op), place)
        if self.separable:
            self.rows, self.columns = rows_and_columns(graph, op)[place]

    def _box(self, number: int) -> Box | None:
        box = self.out.box(number)
        return dict(needs(self._graph, self._op, self._op.outputs[0], box)).get(self.tensor)

    def reads(self, number: int) -> list[int]:
        """The segments of the operand that a segment of the output reads, ascending."""
        if not self.separable:
            box = self._box(number)
            return [] if box is None else self.source.within(box)
        row, column = divmod(number, self.out.grid[2])
        width = self.source.grid[2]
        a, b = self.columns[column]
        return [r * width + c for r in range(*self.rows[row]) for c in range(a, b)]

    def about(self) -> int:
        """About how many segments of the operand all segments of the output read, by a sample."""
        return _about.get(self._key, self._sampled)

    def _sampled(self) -> int:
        some = range(0, self.out.count, 1 + self.out.count // SAMPLES)
        return self.out.count * sum(map(self._how_many, some)) // max(1, len(some))

    def _how_many(self, number: int) -> int:
        if self.separable:
            return len(self.reads(number))
        box = self._box(number)
        return 0 if box is None else self.source.touched(box)

    @property
    def _ends(self) -> tuple[Numbers, Numbers]:
        return _low_high.get(self._key, self._bounds)

    def _bounds(self) -> tuple[Numbers, Numbers]:
        if self.separable:
            rows, columns = np.array(self.rows), np.array(self.columns)
            width = self.source.grid[2]
            low = rows[:, :1] * width + columns[None, :, 0]
            high = (rows[:, 1:] - 1) * width + columns[None, :, 1] - 1
            empty = (rows[:, 1:] <= rows[:, :1]) | (columns[:, 1] <= columns[:, 0])[None]
            low, high = np.where(empty, self.source.count, low), np.where(empty, -1, high)
            return low.reshape(-1), high.reshape(-1)
        boxes = [self._box(i) for i in range(self.out.count)]
        none = (self.source.count, -1)
        bounds = np.array([none if box is None else self.source.ends(box) for box in boxes])
        return bounds[:, 0], bounds[:, 1]

    @property
    def low(self) -> Numbers:
        return self._ends[0]

    @property
    def high(self) -> Numbers:
        return self._ends[1]

    @cached_property
    def still(self) -> Numbers:
        ends = np.append(self.low, self.source.count)
        return _running(np.minimum, ends[::-1])[::-1]

    @cached_property
    def newest(self) -> Numbers:
        return _running(np.maximum, self.high)


def _running(ufunc: Any, values: Numbers) -> Numbers:
    result: Numbers = ufunc.accumulate(values)
    return result
