"""Chains of timed groups: which groups follow each other, in which ways, by an estimate of time.

Runs of operators that follow each other in an order are grown as long as one group is not slower
than two. A chain's estimate knows three things of the past: when the last group is done, when the
engine that loads could be, and which bytes the last group leaves free. Kept parameters come early
where they fit into these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planners.core.bounds.floors import ProblemFloors
from planners.core.progress import Clock
from planners.core.weights import COUNTED
from planners.fusion.latency.ways import TimedWay, TimedWays

LONGEST = 24  # operators of a run
SLOWER, PATIENCE = 1.02, 1  # a run so much slower than two, so often, is not grown further
NEAR = 1.005  # two groups so near what their operators compute at least need not be one
LABELS = 8  # chains to one place that are kept


@dataclass(frozen=True, slots=True)
class Link:
    """A group of a chain, in a way; whether its kept parameters are there before it begins."""

    mask: int
    way: TimedWay
    early: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Groups up to a place, and the estimate: seconds until the last is done, and until the engine
    that loads could be; `free_bytes` are those that the last group leaves."""

    done_s: float
    loaded_s: float
    free_bytes: int
    before: Chain | None = None
    link: Link | None = None

    @property
    def links(self) -> list[Link]:
        """The first one first."""
        links = []
        at: Chain | None = self
        while at is not None and at.link is not None:
            links.append(at.link)
            at = at.before
        return links[::-1]

    def then(self, mask: int, way: TimedWay, budget_bytes: int) -> Chain:
        """With one more group."""
        pace, free = way.pace, self.free_bytes
        early = 0 < way.early_bytes <= free and self.link is not None
        if early:
            begun = max(self.done_s, self.loaded_s + pace.early_s)
            done = begun + pace.ready_s
            loaded = begun + pace.in_s - pace.early_s
        else:
            done, loaded = self.done_s + pace.alone_s, self.done_s + pace.in_s
        left = budget_bytes - way.size_bytes
        return Chain(done, min(loaded, done), left, self, Link(mask, way, early))


class Runs:
    """Runs of operators in some orders that are worth being one group, timed."""

    def __init__(self, ways: TimedWays) -> None:
        self.ways = ways
        floors = ProblemFloors(ways.graph, ways.model.machine, COUNTED)
        self.least_s = np.array([floors.compute_s(op) for op in ways.graph.operators])
        self.groups: dict[int, tuple[TimedWay, ...]] = {}
        self.orders: list[Sequence[int]] = []
        self._closer: set[int] = set()

    def time(self, masks: Iterable[int], clock: Clock) -> None:
        """Time groups to choose from."""
        for mask in masks:
            if mask not in self.groups and clock.expired():
                break
            self.timed_ways(mask)

    def grow(self, order: Sequence[int], clock: Clock) -> None:
        """Time the runs of an order, short ones first: chains are along such orders."""
        if order not in self.orders:
            self.orders.append(order)
        self._grown(order, clock)

    def _grown(self, order: Sequence[int], clock: Clock) -> None:
        count = len(order)
        best: dict[tuple[int, int], float] = {}
        growing = dict.fromkeys(range(count), 0)
        for size in range(1, min(count, LONGEST) + 1):
            for start in [at for at in growing if at + size <= count]:
                stop = start + size
                apart = min(
                    (best[start, k] + best[k, stop] for k in range(start + 1, stop)),
                    default=float("inf"),
                )
                least = self.least_s[order[start:stop]].sum()
                if apart <= NEAR * least:
                    best[start, stop] = apart
                    del growing[start]
                    continue
                mask = sum(1 << i for i in order[start:stop])
                if mask not in self.groups and clock.expired():
                    return
                timed = self.timed_ways(mask)
                alone = min((way.pace.alone_s for way in timed), default=float("inf"))
                best[start, stop] = min(alone, apart)
                growing[start] += alone > SLOWER * apart
                if not timed or growing[start] > PATIENCE:
                    del growing[start]
            for start in range(count - size + 1):  # Of runs that are not grown any more.
                stop = start + size
                if (start, stop) not in best:
                    best[start, stop] = min(
                        best[start, k] + best[k, stop] for k in range(start + 1, stop)
                    )
            clock.report(f"runs of {size} timed")
            if not growing:
                break

    def timed_ways(self, mask: int) -> tuple[TimedWay, ...]:
        """A group's timed ways, which are then of the groups to choose from."""
        if mask not in self.groups:
            self.groups[mask] = self.ways.timed_ways(mask)
        return self.groups[mask]

    def look_closer(self, chains: Iterable[Chain], clock: Clock) -> bool:
        """Time more ways of the groups of these chains; whether there were any to look at."""
        masks = dict.fromkeys(link.mask for chain in chains for link in chain.links)
        news = [mask for mask in masks if mask not in self._closer]
        for mask in news:
            if clock.expired():
                break
            self._closer.add(mask)
            self.groups[mask] = self.ways.timed_ways(mask, more=True)
        return bool(news)

    def chains(self) -> list[Chain]:
        """Chains along the orders of the groups that are known."""
        return [chain for order in self.orders for chain in self._along(order)]

    def _along(self, order: Sequence[int]) -> list[Chain]:
        place = {0: 0}
        done = 0
        for at, i in enumerate(order):
            done |= 1 << i
            place[done] = at + 1
        ends: list[list[tuple[int, int]]] = [[] for _ in range(len(order) + 1)]
        downsets = list(place)
        for start, before in enumerate(downsets):
            for stop in range(start + 1, min(len(order), start + LONGEST) + 1):
                mask = downsets[stop] & ~before
                if self.groups.get(mask):
                    ends[stop].append((start, mask))
        budget = self.ways.budget_bytes
        chains: list[list[Chain]] = [[Chain(0.0, 0.0, 0)]]
        for steps in ends[1:]:
            reached = [
                chain.then(mask, way, budget)
                for start, mask in steps
                for way in self.groups[mask]
                for chain in chains[start]
            ]
            chains.append(undominated(reached))
        return chains[-1]


def undominated(chains: Iterable[Chain]) -> list[Chain]:
    """The quickest few for which no other is done and loaded earlier and leaves more free."""
    kept: list[Chain] = []
    for chain in sorted(chains, key=lambda c: (c.done_s, c.loaded_s, -c.free_bytes)):
        if not any(
            other.loaded_s <= chain.loaded_s and other.free_bytes >= chain.free_bytes
            for other in kept
        ):
            kept.append(chain)
            if len(kept) == LABELS:
                break
    return kept
