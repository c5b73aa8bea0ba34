"""Seconds and joules as the page has them: three digits and a suitable unit."""

from __future__ import annotations

from planners.core.units import format_quantity


def seconds_text(seconds: float) -> str:
    """Seconds in s, ms, µs or ns."""
    return format_quantity(seconds, "s", 3)


def joules_text(joules: float) -> str:
    """Joules in J, mJ, µJ or nJ."""
    return format_quantity(joules, "J", 3)


def share_text(share: float) -> str:
    """A share as percent; what is not zero never reads so."""
    return "under 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"
