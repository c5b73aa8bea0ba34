"""A network in blocks, each in the coarsest segments that fit a budget, or run together by rows.

Where a block's tensors fit whole, each of its operators is one instruction. Elsewhere all splits
into runs are tried, by rows, and blocks joined into one run; the quickest ways that fit are a
shortest path over the cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from planners.allocation.overlapping.exact import pack_overlapping
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.overlap.kernels.candidates import RunCandidate
from planners.overlap.kernels.levels import Cost, Levels
from planners.overlap.kernels.row_lines import joins
from planners.overlap.place.packing import packing_of
from planners.overlap.search.chain import MOST_JOINED, MOST_OPERATORS, ChainWay, cuts, splits, stays
from planners.overlap.search.coarse import Coarse

NOTHING: Mapping[tuple[str, str], int] = {}
MOST_PACKED = 12
"""Splits of a block that are packed, the quickest first."""


class BlockSplits:
    """The blocks of a network whose splits are all tried, within a budget."""

    def __init__(
        self,
        graph: Graph,
        budget_bytes: int,
        cost: Cost,
        clock: Clock,
        fuse: bool = True,
        may_share: Mapping[tuple[str, str], int] = NOTHING,
    ) -> None:
        """`may_share`: by (output, input) what may overlap segment by segment."""
        self.graph, self.budget, self.cost, self.clock = graph, budget_bytes, cost, clock
        self.fuse, self.may_share, self.pixels = fuse, may_share, bool(may_share)
        self.marks = cuts(graph)
        self._known: dict[tuple[int, int], Levels] = {}

    def ways(self) -> Iterator[ChainWay]:
        """The best way of each block, and of those joined that need not lie whole."""
        tight = []
        for first, stop in zip(self.marks, self.marks[1:], strict=False):
            self.clock.report(f"blocks by rows, operator {first + 1} of {self.marks[-1]}")
            if stop - first > MOST_OPERATORS:
                continue
            way = self._whole(first, stop)
            if way is None:
                tight.append(first)
                way = self._block(first, stop)
            else:
                yield from self._ends_by_rows(first, stop)
            if way is not None:
                yield way
        yield from self.large()
        if self.fuse:
            yield from self._joined(tight)

    def _whole(self, first: int, stop: int) -> ChainWay | None:
        """Each operator at once."""
        return self._way(first, stop, list(self._wholes(first, stop)))

    def _wholes(self, first: int, stop: int) -> Iterator[RunCandidate]:
        runs = (self._levels(p, p + 1).at(0) for p in range(first, stop))
        return (run for run in runs if run is not None)

    def _ends_by_rows(self, first: int, stop: int) -> Iterator[ChainWay]:
        """Each operator at once, but those by rows that can begin before a network's input has
        come as a whole, or whose output can leave before it is made as a whole."""
        graph, runs = self.graph, list(self._wholes(first, stop))
        for position in range(first, stop):
            op = graph.operators[position]
            if {*op.inputs} & {*graph.inputs} or {*op.outputs} & {*graph.outputs}:
                quick = min(self._by_rows(position), key=self.cost.seconds)
                at = position - first
                if quick is not runs[at]:
                    changed = [*runs[:at], quick, *runs[at + 1 :]]
                    if (way := self._way(first, stop, changed)) is not None:
                        runs = changed
                        yield way

    def _by_rows(self, position: int) -> Iterator[RunCandidate]:
        return (run for run in self._levels(position, position + 1) if run.rows)

    def large(self) -> Iterator[ChainWay]:
        """The ways of blocks of too many operators to try all splits: each operator alone."""
        for first, stop in zip(self.marks, self.marks[1:], strict=False):
            if stop - first > MOST_OPERATORS:
                yield from self.alone.ways(first, stop, self.clock)

    @cached_property
    def alone(self) -> Coarse:
        order = range(len(self.graph.operators))
        return Coarse(self.graph, order, self.budget, self.may_share)

    def _block(self, first: int, stop: int) -> ChainWay | None:
        """The quickest split that fits, each of its runs as coarse as it can be."""
        candidates: list[tuple[float, int, list[RunCandidate]]] = []
        for parts in splits(first, stop, self.fuse):
            runs = self._coarsest(first, stop, parts)
            if runs is not None:
                candidates.append((sum(map(self.cost.seconds, runs)), len(candidates), runs))
        candidates.sort()
        ways = (self._way(first, stop, runs) for _, _, runs in candidates[:MOST_PACKED])
        return next((way for way in ways if way is not None), None)

    def _joined(self, tight: Sequence[int]) -> Iterator[ChainWay]:
        """Runs over several blocks of which at least one does not fit whole."""
        for number, first in enumerate(self.marks[:-1]):
            for stop in self.marks[number + 2 :]:
                if stop - first > MOST_JOINED or not joins(self.graph, range(first, stop)):
                    break
                if any(first <= at < stop for at in tight) and not self.clock.expired():
                    runs = self._coarsest(first, stop, [(first, stop)])
                    way = self._way(first, stop, runs) if runs else None
                    if way is not None:
                        yield way

    def _coarsest(
        self, first: int, stop: int, parts: Sequence[tuple[int, int]]
    ) -> list[RunCandidate] | None:
        """Of each part the coarsest run with which its step fits; None where one does not."""
        levels = [self._levels(*part) for part in parts]
        runs = [run for each in levels if (run := each.at(0)) is not None]
        if len(runs) < len(parts):
            return None
        stay = self._stay(first, stop)
        for at, each in enumerate(levels):
            for run in each:
                runs[at] = run
                if packing_of(self.graph, runs, stay).need(at) <= self.budget:
                    break
            else:
                return None
        return runs

    def _levels(self, first: int, stop: int) -> Levels:
        """A range of operators as one run, with ever finer segments."""
        if (first, stop) not in self._known:
            self._known[first, stop] = Levels(self.graph, range(first, stop), self.pixels)
        return self._known[first, stop]

    def _way(self, first: int, stop: int, runs: Sequence[RunCandidate]) -> ChainWay | None:
        packing = packing_of(self.graph, runs, self._stay(first, stop))
        packed = pack_overlapping(packing, self.budget, self.budget, exact=False)
        extra = sum(run.extra_macs for run in runs)
        return ChainWay(first, stop, tuple(runs), packed, extra) if packed else None

    def _stay(self, first: int, stop: int) -> list[str]:
        ops = self.graph.operators[first:stop]
        names = (t for op in ops for t in (*op.inputs, *op.outputs))
        return [t for t in names if stays(self.graph, t, stop)]

    def tightened(self, ways: Sequence[ChainWay]) -> list[ChainWay]:
        """The same ways in less memory, where quick packings need less than the budget."""
        least = max(way.packed.bound_bytes for way in ways)
        tight = []
        for way in sorted(ways, key=lambda way: -way.packed.bound_bytes):
            packed = None
            if way.size_bytes > least and way.stop - way.first <= MOST_JOINED:
                packing = packing_of(self.graph, way.runs, self._stay(way.first, way.stop))
                packed = pack_overlapping(packing, way.size_bytes, least, exact=False)
            tight.append(replace(way, packed=packed) if packed else way)
            least = max(least, tight[-1].size_bytes)
        return sorted(tight, key=lambda way: way.first)


def quickest(ways: Iterable[ChainWay], operators: int, cost: Cost) -> list[ChainWay] | None:
    """The ways of least seconds over all operators; None where none reach the end."""
    by_first: dict[int, list[ChainWay]] = {}
    for way in ways:
        by_first.setdefault(way.first, []).append(way)
    best: dict[int, tuple[float, ChainWay | None]] = {0: (0.0, None)}
    for first in sorted(by_first):
        if first not in best:
            continue
        for way in by_first[first]:
            seconds = best[first][0] + sum(map(cost.seconds, way.runs))
            if way.stop not in best or seconds < best[way.stop][0]:
                best[way.stop] = seconds, way
    if operators not in best:
        return None
    path: list[ChainWay] = []
    at = operators
    while (step := best[at][1]) is not None:
        path.insert(0, step)
        at = step.first
    return path
