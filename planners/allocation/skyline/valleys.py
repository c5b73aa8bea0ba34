"""What may lie at the bottom of a valley of the skyline; `search` explains why this is enough."""

from __future__ import annotations

from planners.allocation.skyline.parts import WALL, BlockSets, SkylinePart, ValleyChoice, blocks_of


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
        if not _supported(sets, part, start, stop, depth, inside):
            return []
    full = [end for end in (start, stop - 1) if part.slack[end] == 0]
    if full:
        there = min((inside & sets.covers[end] for end in full), key=int.bit_count)
        members = sets.members(there, part.rest)
        return choices + [ValleyChoice(at, block, start, start, 0) for block in members]
    for block in sets.members(inside, part.rest):
        rise, gap_stop = min(left - height, sets.size[block]), sets.start[block]
        if may_be_empty(sets, part, start, gap_stop, rise, inside & ~(1 << block)):
            choices.append(ValleyChoice(at, block, start, gap_stop, rise))
    return choices


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
    return all(sets.size[block] > rise for block in blocks_of(inside))
