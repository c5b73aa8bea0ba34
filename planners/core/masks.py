"""Sets as the ones of an integer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache


def bits(mask: int) -> Iterator[int]:
    """Positions of the ones of a mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@lru_cache(1 << 17)
def positions(mask: int) -> tuple[int, ...]:
    """The same all at once, for masks that are looked at again and again."""
    return tuple(bits(mask))
