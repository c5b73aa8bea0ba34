"""Of a small network, every way to run it: no estimate chooses among them, the scoreboard does.

A way of blocks is any split of their operators into runs that fits the pool, each of any number of
rows; what is in no way runs as fused groups, or as whole tensors with spills. Where these are too
many, spills are tried only where whole tensors do not fit together, and then runs are as coarse as
they can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from planners.joined.pool import RoomyBlocks
from planners.joined.stretches import How, Spilled, Stretch, counted, joined_steps
from planners.overlap.search.chain import ChainWay, splits

MOST_OPERATORS, MOST_SEQUENCES = 6, 4000
"""Of a network that is small; of larger ones, or with more ways, only the best estimate is made."""


def every(blocks: RoomyBlocks, spilled: Sequence[Spilled]) -> list[tuple[Stretch, ...]]:
    """All sequences of ways, fused groups and whole tensors that are `spilled` in some way; none
    where they are too many."""
    if len(blocks.graph.operators) > MOST_OPERATORS:
        return []
    for rows, spills in ((True, True), (True, False), (False, False)):
        ways = [*islice(_ways(blocks, rows), MOST_SEQUENCES + 1)]
        by_first: dict[int, list[ChainWay]] = {}
        for way in ways:
            by_first.setdefault(way.first, []).append(way)
        found = [*islice(_sequences(blocks, by_first, spilled, spills, 0), MOST_SEQUENCES + 1)]
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
    blocks: RoomyBlocks,
    by_first: dict[int, list[ChainWay]],
    spilled: Sequence[Spilled],
    spills: bool,
    at: int,
) -> Iterator[tuple[Stretch, ...]]:
    """All sequences from the mark of this number on; with `spills` wherever that may be."""
    marks = blocks.marks
    if at == len(marks) - 1:
        yield ()
        return
    hows: list[How] = [None, *by_first.get(marks[at], ())]
    if spills or blocks.whole(marks[at], marks[at + 1]) is None:
        hows.extend(spilled)
    for way in hows:
        stop = way.stop if isinstance(way, ChainWay) else marks[at + 1]
        for rest in _sequences(blocks, by_first, spilled, spills, marks.index(stop)):
            yield joined_steps((marks[at], stop, way), rest)
