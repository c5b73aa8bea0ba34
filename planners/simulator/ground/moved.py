"""Bytes that a program reads and writes, by memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """MACs, and the bytes read and written in each memory of a machine, by its name.

    `again` are bytes that the array reads more than once within an instruction, on top of `read`:
    they cost energy, and are no traffic.
    """

    macs: int
    read: Mapping[str, int]
    written: Mapping[str, int]
    again: Mapping[str, int] = field(default_factory=dict)

    def touched(self, memories: Iterable[str]) -> dict[str, int]:
        """Bytes read and written in each of these."""
        return {name: self.read.get(name, 0) + self.written.get(name, 0) for name in memories}
