"""Addresses of what must lie at one address, beside all addresses that there are."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest

from planners.audits.foreign import ForeignTensor
from planners.audits.verdict.buffers import pack_buffers
from planners.core.progress import Clock

UNIT = 4


def drawn(seed: int) -> list[ForeignTensor]:
    """Few tensors in fewer buffers, whose sizes need not be equal, nor those of their units."""
    rng = random.Random(seed)
    names, tensors = "abcd"[: rng.randint(2, 4)], []
    for number in range(rng.randint(4, 8)):
        at, buffer = rng.randint(0, 6), rng.choice(names)
        size, end = rng.randint(1, 3 * UNIT), at + rng.randint(1, 3)
        mine = [t for t in tensors if t.buffer == buffer and t.lower < end and at < t.upper]
        if not mine:
            tensors.append(
                ForeignTensor(f"t{number}", at, end, size, alignment=UNIT, buffer=buffer)
            )
    return tensors


def extent(tensors: list[ForeignTensor], places: dict[str, int]) -> int | None:
    """Where the last of them ends; None where two are in each other's way."""
    for a, b in combinations(tensors, 2):
        at, its = places[a.buffer], places[b.buffer]
        together = a.lower < b.upper and b.lower < a.upper
        if together and at < its + b.size_bytes and its < at + a.size_bytes:
            return None
    return max(places[t.buffer] + t.size_bytes for t in tensors)


@pytest.mark.parametrize("seed", range(60))
def test_the_least_lies_between_what_is_found_and_the_bound(seed: int) -> None:
    tensors = drawn(seed)
    names = sorted({t.buffer for t in tensors})
    offsets, found, bound = pack_buffers(tensors, 0, Clock(10))
    assert extent(tensors, {t.buffer: offsets[t.id] for t in tensors}) is not None
    rooms = range(0, 3 * UNIT * len(names), UNIT)
    all_places = (
        dict(zip(names, places, strict=True)) for places in product(rooms, repeat=len(names))
    )
    least = min(e for places in all_places if (e := extent(tensors, places)) is not None)
    assert bound <= least <= found


def test_what_is_never_all_there_at_once_needs_bytes_of_its_own_too() -> None:
    """Each pair lives at once, never the three: they must lie apart all the same."""
    lives = {"a": [(0, 2), (4, 6)], "b": [(1, 3)], "c": [(2, 5)]}
    tensors = [
        ForeignTensor(f"{name}{lower}", lower, upper, 8, alignment=8, buffer=name)
        for name, each in lives.items()
        for lower, upper in each
    ]
    assert pack_buffers(tensors, 16, Clock(10))[1:] == (24, 24)
