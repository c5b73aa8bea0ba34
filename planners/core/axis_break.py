"""Axes of bytes whose limit lies far above what is used: they end above that, and say it."""

from __future__ import annotations

from planners.core.units import format_bytes

MOSTLY_EMPTY, ABOVE = 2, 1.25
"""Of a memory more than so many times as large as what it holds, a part is drawn."""


def drawn_bytes(used_bytes: int, limit_bytes: int) -> int:
    """How far an axis goes that starts at 0: to the limit, or, where less than half is used, a
    quarter beyond what is used.

    >>> drawn_bytes(200, 256), drawn_bytes(100, 256), drawn_bytes(0, 256)
    (256, 125, 256)
    """
    far = 0 < used_bytes * MOSTLY_EMPTY < limit_bytes
    return round(used_bytes * ABOVE) if far else limit_bytes


def free_above(used_bytes: int, limit_bytes: int, of: str = "the budget") -> str:
    """What an axis of addresses says at its top where its limit is not on it.

    >>> free_above(0xD0000, 64 * 2**20)
    '63.19 MiB free above, up to the budget of 64 MiB'
    """
    free = format_bytes(limit_bytes - used_bytes)
    return f"{free} free above, up to {of} of {format_bytes(limit_bytes)}"


def above_peak(peak_bytes: int, limit_bytes: int, of: str = "the budget") -> str:
    """What an axis of bytes held says at its top where its limit is not on it.

    >>> above_peak(0xD0000, 64 * 2**20)
    'the budget of 64 MiB is 63.19 MiB above the peak'
    """
    far = format_bytes(limit_bytes - peak_bytes)
    return f"{of} of {format_bytes(limit_bytes)} is {far} above the peak"
