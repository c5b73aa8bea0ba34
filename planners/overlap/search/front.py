"""The exact front of RAM against work that is repeated, over all splits of a chain into runs.

Blocks share only the tensor between them, so a network needs the most that a block needs
and repeats the sum of what they repeat. For each limit of RAM the least repeated work is a
shortest path over the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.overlap.search.chain import (
    MOST_JOINED,
    MOST_OPERATORS,
    ChainWay,
    cuts,
    joined_ways,
    ways_of_block,
)


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """A network's ways within `ram_bytes`, which the `binding` one needs, and what they repeat."""

    ram_bytes: int
    extra_macs: int
    ways: tuple[ChainWay, ...]

    @property
    def binding(self) -> ChainWay:
        return max(self.ways, key=lambda way: way.size_bytes)

    @property
    def bound_bytes(self) -> int:
        """No less RAM is possible with these ways; below `ram_bytes` only where packing gave up."""
        return max(way.packed.bound_bytes for way in self.ways)


def all_ways(graph: Graph, clock: Clock, fuse: bool = True) -> list[ChainWay]:
    """Every way of every block, and blocks joined into one run; without `fuse`, operators alone."""
    marks = cuts(graph)
    collected: list[ChainWay] = []
    for number, (first, stop) in enumerate(zip(marks, marks[1:], strict=False)):
        clock.report(f"block {number + 1} of {len(marks) - 1}")
        collected += ways_of_block(graph, first, stop, fuse)
        for end in marks[number + 2 :] if fuse else ():
            ways = joined_ways(graph, first, end) if end - first <= MOST_JOINED else []
            if not ways:
                break
            collected += ways
    return collected


def is_chain(graph: Graph) -> bool:
    """Whether all blocks are small enough to try every way."""
    marks = cuts(graph)
    return len(graph.inputs) == 1 and all(
        stop - first <= MOST_OPERATORS for first, stop in zip(marks, marks[1:], strict=False)
    )


def front(graph: Graph, ways: Sequence[ChainWay]) -> list[FrontPoint]:
    """All points that no other beats in both, the one with least repeated work first."""
    by_first: dict[int, list[ChainWay]] = {}
    for way in ways:
        by_first.setdefault(way.first, []).append(way)
    points: list[FrontPoint] = []
    limit: int | None = None
    while (point := _cheapest(by_first, len(graph.operators), limit)) is not None:
        while (smaller := _smaller(by_first, len(graph.operators), point)) is not None:
            point = smaller
        points.append(point)
        limit = point.ram_bytes - 1
    return points


def _smaller(
    by_first: dict[int, list[ChainWay]], stop: int, point: FrontPoint
) -> FrontPoint | None:
    """A point with less RAM and no more repeated work."""
    smaller = _cheapest(by_first, stop, point.ram_bytes - 1)
    return smaller if smaller is not None and smaller.extra_macs <= point.extra_macs else None


def _cheapest(
    by_first: dict[int, list[ChainWay]], stop: int, limit: int | None
) -> FrontPoint | None:
    """The ways of least repeated work within the limit; of these, of least workspace."""
    best: dict[int, tuple[int, int, ChainWay | None]] = {0: (0, 0, None)}
    for first in sorted(by_first):
        if first not in best:
            continue
        macs, work, _ = best[first]
        for way in by_first[first]:
            if limit is not None and way.size_bytes > limit:
                continue
            key = (macs + way.extra_macs, work + way.workspace_bytes)
            if way.stop not in best or key < best[way.stop][:2]:
                best[way.stop] = (*key, way)
    if stop not in best:
        return None
    ways: list[ChainWay] = []
    at = stop
    while (step := best[at][2]) is not None:
        ways.insert(0, step)
        at = step.first
    return FrontPoint(max(way.size_bytes for way in ways), best[stop][0], tuple(ways))
