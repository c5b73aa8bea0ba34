"""What the search of a part found, and with how much work: more of it may find better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from planners.core.progress import Clock

Part = TypeVar("Part")

FIRST_WORK = 4096
"""Looks at the clock of a strategy in the first round: fused groups of most networks have a good
plan by then."""


@dataclass(frozen=True, slots=True)
class PartSearch(Generic[Part]):
    """A part, None where none was found; the work that its search had, in looks at the clock, and
    whether it `finished` with less."""

    part: Part | None
    work: float
    finished: bool

    @classmethod
    def of_work(cls, clock: Clock, search: Callable[[Clock], Part | None]) -> PartSearch[Part]:
        """A search with all the work that a clock has left."""
        part_clock, work = clock.share(1.0), clock.looks_left
        part = search(part_clock)
        return cls(part, work, not part_clock.cut)

    def result(self, clock: Clock) -> Part | None:
        """The part; where more work may find a better one, that is left for a turn that has it."""
        if not self.finished:
            clock.postpone()
        return self.part

    def is_enough(self, clock: Clock) -> bool:
        """Whether a search with all the work that the clock has left would find the same."""
        return self.finished or clock.looks_left <= self.work
