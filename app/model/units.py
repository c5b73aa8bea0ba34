"""Seconds and joules as the page has them: three digits and a suitable unit."""

from __future__ import annotations

from planners.core.units import format_bytes, format_quantity


def seconds_text(seconds: float) -> str:
    """Seconds in s, ms, µs or ns."""
    return format_quantity(seconds, "s", 3)


def joules_text(joules: float) -> str:
    """Joules in J, mJ, µJ or nJ."""
    return format_quantity(joules, "J", 3)


def share_text(share: float) -> str:
    """A share as percent; what is not zero never reads so."""
    return "under 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def finely(value: float, of: str, *, sign: bool = False) -> str:
    """A quantity in four digits: three are often the same for neighbours on a front."""
    mark = ("+" if value > 0 else "−") if sign and value else "−" if value < 0 else ""
    size = abs(value)
    if of == "B":
        return mark + format_bytes(round(size))
    for factor, prefix in ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")):
        if size >= factor or factor == 1e-9:
            return f"{mark}{size / factor:.4g} {prefix}{of}"
    raise AssertionError
