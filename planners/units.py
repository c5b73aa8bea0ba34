"""Bytes in and out of text: `KiB` is 1024 bytes, `KB` is 1000, and both are printed as such."""

from __future__ import annotations

import re

from planners.errors import BadInput

_FACTORS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_SIZE = re.compile(r"\s*([0-9]+(?:[._][0-9]+)*)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(text: str | int) -> int:
    """Bytes from `"262144"`, `"256KiB"`, `"256 KiB"` or `"1.5MB"`.

    Raises `BadInput` for anything else, for nothing at all and for fractions of a byte.

    >>> parse_size("256 KiB"), parse_size("1.5MB"), parse_size(7)
    (262144, 1500000, 7)
    """
    if isinstance(text, int):
        number, factor = float(text), 1
    else:
        match = _SIZE.fullmatch(text)
        factor = _FACTORS.get(match.group(2).lower(), 0) if match else 0
        if not match or not factor:
            raise BadInput(f"{text!r} is not a size; write bytes, or e.g. 256KiB or 1.5MB")
        try:
            number = float(match.group(1).replace("_", ""))
        except ValueError:
            raise BadInput(f"{text!r} is not a size; write bytes, or e.g. 256KiB") from None
    size = round(number * factor)
    if size <= 0:
        raise BadInput(f"a size must be at least one byte, not {text!r}")
    return size


def format_bytes(count: float) -> str:
    """A size in binary units with three significant digits.

    >>> format_bytes(262144), format_bytes(1000), format_bytes(12)
    ('256 KiB', '1000 B', '12 B')
    """
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count:.0f} B"
