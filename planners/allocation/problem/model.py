"""Lifetimes, what packing them gives, and the bound that needs no search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NamedTuple

from planners.core.errors import BadInput

Status = Literal["packed", "infeasible", "unknown"]


class Gap(NamedTuple):
    """In the half-open `[lower, upper)` of a lifetime only its bytes from `low` up to `high` are
    held; none where they are equal."""

    lower: int
    upper: int
    low: int = 0
    high: int = 0


class HeldPart(NamedTuple):
    """Bytes of a lifetime, from `low` up to `high` behind its offset, held in `[lower, upper)`."""

    lower: int
    upper: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Lifetime:
    """`size_bytes` that need one place in memory throughout the half-open `[lower, upper)`, but for
    what its `gaps` leave to others.

    The place is a multiple of `alignment`. Raises BadInput where the interval is empty, the size
    negative or the alignment less than 1, and for gaps that are not in order within both.
    """

    id: str
    lower: int
    upper: int
    size_bytes: int
    alignment: int = 1
    gaps: tuple[Gap, ...] = ()

    def __post_init__(self) -> None:
        if self.upper <= self.lower:
            raise BadInput(f"lifetime {self.id!r}: upper {self.upper} is not above {self.lower}")
        if self.size_bytes < 0:
            raise BadInput(f"lifetime {self.id!r}: size {self.size_bytes} is negative")
        if self.alignment < 1:
            raise BadInput(f"lifetime {self.id!r}: alignment {self.alignment} is less than 1")
        end = self.lower
        for gap in self.gaps:
            if not end <= gap.lower < gap.upper <= self.upper:
                raise BadInput(
                    f"lifetime {self.id!r}: gaps must lie within [{self.lower}, {self.upper}), one "
                    f"after another, found [{gap.lower}, {gap.upper})"
                )
            if not 0 <= gap.low <= gap.high <= self.size_bytes:
                raise BadInput(
                    f"lifetime {self.id!r}: what a gap leaves held must lie within its "
                    f"{self.size_bytes} bytes, found {gap.low}:{gap.high}"
                )
            end = gap.upper

    def held_parts(self) -> Iterator[HeldPart]:
        """What is held, in time order; nothing of no bytes or no time."""
        end = self.lower
        for gap in self.gaps:
            if end < gap.lower and self.size_bytes:
                yield HeldPart(end, gap.lower, 0, self.size_bytes)
            if gap.low < gap.high:
                yield HeldPart(*gap)
            end = gap.upper
        if end < self.upper and self.size_bytes:
            yield HeldPart(end, self.upper, 0, self.size_bytes)


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


def held_over_time(lifetimes: Iterable[Lifetime]) -> list[tuple[int, int]]:
    """The times at which what is held changes, rising, and the bytes held from each on."""
    change: dict[int, int] = {}
    for lifetime in lifetimes:
        for part in lifetime.held_parts():
            size = part.high - part.low
            change[part.lower] = change.get(part.lower, 0) + size
            change[part.upper] = change.get(part.upper, 0) - size
    times = sorted(change)
    return list(zip(times, accumulate(change[time] for time in times), strict=True))


def live_peak(lifetimes: Iterable[Lifetime]) -> tuple[int, int]:
    """The most bytes live at once, and the first time at which they are; (0, 0) for none."""
    time, peak = max(held_over_time(lifetimes), key=lambda held: held[1], default=(0, 0))
    return (peak, time) if peak else (0, 0)


def load_lower_bound(lifetimes: Sequence[Lifetime]) -> int:
    """The most bytes live at once: no packing has a smaller extent."""
    return live_peak(lifetimes)[0]
