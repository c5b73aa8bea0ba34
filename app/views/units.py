"""Seconds and joules as text, with a unit that suits them."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """Seconds with three digits and a unit that suits them."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns" if seconds else "0 s"


def joules_text(joules: float) -> str:
    """Joules with three digits and a unit that suits them."""
    for factor, unit in ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")):
        if joules >= factor:
            return f"{joules / factor:.3g} {unit}"
    return f"{joules / 1e-9:.3g} nJ"
