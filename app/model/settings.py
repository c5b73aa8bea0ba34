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
REQUESTS = Count("SPILLWAY_REQUESTS", 2000)
"""How many requests one address may make in a minute; a page takes about thirty."""
SOCKETS = Count("SPILLWAY_SOCKETS", 128)
"""How many web sockets may be open at once."""
JOBS = Count("SPILLWAY_JOBS", 16)
"""How many jobs of one visitor may wait in the queue."""
MESSAGE = Bytes("SPILLWAY_MESSAGE", 16 * 2**20)
"""How large a message from a page may be, all of its parts together."""
UPLOADS_EACH = Bytes("SPILLWAY_UPLOADS_EACH", 512 * 2**20)
"""How much one visitor may bring in one session."""
UPLOADS = Bytes("SPILLWAY_UPLOADS", 2**30)
"""How much is kept of uploaded files, and how much of files that still arrive is held in memory."""
UPLOADS_DAYS = Count("SPILLWAY_UPLOADS_DAYS", 30)
"""For how many days a file is kept that nobody uses."""
SETTINGS: tuple[Count | Bytes, ...] = (
    SESSIONS,
    REQUESTS,
    SOCKETS,
    JOBS,
    MESSAGE,
    UPLOADS_EACH,
    UPLOADS,
    UPLOADS_DAYS,
)
