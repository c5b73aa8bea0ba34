"""Bytes that a program reads and writes, by memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """MACs, and the bytes read and written in each memory of a machine, by its name."""

    macs: int
    read: Mapping[str, int]
    written: Mapping[str, int]

    def touched(self, memories: Iterable[str]) -> dict[str, int]:
        """Bytes read and written in each of these."""
        return {name: self.read.get(name, 0) + self.written.get(name, 0) for name in memories}
