"""A schedule in stretches and parts, each laid out by itself, and each stretch in its best order.

Where at most one tensor is live between two operators, what lies on either side meets in that
tensor only. Stretches lie between such places that all orders have; a stretch may run in any of
them. Its parts lie between all such places of its own order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import gcd
from typing import NamedTuple, TypeAlias

from planners.allocation.overlapping.circular import tightest
from planners.allocation.overlapping.exact import improve
from planners.allocation.overlapping.model import Places, PoolBlock, PoolProblem
from planners.core.graph import Graph
from planners.core.progress import MOST_SHARE, TRIAL_SHARE, Clock
from planners.overlap.order.orders import Distances, footprints


class PartPlaces(NamedTuple):
    """Places of a part in the least pool known; `exact` where CP-SAT sought them."""

    pool: int
    places: Places
    exact: bool = False


Known: TypeAlias = dict[tuple[Hashable, int], PartPlaces]
"""What was found of a part by its look, for the least bytes that were asked for."""


class StretchOrder:
    """A stretch in one order: its parts, and their places once searched."""

    def __init__(self, order: Sequence[int], parts: Sequence[PoolProblem]) -> None:
        self.order, self.parts = tuple(order), tuple(parts)
        self.floor = max(part.floor for part in parts)
        self.laid: list[PartPlaces] = []

    @property
    def pool(self) -> int:
        """The bytes it takes, as far as known."""
        return max(laid.pool for laid in self.laid)

    def lay(self, least: int, places: Known, clock: Clock) -> None:
        """Search quickly; parts of equal looks are searched once."""
        for part in self.parts:
            key = (part.look, least)
            if key not in places:
                share = clock.silent(TRIAL_SHARE)
                places[key] = PartPlaces(*tightest(part, least, share))
            self.laid.append(places[key])

    def improve(self, least: int, places_of: Known, clock: Clock) -> None:
        """Search the largest parts exactly, until they take `least` bytes or none is left."""
        while not clock.expired():
            at = max(range(len(self.laid)), key=lambda i: self.laid[i].pool)
            part, laid = self.parts[at], self.laid[at]
            if laid.pool <= least or laid.exact:
                return
            key = (part.look, -1)
            if key not in places_of:
                share = clock.silent(MOST_SHARE)
                pool, places, _ = improve(part, least, laid.pool, laid.places, share)
                places_of[key] = PartPlaces(pool, places)
            better = places_of[key] if places_of[key].pool <= laid.pool else laid
            self.laid[at] = better._replace(exact=True)


def best_ways(
    graph: Graph, distances: Distances, orders: Sequence[tuple[int, ...]], bound: int, clock: Clock
) -> list[StretchOrder]:
    """Of each stretch the way that takes the least bytes found; `bound` is enough for any.

    The largest stretch decides, so the time goes there, until it cannot be made smaller.
    """
    choices = stretches(graph, distances, orders)
    places: Known = {}
    best: list[StretchOrder] = []
    least = bound
    for ways in choices:
        best.append(_first(ways, least, places, clock))
        least = max(least, best[-1].pool)
    least, left = bound, set(range(len(best)))
    while left and not clock.expired():
        at = max(left, key=lambda i: best[i].pool)
        if best[at].pool <= least:
            break
        left.remove(at)
        best[at] = _improved(choices[at], best[at], least, places, clock)
        least = max(least, best[at].pool)
    return best


def _first(ways: Sequence[StretchOrder], least: int, places: Known, clock: Clock) -> StretchOrder:
    """The way of least bytes by quick searches; the first that takes no more than `least`."""
    for way in ways:
        way.lay(least, places, clock)
        if way.pool <= least or clock.expired():
            break
    return min((way for way in ways if way.laid), key=lambda way: way.pool)


def _improved(
    ways: Sequence[StretchOrder], best: StretchOrder, least: int, places: Known, clock: Clock
) -> StretchOrder:
    """The way of least bytes by exact searches of all that may have fewer than the best."""
    for way in sorted(ways, key=lambda way: way.floor):
        if way.floor < best.pool and best.pool > least and not clock.expired():
            if not way.laid:
                way.lay(least, places, clock)
            way.improve(least, places, clock)
            best = min(best, way, key=lambda way: way.pool)
    return best


def blocks_of(graph: Graph, order: Sequence[int]) -> list[PoolBlock]:
    """All tensors that operators touch, from the first step that does to the last."""
    step = {position: i for i, position in enumerate(order)}
    blocks = []
    for name, tensor in graph.tensors.items():
        steps = [step[position] for position in graph.consumers[name]]
        if name in graph.producer:
            steps.append(step[graph.producer[name]])
        if steps and tensor.kind != "parameter":
            blocks.append(PoolBlock(name, graph.size_bytes(name), min(steps), max(steps)))
    return blocks


def stretches(
    graph: Graph, distances: Distances, orders: Sequence[tuple[int, ...]]
) -> list[list[StretchOrder]]:
    """For each stretch its ways, one for each order that differs there."""
    cuts = [_cuts(graph, order) for order in orders]
    common = sorted(set(cuts[0]).intersection(*cuts[1:]), key=lambda done: done.bit_count())
    ends = [0, *(done.bit_count() for done in common)]
    ways: list[list[StretchOrder]] = [[] for _ in common]
    for order, own_cuts in zip(orders, cuts, strict=True):
        parts = {at: part for (at, _), part in parts_of(graph, distances, order, own_cuts)}
        for i, (start, stop) in enumerate(pairwise(ends)):
            if all(way.order != order[start:stop] for way in ways[i]):
                inside = [part for at, part in parts.items() if start <= at < stop]
                ways[i].append(StretchOrder(order[start:stop], inside))
    return ways


def _cuts(graph: Graph, order: Sequence[int]) -> list[int]:
    """The operators done, as masks, wherever at most one tensor is live after them."""
    change = [0] * (len(order) + 1)
    for block in blocks_of(graph, order):
        change[block.first] += 1
        change[block.last] -= 1
    masks = accumulate(1 << position for position in order)
    return [done for done, live in zip(masks, accumulate(change)) if live <= 1]


def parts_of(
    graph: Graph, distances: Distances, order: tuple[int, ...], cuts: Sequence[int] | None = None
) -> Iterator[tuple[tuple[int, int], PoolProblem]]:
    """The parts of an order with their steps `[start, stop)`; `cuts` as masks of what is done.

    What lives on behind a part ends a step later.
    """
    ends = [done.bit_count() for done in (_cuts(graph, order) if cuts is None else cuts)]
    blocks = blocks_of(graph, order)
    unit = gcd(*(block.size for block in blocks), *distances.values())
    needs = footprints(graph, distances, order)
    for start, stop in pairwise([0, *ends]):
        inside = [
            block._replace(first=max(start, block.first), last=min(stop, block.last))
            for block in blocks
            if block.first < stop and block.last >= start
        ]
        yield (start, stop), PoolProblem(inside, distances, max(needs[start:stop]), unit)
