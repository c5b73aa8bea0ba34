"""Blocks that share a pool, of which some may overlap: what all placements of them have in common.

Of two blocks that live at once, either may begin first: with a the one in front, b begins at least
`ab` bytes after it. Apart that is a's size; an output begins its distance d before an input that
dies as it is written, or earlier.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

Places = tuple[int, ...]


class PoolBlock(NamedTuple):
    """A block of `size` bytes that lives from step `first` to step `last`, both included."""

    name: str
    size: int
    first: int
    last: int


class PoolPair(NamedTuple):
    """Blocks a and b live at once: b begins at least `ab` bytes after a, or a `ba` after b."""

    a: int
    b: int
    ab: int
    ba: int


class PoolProblem:
    """Blocks of a stretch of a schedule, and the pairs of them that live at once.

    `distances` are those of outputs from inputs, by (output, input), as they are where the input
    dies. `floor` bytes are needed whatever the places: what the neediest step does, where it is not
    given. All are multiples of `unit` bytes.
    """

    def __init__(
        self,
        blocks: Sequence[PoolBlock],
        distances: Mapping[tuple[str, str], int],
        floor: int | None = None,
        unit: int = 1,
    ) -> None:
        self.blocks, self.distances, self.unit = tuple(blocks), distances, unit
        self._floor = floor

    @cached_property
    def floor(self) -> int:
        """A lower bound in bytes on all places."""
        if self._floor is not None:
            return self._floor
        return max(self.need(step) for step in {block.first for block in self.blocks})

    def need(self, step: int) -> int:
        """Bytes that a step takes at least: what is live, the outputs over what dies."""
        live = [block for block in self.blocks if block.first <= step <= block.last]
        total = sum(block.size for block in live)
        for output in live:
            if output.first == step:
                total -= most_shared(output.size, list(self._under(output, live)))
        return total

    def _under(self, new: PoolBlock, live: Iterable[PoolBlock]) -> Iterator[tuple[int, int]]:
        """Size and distance of the blocks that one may lie on as it is made."""
        for block in live:
            d = self.distances.get((new.name, block.name))
            if d is not None and block.last == new.first:
                yield block.size, min(new.size, d)

    @cached_property
    def pairs(self) -> tuple[PoolPair, ...]:
        """The blocks that live at once."""
        return tuple(self._pairs())

    def _pairs(self) -> Iterator[PoolPair]:
        blocks = self.blocks
        live: list[int] = []
        for b in sorted(range(len(blocks)), key=lambda i: blocks[i].first):
            live = [a for a in live if blocks[a].last >= blocks[b].first]
            for a in live:
                yield PoolPair(
                    a, b, self._gap(blocks[a], blocks[b]), self._gap(blocks[b], blocks[a])
                )
            live.append(b)

    def _gap(self, front: PoolBlock, back: PoolBlock) -> int:
        """How far after `front` the other may begin at the earliest."""
        if front.first == back.last:
            return min(front.size, self.distances.get((front.name, back.name), front.size))
        return front.size

    @cached_property
    def near(self) -> list[list[tuple[int, int, int]]]:
        """For each block the others that live at the same time: which, gap before, gap after."""
        neighbours: list[list[tuple[int, int, int]]] = [[] for _ in self.blocks]
        for a, b, ab, ba in self.pairs:
            neighbours[a].append((b, ab, ba))
            neighbours[b].append((a, ba, ab))
        return neighbours

    @cached_property
    def look(self) -> Hashable:
        """What it is without names and times: equal looks have equal places."""
        return tuple(block.size for block in self.blocks), self.pairs, self.floor

    def lowest(self, order: Sequence[int]) -> tuple[int, Places]:
        """Each block in this order as low as it can lie, and the bytes that all take."""
        places = [-1] * len(self.blocks)
        for i in order:
            taken = [(places[j] - b, places[j] + a) for j, b, a in self.near[i] if places[j] >= 0]
            at = 0
            for start, stop in sorted(taken):
                if at <= start:
                    break
                at = max(at, stop)
            places[i] = at
        extent = max(at + block.size for at, block in zip(places, self.blocks, strict=True))
        return extent, tuple(places)

    def named(self, places: Sequence[int]) -> dict[str, int]:
        """Places by the names of blocks."""
        return {block.name: at for block, at in zip(self.blocks, places, strict=True)}


def most_shared(output_bytes: int, dying: Sequence[tuple[int, int]]) -> int:
    """The most bytes that an output shares with dying inputs of (bytes, d).

    At a distance d the output's first d bytes lie in front of that input. Inputs lie apart from
    each other, so all that is shared is behind the least d.
    """
    if not dying:
        return 0
    behind = output_bytes - min(d for _, d in dying)
    return max(0, min(behind, sum(min(size, output_bytes - d) for size, d in dying)))


def turn(places: Mapping[str, int], offsets: Mapping[str, int], otherwise: int = 0) -> int:
    """How far a pool is turned so that what is placed already lies where it does."""
    return next((offsets[name] - at for name, at in places.items() if name in offsets), otherwise)


def joined(
    parts: Iterable[Mapping[str, int]], pool_bytes: int, *, from_zero: bool = False
) -> dict[str, int]:
    """Offsets in a circular pool: each part turned so that what it shares with those before stays.

    `from_zero`: the first block of a part that shares none lies at 0.
    """
    offsets: dict[str, int] = {}
    for places in parts:
        by = turn(places, offsets, -next(iter(places.values())) if from_zero else 0)
        offsets |= {name: (at + by) % pool_bytes for name, at in places.items()}
    return offsets
