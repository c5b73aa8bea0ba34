"""What whoever runs a server may set in the environment, each with its usual value."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

import planners as sp
from planners.core.units import format_bytes, parse_size


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number above zero; anything else counts as not set."""

    name: str
    usual: int

    @property
    def value(self) -> int:
        """As it is set now."""
        given = os.environ.get(self.name, "")
        return int(given) if given.isdecimal() and int(given) else self.usual

    def __str__(self) -> str:
        return str(self.usual)


@dataclass(frozen=True, slots=True)
class Bytes:
    """A size such as `4 MiB`; what cannot be read is told and counts as not set."""

    name: str
    usual: int

    @property
    def value(self) -> int:
        """As it is set now, in bytes."""
        if given := os.environ.get(self.name):
            try:
                return parse_size(given)
            except sp.SpillwayError as error:
                warnings.warn(f"{self.name}: {error}; the usual limit holds", stacklevel=2)
        return self.usual

    def __str__(self) -> str:
        return format_bytes(self.usual)


SESSIONS = Count("SPILLWAY_SESSIONS", 64)
"""How many visitors may have a page at once."""
