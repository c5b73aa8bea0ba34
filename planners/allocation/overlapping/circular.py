"""Places in a circular pool: for one block after the other, in many orders.

Once round the pool, the block in front begins as far after the other as it would behind it.
Whatever sticks out comes earlier in the next order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal

from planners.allocation.overlapping.model import Places, PoolBlock, PoolPair, PoolProblem
from planners.core.progress import Clock

Pick = Literal["first", "last", "tight", "behind"]
PICKS: tuple[Pick, ...] = ("first", "last", "tight", "behind")
ROUNDS = 4  # times that each order is tried, with more repairs each time


def keeps(pair: PoolPair, ahead: int, pool: int) -> bool:
    """Whether b may begin this many bytes after a, both modulo the pool."""
    # Where one may begin with the other, so it may once round the pool.
    return pair.ab <= ahead % pool <= pool - pair.ba or (ahead % pool == 0 == pair.ba)


def search(
    part: PoolProblem, pool: int, clock: Clock, rounds: int = ROUNDS, seed: int = 0
) -> Places | None:
    """Places within the pool, or None where none were found."""
    if pool < part.floor or any(ab + ba > pool for _, _, ab, ba in part.pairs):
        return None
    random = Random(seed)
    for turn in range(rounds):
        for order in _orders(part):
            for pick in PICKS:
                places = _promote(part, pool, list(order), pick, 1 + turn, random)
                if places is not None or clock.expired():
                    return places
    return None


def tightest(part: PoolProblem, least: int, clock: Clock) -> tuple[int, Places]:
    """A small pool, `least` bytes if possible, and places in it; something even without time."""
    least = max(least, part.floor)
    placed = search(part, least, clock)
    if placed is not None:
        return least, placed
    low = least
    pool, places = min(part.lowest(order) for order in _orders(part))
    pool = max(pool, least)
    while low + part.unit < pool and not clock.expired():
        middle = low + (pool - low) // (2 * part.unit) * part.unit
        placed = search(part, middle, clock, rounds=1)
        if placed is None:
            low = middle
        else:
            pool, places = middle, placed
    return pool, places


def _orders(part: PoolProblem) -> Iterator[list[int]]:
    """Early, crowded, large, long and late blocks first."""
    blocks = part.blocks
    every = range(len(blocks))
    pile = [
        block.size + sum(blocks[j].size for j, _, _ in part.near[i])
        for i, block in enumerate(blocks)
    ]
    load = _loads(blocks)
    worst = [max(load[block.first : block.last + 1]) for block in blocks]
    yield sorted(every, key=lambda i: blocks[i].first)
    yield sorted(every, key=lambda i: (-worst[i], -blocks[i].size))
    yield sorted(every, key=lambda i: (-blocks[i].size, blocks[i].first))
    yield sorted(every, key=lambda i: (-worst[i], blocks[i].first))
    yield sorted(every, key=lambda i: blocks[i].first - blocks[i].last)
    yield sorted(every, key=lambda i: -blocks[i].last)
    yield sorted(every, key=lambda i: -pile[i])


def _loads(blocks: Sequence[PoolBlock]) -> list[int]:
    """Bytes live at each step, up to the last."""
    load = [0] * (1 + max(block.last for block in blocks))
    for block in blocks:
        for step in range(block.first, block.last + 1):
            load[step] += block.size
    return load


def _promote(
    part: PoolProblem, pool: int, order: list[int], pick: Pick, turns: int, random: Random
) -> Places | None:
    """Place in this order; move what found no place forward, and again."""
    for _ in range(turns):
        places, stuck = _place(part, pool, order, pick)
        if stuck is None:
            return tuple(places[i] for i in range(len(order)))
        at = order.index(stuck)
        order.insert(random.randrange(at) if at else 0, order.pop(at))
    return None


def _place(
    part: PoolProblem, pool: int, order: Sequence[int], pick: Pick
) -> tuple[dict[int, int], int | None]:
    """Places one after the other, up to the block that finds none."""
    places: dict[int, int] = {}
    for i in order:
        taken = [
            (places[j] - before + 1, places[j] + after)
            for j, before, after in part.near[i]
            if j in places
        ]
        at = _free(taken, pool, pick)
        if at is None:
            return places, i
        places[i] = at
    return places, None


def _free(taken: Sequence[tuple[int, int]], pool: int, pick: Pick) -> int | None:
    """A place outside the half-open ranges `taken` of a circular pool, at the edge of one."""
    gaps = _gaps(taken, pool)
    if not gaps:
        return None
    if pick == "first":
        return gaps[0][0] % pool
    if pick == "last":
        return (gaps[-1][1] - 1) % pool
    start, stop = min(gaps, key=lambda gap: gap[1] - gap[0])
    return (start if pick == "tight" else stop - 1) % pool


def _gaps(taken: Sequence[tuple[int, int]], pool: int) -> list[tuple[int, int]]:
    """What half-open ranges leave of a circular pool; a gap over its end goes on behind it."""
    ranges = []
    for start, stop in taken:
        begin = start % pool
        end = begin + stop - start
        ranges.append((begin, min(end, pool)))
        if end > pool:
            ranges.append((0, end - pool))
    gaps, reach = [], 0
    for start, stop in sorted(ranges):
        if reach < start:
            gaps.append((reach, start))
        reach = max(reach, stop)
    if reach < pool:
        gaps.append((reach, pool))
    if len(gaps) > 1 and gaps[0][0] == 0 and gaps[-1][1] == pool:
        gaps = [*gaps[1:-1], (gaps[-1][0], pool + gaps[0][1])]
    return gaps
