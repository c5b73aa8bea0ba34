"""A fused group strip by strip: how many rows of each tensor there are, and which are still held.

Strip after strip, each output grows by its share of rows; what feeds it grows as far as it needs
(Optimus, section 2.3: R(l, t)), and rows stay in a circular line buffer until nothing later needs
them: the halo stays on chip. Only of maps that are held by the channel (`advance`) it cannot, and
their halo is loaded or computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planners.core.graph import Graph
from planners.core.integers import least_parts
from planners.fusion.tile.axes import Counts, columns_of, rows_of
from planners.fusion.tile.rows import OperatorRows, RowTables


@dataclass(frozen=True)
class Group:
    """Operators that run together, in the graph's order, and the tensors around them.

    `loaded` come from off chip, `made` are written here, `stored` of them go off chip; `sinks`
    are those that nothing here reads.
    """

    members: tuple[OperatorRows, ...]
    loaded: tuple[str, ...]
    made: tuple[str, ...]
    stored: frozenset[str]
    sinks: frozenset[str]

    @staticmethod
    def from_operators(graph: Graph, tables: RowTables, positions: Iterable[int]) -> Group:
        """The group of the operators at these positions."""
        members = tuple(tables[i] for i in positions)
        inside = {member.position for member in members}
        written = tuple(t for m in members for t in m.op.outputs)
        read = dict.fromkeys(t for m in members for t in m.op.inputs)
        outputs = set(graph.outputs)
        stored = frozenset(
            t for t in written if t in outputs or not inside.issuperset(graph.consumers[t])
        )
        return Group(
            members,
            tuple(t for t in read if t not in written),
            written,
            stored,
            frozenset(t for t in written if t not in read),
        )

    @property
    def tensors(self) -> tuple[str, ...]:
        return (*self.loaded, *self.made)

    def outside(self, tensor: str) -> bool:
        """Whether a tensor is known outside of the group."""
        return tensor in self.loaded or tensor in self.stored


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows by strip, for one or more ways to cut a group into strips, one after the other.

    `first` is where each way begins. After a strip there are `upto` rows of a tensor; during it,
    those from `start` on are held; `before` are there when it begins, none of them where the
    tensor is `sliced`: held by the channel.
    """

    first: Counts
    upto: dict[str, Counts]
    start: dict[str, Counts]
    before: dict[str, Counts]
    sliced: frozenset[str]

    def fresh(self, tensor: str) -> Counts:
        """The first row of a tensor that each strip loads or makes; `upto` where it does not."""
        if tensor in self.sliced:
            return self.start[tensor]
        return np.maximum(self.start[tensor], self.before[tensor])

    def held(self, *tensors: str) -> Counts:
        """The most rows of each tensor that are held at once, by way: its line buffer."""
        live = np.array([self.upto[t] - self.start[t] for t in tensors])
        return _over_strips(np.maximum, np.maximum(live, 0), self.first)

    def loaded(self, *tensors: str) -> Counts:
        """Rows of each tensor that are loaded, by way; rows that nothing needs are not."""
        gained = np.array([self.upto[t] - self.fresh(t) for t in tensors])
        return _over_strips(np.add, np.maximum(gained, 0), self.first)

    def turns(self, *tensors: str) -> Counts:
        """Strips in which rows of each tensor are made, by way."""
        begins = [(self.start if t in self.sliced else self.before)[t] for t in tensors]
        grows = np.array([self.upto[t] > begin for t, begin in zip(tensors, begins)])
        return _over_strips(np.add, grows.astype(np.int64), self.first)

    @property
    def strips(self) -> Counts:
        """How many strips each way has."""
        count = len(next(iter(self.upto.values())))
        return np.diff(np.append(self.first, count))


def _over_strips(reduce: np.ufunc, values: Counts, first: Counts) -> Counts:
    return np.asarray(reduce.reduceat(values, first, axis=1), dtype=np.int64)


def heights(graph: Graph, group: Group) -> tuple[int, ...]:
    """Rows in a strip of the tallest output that are worth a look: the least for each number of
    strips (Optimus, eq. 4, has the largest that fits). Only all rows where something needs all.
    """
    rows = max(rows_of(graph.tensors[t]) for t in group.sinks)
    if any(member.alone for member in group.members):
        return (rows,)
    return tuple(least_parts(rows))


