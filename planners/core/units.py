"""Bytes in and out of text: `KiB` is 1024 bytes, `KB` is 1000, and both are printed as such."""

from __future__ import annotations

import re
from fractions import Fraction
from operator import index
from typing import SupportsIndex

from planners.core.errors import BadInput

_FACTORS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "pib": 2**50,
    "eib": 2**60,
}
_SIZE = re.compile(r"\s*([0-9]+(?:[._][0-9]+)*)\s*([a-z]*)\s*", re.IGNORECASE)


LARGEST = 2**63 - 1
"""More bytes than any machine can address."""


def parse_size(text: str | SupportsIndex) -> int:
    """Bytes from `"262144"`, `"256KiB"`, `"256 KiB"` or `"1.5MB"`.

    A fraction of a unit is the whole bytes in it. Raises `BadInput` for anything else, for nothing
    at all, for fractions of a byte, and for more than any machine can address.

    >>> parse_size("256 KiB"), parse_size("1.5MB"), parse_size("1.2 MiB"), parse_size(7)
    (262144, 1500000, 1258291, 7)
    """
    size, factor = _exact(text)
    if size < 1 or size > LARGEST:
        raise BadInput(f"a size is from 1 byte to 8 EiB, not {text!r:.40}")
    if size.denominator != 1 and factor == 1:
        raise BadInput(f"{text!r:.40} is not a whole number of bytes")
    return int(size)


def _exact(text: str | SupportsIndex) -> tuple[Fraction, int]:
    """The number of bytes, exactly: floats would round what is large; and the unit's bytes."""
    if not isinstance(text, str):
        try:
            return Fraction(index(text)), 1
        except TypeError:
            raise _no_size(text) from None
    match = _SIZE.fullmatch(text)
    factor = _FACTORS.get(match.group(2).lower(), 0) if match else 0
    if not match or not factor:
        raise _no_size(text)
    try:
        return Fraction(match.group(1).replace("_", "")) * factor, factor
    except ValueError:
        raise _no_size(text) from None


def _no_size(text: object) -> BadInput:
    """Made where it is raised: an error that a function holds holds the function's variables."""
    return BadInput(f"{text!r:.40} is not a size; write bytes, or e.g. 256KiB or 1.5MB")


def format_bytes(count: float) -> str:
    """A size in binary units with three significant digits.

    >>> format_bytes(262144), format_bytes(1000), format_bytes(12)
    ('256 KiB', '1000 B', '12 B')
    """
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(count) >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count:.0f} B"


def format_quantity(value: float, unit: str, digits: int = 4) -> str:
    """Seconds (`s`) or joules (`J`) in the prefix that suits them, or bytes (`bytes`).

    >>> format_quantity(8.15881e-05, "s"), format_quantity(0.01, "J", 3), format_quantity(0, "s")
    ('81.59 µs', '10 mJ', '0 s')
    """
    if unit == "bytes":
        return format_bytes(round(value))
    for prefix, factor in (("", 1.0), ("m", 1e-3), ("µ", 1e-6)):
        if value >= factor:
            return f"{value / factor:.{digits}g} {prefix}{unit}"
    return f"{value / 1e-9:.{digits}g} n{unit}" if value else f"0 {unit}"
