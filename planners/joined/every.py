"""Of a small network, every way to run it: no estimate chooses among them, the scoreboard does.

A way of blocks is any split of their operators into runs that fits the pool, each of any number of
rows, or, where these are too many, as coarse as it can be; what is in no way runs as fused groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from planners.joined.pool import RoomyBlocks
from planners.joined.stretches import Stretch, counted, joined_steps
from planners.overlap.search.chain import ChainWay, splits

MOST_OPERATORS, MOST_SEQUENCES = 6, 4000
"""Of a network that is small; of larger ones, or with more ways, only the best estimate is made."""


def every(blocks: RoomyBlocks) -> list[tuple[Stretch, ...]]:
    """All sequences of ways and fused groups; none where they are too many."""
    if len(blocks.graph.operators) > MOST_OPERATORS:
        return []
    for rows in (True, False):
        ways = [*islice(_ways(blocks, rows), MOST_SEQUENCES + 1)]
        by_first: dict[int, list[ChainWay]] = {}
        for way in ways:
            by_first.setdefault(way.first, []).append(way)
        found = [*islice(_sequences(blocks, by_first, 0), MOST_SEQUENCES + 1)]
        if max(len(ways), len(found)) <= MOST_SEQUENCES:
            return [tuple(counted(each, blocks.marks, ways) for each in some) for some in found]
    return []


def _ways(blocks: RoomyBlocks, rows: bool) -> Iterator[ChainWay]:
    """Every split of every range of blocks that fits, in any `rows` or as coarse as it can be."""
    marks = blocks.marks
    for number, first in enumerate(marks):
        for stop in marks[number + 1 :]:
            for parts in splits(first, stop, True):
                yield from blocks.split(first, stop, parts, rows=rows)
        if number + 1 < len(marks) and (way := blocks.whole(first, marks[number + 1])) is not None:
            yield way


def _sequences(
    blocks: RoomyBlocks, by_first: dict[int, list[ChainWay]], at: int
) -> Iterator[tuple[Stretch, ...]]:
    """All sequences from the mark of this number on."""
    marks = blocks.marks
    if at == len(marks) - 1:
        yield ()
        return
    for way in (None, *by_first.get(marks[at], ())):
        stop = marks[at + 1] if way is None else way.stop
        for rest in _sequences(blocks, by_first, marks.index(stop)):
            yield joined_steps((marks[at], stop, way), rest)
