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
A_LOOK = 32  # blocks put down between two looks at the clock


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


def _placed(
    instance: Instance,
    near: Sequence[Sequence[int]],
    order: Sequence[int],
    best_fit: bool,
    *,
    within: bool,
) -> Iterator[Offsets | None]:
    """The same little by little: None after every few blocks, and at last the offsets.

    With `within` it ends at the first block that does not end within the capacity.
    """
    offsets = [0] * len(instance)
    for placed, (block, offset) in enumerate(_placing(instance, near, order, best_fit, {}), 1):
        offsets[block] = offset
        if within and offset + instance.size[block] > instance.capacity:
            return
        if placed % A_LOOK == 0:
            yield None
    yield offsets


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


def in_orders(instance: Instance) -> Iterator[Offsets | None]:
    """Packings within capacity, one for each order that gives one, in the lowest gaps and in the
    tightest; None in between, where a clock may be looked at."""
    near = neighbours(instance.start, instance.stop)
    for order in orders(instance):
        for best_fit in (False, True):
            yield from _placed(instance, near, order, best_fit, within=True)
            yield None


def ever_lower(instance: Instance, clock: Clock) -> Iterator[Offsets]:
    """Packings within capacity, each of a smaller extent than the one before, order by order."""
    if not can_pair(instance.start, instance.stop, clock):
        return
    near = neighbours(instance.start, instance.stop)
    for order in orders(instance):
        for best_fit in (False, True):
            for offsets in _placed(instance, near, order, best_fit, within=True):
                if offsets is not None:
                    yield offsets
                    instance = replace(instance, capacity=instance.extent(offsets) - 1)
                elif clock.expired():
                    return


def promoted(instance: Instance, rounds: int, seed: int = 0) -> Iterator[Offsets | None]:
    """List placement again and again, the blocks that stuck out moved forward in the order: a
    packing within capacity at last, if there is one; None in between.

    This is squeaky-wheel optimisation (Joslin and Clements, 1999), restarted from every order.
    """
    near, random = neighbours(instance.start, instance.stop), Random(seed)
    starts = list(orders(instance))
    for turn in range(rounds):
        order = list(starts[turn % len(starts)])
        for step in range(24):
            best_fit = bool((turn + step) % 2)
            for offsets in _placed(instance, near, order, best_fit, within=False):
                if offsets is None:
                    yield None
                elif instance.extent(offsets) <= instance.capacity:
                    yield offsets
                    return
                else:
                    order = _promote(instance, order, offsets, random)
            yield None


def first_within(tries: Iterator[Offsets | None], clock: Clock) -> Offsets | None:
    """The first packing, as far as the clock goes; the tries can be gone on with later."""
    for offsets in tries:
        if offsets is not None or clock.expired():
            return offsets
    return None


def _promote(
    instance: Instance, order: Sequence[int], offsets: Offsets, random: Random
) -> list[int]:
    rank = {block: float(index) for index, block in enumerate(order)}
    for index, block in enumerate(order):
        if offsets[block] + instance.size[block] > instance.capacity:
            rank[block] = index * random.random()
    return sorted(order, key=lambda block: rank[block])
