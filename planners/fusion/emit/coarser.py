"""Fewer, larger tiles for groups whose program would be too long, at the least traffic for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planners.core.progress import Clock
from planners.core.writing import MOST_WRITTEN, most_in_time, refuse_too_long
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.count import instructions
from planners.fusion.emit.layout import Arranger
from planners.fusion.emit.program import LaidGroup
from planners.fusion.tile.ways import GroupPlan

TRIES = 40
"""Ways of a group that are laid out to find a coarser one."""
WORTH = 0.5
"""Of the instructions, to which coarser ways must come that are not short enough."""
REMEDY = "give it a larger budget, or let it compute more channels at once (channel_tile)"


def count_of(laid: Sequence[LaidGroup]) -> int:
    """Instructions of groups, about."""
    return sum(instructions(each.arranger, each.layout, each.stays.at) for each in laid)


def short_enough(
    model: GroupModel,
    laid: Sequence[LaidGroup],
    masks: Sequence[int],
    budget_bytes: int,
    clock: Clock,
    *,
    double_buffer: bool,
) -> tuple[LaidGroup, ...]:
    """The groups, the longest in coarser ways where all together are too long for the time left.

    Where time ends before they are short enough, only what is a fraction as long is worth the
    traffic. Raises `BadInput` where they are too long in any time.
    """
    groups = list(laid)
    counts = [count_of([each]) for each in groups]
    whole = sum(counts)
    most = most_in_time(clock)
    if sum(counts) > most and most < MOST_WRITTEN:
        clock.end()
    stuck: set[int] = set()
    while sum(counts) > most and len(stuck) < len(groups):
        if sum(counts) <= MOST_WRITTEN and clock.expired():
            break
        k = max((k for k in range(len(groups)) if k not in stuck), key=counts.__getitem__)
        found = _coarser(model, groups[k], masks[k], budget_bytes, double_buffer)
        if found is None:
            stuck.add(k)
        else:
            groups[k] = found
            counts[k] = count_of([found])
    refuse_too_long(sum(counts), REMEDY)
    return tuple(laid if most < sum(counts) > WORTH * whole else groups)


def _coarser(
    model: GroupModel, laid: LaidGroup, mask: int, budget_bytes: int, double_buffer: bool
) -> LaidGroup | None:
    """The group in half as many instructions, for the least more traffic; None if not found."""
    half = count_of([laid]) // 2
    for way in _others(model, mask, budget_bytes, laid.plan):
        arranger = Arranger(model.graph, laid.group, way)
        layout = arranger.arrange(budget_bytes, double_buffer)
        if instructions(arranger, layout) <= half:
            return replace(laid, plan=way, layout=layout, arranger=arranger)
    return None


def _others(model: GroupModel, mask: int, budget_bytes: int, way: GroupPlan) -> Iterator[GroupPlan]:
    """Ways of other tiles that fit, the least traffic first, of each kind of tile one."""
    fitting = [other for other in model.all_ways(mask) if other.buffer_bytes <= budget_bytes]
    seen = {_kind(way)}
    for other in sorted(fitting, key=lambda p: (p.traffic_bytes, p.strips)):
        if _kind(other) not in seen and len(seen) <= TRIES:
            seen.add(_kind(other))
            yield other


def _kind(way: GroupPlan) -> tuple[object, ...]:
    return (way.strips, way.sliced, way.bands, way.channel_passes)
