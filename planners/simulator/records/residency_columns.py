"""Residencies as columns: one row a residency, one a span of its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from planners.core.program import Piece, Span
from planners.core.tables.table import Numbers, Small
from planners.simulator.records.column_rows import ColumnRows
from planners.simulator.records.residency import Ending, Origin, Residency

ORIGINS: tuple[Origin, ...] = ("retrieve", "load", "compute")
ENDINGS: tuple[Ending, ...] = ("drop", "spill", "dead", "output")

_OTHERS = ("tensors", "ranks", "memories", "first", "span_start", "span_stop")


@dataclass(frozen=True)
class ResidencyColumns:
    """Residencies in program order, as `Residency` has them.

    `tensor` and `memory` are numbers of names, of which `ranks` has the axes of each tensor; boxes
    are `start` and `stop` [n, axes] ([0, 1) on axes that a tensor has not); the spans of residency
    i are rows `first[i]` to `first[i + 1]` of `span_start` and `span_stop`. `origin` and
    `ending` are numbers of `ORIGINS` and `ENDINGS`.
    """

    tensors: tuple[str, ...]
    ranks: tuple[int, ...]
    memories: tuple[str, ...]
    tensor: Numbers
    start: Numbers
    stop: Numbers
    memory: Numbers
    first: Numbers
    span_start: Numbers
    span_stop: Numbers
    start_step: Numbers
    stop_step: Numbers
    start_instruction: Numbers
    stop_instruction: Numbers
    origin: Small
    ending: Small

    def __len__(self) -> int:
        return len(self.tensor)

    @property
    def size_bytes(self) -> Numbers:
        """Bytes of each residency."""
        sizes = np.append(0, np.cumsum(self.span_stop - self.span_start))
        by_residency: Numbers = sizes[self.first[1:]] - sizes[self.first[:-1]]
        return by_residency

    def held(self, steps: int) -> Numbers:
        """The most bytes that the residencies hold at once in each of so many steps."""
        ended = np.flatnonzero(self.stop_instruction >= 0)
        size = self.size_bytes
        change = np.concatenate((-size[ended], size))  # What goes goes first.
        at = np.concatenate((self.stop_instruction[ended], self.start_instruction))
        step = np.concatenate((self.stop_step[ended] - 1, self.start_step))
        order = np.argsort(at, kind="stable")
        step, sums = step[order], change[order].cumsum()
        most: Numbers = np.append(0, sums)[np.searchsorted(step, np.arange(steps))]
        np.maximum.at(most, step, sums)  # Beside what was there when the step began.
        return most

    def at(self, rows: Numbers) -> ResidencyColumns:
        """Some of the residencies, in this order."""
        begin = self.first[rows]
        counts = self.first[rows + 1] - begin
        first = np.append(0, np.cumsum(counts))
        span = np.arange(first[-1]) - np.repeat(first[:-1] - begin, counts)
        some = {field.name: getattr(self, field.name) for field in fields(self)}
        by_stay = {name: column[rows] for name, column in some.items() if name not in _OTHERS}
        return replace(
            self,
            first=first,
            span_start=self.span_start[span],
            span_stop=self.span_stop[span],
            **by_stay,
        )

    def residencies(self) -> tuple[Residency, ...]:
        """Every residency as an object."""
        names, memories = self.tensors, self.memories
        both = np.stack((self.start, self.stop), axis=2).tolist()
        boxes = [tuple([(a, b) for a, b in axes]) for axes in both]
        tensors, firsts = self.tensor.tolist(), self.first.tolist()
        homes = self.memory.tolist()
        of_span = np.repeat(self.memory, np.diff(self.first)).tolist()
        ends = zip(of_span, self.span_start.tolist(), self.span_stop.tolist(), strict=True)
        spans = [Span(memories[at], a, b) for at, a, b in ends]
        rows = zip(
            [Piece(names[t], box[: self.ranks[t]]) for t, box in zip(tensors, boxes, strict=True)],
            [memories[at] for at in homes],
            [tuple(spans[a:b]) for a, b in zip(firsts, firsts[1:], strict=False)],
            self.start_step.tolist(),
            self.stop_step.tolist(),
            self.start_instruction.tolist(),
            self.stop_instruction.tolist(),
            [ORIGINS[at] for at in self.origin.tolist()],
            [ENDINGS[at] for at in self.ending.tolist()],
            strict=True,
        )
        return tuple([Residency(*row) for row in rows])


def columns_of_residencies(residencies: Iterable[Residency]) -> ResidencyColumns:
    """Residencies as columns."""
    columns = getattr(residencies, "columns", None)
    if isinstance(columns, ResidencyColumns):  # They are held so, or were found so.
        return columns
    some = list(residencies)
    tensors = {name: at for at, name in enumerate(dict.fromkeys(s.tensor for s in some))}
    memories = {name: at for at, name in enumerate(dict.fromkeys(s.memory for s in some))}
    ranks = {residency.tensor: len(residency.piece.box) for residency in some}
    axes = max(ranks.values(), default=0)
    boxes = [
        (*residency.piece.box, *((0, 1),) * (axes - len(residency.piece.box))) for residency in some
    ]
    ends = _numbers([[side for axis in box for side in axis] for box in boxes], 2 * axes)
    spans = _numbers([(span.start, span.stop) for residency in some for span in residency.spans], 2)
    rest = _numbers(
        [
            (
                tensors[residency.tensor],
                memories[residency.memory],
                len(residency.spans),
                residency.start_step,
                residency.stop_step,
                residency.start_instruction,
                residency.stop_instruction,
                ORIGINS.index(residency.origin),
                ENDINGS.index(residency.ending),
            )
            for residency in some
        ],
        9,
    )
    tensor, memory, counts, start_step, stop_step, begun, ended, origin, ending = rest.T
    return ResidencyColumns(
        tensors=tuple(tensors),
        ranks=tuple(ranks[name] for name in tensors),
        memories=tuple(memories),
        tensor=tensor,
        start=ends[:, ::2],
        stop=ends[:, 1::2],
        memory=memory,
        first=np.append(0, np.cumsum(counts)),
        span_start=spans[:, 0],
        span_stop=spans[:, 1],
        start_step=start_step,
        stop_step=stop_step,
        start_instruction=begun,
        stop_instruction=ended,
        origin=origin.astype(np.uint8),
        ending=ending.astype(np.uint8),
    )


def _numbers(rows: Sequence[Sequence[int]], width: int) -> Numbers:
    return np.array(rows, np.int64).reshape(len(rows), width)


class ResidencyRows(ColumnRows[Residency]):
    """Residencies that are held as columns."""

    def __init__(self, columns: ResidencyColumns) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def _some(self, rows: Numbers) -> tuple[Residency, ...]:
        return self.columns.at(rows).residencies()
