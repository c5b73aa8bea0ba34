"""What a replay finds, in columns or one instruction after the other, and which of these it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.core.boxes import Box
from planners.core.loops import items_of, size_of
from planners.core.program import Program

MANY_INSTRUCTIONS = 1000
"""From so many on, columns are quicker than one instruction after the other."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a program holds and moves, in bytes; `fetched` are the boxes it loads, by tensor."""

    loaded_bytes: int
    stored_bytes: int
    fetched: Mapping[str, Collection[Box]]
    extent_bytes: int
    occupancy: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Replayed(Counted):
    """What a valid program does; `columns` are those that it was replayed in, if it was."""

    macs: int
    instructions: int
    columns: Any = None


def is_long(program: Program) -> bool:
    """Whether columns are quicker than one instruction after the other."""
    items = items_of(program)
    return not isinstance(items, Sequence) or size_of(items) >= MANY_INSTRUCTIONS
