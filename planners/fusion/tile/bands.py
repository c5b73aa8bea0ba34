"""A group in bands of columns, one after the other: tiles in two dimensions.

A band is as wide as its share of the outputs and what feeds it needs; columns that two bands need
are loaded or computed for both, rows on the way stay in line buffers (cache one halo, recompute
the other). Line buffers are as wide as the widest band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planners.core.graph import Graph
from planners.fusion.tile.axes import columns_of
from planners.fusion.tile.strips import Group

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
