"""Whole numbers in whole pieces."""

from __future__ import annotations

from math import isqrt


def rounded_up(value: int, unit: int) -> int:
    """The first multiple of `unit` at or above a value.

    >>> rounded_up(13, 4)
    16
    """
    return -(-value // unit) * unit


def least_parts(count: int) -> list[int]:
    """The least size of the largest part for numbers of parts, rising: those worth a look.

    >>> least_parts(7)
    [1, 2, 3, 4, 7]
    """
    root = isqrt(count)
    large = (-(-count // parts) for parts in range(1, min(root + 1, count) + 1))
    return sorted({*range(1, root + 1), *large})
