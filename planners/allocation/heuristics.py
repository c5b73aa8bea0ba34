"""Packings that are quick and often succeed: list placement in many orders, repaired by promotion.

A heuristic never proves that nothing fits. All are deterministic: random numbers are seeded.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from planners.allocation.problem.instance import Instance
from planners.core.progress import Clock

Offsets = list[int]


def neighbours(start: Sequence[int], stop: Sequence[int]) -> list[list[int]]:
    """For each of the half-open `[start, stop)`, those that it shares time with."""
    near: list[list[int]] = [[] for _ in start]
    live: list[int] = []
    for block in sorted(range(len(start)), key=start.__getitem__):
        live = [other for other in live if stop[other] > start[block]]
        for other in live:
            near[block].append(other)
            near[other].append(block)
        live.append(block)
    return near


def place(
    instance: Instance,
    near: Sequence[Sequence[int]],
    order: Sequence[int],
    best_fit: bool,
    fixed: Mapping[int, int] | None = None,
) -> Offsets:
    """Put the blocks down in `order`, each into the lowest (or else tightest) gap that holds it.

    The blocks of `fixed` lie at their offsets already; `order` holds all the others.
    """
    taken: list[list[tuple[int, int]]] = [[] for _ in range(len(instance))]
    offsets = [0] * len(instance)
    for block, offset in (fixed or {}).items():
        offsets[block] = offset
        for other in near[block]:
            insort(taken[other], (offset, offset + instance.size[block]))
    for block in order:
        size = instance.size[block]
        offset = _gap(taken[block], size, instance.capacity, best_fit)
        offsets[block] = offset
        interval = (offset, offset + size)
        for other in near[block]:
            insort(taken[other], interval)
    return offsets


def _gap(taken: Sequence[tuple[int, int]], size: int, capacity: int, best_fit: bool) -> int:
    cursor, best, best_room = 0, -1, capacity + 1
    for start, stop in taken:
        if start - cursor >= size:
            if not best_fit:
                return cursor
            if start - cursor < best_room:
                best, best_room = cursor, start - cursor
        if stop > cursor:
            cursor = stop
    if best_fit and size <= capacity - cursor < best_room:
        return cursor
    return best if best >= 0 else cursor


def orders(instance: Instance) -> Iterator[list[int]]:
    """Orders worth trying: by size, length, area, height of the pile around, and time."""
    loads = instance.loads()
    size, start, stop = instance.size, instance.start, instance.stop
    blocks = range(len(instance))
    pile = [max(loads[start[b] : stop[b]]) for b in blocks]
    length = [stop[b] - start[b] for b in blocks]
    yield sorted(blocks, key=lambda b: (-size[b], -length[b], start[b]))
    yield sorted(blocks, key=lambda b: (-pile[b], -size[b] * length[b]))
    yield sorted(blocks, key=lambda b: (-size[b] * length[b], start[b]))
    yield sorted(blocks, key=lambda b: (-length[b], -size[b], start[b]))
    yield sorted(blocks, key=lambda b: (-pile[b], -length[b], -size[b]))
    yield sorted(blocks, key=lambda b: (-pile[b], -size[b], -length[b]))
    yield sorted(blocks, key=lambda b: (start[b], -size[b]))
    yield sorted(blocks, key=lambda b: (-stop[b], -size[b]))
    yield sorted(blocks, key=lambda b: (start[b], -stop[b]))


def list_placement(instance: Instance, clock: Clock) -> Offsets | None:
    """The first packing within capacity that any order gives, or None."""
    near = neighbours(instance.start, instance.stop)
    for order in orders(instance):
        for best_fit in (False, True):
            offsets = place(instance, near, order, best_fit)
            if instance.extent(offsets) <= instance.capacity:
                return offsets
        if clock.expired():
            return None
    return None


def promotion(instance: Instance, clock: Clock, rounds: int, seed: int = 0) -> Offsets | None:
    """List placement again and again, the blocks that stuck out moved forward in the order.

    This is squeaky-wheel optimisation (Joslin and Clements, 1999), restarted from every order.
    """
    near, random = neighbours(instance.start, instance.stop), Random(seed)
    starts = list(orders(instance))
    for turn in range(rounds):
        order = list(starts[turn % len(starts)])
        for step in range(24):
            offsets = place(instance, near, order, best_fit=bool((turn + step) % 2))
            if instance.extent(offsets) <= instance.capacity:
                return offsets
            if clock.expired():
                return None
            order = _promote(instance, order, offsets, random)
    return None


def _promote(
    instance: Instance, order: Sequence[int], offsets: Offsets, random: Random
) -> list[int]:
    rank = {block: float(index) for index, block in enumerate(order)}
    for index, block in enumerate(order):
        if offsets[block] + instance.size[block] > instance.capacity:
            rank[block] = index * random.random()
    return sorted(order, key=lambda block: rank[block])
