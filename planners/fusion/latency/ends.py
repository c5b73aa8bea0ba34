"""Groups at the two ends of the memory by turns, so that one's first bytes lie free of the other.

Kept parameters lie outermost, in the order in which they are used: they can be there before the
group begins, where the group before it leaves their bytes alone.
"""

from __future__ import annotations

from dataclasses import replace

from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.layout import Arranger, GroupLayout


def at_an_end(
    arranger: Arranger, layout: GroupLayout, budget_bytes: int, *, high: bool
) -> GroupLayout:
    """The layout with its kept parameters outermost at the low or the high end of the memory."""
    at = 0

    def place(size: int) -> int:
        nonlocal at
        at += size
        return budget_bytes - at if high else at - size

    kept = {i: place(arranger.kept_bytes(i)) for i in layout.kept}
    size = tile_bytes(arranger, layout)
    tiles = tuple([place(size) for _ in layout.tiles])
    moved = {t: replace(r, base=place(r.size_bytes)) for t, r in layout.rings.items()}
    return replace(layout, rings=moved, kept=kept, tiles=tiles)


def may_be_early(before: LaidGroup, laid: LaidGroup) -> tuple[int, ...]:
    """Members whose kept parameters can come while the group before runs: what that one reads is in
    another place, and cannot be in two."""
    there = {name for member in before.group.members for name in member.op.parameters}
    members = laid.group.members
    return tuple(i for i in laid.plan.kept if there.isdisjoint(members[i].op.parameters))


def tile_bytes(arranger: Arranger, layout: GroupLayout) -> int:
    """Bytes of each of the tiles for refilled parameters."""
    used = sum(ring.size_bytes for ring in layout.rings.values())
    used += sum(arranger.kept_bytes(i) for i in layout.kept)
    return (layout.size_bytes - used) // max(1, len(layout.tiles))
