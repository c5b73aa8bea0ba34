"""Lifetimes, what packing them gives, and the bound that needs no search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from planners.core.errors import BadInput

Status = Literal["packed", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True)
class Lifetime:
    """`size_bytes` that need one place in memory throughout the half-open `[lower, upper)`.

    The place is a multiple of `alignment`. Raises BadInput where the interval is empty, the size
    negative or the alignment less than 1.
    """

    id: str
    lower: int
    upper: int
    size_bytes: int
    alignment: int = 1

    def __post_init__(self) -> None:
        if self.upper <= self.lower:
            raise BadInput(f"lifetime {self.id!r}: upper {self.upper} is not above {self.lower}")
        if self.size_bytes < 0:
            raise BadInput(f"lifetime {self.id!r}: size {self.size_bytes} is negative")
        if self.alignment < 1:
            raise BadInput(f"lifetime {self.id!r}: alignment {self.alignment} is less than 1")


@dataclass(frozen=True, slots=True)
class Packing:
    """The answer to a packing question; `unknown` means that time ended before an answer.

    `offsets` (bytes, by id) is empty unless packed, and so is `extent_bytes`, the highest address
    in use, 0. Where infeasible, `conflict` names lifetimes that are proved not to fit together.
    `solver` is the part of the portfolio that answered.
    """

    status: Status
    offsets: Mapping[str, int]
    extent_bytes: int
    conflict: tuple[str, ...]
    solver: str
    seconds: float


def live_peak(lifetimes: Sequence[Lifetime]) -> tuple[int, int]:
    """The most bytes live at once, and the first time at which they are; (0, 0) for none."""
    change: dict[int, int] = {}
    for lifetime in lifetimes:
        change[lifetime.lower] = change.get(lifetime.lower, 0) + lifetime.size_bytes
        change[lifetime.upper] = change.get(lifetime.upper, 0) - lifetime.size_bytes
    live = peak = peak_time = 0
    for time in sorted(change):
        live += change[time]
        if live > peak:
            peak, peak_time = live, time
    return peak, peak_time


def load_lower_bound(lifetimes: Sequence[Lifetime]) -> int:
    """The most bytes live at once: no packing has a smaller extent."""
    return live_peak(lifetimes)[0]
