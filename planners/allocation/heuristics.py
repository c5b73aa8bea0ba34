"""Packings that are quick and often succeed: list placement in many orders, repaired by promotion.

A heuristic never proves that nothing fits. All are deterministic: random numbers are seeded.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from planners.allocation.problem.instance import Instance
from planners.core.progress import Clock
from planners.core.range_maxima import range_maxima

Offsets = list[int]

MOST_PAIRS, PAIRS_A_SECOND = 2**24, 2_000_000
"""Lifetimes that live at once: a placement by size looks at each pair, about as fast."""
CLOCK_EVERY = 256  # blocks put down between two looks at the clock


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


def pairs_at_once(start: Sequence[int], stop: Sequence[int]) -> int:
    """How many pairs of the half-open `[start, stop)` share time."""
    stops = sorted(stop)
    return sum(k - bisect_right(stops, begins) for k, begins in enumerate(sorted(start)))


def can_pair(start: Sequence[int], stop: Sequence[int], clock: Clock) -> bool:
    """Whether there is time, and room, for a look at each pair that shares time."""
    return pairs_at_once(start, stop) <= min(MOST_PAIRS, PAIRS_A_SECOND * clock.left_s)


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
    offsets = [0] * len(instance)
    for block, offset in _placing(instance, near, order, best_fit, fixed or {}):
        offsets[block] = offset
    return offsets


def place_within(
    instance: Instance,
    near: Sequence[Sequence[int]],
    order: Sequence[int],
    best_fit: bool,
    clock: Clock,
) -> Offsets | None:
    """The same where all ends within the capacity; None at the first block that does not.

    Looks at the clock now and then, so that very many blocks end in time.
    """
    offsets = [0] * len(instance)
    placing = _placing(instance, near, order, best_fit, {})
    for placed, (block, offset) in enumerate(placing, 1):
        offsets[block] = offset
        if offset + instance.size[block] > instance.capacity:
            return None
        if placed % CLOCK_EVERY == 0 and clock.expired():
            return None
    return offsets


def _placing(
    instance: Instance,
    near: Sequence[Sequence[int]],
    order: Sequence[int],
    best_fit: bool,
    fixed: Mapping[int, int],
) -> Iterator[tuple[int, int]]:
    """Each block with its offset, as it is put down; those of `fixed` first."""
    taken: list[list[tuple[int, int]]] = [[] for _ in range(len(instance))]
    for block, offset in fixed.items():
        yield block, offset
        for other in near[block]:
            insort(taken[other], (offset, offset + instance.size[block]))
    for block in order:
        size = instance.size[block]
        offset = _gap(taken[block], size, instance.capacity, best_fit)
        yield block, offset
        interval = (offset, offset + size)
        for other in near[block]:
            insort(taken[other], interval)


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
    pile = range_maxima(loads, start, stop)
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
            offsets = place_within(instance, near, order, best_fit, clock)
            if offsets is not None:
                return offsets
        if clock.expired():
            return None
    return None


def ever_lower(instance: Instance, clock: Clock) -> Iterator[Offsets]:
    """Packings within capacity, each of a smaller extent than the one before, order by order."""
    if not can_pair(instance.start, instance.stop, clock):
        return
    near = neighbours(instance.start, instance.stop)
    for order in orders(instance):
        for best_fit in (False, True):
            offsets = place_within(instance, near, order, best_fit, clock)
            if offsets is not None:
                yield offsets
                instance = replace(instance, capacity=instance.extent(offsets) - 1)
        if clock.expired():
            return


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
