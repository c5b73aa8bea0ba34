"""A packing question in its smallest equivalent form, and the way back to bytes.

* Sizes and capacity are divided by the sizes' greatest common divisor: blocks pushed down as far
  as they go lie on sums of sizes, so nothing is lost.
* Time shrinks to *sections*, the maximal sets of lifetimes live at once: two lifetimes overlap in
  time exactly if they share a section.
* Lifetimes that are not linked in time by others are separate questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd

from planners.allocation.problem.model import Lifetime


@dataclass(frozen=True, slots=True)
class Instance:
    """Blocks `0 … n-1` with sections `[start, stop)` and sizes in units of `unit_bytes`."""

    ids: tuple[str, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]
    size: tuple[int, ...]
    sections: int
    capacity: int
    unit_bytes: int

    def __len__(self) -> int:
        return len(self.ids)

    def loads(self) -> list[int]:
        """The sum of the sizes of the blocks in each section."""
        change = [0] * (self.sections + 1)
        for start, stop, size in zip(self.start, self.stop, self.size, strict=True):
            change[start] += size
            change[stop] -= size
        return list(accumulate(change[:-1]))

    def as_lifetimes(self) -> list[Lifetime]:
        """The blocks as lifetimes in sections, of sizes in units."""
        parts = zip(self.ids, self.start, self.stop, self.size, strict=True)
        return [Lifetime(*part) for part in parts]

    def in_bytes(self, offsets: Sequence[int]) -> dict[str, int]:
        """Offsets by block, in units, as offsets by id, in bytes."""
        return {id: offset * self.unit_bytes for id, offset in zip(self.ids, offsets, strict=True)}

    def extent(self, offsets: Sequence[int]) -> int:
        """The highest address in use, in units."""
        return max((o + s for o, s in zip(offsets, self.size, strict=True)), default=0)


def reduce(
    lifetimes: Sequence[Lifetime], capacity_bytes: int, unit_bytes: int = 0
) -> list[Instance]:
    """The independent instances of a question, in time order; sizes must be above zero.

    The unit is the greatest there can be, unless another that divides all sizes is given.
    Alignments are not in it.
    """
    unit = unit_bytes or gcd(*(lifetime.size_bytes for lifetime in lifetimes)) or 1
    return [_instance(group, capacity_bytes // unit, unit) for group in split_in_time(lifetimes)]


def split_in_time(lifetimes: Sequence[Lifetime]) -> list[list[Lifetime]]:
    """The lifetimes in groups between which nothing is live, in time order."""
    groups: list[list[Lifetime]] = []
    end = 0
    for lifetime in sorted(lifetimes, key=lambda item: (item.lower, item.upper)):
        if not groups or lifetime.lower >= end:
            groups.append([])
            end = lifetime.upper
        groups[-1].append(lifetime)
        end = max(end, lifetime.upper)
    return groups


def _instance(group: Sequence[Lifetime], capacity: int, unit: int) -> Instance:
    sections = _sections(group)
    return Instance(
        ids=tuple(item.id for item in group),
        start=tuple(sections[item.id][0] for item in group),
        stop=tuple(sections[item.id][1] for item in group),
        size=tuple(item.size_bytes // unit for item in group),
        sections=max(stop for _, stop in sections.values()),
        capacity=capacity,
        unit_bytes=unit,
    )


def _sections(group: Sequence[Lifetime]) -> Mapping[str, tuple[int, int]]:
    """Each lifetime's `[start, stop)` in sections: one ends wherever an end follows a start."""
    events = [(item.lower, 1, item.id) for item in group]
    events += [(item.upper, 0, item.id) for item in group]  # at equal times, ends come first
    closed, open_section = 0, False
    start: dict[str, int] = {}
    sections: dict[str, tuple[int, int]] = {}
    for _, begins, id in sorted(events):
        if begins:
            start[id] = closed
            open_section = True
            continue
        if open_section:
            closed += 1
            open_section = False
        sections[id] = (start[id], closed)
    return sections
