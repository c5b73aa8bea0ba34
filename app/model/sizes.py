"""Budgets and input shapes as a person writes them and as a worker takes them."""

from __future__ import annotations

import re

import planners as sp
from planners.core.input_shapes import read_input_shapes
from planners.core.units import format_bytes, parse_size

SLIDES = 160
MOST_BYTES = 2**40
NAMED_BUDGETS = ("MR", "MH", "MP")


UNITS = (("MiB", 2**20), ("KiB", 2**10), ("MB", 10**6), ("KB", 10**3))


def format_exact(size: int) -> str:
    """A size in words that reads back to the same byte, in the largest unit where that is short.

    >>> format_exact(262144), format_exact(64_000), format_exact(1_258_291), format_exact(1_234_567)
    ('256 KiB', '64 KB', '1.2 MiB', '1234567 B')
    """
    for digits in range(3):
        for unit, factor in UNITS:
            text = f"{size / factor:.{digits}f} {unit}"
            if size >= factor and parse_size(text) == size:
                return text
    return f"{size} B"


def asked_budget(text: str) -> int | str:
    """The bytes of a budget that a person or a link asks for, or the name of a named one.

    Raises `BadInput` for what is none, and for more than `MOST_BYTES`.
    """
    name = text.strip().upper()
    if name in NAMED_BUDGETS:
        return name
    size = parse_size(text.strip())
    if size > MOST_BYTES:
        raise sp.BadInput(f"{format_bytes(MOST_BYTES)} is the largest possible size")
    return size


def even_sizes(low: int, high: int) -> list[int]:
    """Whole KiB between two sizes in bytes, evenly spaced."""
    return list(range(max(1, low // 1024), high // 1024 + 2))


def even_ratios(low: int, high: int, count: int = SLIDES) -> list[int]:
    """Whole KiB from the least that holds `low` bytes up to `high`, spaced by equal ratios."""
    first, last = -(-low // 1024), max(-(-low // 1024), high // 1024 + 1)
    ratio = (last / first) ** (1 / (count - 1))
    return sorted({round(first * ratio**i) for i in range(count)})


def plain_whole(text: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`. Raises `BadInput` for anything else.

    >>> plain_whole(" 60 ", 1, 3600)
    60
    """
    wanted = f"write a whole number from {low:,} to {high:,}"
    if not re.fullmatch(r"[+-]?[0-9]+", given := text.strip()):
        raise sp.BadInput(
            f"{given!r:.40} is none: {wanted}" if given else f"Nothing there: {wanted}"
        )
    number = int(given) if len(given) < 20 else high + 1
    if not low <= number <= high:
        raise sp.BadInput(f"{given:.20} is too {'small' if number < low else 'large'}: {wanted}")
    return number


def plain_shape(text: str) -> int | list[list[int]] | dict[str, int] | None:
    """Shapes of the inputs, or sizes of axes by their names; a number alone is a batch of the
    model's own shape; empty is None.

    Raises `BadInput` for anything else.

    >>> plain_shape("1x3x224x224"), plain_shape("8"), plain_shape("")
    ([[1, 3, 224, 224]], 8, None)
    """
    if not text.strip():
        return None
    match read_input_shapes(text):
        case [[batch]]:
            return batch
        case shapes:
            return shapes
