"""Which rows of its inputs an operator needs for its own, and how else it can be cut.

All of it is read off `planners.core.access`, so what is planned here is what `check` requires:
windows with stride, padding and dilation, t·S + K − S rows for t (Optimus, section 2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from planners.core.access import needs, needs_of_all
from planners.core.graph import Graph, Operator, Tensor
from planners.fusion.tile.axes import Counts, RowWindow, box_of, columns_of, rows_in, rows_of
from planners.fusion.tile.cuts import content_of, cuts_of, wider


@dataclass(frozen=True)
class OperatorRows:
    """An operator as the rows that it reads and writes.

    `streams`: rows can be made from some rows of each input, so it can be fused; else `alone` says
    why not. `channels` can be made apart from each other where `sliced`, each with
    `channel_bytes` of parameters; of the inputs in `by_channel` each needs only the same channel.
    Sums over `reduced` input channels can be taken one after the other, each with
    `reduced_bytes` of parameters, where that is not 0. `by_image`: images are independent.
    `content` is equal for operators that differ in names only, and for no others.
    """

    position: int
    op: Operator
    windows: tuple[RowWindow, ...]
    columns: tuple[RowWindow, ...]
    alone: str
    sliced: bool
    channels: int
    parameter_bytes: int
    channel_bytes: int
    by_channel: frozenset[str]
    reduced: int
    reduced_bytes: int
    by_image: bool
    content: int

    @property
    def streams(self) -> bool:
        return not self.alone

    @property
    def rest_bytes(self) -> int:
        """Bytes of parameters that belong to no reduced channel: bias, batch norm."""
        return self.parameter_bytes - self.reduced * self.reduced_bytes

    def sums(self, tensor: str) -> bool:
        """Whether channels of an input can be added up one after the other."""
        return bool(self.reduced) and tensor == self.op.inputs[0] and tensor not in self.by_channel

    def adds_up(self, sliced: Collection[str]) -> bool:
        """Whether its output is a sum that grows, with these tensors held by the channel."""
        return bool(self.reduced) and any(self.sums(t) for t in self.op.inputs if t in sliced)


STRAIGHT = 64
"""Rows of a stretch that are all asked of; longer ones may be straight."""
MOST_KNOWN = 2000
"""Tables that are kept, over all graphs: the largest, of 25,000 rows, takes 400 KB."""
_known: dict[tuple[object, ...], list[tuple[Counts, Counts]]] = {}


class RowTables:
    """The rows of every operator of a graph; operators of equal content share their tables.

    Without `wide_sums` nothing is summed in parts whose accumulators are wider than its elements:
    what may be held whole between groups has no room for them.
    """

    def __init__(self, graph: Graph, columns: bool = False, wide_sums: bool = True) -> None:
        self.graph, self._with_columns, self._wide_sums = graph, columns, wide_sums
        self._made: dict[int, OperatorRows] = {}
        self._numbers: dict[tuple[object, ...], int] = {}

    def __getitem__(self, position: int) -> OperatorRows:
        if position not in self._made:
            self._made[position] = self._make(position)
        return self._made[position]

    def _make(self, position: int) -> OperatorRows:
        graph, op = self.graph, self.graph.operators[position]
        content = content_of(graph, op)
        windows = self._windows(op, content, 2)
        with_columns = self._with_columns and _has_columns(graph, op)
        columns = self._windows(op, content, 3) if with_columns else ()
        cuts = cuts_of(graph, op, windows)
        size, sliced = cuts.parameter_bytes, cuts.sliced
        adds = self._wide_sums or not wider(graph, op)
        return OperatorRows(
            position=position,
            op=op,
            windows=windows,
            columns=columns,
            alone=f"{op.name} ({op.kind}) {cuts.alone}" if cuts.alone else "",
            sliced=sliced,
            channels=cuts.channels,
            parameter_bytes=size,
            channel_bytes=size // cuts.channels if sliced else size,
            by_channel=frozenset(op.inputs[k] for k in cuts.by_channel),
            reduced=cuts.reduced if adds else 0,
            reduced_bytes=cuts.reduced_bytes if adds else 0,
            by_image=cuts.by_image,
            content=self._numbers.setdefault(content, len(self._numbers)),
        )

    def _windows(
        self, op: Operator, content: tuple[object, ...], axis: int
    ) -> tuple[RowWindow, ...]:
        """Of each input. Tables depend on the content alone, so graphs share them."""
        key = (axis, *content)
        if key not in _known:
            if len(_known) >= MOST_KNOWN:
                _known.clear()
            _known[key] = _tables(self.graph, op, self.graph.tensors[op.outputs[0]], axis)
        return tuple(RowWindow(name, *table) for name, table in zip(op.inputs, _known[key]))


def _has_columns(graph: Graph, op: Operator) -> bool:
    tensors = [graph.tensors[name] for name in (*op.inputs, *op.outputs)]
    return len(op.outputs) == 1 and all(len(tensor.shape) == 4 for tensor in tensors)


def _tables(graph: Graph, op: Operator, out: Tensor, axis: int) -> list[tuple[Counts, Counts]]:
    """The rows (axis 2) or columns (3) of each input that those of the output need.

    Asked of all rows up to each, and of all from each: through a reshape, several rows may need
    more than what each of them needs alone, since what is needed is given as one box.
    """
    count = rows_of if axis == 2 else columns_of
    size = count(out)
    sources = [graph.tensors[name] for name in op.inputs]
    upto = np.zeros((len(sources), size + 1), dtype=np.int64)
    start = np.array([[count(source)] * (size + 1) for source in sources], dtype=np.int64)

    def needed(part: tuple[int, int]) -> list[tuple[int, int]]:
        box = box_of(out, part) if axis == 2 else box_of(out, (0, rows_of(out)), columns=part)
        several = len(op.outputs) > 1  # They are made at once.
        boxes = needs_of_all(graph, op) if several else dict(needs(graph, op, out.name, box))
        pairs = [(source, boxes.get(source.name)) for source in sources]
        return [
            (count(source), 0) if box is None else rows_in(source, box) if axis == 2 else box[3]
            for source, box in pairs
        ]

    def at(y: int) -> Counts:
        """By input: the rows up to what the first y + 1 need, and those before what all from y
        need."""
        ends = ([high for _, high in needed((0, y + 1))], [low for low, _ in needed((y, size))])
        return np.array(ends, dtype=np.int64)

    both = along(at, size)
    upto[:, 1:], start[:, :-1] = both[:, 0].T, both[:, 1].T
    return list(zip(upto, start, strict=True))


def along(at: Callable[[int], Counts], size: int) -> Counts:
    """What `at` gives from 0 to below `size`, which never falls; it is asked of each place, or of
    a few in stretches that are level, and in long ones that are straight at both ends and in the
    middle."""
    values = {y: at(y) for y in {0, size - 1} if y >= 0}
    every_value = np.zeros((size, *np.shape(values.get(0, ()))), dtype=np.int64)

    def value(y: int) -> Counts:
        if y not in values:
            values[y] = at(y)
        return values[y]

    stretches = [(0, size - 1)]
    while stretches:
        low, high = stretches.pop()
        if (value(low) == value(high)).all():
            every_value[low : high + 1] = value(low)
            continue
        if high - low < STRAIGHT:
            for y in range(low, high + 1):
                every_value[y] = value(y)
            continue
        slope, rest = np.divmod(value(high) - value(low), high - low)
        middle = (low + high) // 2
        if not rest.any() and all(
            (value(y) == value(low) + slope * (y - low)).all() for y in (low + 1, high - 1, middle)
        ):
            steps = np.arange(high - low + 1).reshape(-1, *[1] * slope.ndim)
            every_value[low : high + 1] = value(low) + slope * steps
        else:
            stretches += [(low, middle), (middle, high)]
    return every_value
