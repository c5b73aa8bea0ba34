"""Better plans near a good one: its blocks run another way, one after the other.

Which block runs how was chosen by estimated seconds. An exchange puts another way of a block, or of
several that run as one, in its place; the program is made and timed, and kept where it is better:
until no single exchange is, or the time is over. Among the ways are those in a part of the pool,
which leave room for parameters that come early.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from planners.core.details.joined import JoinedStretch
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.core.tables.build import table_of
from planners.core.tables.table import COMPUTE
from planners.joined.build import JoinedBuilder
from planners.joined.evaluator import Judge, Judged
from planners.joined.part_search import FIRST_WORK
from planners.joined.segments import KEPT, SPILLED, Method, Segment, counted, joined_steps, looks_of
from planners.overlap.search.chain import ChainWay
from planners.simulator.records.interval_columns import columns_of_intervals
from planners.wishes.language import Wish

PARTS = (1.0, 0.75, 0.5)
"""Of the pool, that ways may need."""
_NEXT: Mapping[str | None, str] = {
    "pool": "another way in the pool",
    None: "as fused groups",
    SPILLED: "as whole tensors with spills",
    KEPT: "as whole tensors with spills",
}
ENGINE, ABOUT = "compute", 1.02
"""The engine that runs operators; by how much its estimated seconds may be off."""


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """Operators `[first, stop)` in another way; as fused groups where there is none."""

    first: int
    stop: int
    way: Method = None

    def applied(self, segments: Sequence[Segment], marks: Sequence[int]) -> list[Segment] | None:
        """The segments after it; None where they are the same, or have a way over its ends, or
        where whole tensors fit without spills."""
        steps = list(_steps(segments, marks))
        inside = [step for step in steps if self.first <= step.first < self.stop]
        ends = inside and (inside[0].first, inside[-1].stop) == (self.first, self.stop)
        methods = [step.way for step in inside]
        if (
            not ends
            or methods == [self.way]
            or (self.way in (SPILLED, KEPT) and None not in methods)
        ):
            return None
        before = [step for step in steps if step.stop <= self.first]
        after = [step for step in steps if step.first >= self.stop]
        moved: tuple[Segment, ...] = ()
        for step in reversed([*before, self, *after]):
            moved = joined_steps((step.first, step.stop, step.way), moved)
        return [*moved]


def _steps(segments: Sequence[Segment], marks: Sequence[int]) -> Iterator[Exchange]:
    """The ways of segments, and their blocks that run as fused groups or with spills."""
    for segment in segments:
        if not segment.ways:
            ends, method = (
                [m for m in marks if segment.first <= m <= segment.stop],
                segment.methods[0],
            )
            yield from (Exchange(first, stop, method) for first, stop in pairwise(ends))
        yield from (Exchange(way.first, way.stop, way) for way in segment.ways)


class LocalSearch:
    """Exchanges from a plan to better ones; each turn goes on where the last one ended."""

    def __init__(self, builder: JoinedBuilder, judge: Judge, best: Judged) -> None:
        self.builder, self.judge, self.best = builder, judge, best
        self.marks = best.joined_program.blocks.marks
        self.ways = list(self._ways())
        self.exchanges = self._exchanges()
        self.part_work = FIRST_WORK // 32
        """For parts that an exchange makes anew: most of them are worse than what was there."""
        self.position = 0
        """Of the exchange that is tried next."""
        self.improved = False
        """Whether one of those before it gave a better plan: then all are tried again."""
        self.costs: list[tuple[float, Exchange]] = []
        """How much worse than the best plan each exchange from it was, as a share."""

    def run(self, clock: Clock) -> Judged:
        """The best plan found by exchanges until the clock has expired, or none is better."""
        while not self.judge.met(self.best) and self._is_left() and not clock.expired():
            claims = self.best.plan.claims
            self.builder.clock.report(
                f"other ways of blocks, {self.position + 1} of {len(self.exchanges)}",
                claims.offchip_bytes,
                claims.bound_bytes,
            )
            exchange = self.exchanges[self.position]
            self.position += 1
            self.improved |= self._better(exchange, clock)
        return self.best

    def _is_left(self) -> bool:
        """Whether an exchange is left to be tried."""
        if self.position == len(self.exchanges) and self.improved:
            self.position, self.improved = 0, False
        return self.position < len(self.exchanges)

    def _better(self, exchange: Exchange, clock: Clock) -> bool:
        """Whether an exchange gives a better plan, which then is the best."""
        exchanged = exchange.applied(self.best.joined_program.segments, self.marks)
        if exchanged is None or self._hopeless(exchange):
            return False
        segments = tuple(counted(segment, self.marks, self.ways) for segment in exchanged)
        blocks, slice_bytes = self.best.joined_program.blocks, self.best.joined_program.slice_bytes
        base = self.builder.unstreamed(blocks, segments, clock.work(self.part_work))
        program = None if base is None else self.builder.streamed(base, slice_bytes)
        if program is None:
            return False
        clock.spend(looks_of(program.program))
        value = self.judge.beforehand(program)
        if value is not None and not self.judge.aim.better(value, self.best.value):
            self.costs.append((value / self.best.value - 1, exchange))
            return False
        trial = self.judge.evaluate(program)
        self.builder.note_judged()
        if not self.judge.better(trial, self.best):
            if len(trial.lost) == len(self.best.lost):
                self.costs.append((trial.value / self.best.value - 1, exchange))
            return False
        self.best, self.costs = trial, []
        return True

    def _hopeless(self, exchange: Exchange) -> bool:
        """Whether a way in the pool alone has the engine busy for longer than the plan takes."""
        best, cost = self.best, self.best.joined_program.blocks.cost
        if (
            not isinstance(exchange.way, ChainWay)
            or best.lost
            or self.judge.chosen.objective != "latency"
        ):
            return False
        steps = _steps(best.joined_program.segments, self.marks)
        ways = [step.way for step in steps if exchange.first <= step.first < exchange.stop]
        pooled = [way for way in ways if isinstance(way, ChainWay)]
        before = sum(cost.seconds(run) for way in pooled for run in way.runs)
        after = sum(map(cost.seconds, exchange.way.runs))
        busy_s = best.trace.busy_s.get(ENGINE, 0.0) - before + after
        return len(pooled) == len(ways) and busy_s > ABOUT * best.value

    def _ways(self) -> Iterator[ChainWay]:
        """All ways of blocks in the pool, and in parts of it; each once."""
        keys = set()
        for part in PARTS:
            tight = self.builder.blocks(self.best.joined_program.blocks.slice_bytes, part)
            for way in tight.ways():
                key = (way.first, way.stop, Segment(0, 0, (way,)).layout_key)
                if key not in keys:
                    keys.add(key)
                    yield way

    def _exchanges(self) -> list[Exchange]:
        """To fused groups for wishes; to each way, those first where most is waited for; to fused
        groups, and from these to whole tensors with spills."""
        exchanges = [Exchange(way.first, way.stop, way) for way in self.ways]
        if self.best.timed or self.builder.may_judge(self.best.plan.program):
            waits = _waits(self.best, self.builder.graph)
            exchanges.sort(key=lambda exchange: -sum(waits[exchange.first : exchange.stop]))
        others = [
            Exchange(first, stop, method)
            for method in (None, *self.builder.spilled.methods)
            for first, stop in pairwise(self.marks)
        ]
        return [*map(self._wished, self.best.lost), *exchanges, *others]

    def _wished(self, wish: Wish) -> Exchange:
        """All blocks that a wish is about as fused groups, which may keep to it."""
        graph, places = self.builder.graph, list[int]()
        for name in wish.names:
            users = [*graph.consumers.get(name, ()), graph.producer.get(name, -1)]
            places += [graph.index[name]] if name in graph.index else [p for p in users if p >= 0]
        steps = list(_steps(self.best.joined_program.segments, self.marks))
        begin, end = min(places, default=0), max(places, default=self.marks[-1] - 1)
        first = max(step.first for step in steps if step.first <= begin)
        return Exchange(first, min(step.stop for step in steps if step.stop > end))

    def explained(self) -> Judged:
        """The best plan; its segments say what the next best way of a block of theirs costs."""
        best, names = self.best, [op.name for op in self.builder.graph.operators]
        explained = []
        for segment, stretch in zip(
            best.joined_program.segments, best.plan.details.stretches, strict=True
        ):
            inside = [c for c in self.costs if segment.first <= c[1].first < segment.stop]
            explained.append(_with_next(stretch, inside, names) if inside else stretch)
        details = replace(best.plan.details, stretches=tuple(explained))
        return replace(best, plan=replace(best.plan, details=details))


def _with_next(
    stretch: JoinedStretch, costs: Sequence[tuple[float, Exchange]], names: Sequence[str]
) -> JoinedStretch:
    """What is said of a segment, with what other ways of its blocks cost."""
    cost, exchange = min(costs, key=lambda pair: pair[0])
    where = " to ".join(dict.fromkeys((names[exchange.first], names[exchange.stop - 1])))
    method = _NEXT["pool" if isinstance(exchange.way, ChainWay) else exchange.way]
    tried = f"{len(costs)} other ways" if len(costs) > 1 else "one other way"
    more = f"{cost:.2%} more" if cost > 0 else "as much"
    why = f"{stretch.why}; of {tried} of a block the next best ({where}: {method}) costs {more}"
    return replace(stretch, why=why)


def _waits(judged: Judged, graph: Graph) -> list[float]:
    """Seconds for which each operator's computation was held up, in the order of a graph."""
    table = table_of(judged.plan.program)
    waits = [0.0] * len(graph.operators)
    if table is None:  # It is too long to be held.
        return waits
    columns = columns_of_intervals(judged.trace.intervals)
    operator = table.operator[columns.instruction]
    waiting = (columns.stall_s > 0) & (table.kind[columns.instruction] == COMPUTE)
    seconds = np.bincount(operator[waiting], columns.stall_s[waiting], len(table.operators))
    for name, stall_s in zip(table.operators, seconds.tolist(), strict=True):
        waits[graph.index[name]] += stall_s
    return waits
