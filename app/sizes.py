"""Budgets as a person writes them and as a worker takes them."""

from __future__ import annotations

from planners.units import parse_size

NAMED_BUDGETS = ("MR", "MH", "MP")


def plain_budget(text: str) -> str | int:
    """A budget as a worker takes it. Raises `BadInput` where it is neither a name nor a size."""
    name = text.strip().upper()
    return name if name in NAMED_BUDGETS else parse_size(text)


def format_exact(size: int) -> str:
    """A size in words that reads back to the same byte: KiB or MiB where that is exact."""
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return str(size)
