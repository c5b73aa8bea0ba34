"""Offsets from the lowest address on, exactly, for the few blocks of a few kernels.

Orders of placing are tried until a bound is met, then a solver decides.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from planners.allocation.overlapping.exact import least_extent
from planners.allocation.overlapping.model import PoolProblem

MOST_ORDERS = 240


@dataclass(frozen=True, slots=True)
class Packed:
    """Offsets from the lowest address, by name, the bytes in all, and a bound on them."""

    offsets: Mapping[str, int]
    size_bytes: int
    bound_bytes: int


def pack_overlapping(
    part: PoolProblem, most_bytes: int | None = None, enough: int = 0, exact: bool = True
) -> Packed | None:
    """The least bytes for all, or the first found that are `enough`.

    None where more than `most_bytes` are needed. Without `exact` no solver is used.
    """
    bound = part.floor
    if most_bytes is not None and bound > most_bytes:
        return None
    size, places = -1, tuple[int, ...]()
    for order in _orders(part):
        extent, placed = part.lowest(order)
        if size < 0 or extent < size:
            size, places = extent, placed
        if size <= max(bound, enough):
            break
    if exact and size > max(bound, enough):
        size, places, bound = least_extent(part, size, places)
    if most_bytes is not None and size > most_bytes:
        return None
    return Packed(part.named(places), size, bound)


def _orders(part: PoolProblem) -> Iterator[Sequence[int]]:
    """Orders to place in: all where there are few, else those by size and time and random ones."""
    blocks = part.blocks
    every = range(len(blocks))
    if len(blocks) <= 5:
        yield from permutations(every)
        return
    yield sorted(every, key=lambda i: (-blocks[i].size, blocks[i].first))
    yield sorted(every, key=lambda i: (blocks[i].first - blocks[i].last, -blocks[i].size))
    yield sorted(every, key=lambda i: (-blocks[i].first, -blocks[i].size))
    yield every
    rng = random.Random(len(blocks))
    for _ in range(MOST_ORDERS):
        yield rng.sample(every, len(blocks))
