"""Which blocks of a network run in the pool, and which as fused groups between host and host.

Blocks lie between tensors that are alone on chip. A block that fits the pool, parameters
included, runs there: nothing but parameters crosses. One that does not runs as fused groups, what
it begins and ends with goes through the host, unless what is beside it is fused too. Which is
where is a shortest path over the blocks, in estimated seconds, or in bytes that cross.
What does not fit the pool may also run as whole tensors of which some are spilled, from host to
host too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias

from planners.core.graph import Graph
from planners.core.loops import items_of, size_of
from planners.core.program import Program
from planners.joined.pool import RoomyBlocks
from planners.overlap.search.chain import ChainWay, splits

Spilled: TypeAlias = Literal["spilled", "kept"]
SPILLED: Final = "spilled"
KEPT: Final = "kept"
Method: TypeAlias = ChainWay | Spilled | None
"""How operators run: a way in the pool, whole tensors with spills (their parameters come for each
operator, or those that several read are tensors that may be kept), or fused groups (None)."""
SLOWER = 1.2
"""Times what whole operators take, about, for a block as fused groups: halos, waits."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Operators `[first, stop)` of the default order: ways in the pool; none for fused groups, or
    for whole tensors with spills where it is `spilled`.

    So many `blocks`, of which some are `unfit`: no way of theirs in the pool was found.
    """

    first: int
    stop: int
    ways: tuple[ChainWay, ...] = ()
    blocks: int = 0
    unfit: int = 0
    spilled: Spilled | None = None

    @property
    def fused(self) -> bool:
        return not self.ways and not self.spilled

    @property
    def methods(self) -> tuple[Method, ...]:
        """Its ways in the pool; or the one way in which all of it runs."""
        return self.ways or (self.spilled,)

    @property
    def layout_key(self) -> tuple[object, ...]:
        """What its program in the pool follows from; or how else it runs."""
        if not self.ways:
            return self.methods
        return tuple(
            (
                tuple((run.form, run.operators, run.rows) for run in way.runs),
                tuple(way.packed.offsets.items()),
            )
            for way in self.ways
        )


@dataclass(frozen=True, slots=True)
class _Path:
    """How blocks up to a mark run; its cost are bytes that cross, where they count, then seconds.

    `fused`: the last of them as fused groups.
    """

    cost: tuple[float, float]
    fused: bool
    before: _Path | None = None
    way: ChainWay | None = None
    span: tuple[int, int] = (0, 0)


def best_segments(
    blocks: RoomyBlocks, ways: Sequence[ChainWay], *, by_bytes: bool = False
) -> tuple[list[Segment], tuple[float, float]]:
    """The segments of least estimated seconds, in order; `by_bytes`, of those of least bytes. With
    the bytes, where they count, and the seconds."""
    marks, by_stop = blocks.marks, dict[int, list[ChainWay]]()
    for way in ways:
        by_stop.setdefault(way.stop, []).append(way)
    # The best path to each mark that ends in the pool, and in fused groups.
    best = {(0, fused): _Path((0.0, 0.0), fused) for fused in (False, True)}
    for first, stop in pairwise(marks):
        for method in (None, *by_stop.get(stop, ())):
            span = (first if method is None else method.first), stop
            reached = [best[span[0], fused] for fused in (False, True) if (span[0], fused) in best]
            paths = [_after(path, blocks, span, method, by_bytes) for path in reached]
            if (earlier := best.get((stop, method is None))) is not None:
                paths = [earlier, *paths]
            if paths:
                best[stop, method is None] = min(paths, key=lambda path: path.cost)
    ends = [path for fused in (False, True) if (path := best.get((marks[-1], fused)))]
    path = min(ends, key=lambda path: path.cost)
    return [counted(segment, marks, ways) for segment in _joined(path)], path.cost


def _after(
    path: _Path, blocks: RoomyBlocks, span: tuple[int, int], method: ChainWay | None, by_bytes: bool
) -> _Path:
    """A path with blocks more, in the pool or as fused groups."""
    crossing = _crossing_bytes(blocks.graph, span[0]) if span[0] else 0
    moved, seconds = path.cost
    if method is None:
        moved += crossing  # What lies between groups may cross too.
        seconds += SLOWER * blocks.least_s(*span)
    else:
        moved += crossing if path.fused else 0
        seconds += sum(map(blocks.cost.seconds, method.runs))
    if path.fused != (method is None):
        seconds += crossing / blocks.machine.memory(blocks.machine.offchip).read_bytes_per_s
    return _Path((moved if by_bytes else 0, seconds), method is None, path, method, span)


def counted(segment: Segment, marks: Sequence[int], ways: Sequence[ChainWay]) -> Segment:
    """With its blocks, and those of them that no way has."""
    begun = [mark for mark in marks if segment.first <= mark < segment.stop]
    unfit = [m for m in begun if not any(way.first <= m < way.stop for way in ways)]
    return replace(segment, blocks=len(begun), unfit=len(unfit))


def _joined(path: _Path) -> list[Segment]:
    """The segments along a path."""
    segments: tuple[Segment, ...] = ()
    at: _Path | None = path
    while at is not None and at.before is not None:
        segments = joined_steps((*at.span, at.way), segments)
        at = at.before
    return [*segments]


def without_way(segments: Sequence[Segment], position: int) -> tuple[Segment, ...]:
    """The segments with fused groups for the way in the pool that runs an operator, or for the
    segment with spills that does."""
    steps: list[tuple[int, int, Method]] = []
    for segment in segments:
        if not segment.ways:
            inside = segment.first <= position < segment.stop
            steps.append((segment.first, segment.stop, None if inside else segment.spilled))
        for way in segment.ways:
            inside = way.first <= position < way.stop
            steps.append((way.first, way.stop, None if inside else way))
    joined: tuple[Segment, ...] = ()
    for step in reversed(steps):
        joined = joined_steps(step, joined)
    return joined


def joined_steps(step: tuple[int, int, Method], after: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """How operators run, in front of segments: consecutive ones of a kind are one."""
    first, stop, method = step
    if isinstance(method, ChainWay):
        segment = Segment(first, stop, (method,))
    else:
        segment = Segment(first, stop, spilled=method)
    if after and (segment.fused, segment.spilled) == (after[0].fused, after[0].spilled):
        return (
            replace(segment, stop=after[0].stop, ways=(*segment.ways, *after[0].ways)),
            *after[1:],
        )
    return (segment, *after)


def _crossing_bytes(graph: Graph, mark: int) -> int:
    """Bytes that what is held at a mark moves as it leaves and comes back."""
    crossing = {
        name
        for op in graph.operators[mark:]
        for name in op.inputs
        if graph.producer.get(name, mark) < mark
    }
    return 2 * sum(map(graph.size_bytes, crossing))


# ---- How long it takes, about, to write, stream, replay and time a program -----------------------

EACH_S = 3e-5
"""Seconds for an instruction: a program for which there is no time is not begun."""
INSTRUCTIONS = 100
"""As many are written and judged in the time between two looks of a search at its clock, about."""


def writing_s(program: Program) -> float:
    """Seconds to write, stream, replay and time a program, about."""
    return EACH_S * size_of(tuple(items_of(program)))


def looks_of(program: Program) -> int:
    """The work of writing and judging a program, in looks of a search at its clock."""
    return size_of(tuple(items_of(program))) // INSTRUCTIONS


# ---- Of a small network, every way to run it: no estimate chooses among them, the scoreboard does
# A way of blocks is any split of their operators into runs that fits the pool, each of any number
# of rows; what is in no way runs as fused groups, or as whole tensors with spills. Where these
# are too many, spills are tried only where whole tensors do not fit together, and then runs are
# as coarse as they can be.

MOST_OPERATORS, MOST_SEQUENCES = 6, 4000
"""Of a network that is small; of larger ones, or with more ways, only the best estimate is made."""


def every(blocks: RoomyBlocks, spilled: Sequence[Spilled]) -> list[tuple[Segment, ...]]:
    """All sequences of ways, fused groups and whole tensors that are `spilled` in some way; none
    where they are too many."""
    if len(blocks.graph.operators) > MOST_OPERATORS:
        return []
    for rows, spills in ((True, True), (True, False), (False, False)):
        ways = [*islice(_ways(blocks, rows), MOST_SEQUENCES + 1)]
        by_first: dict[int, list[ChainWay]] = {}
        for way in ways:
            by_first.setdefault(way.first, []).append(way)
        sequences = [*islice(_sequences(blocks, by_first, spilled, spills, 0), MOST_SEQUENCES + 1)]
        if max(len(ways), len(sequences)) <= MOST_SEQUENCES:
            return [tuple(counted(each, blocks.marks, ways) for each in some) for some in sequences]
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
) -> Iterator[tuple[Segment, ...]]:
    """All sequences from the mark of this number on; with `spills` wherever that may be."""
    marks = blocks.marks
    if at == len(marks) - 1:
        yield ()
        return
    methods: list[Method] = [None, *by_first.get(marks[at], ())]
    if spills or blocks.whole(marks[at], marks[at + 1]) is None:
        methods.extend(spilled)
    for way in methods:
        stop = way.stop if isinstance(way, ChainWay) else marks[at + 1]
        for rest in _sequences(blocks, by_first, spilled, spills, marks.index(stop)):
            yield joined_steps((marks[at], stop, way), rest)
