"""Which blocks of a network run in the pool, and which as fused groups between host and host.

Blocks lie between tensors that are alone on chip. A block that fits the pool, parameters
included, runs there: nothing but parameters crosses. One that does not runs as fused groups, what
it begins and ends with goes through the host, unless what is beside it is fused too. Which is
where is a shortest path over the blocks, in estimated seconds. What does not fit the pool may also
run as whole tensors of which some are spilled, from host to host too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.joined.pool import RoomyBlocks
from planners.overlap.search.chain import ChainWay

Spilled: TypeAlias = Literal["spilled", "kept"]
SPILLED: Final = "spilled"
KEPT: Final = "kept"
How: TypeAlias = ChainWay | Spilled | None
"""How operators run: a way in the pool, whole tensors with spills (their parameters come for each
operator, or those that several read are tensors that may be kept), or fused groups (None)."""
SLOWER = 1.2
"""Times what whole operators take, about, for a block as fused groups: halos, waits."""


@dataclass(frozen=True, slots=True)
class Stretch:
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
    def hows(self) -> tuple[How, ...]:
        """Its ways in the pool; or the one way in which all of it runs."""
        return self.ways or (self.spilled,)

    @property
    def layout_key(self) -> tuple[object, ...]:
        """What its program in the pool follows from; or how else it runs."""
        if not self.ways:
            return self.hows
        return tuple(
            (
                tuple((run.form, run.operators, run.rows) for run in way.runs),
                tuple(way.packed.offsets.items()),
            )
            for way in self.ways
        )


@dataclass(frozen=True, slots=True)
class _Path:
    seconds: float
    before: _Path | None = None
    way: ChainWay | None = None
    span: tuple[int, int] = (0, 0)


def stretches(blocks: RoomyBlocks, ways: Sequence[ChainWay]) -> list[Stretch]:
    """The stretches of least estimated seconds, in order."""
    graph, marks = blocks.graph, blocks.marks
    by_stop: dict[int, list[ChainWay]] = {}
    for way in ways:
        by_stop.setdefault(way.stop, []).append(way)
    # The best path to each mark that ends in the pool (False) and in fused groups (True).
    best: dict[tuple[int, bool], _Path] = {(0, False): _Path(0.0), (0, True): _Path(0.0)}
    for first, stop in zip(marks, marks[1:], strict=False):
        crossing_s = _crossing_s(graph, blocks.machine, first)
        reached = [
            (path.seconds + _fused_s(blocks, first, stop) + (0 if fused else crossing_s), path)
            for fused in (False, True)
            if (path := best.get((first, fused))) is not None
        ]
        seconds, path = min(reached, key=lambda item: item[0])
        best[stop, True] = _Path(seconds, path, None, (first, stop))
        for way in by_stop.get(stop, ()):
            own_s = sum(map(blocks.cost.seconds, way.runs))
            crossing_s = _crossing_s(graph, blocks.machine, way.first)
            for fused in (False, True):
                before = best.get((way.first, fused))
                if before is None:
                    continue
                seconds = before.seconds + own_s + (crossing_s if fused and way.first else 0)
                known = best.get((stop, False))
                if known is None or seconds < known.seconds:
                    best[stop, False] = _Path(seconds, before, way, (way.first, stop))
    ends = [path for fused in (False, True) if (path := best.get((marks[-1], fused)))]
    found = _joined(min(ends, key=lambda path: path.seconds))
    return [counted(stretch, marks, ways) for stretch in found]


def counted(stretch: Stretch, marks: Sequence[int], ways: Sequence[ChainWay]) -> Stretch:
    """With its blocks, and those of them that no way has."""
    begun = [mark for mark in marks if stretch.first <= mark < stretch.stop]
    unfit = [m for m in begun if not any(way.first <= m < way.stop for way in ways)]
    return replace(stretch, blocks=len(begun), unfit=len(unfit))


def _joined(path: _Path) -> list[Stretch]:
    """The stretches along a path."""
    found: tuple[Stretch, ...] = ()
    at: _Path | None = path
    while at is not None and at.before is not None:
        found = joined_steps((*at.span, at.way), found)
        at = at.before
    return [*found]


def without_way(found: Sequence[Stretch], position: int) -> tuple[Stretch, ...]:
    """The stretches with fused groups for the way in the pool that runs an operator, or for the
    stretch with spills that does."""
    steps: list[tuple[int, int, How]] = []
    for stretch in found:
        if not stretch.ways:
            inside = stretch.first <= position < stretch.stop
            steps.append((stretch.first, stretch.stop, None if inside else stretch.spilled))
        for way in stretch.ways:
            inside = way.first <= position < way.stop
            steps.append((way.first, way.stop, None if inside else way))
    made: tuple[Stretch, ...] = ()
    for step in reversed(steps):
        made = joined_steps(step, made)
    return made


def joined_steps(step: tuple[int, int, How], after: tuple[Stretch, ...]) -> tuple[Stretch, ...]:
    """How operators run, in front of stretches: consecutive ones of a kind are one."""
    first, stop, how = step
    if isinstance(how, ChainWay):
        own = Stretch(first, stop, (how,))
    else:
        own = Stretch(first, stop, spilled=how)
    if after and (own.fused, own.spilled) == (after[0].fused, after[0].spilled):
        return (replace(own, stop=after[0].stop, ways=(*own.ways, *after[0].ways)), *after[1:])
    return (own, *after)


def _fused_s(blocks: RoomyBlocks, first: int, stop: int) -> float:
    return SLOWER * blocks.least_s(first, stop)


def _crossing_s(graph: Graph, machine: Machine, mark: int) -> float:
    """Seconds for what is held at a mark to leave and come back."""
    held = {
        name
        for op in graph.operators[mark:]
        for name in op.inputs
        if graph.producer.get(name, mark) < mark
    }
    rate = machine.memory(machine.offchip).read_bytes_per_s
    return 2 * sum(map(graph.size_bytes, held)) / rate
