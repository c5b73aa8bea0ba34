"""Exact search over skylines: which block sits lowest in one valley of what is placed so far.

The blocks placed so far have a *skyline*, the height they reach in each section; a *valley* is a
stretch of it lower than both neighbours. In a packing with the smallest sum of offsets every block
rests on the floor or on another, so one of two things is true of any valley at height h: some
block that lies within it sits at h, or everything up to its lower wall is empty. The search
branches on the first such block from the valley's left end (or its right end), or on emptiness,
in the valley with the fewest choices. Each packing with the smallest sum is reached in one way
only, so a search that ends without one is a proof.

What cuts the tree:
* *slack*: a section can lose no more bytes to emptiness than its capacity exceeds its load;
* *dominance*: no block that would fit into an empty stretch may be placed elsewhere;
* *forced moves*: a valley no block lies within is empty; one with one choice has no alternative;
* *support*: the blocks within a valley must reach its lower wall at its ends, but for the slack;
* *independence*: stretches that no block left to place connects are separate searches;
* *memory*: a skyline with the same blocks left to place fails again;
* *backjumping*: a failure is due to the sections whose skyline and blocks were looked at to prove
  it; a choice that touches none of them has no part in it, and its alternatives would fail too;
* *symmetry*: of blocks alike in all respects the first goes first.

Related: Burke, Kendall, Whitwell (2004) for the skyline, TelaMalloc (Maas et al., 2022) and
MiniMalloc (Moffitt, 2023) for sections, slack and dominance.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from planners.allocation.clock import Clock
from planners.allocation.instance import Instance

WALL = 1 << 62  # the height of what no block left to place can cross
MEMORY = 1_000_000  # failed skylines remembered at most
STOP_EVERY = 256  # nodes between two looks at the clock

Steps = list[tuple[int, int]]  # (first section, height) of each stretch of a skyline
Key = tuple[int, tuple[tuple[int, int], ...]]


class OutOfNodes(Exception):
    """The node limit of this run, or the time, has come to its end."""


class Part(NamedTuple):
    """Blocks `rest` (a bit set) still to place on the skyline `steps` of sections up to `stop`."""

    steps: Steps
    stop: int
    rest: int
    slack: list[int]


class Choice(NamedTuple):
    """Put `block` (or, if −1, nothing) at the bottom of the valley at step `at`.

    The stretch `[gap_start, gap_stop)` beside it, which may have no width, is left empty for
    `gap_height`.
    """

    at: int
    block: int
    gap_start: int
    gap_stop: int
    gap_height: int


@dataclass(frozen=True, slots=True)
class Strategy:
    """Which valley among those with as few choices (`by`), and how random the order of choices."""

    by: str
    noise: float
    seed: int


class SkylineSearch:
    """One instance and what has been learnt about it; runs may be limited and repeated."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        count, sections = len(instance), instance.sections
        self.start, self.stop, self.size = instance.start, instance.stop, instance.size
        self.area = [
            (b - a) * size for a, b, size in zip(self.start, self.stop, self.size, strict=True)
        ]
        self.starts_from = [0] * (sections + 1)
        self.stops_by = [0] * (sections + 1)
        self.covers = [0] * sections
        self.crosses = [0] * (sections + 1)
        for block in range(count):
            self._index(block)
        for section in range(sections):
            self.stops_by[section + 1] |= self.stops_by[section]
            back = sections - section - 1
            self.starts_from[back] |= self.starts_from[back + 1]
        self.twins_before = self._twins()
        self.failed: dict[Key, int] = {}  # and the sections to blame
        self.offsets = [0] * count
        self.nodes = self.limit = 0
        self.strategy = Strategy("low", 0.0, 0)
        self.random = Random(0)
        self.clock = Clock(0.0)

    def _index(self, block: int) -> None:
        bit, start, stop = 1 << block, self.start[block], self.stop[block]
        self.starts_from[start] |= bit
        self.stops_by[stop] |= bit
        for section in range(start, stop):
            self.covers[section] |= bit
        for boundary in range(start + 1, stop):
            self.crosses[boundary] |= bit

    def _twins(self) -> list[int]:
        """For each block the set of earlier blocks with its sections and size."""
        seen: dict[tuple[int, int, int], int] = {}
        before = []
        for block, kind in enumerate(zip(self.start, self.stop, self.size, strict=True)):
            before.append(seen.get(kind, 0))
            seen[kind] = seen.get(kind, 0) | 1 << block
        return before

    def run(self, strategy: Strategy, limit: int, clock: Clock) -> bool | None:
        """True with `self.offsets` set, False where none exist, None where the limit came first."""
        self.nodes, self.limit, self.clock = 0, limit, clock
        self.strategy, self.random = strategy, Random(strategy.seed)
        count, capacity = len(self.instance), self.instance.capacity
        slack = [capacity - load for load in self.instance.loads()]
        if min(slack) < 0:
            return False
        with _deep_recursion(4 * count + 1000):
            try:
                whole = Part([(0, 0)], self.instance.sections, (1 << count) - 1, slack)
                return not self._solve(whole)
            except OutOfNodes:
                return None

    def _solve(self, part: Part) -> int:
        """Place `part.rest` and return 0, or the set of sections because of which it cannot be.

        Moves without an alternative need no recursion; they wait in `trail` for the blame.
        """
        trail: list[tuple[Key, int, int]] = []
        while part.rest:
            self._count()
            key = (part.rest, tuple(part.steps))
            if blame := self.failed.get(key):
                return self._fail(trail, blame)
            choices, seen = self._choices(part)
            if len(choices) != 1:
                blame = self._branch(part, choices, seen)
                return self._fail([*trail, (key, 0, 0)], blame) if blame else 0
            trail.append((key, self._touched(choices[0]), seen))
            parts = self._apply(part, choices[0])
            if len(parts) != 1:
                blame = self._solve_all(parts)
                return self._fail(trail, blame) if blame else 0
            part = parts[0]
        return 0

    def _branch(self, part: Part, choices: list[Choice], seen: int) -> int:
        blame = seen
        for choice in choices:
            found = self._solve_all(self._apply(part, choice))
            if not found:
                return 0
            if not found & self._touched(choice):
                return found
            blame |= found
        return blame

    def _solve_all(self, parts: list[Part]) -> int:
        for part in sorted(parts, key=lambda part: part.rest.bit_count()):
            if blame := self._solve(part):
                return blame
        return 0

    def _fail(self, trail: list[tuple[Key, int, int]], blame: int) -> int:
        """Remember that every skyline on the trail fails, and return the blame of the first."""
        for key, touched, seen in reversed(trail):
            if touched & blame:
                blame |= seen
            if len(self.failed) < MEMORY:
                self.failed[key] = blame
        return blame

    def _touched(self, choice: Choice) -> int:
        """The sections whose skyline a choice changes."""
        touched = _span(choice.gap_start, choice.gap_stop)
        if choice.block >= 0:
            touched |= _span(self.start[choice.block], self.stop[choice.block])
        return touched

    def _count(self) -> None:
        self.nodes += 1
        if self.nodes > self.limit or (self.nodes % STOP_EVERY == 0 and self.clock.expired()):
            raise OutOfNodes

    def _choices(self, part: Part) -> tuple[list[Choice], int]:
        """The choices at the valley that has fewest, and the sections looked at to tell."""
        steps, last = part.steps, len(part.steps) - 1
        best: list[Choice] = []
        best_rank: tuple[int, int] | None = None
        seen = 0
        left = WALL
        for index, (start, height) in enumerate(steps):
            right_start, right = steps[index + 1] if index < last else (part.stop, WALL)
            if left > height < right:
                found = self._valley(part, index, start, right_start, height, left, right)
                if len(found) < 2:
                    return found, _span(max(0, start - 1), right_start + 1)
                tie = start if self.strategy.by == "left" else height
                if self.strategy.by == "sweep":
                    rank = (0, start)
                else:
                    rank = (len(found), tie)
                if best_rank is None or rank < best_rank:
                    best, best_rank = found, rank
                    seen = _span(max(0, start - 1), right_start + 1)
            left = height
        return self._ordered(best), seen

    def _valley(
        self, part: Part, index: int, start: int, stop: int, height: int, left: int, right: int
    ) -> list[Choice]:
        """What may lie at the bottom of one valley, seen from the end with fewer choices."""
        depth = (left if left < right else right) - height
        inside = self.starts_from[start] & self.stops_by[stop] & part.rest
        room = part.slack
        found: list[Choice] = []
        if left != WALL or right != WALL:
            found = self._empty(part, index, start, stop, depth, inside)
            if not inside:
                return found
            for end in (start, stop - 1):
                if self._total(inside & self.covers[end]) + room[end] < depth:
                    return []
        if room[start] == 0 or room[stop - 1] == 0:
            here = [inside & self.covers[end] for end in (start, stop - 1) if room[end] == 0]
            bits = min(here, key=int.bit_count)
            return found + [
                Choice(index, block, start, start, 0) for block in self._members(bits, part.rest)
            ]
        for block in self._members(inside, part.rest):
            rise = min(left - height, self.size[block])
            gap_stop = self.start[block]
            if self._may_be_empty(part, start, gap_stop, rise, inside & ~(1 << block)):
                found.append(Choice(index, block, start, gap_stop, rise))
        return found

    def _empty(
        self, part: Part, index: int, start: int, stop: int, depth: int, inside: int
    ) -> list[Choice]:
        if self._may_be_empty(part, start, stop, depth, inside):
            return [Choice(index, -1, start, stop, depth)]
        return []

    def _may_be_empty(self, part: Part, start: int, stop: int, rise: int, inside: int) -> bool:
        """Whether slack allows an empty stretch, and no block left would fit into it."""
        if start == stop:
            return True
        if min(part.slack[start:stop]) < rise:
            return False
        inside &= self.starts_from[start] & self.stops_by[stop]
        while inside:
            bit = inside & -inside
            if self.size[bit.bit_length() - 1] <= rise:
                return False
            inside ^= bit
        return True

    def _total(self, bits: int) -> int:
        total = 0
        while bits:
            bit = bits & -bits
            total += self.size[bit.bit_length() - 1]
            bits ^= bit
        return total

    def _members(self, bits: int, rest: int) -> Iterator[int]:
        """The blocks of a set, of twins only the first that is still to place."""
        while bits:
            bit = bits & -bits
            bits ^= bit
            block = bit.bit_length() - 1
            if not self.twins_before[block] & rest:
                yield block

    def _ordered(self, choices: list[Choice]) -> list[Choice]:
        """Without waste first, then by area; the noise of later runs shuffles what is close."""
        noise, area = self.strategy.noise, self.area
        if noise:
            spread = self.random.uniform
            rank = {
                choice: area[choice.block] * spread(1.0 - noise, 1.0) if choice.block >= 0 else -1
                for choice in choices
            }
            return sorted(
                choices, key=lambda c: (c.gap_height * (c.gap_stop - c.gap_start), -rank[c])
            )
        return sorted(
            choices,
            key=lambda c: (
                c.block < 0,
                c.gap_height * (c.gap_stop - c.gap_start),
                -area[c.block],
            ),
        )

    def _apply(self, part: Part, choice: Choice) -> list[Part]:
        """What is left to place after a choice, in independent parts."""
        index, block, gap_start, gap_stop, rise = choice
        height = part.steps[index][1]
        stop = part.steps[index + 1][0] if index + 1 < len(part.steps) else part.stop
        slack = part.slack
        steps = part.steps[:index]
        if gap_start < gap_stop:
            slack = slack.copy()
            for section in range(gap_start, gap_stop):
                slack[section] -= rise
            _append(steps, gap_start, height + rise)
        if block < 0:
            _extend(steps, part.steps, index + 1)
            return [Part(steps, part.stop, part.rest, slack)]
        low, high = self.start[block], self.stop[block]
        if gap_stop < low:
            _append(steps, gap_stop, height)
        _append(steps, low, height + self.size[block])
        if high < stop:
            _append(steps, high, height)
        _extend(steps, part.steps, index + 1)
        self.offsets[block] = height
        rest = part.rest & ~(1 << block)
        cuts = [at for at in range(low + 1, high) if not self.crosses[at] & rest]
        return self._split(Part(steps, part.stop, rest, slack), cuts)

    def _split(self, part: Part, cuts: list[int]) -> list[Part]:
        """The part in pieces between the cuts; pieces with nothing to place are left out."""
        if not cuts:
            return [part] if part.rest else []
        parts = []
        begin = part.steps[0][0]
        for cut in [*cuts, part.stop]:
            rest = part.rest & self.starts_from[begin] & self.stops_by[cut]
            if rest:
                before = [height for start, height in part.steps if start <= begin][-1]
                inner = [step for step in part.steps if begin < step[0] < cut]
                parts.append(Part([(begin, before), *inner], cut, rest, part.slack))
            begin = cut
        return parts


def _span(start: int, stop: int) -> int:
    """The set of sections `[start, stop)`."""
    return (1 << stop) - (1 << start)


def _append(steps: Steps, start: int, height: int) -> None:
    if not steps or steps[-1][1] != height:
        steps.append((start, height))


def _extend(steps: Steps, others: Steps, index: int) -> None:
    """Append `others[index:]`; only the first can be level with what is there."""
    if index < len(others):
        _append(steps, *others[index])
        steps += others[index + 1 :]


@contextmanager
def _deep_recursion(depth: int) -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def solve(instance: Instance, clock: Clock) -> tuple[bool | None, list[int]]:
    """(True, offsets), (False, []) where proved infeasible, or (None, []) when time ended."""
    search = SkylineSearch(instance)
    limit, turn = 2000.0, 0
    while not clock.expired():
        by = ("low", "sweep", "left")[turn % 3]
        strategy = Strategy(by, 0.0 if turn < 3 else 0.6, turn)
        fits = search.run(strategy, int(limit), clock)
        if fits is not None:
            return fits, search.offsets if fits else []
        turn += 1
        limit *= 1.15
    return None, []