def flow(
    graph: Graph,
    group: Group,
    rows_per_strip: Sequence[int],
    sliced: frozenset[str] = frozenset(),
) -> Flow:
    """The rows of every tensor of a group, for each of these heights of its tallest output.

    Outputs of fewer rows grow in proportion: in step where strides divide. `sliced` tensors are
    held by the channel, and so for one strip only.
    """
    sizes = {t: rows_of(graph.tensors[t]) for t in group.tensors}
    tallest = max(sizes[t] for t in group.sinks)
    strips = [-(-tallest // rows) for rows in rows_per_strip]
    first = np.concatenate(([0], np.cumsum(strips)[:-1])).astype(np.int64)
    last = np.cumsum(strips) - 1
    reached = np.concatenate(
        [rows * np.arange(1, n + 1) for rows, n in zip(rows_per_strip, strips)]
    ).astype(np.int64)
    upto: dict[str, Counts] = {}
    for tensor in group.tensors:
        share = -(-reached * sizes[tensor] // tallest) if tensor in group.sinks else 0 * reached
        upto[tensor] = np.minimum(share, sizes[tensor])
    start = {t: np.full_like(reached, sizes[t]) for t in group.tensors}
    before: dict[str, Counts] = {}
    for member in reversed(group.members):
        for output in member.op.outputs:
            upto[output][last] = sizes[output]
            before[output] = _shifted(upto[output], first)
            np.minimum(start[output], before[output], out=start[output])
        out = member.op.outputs[0]
        fresh = start[out] if out in sliced else before[out]
        later = _least_to_come(fresh, first) if out in sliced else fresh
        for window in member.windows:
            np.maximum(upto[window.tensor], window.upto[upto[out]], out=upto[window.tensor])
            if window.tensor in sliced:  # Nothing stays for later.
                low = np.where(fresh < upto[out], window.start[fresh], sizes[window.tensor])
            else:
                low = window.start[later]
            np.minimum(start[window.tensor], low, out=start[window.tensor])
    for tensor in group.loaded:
        before[tensor] = _shifted(upto[tensor], first)
        if tensor in sliced:
            np.minimum(start[tensor], upto[tensor], out=start[tensor])
    return Flow(first, upto, start, before, sliced)


def _shifted(values: Counts, first: Counts) -> Counts:
    moved = np.empty_like(values)
    moved[1:] = values[:-1]
    moved[first] = 0
    return moved


def _least_to_come(values: Counts, first: Counts) -> Counts:
    """The least of each value and those of later strips of the same way."""
    way = np.zeros_like(values)
    way[first[1:]] = 1
    apart = np.cumsum(way) * (int(values.max(initial=0)) + 1)
    least = np.minimum.accumulate((values + apart)[::-1])[::-1]
    return np.asarray(least - apart, dtype=np.int64)


# ---- A group in bands of columns, one after the other: tiles in two dimensions -------------------
# A band is as wide as its share of the outputs and what feeds it needs; columns that two bands
# need are loaded or computed for both, rows on the way stay in line buffers (cache one halo,
# recompute the other). Line buffers are as wide as the widest band.

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Bands:
    """The columns of each tensor of a group in each of `count` bands; all of them in one band."""

    count: int
    columns: Mapping[str, tuple[Range, ...]]

    def widest(self, graph: Graph, tensor: str) -> int:
        """The most columns of a tensor in a band."""
        if self.count == 1:
            return columns_of(graph.tensors[tensor])
        return max(stop - start for start, stop in self.columns[tensor])

    def total(self, graph: Graph, tensor: str) -> int:
        """The columns of a tensor in all bands together."""
        if self.count == 1:
            return columns_of(graph.tensors[tensor])
        return sum(stop - start for start, stop in self.columns[tensor])


WHOLE = Bands(1, {})


def bands(graph: Graph, group: Group, count: int) -> Bands | None:
    """A group in so many bands; None where columns are not independent, or go off chip on the way.

    Outputs of fewer columns are shared in proportion.
    """
    if count == 1:
        return WHOLE
    if group.stored - group.sinks or any(not m.columns for m in group.members):
        return None
    if min(columns_of(graph.tensors[t]) for t in group.sinks) < count:
        return None
    ranges_of: dict[str, list[Range]] = {}
    for tensor in group.sinks:
        width = columns_of(graph.tensors[tensor])
        ends = [-(-width * k // count) for k in range(count + 1)]
        ranges_of[tensor] = list(zip(ends, ends[1:]))
    for member in reversed(group.members):
        out = member.op.outputs[0]
        ranges_of[out] = _joined(ranges_of[out], columns_of(graph.tensors[out]))
        for window in member.columns:
            wanted = [
                (int(window.start[start]), int(window.upto[stop])) for start, stop in ranges_of[out]
            ]
            before = ranges_of.get(window.tensor)
            if before is not None:
                wanted = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(wanted, before)]
            ranges_of[window.tensor] = wanted
    if any(start >= stop for ranges in ranges_of.values() for start, stop in ranges):
        return None
    return Bands(count, {name: tuple(ranges) for name, ranges in ranges_of.items()})


def _joined(ranges: list[Range], width: int) -> list[Range]:
    """The same without gaps, so that all columns are made."""
    joined: list[Range] = []
    for start, stop in ranges:
        joined.append((min(start, joined[-1][1]) if joined else 0, stop))
    joined[-1] = (joined[-1][0], width)
    return joined
