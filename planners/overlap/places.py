"""Places in a circular pool for tensors of which some may overlap.

Of two tensors that live at once, either may begin first: with a the one in front, b begins at least
`ab` bytes after it, and a, once round the pool, at least `ba` after b. Apart these are their sizes;
an output begins its distance d before an input that dies as it is written. A place is found for
one tensor after the other in many orders; whatever sticks out comes earlier in the next.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Literal, NamedTuple

from planners.progress import Clock

Pick = Literal["first", "last", "tight", "behind"]
PICKS: tuple[Pick, ...] = ("first", "last", "tight", "behind")
ROUNDS = 4  # times that each order is begun with, and mended more often each time
Places = tuple[int, ...]


class Block(NamedTuple):
    """A tensor of `size` bytes that lives from step `first` to step `last`, both included."""

    tensor: str
    size: int
    first: int
    last: int


class Pair(NamedTuple):
    """Blocks a and b live at once: b begins at least `ab` bytes after a, and a `ba` after b."""

    a: int
    b: int
    ab: int
    ba: int


class Part:
    """Blocks of a stretch of a schedule, and the pairs of them that live at once.

    `distances` are those of outputs from inputs, by (output, input), as they are where the input
    dies. `floor` bytes are needed whatever the places. All are multiples of `unit` bytes.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        distances: Mapping[tuple[str, str], int],
        floor: int,
        unit: int,
    ) -> None:
        self.blocks, self.floor, self.unit = tuple(blocks), floor, unit
        self.pairs = tuple(_pairs(self.blocks, distances))

    @cached_property
    def near(self) -> list[list[tuple[int, int, int]]]:
        """For each block the others that live at the same time: which, gap before, gap after."""
        found: list[list[tuple[int, int, int]]] = [[] for _ in self.blocks]
        for a, b, ab, ba in self.pairs:
            found[a].append((b, ab, ba))
            found[b].append((a, ba, ab))
        return found

    @cached_property
    def look(self) -> Hashable:
        """What it is without names and times: equal looks have equal places."""
        return tuple(block.size for block in self.blocks), self.pairs, self.floor


def _pairs(blocks: Sequence[Block], distances: Mapping[tuple[str, str], int]) -> Iterator[Pair]:
    live: list[int] = []
    for b in sorted(range(len(blocks)), key=lambda i: blocks[i].first):
        live = [a for a in live if blocks[a].last >= blocks[b].first]
        for a in live:
            yield Pair(
                a, b, _gap(blocks[a], blocks[b], distances), _gap(blocks[b], blocks[a], distances)
            )
        live.append(b)


def _gap(front: Block, back: Block, distances: Mapping[tuple[str, str], int]) -> int:
    """How far after `front` the other may begin at the earliest."""
    if front.first == back.last:
        return distances.get((front.tensor, back.tensor), front.size)
    return front.size


def keeps(pair: Pair, ahead: int, pool: int) -> bool:
    """Whether b may begin this many bytes after a, both modulo the pool."""
    # Where one may begin with the other, so it may once round the pool.
    return pair.ab <= ahead % pool <= pool - pair.ba or (ahead % pool == 0 == pair.ba)


def search(
    part: Part, pool: int, clock: Clock, rounds: int = ROUNDS, seed: int = 0
) -> Places | None:
    """Places within the pool, or None where none were found."""
    if pool < part.floor or any(ab + ba > pool for _, _, ab, ba in part.pairs):
        return None
    random = Random(seed)
    for turn in range(rounds):
        for order in _orders(part):
            for pick in PICKS:
                found = _promote(part, pool, list(order), pick, 1 + turn, random)
                if found is not None or clock.expired():
                    return found
    return None


def tightest(part: Part, least: int, clock: Clock) -> tuple[int, Places]:
    """A small pool, `least` bytes if possible, and places in it; something even without time."""
    least = max(least, part.floor)
    found = search(part, least, clock)
    if found is not None:
        return least, found
    low = least
    pool, places = min(_stacked(part, order) for order in _orders(part))
    pool = max(pool, least)
    while low + part.unit < pool and not clock.expired():
        middle = low + (pool - low) // (2 * part.unit) * part.unit
        found = search(part, middle, clock, rounds=1)
        if found is None:
            low = middle
        else:
            pool, places = middle, found
    return pool, places


def _stacked(part: Part, order: Sequence[int]) -> tuple[int, Places]:
    """Each block as low as possible, and the bytes that it takes; nothing goes round."""
    ceiling = 2 * sum(block.size for block in part.blocks)
    places: dict[int, int] = {}
    for i in order:
        blocked = [(0, 0)] + [
            (max(0, places[j] - before + 1), places[j] + after)
            for j, before, after in part.near[i]
            if j in places
        ]
        places[i] = _gaps(blocked, ceiling)[0][0]
    extent = max(places[i] + block.size for i, block in enumerate(part.blocks))
    return extent, tuple(places[i] for i in range(len(part.blocks)))


def _orders(part: Part) -> Iterator[list[int]]:
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


def _loads(blocks: Sequence[Block]) -> list[int]:
    """Bytes live at each step, up to the last."""
    load = [0] * (1 + max(block.last for block in blocks))
    for block in blocks:
        for step in range(block.first, block.last + 1):
            load[step] += block.size
    return load


def _promote(
    part: Part, pool: int, order: list[int], pick: Pick, turns: int, random: Random
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
    part: Part, pool: int, order: Sequence[int], pick: Pick
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
