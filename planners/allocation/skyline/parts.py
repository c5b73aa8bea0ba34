"""What a search over skylines looks at: blocks as bit sets, partial packings, and moves.

Bit b of a set of blocks stands for block b, bit s of a set of sections for section s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planners.allocation.problem.instance import Instance
from planners.allocation.skyline.rules import PACKING_RULES, PackingRules

WALL = 1 << 62  # the height of what no block left to place can cross

Steps = list[tuple[int, int]]  # (first section, height) of each stretch of a skyline


class SkylinePart(NamedTuple):
    """Blocks `rest` (a bit set) still to place on the skyline `steps` of sections up to `stop`.

    `slack` is what each section can still lose to emptiness.
    """

    steps: Steps
    stop: int
    rest: int
    slack: list[int]


class ValleyChoice(NamedTuple):
    """Put `block` (or, if −1, nothing) at the bottom of the valley at step `at`.

    The stretch `[gap_start, gap_stop)` beside it, which may have no width, is left empty for
    `gap_height`.
    """

    at: int
    block: int
    gap_start: int
    gap_stop: int
    gap_height: int


class BlockSets:
    """The blocks of an instance by where they start, stop and lie; and what placing them does."""

    def __init__(self, instance: Instance, rules: PackingRules = PACKING_RULES) -> None:
        count, sections = len(instance), instance.sections
        self.rules, self.capacity = rules, instance.capacity
        self.start, self.stop, self.size = instance.start, instance.stop, instance.size
        # An empty stretch under this height has no room for the block.
        self.too_low = self.size if rules.dominance else (WALL,) * count
        self.starts_from = [0] * (sections + 1)
        self.stops_by = [0] * (sections + 1)
        self.covers = [0] * sections
        # Where nothing counts as independent, everything crosses each boundary.
        self.crosses = [0 if rules.independence else -1] * (sections + 1)
        for block in range(count):
            self._index(block)
        for section in range(sections):
            self.stops_by[section + 1] |= self.stops_by[section]
            back = sections - section - 1
            self.starts_from[back] |= self.starts_from[back + 1]
        self.twins_before = self._twins() if rules.symmetry else [0] * count

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

    def members(self, bits: int, rest: int) -> Iterator[int]:
        """The blocks of a set, of twins only the first that is still to place."""
        for block in blocks_of(bits):
            if not self.twins_before[block] & rest:
                yield block

    def total(self, bits: int) -> int:
        """The sum of the sizes of a set of blocks."""
        return sum(self.size[block] for block in blocks_of(bits))

    def touched(self, choice: ValleyChoice) -> int:
        """The sections whose skyline a choice changes."""
        touched = span(choice.gap_start, choice.gap_stop)
        if choice.block >= 0:
            touched |= span(self.start[choice.block], self.stop[choice.block])
        return touched

    def apply(self, part: SkylinePart, choice: ValleyChoice) -> list[SkylinePart]:
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
            return [SkylinePart(steps, part.stop, part.rest, slack)]
        low, high = self.start[block], self.stop[block]
        if gap_stop < low:
            _append(steps, gap_stop, height)
        _append(steps, low, height + self.size[block])
        if high < stop:
            _append(steps, high, height)
        _extend(steps, part.steps, index + 1)
        rest = part.rest & ~(1 << block)
        cuts = [at for at in range(low + 1, high) if not self.crosses[at] & rest]
        return self._split(SkylinePart(steps, part.stop, rest, slack), cuts)

    def _split(self, part: SkylinePart, cuts: list[int]) -> list[SkylinePart]:
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
                parts.append(SkylinePart([(begin, before), *inner], cut, rest, part.slack))
            begin = cut
        return parts


def _append(steps: Steps, start: int, height: int) -> None:
    if not steps or steps[-1][1] != height:
        steps.append((start, height))


def _extend(steps: Steps, others: Steps, index: int) -> None:
    """Append `others[index:]`; only the first can be level with what is there."""
    if index < len(others):
        _append(steps, *others[index])
        steps += others[index + 1 :]


def blocks_of(bits: int) -> Iterator[int]:
    """The members of a bit set, smallest first."""
    while bits:
        bit = bits & -bits
        yield bit.bit_length() - 1
        bits ^= bit


def span(start: int, stop: int) -> int:
    """The set of sections `[start, stop)`."""
    return (1 << stop) - (1 << start)


# ---- What may lie at the bottom of a valley of the skyline; `search` explains why this is enough -


def choices_in_valley(
    sets: BlockSets, part: SkylinePart, at: int, left: int, right: int
) -> list[ValleyChoice]:
    """The choices at step `at`, between walls of heights `left` and `right`; one of them is right.

    Where an end of the valley has no slack, some block lies at its bottom there; otherwise the
    choices are the first block from the left, or none at all.
    """
    start, height = part.steps[at]
    stop = part.steps[at + 1][0] if at + 1 < len(part.steps) else part.stop
    inside = sets.starts_from[start] & sets.stops_by[stop] & part.rest
    choices: list[ValleyChoice] = []
    if left != WALL or right != WALL:
        depth = min(left, right) - height
        if may_be_empty(sets, part, start, stop, depth, inside):
            choices.append(ValleyChoice(at, -1, start, stop, depth))
        if not inside:
            return choices
        if sets.rules.support and not _supported(sets, part, start, stop, depth, inside):
            return []
    full = [end for end in (start, stop - 1) if part.slack[end] == 0]
    if full and sets.rules.full_ends:
        there = min((inside & sets.covers[end] for end in full), key=int.bit_count)
        members = sets.members(there, part.rest)
        return choices + [ValleyChoice(at, block, start, start, 0) for block in members]
    for block in sets.members(inside, part.rest):
        rise, gap_stop = min(left - height, sets.size[block]), sets.start[block]
        if may_be_empty(sets, part, start, gap_stop, rise, inside & ~(1 << block)):
            choices.append(ValleyChoice(at, block, start, gap_stop, rise))
    return choices


def choices_within_capacity(
    sets: BlockSets, part: SkylinePart, at: int, left: int, right: int
) -> list[ValleyChoice]:
    """The same where slack does not say what ends above the capacity."""
    room = sets.capacity - part.steps[at][1]
    return [
        choice
        for choice in choices_in_valley(sets, part, at, left, right)
        if choice.block < 0 or sets.size[choice.block] <= room
    ]


def _supported(
    sets: BlockSets, part: SkylinePart, start: int, stop: int, depth: int, inside: int
) -> bool:
    """Whether the blocks within a valley can reach its lower wall at both of its ends."""
    return all(
        sets.total(inside & sets.covers[end]) + part.slack[end] >= depth
        for end in (start, stop - 1)
    )


def may_be_empty(
    sets: BlockSets, part: SkylinePart, start: int, stop: int, rise: int, inside: int
) -> bool:
    """Whether slack allows an empty stretch, and none of the blocks `inside` would fit into it."""
    if start == stop:
        return True
    if min(part.slack[start:stop]) < rise:
        return False
    inside &= sets.starts_from[start] & sets.stops_by[stop]
    return all(sets.too_low[block] > rise for block in blocks_of(inside))
