"""What computes need, all those of an operator at once, by columns or axis by axis.

Windows, products and element-wise operators read, on each axis of an operand, what follows from
the range of one axis of the output (or of the channels that are summed). So `needs_apart` is asked
for whole columns of boxes where the operator's kind says how it reads, where its calls do once for
each range of each axis, and seldom for each box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from planners.core.access import detailed, needs_apart, ways_differ
from planners.core.graph import Graph, Operator
from planners.core.program import Box
from planners.core.tables.distinct import distinct
from planners.core.tables.table import Numbers

_BY_AXIS = frozenset(
    "same channels permute slice select pad cat roll along reduce groups matmul einsum linear "
    "attention window transposed sampled nearest bilinear corners adaptive".split()
)
_MAY_VANISH = frozenset({"pad", "cat", "window", "transposed"})
"""Relations by which a box may need nothing of an operand."""


class Needed(NamedTuple):
    """Boxes of one tensor: by row of what was asked, those that need something of it."""

    row: Numbers
    tensor: str
    start: Numbers
    stop: Numbers


@dataclass(frozen=True)
class NeedsAsked:
    """Boxes of an output of an operator, and with sums the ranges of channels added to them."""

    graph: Graph
    op: Operator
    output: str
    start: Numbers
    stop: Numbers
    sums: Numbers | None
    last: bool

    def needed(self) -> Iterator[Needed]:
        """What each box needs of each tensor, as `planners.core.access.needs_apart` says it."""
        if not detailed(self.op):
            yield from self._at_once()
            return
        apart = ways_differ(self.graph, self.op, self.output)
        needs = self._by_axis() if not apart and _reads_by_axis(self.op) else None
        yield from self._by_box() if needs is None else needs

    def _at_once(self) -> Iterator[Needed]:
        """All boxes as one, whose bounds are columns: these rules compute with them as they are."""
        rows = np.arange(len(self.start))
        box: Any = tuple(zip(self.start.T, self.stop.T, strict=True))
        sums: Any = None if self.sums is None else (self.sums[:, 0], self.sums[:, 1])
        box = box[: len(self.graph.tensors[self.output].shape)]
        for name, read in needs_apart(self.graph, self.op, self.output, box, sums, self.last):
            sides = [[np.broadcast_to(end, len(rows)) for end in both] for both in read]
            yield Needed(rows, name, *(_columns(sides, side, len(rows)) for side in (0, 1)))

    def _ends(self) -> list[tuple[Numbers, Numbers]]:
        """The range of each axis of the output, and of the channels summed where there are sums."""
        rank = len(self.graph.tensors[self.output].shape)
        ends = [(self.start[:, axis], self.stop[:, axis]) for axis in range(rank)]
        return ends if self.sums is None else [*ends, (self.sums[:, 0], self.sums[:, 1])]

    def _ask(self, ranges: Sequence[tuple[int, int]]) -> dict[str, Box] | None:
        """What one box needs, by tensor; None where a tensor comes twice."""
        box, sums = tuple(ranges), None
        if self.sums is not None:
            *axes, sums = ranges
            box = tuple(axes)
        needs = needs_apart(self.graph, self.op, self.output, box, sums, self.last)
        by_name = dict(needs)
        return by_name if len(by_name) == len(needs) else None

    def _by_axis(self) -> list[Needed] | None:
        """By the ranges of each axis; None where an operand's axis follows several of them."""
        ends = self._ends()
        first = [(int(a[0]), int(b[0])) for a, b in ends]
        like = self._ask(first)
        shape = self.graph.tensors[self.output].shape
        every = self._ask([*((0, n) for n in shape), *first[len(shape) :]])
        if like is None or every is None or like.keys() != every.keys():
            return None  # One axis after the other may never lead to where a tensor is read.
        columns = {
            name: [[np.full(len(self.start), a), np.full(len(self.start), b)] for a, b in box]
            for name, box in like.items()
        }
        led: set[tuple[str, int]] = set()
        for axis, (a, b) in enumerate(ends):
            if a.min() == a.max() and b.min() == b.max():
                continue
            every, which = np.unique(a * (int(b.max()) + 1) + b, return_inverse=True)
            ranges = [divmod(code, int(b.max()) + 1) for code in every.tolist()]
            answers = []
            for each in ranges:
                answer = self._ask([*first[:axis], each, *first[axis + 1 :]])
                if answer is None or answer.keys() != like.keys():
                    return None
                answers.append(answer)
            for name, box in like.items():
                for at, side in enumerate(box):
                    sides = [answer[name][at] for answer in answers]
                    if all(each == side for each in sides):
                        continue
                    if (name, at) in led:
                        return None
                    led.add((name, at))
                    bounds = np.array(sides, np.int64)[which]
                    columns[name][at] = [bounds[:, 0], bounds[:, 1]]
        rows = np.arange(len(self.start))
        return [
            Needed(rows, name, *(_columns(axes, side, len(rows)) for side in (0, 1)))
            for name, axes in columns.items()
        ]

    def _by_box(self) -> Iterator[Needed]:
        """By different boxes, one by one."""
        every, which = distinct(*[s for both in self._ends() for s in both] or [self.start[:, 0]])
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(every) + 1))
        by_tensor: dict[str, list[tuple[Numbers, Box]]] = {}
        for at, each in enumerate(every.tolist()):
            rows = order[bounds[at] : bounds[at + 1]]
            ranges = list(zip(each[::2], each[1::2], strict=False))
            box, sums = tuple(ranges), None
            if self.sums is not None:
                box, sums = tuple(ranges[:-1]), ranges[-1]
            for name, box_read in needs_apart(
                self.graph, self.op, self.output, box, sums, self.last
            ):
                by_tensor.setdefault(name, []).append((rows, box_read))
        for name, some in by_tensor.items():
            counts = [len(rows) for rows, _ in some]
            rank = len(self.graph.tensors[name].shape)
            flat = np.array([read for _, read in some], np.int64).reshape(len(some), rank, 2)
            both = np.repeat(flat, counts, axis=0)
            rows = np.concatenate([rows for rows, _ in some])
            yield Needed(rows, name, both[:, :, 0], both[:, :, 1])


def _columns(axes: list[list[Numbers]], side: int, count: int) -> Numbers:
    if not axes:
        return np.zeros((count, 0), np.int64)
    return np.stack([both[side] for both in axes], axis=1)


def _reads_by_axis(op: Operator) -> bool:
    """Whether each axis of an operand follows one axis of the output, by the kinds of its calls."""
    words = {str(part.relation[0]) if part.relation else "" for part in op.parts}
    reads = [name for part in op.parts for name in part.reads]
    if not words <= _BY_AXIS | {""}:
        return False
    return words.isdisjoint(_MAY_VANISH) or len(set(reads)) == len(reads)
