"""Fewer, larger tiles for groups whose program would be too long, at the least traffic for that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import NamedTuple

from planners.core.program_size import MOST_WRITTEN, most_in_time, refuse_too_long
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.layout import Arranger, GroupLayout
from planners.fusion.tile.ways import GroupPlan

# ---- How many instructions a group's program has: about, from its strips and tiles, before it is -
# written.


def instructions(arranger: Arranger, layout: GroupLayout, held: Collection[str] = ()) -> int:
    """Loads, computes, stores and releases; what comes and goes whole around it is left out."""
    group, plan, flows = arranger.group, arranger.plan, arranger.flows
    turns = {t: int(flows.turns(t)[0, 0]) for t in group.made}
    strips = int(flows.strips[0])
    total = sum(2 * strips for t in group.loaded if t not in held and t not in arranger.sliced)
    for unit, count in zip(arranger.units, layout.channels, strict=True):
        members = [(i, group.members[i]) for i in unit.members]
        channels = unit.channels
        if not channels:
            ((_, member),) = members
            alone = plan.channel_passes == 1 and member.sliced
            channels = member.channels if alone else count
        tiles = -(-channels // max(1, count))
        around = {t for _, m in members for t in m.op.inputs}
        loaded = [t for t in group.loaded if t in around & arranger.sliced and t not in held]
        total += 2 * len(loaded) * tiles * strips
        for i, member in members:
            for tensor in member.op.outputs:
                tile_count = tiles if tensor in arranger.sliced else 1
                leaves = tensor in group.stored and tensor not in held
                total += turns[tensor] * tile_count * (1 + leaves)
            refilled = 0 if i in plan.kept else 2 * len(member.op.parameters)
            total += turns[member.op.outputs[0]] * tiles * (1 + refilled)
    return total * len(arranger.passes()) * arranger.batches * arranger.bands.count


# --------------------------------------------------------------------------------------------------

TRIES = 40
"""Ways of a group that are laid out to find a coarser one."""
WORTH = 0.5
"""Of the instructions, to which coarser ways must come that are not short enough."""
MATTERS = 0.25
"""Of the instructions that all groups may have, in equal parts: a group of fewer stays as it is."""
REMEDY = "give it a larger budget, or let it compute more channels at once (channel_tile)"


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A group that is laid out, its operators as a mask, and the bytes `[low, high)` that it may
    use: what it finds on chip lies elsewhere."""

    laid: LaidGroup
    mask: int
    low: int
    high: int


def count_of(laid: Sequence[LaidGroup]) -> int:
    """Instructions of groups, about."""
    return sum(instructions(each.arranger, each.layout, each.stays.at) for each in laid)


def traffic_of(laid: Sequence[LaidGroup]) -> int:
    """Bytes that groups move, without what comes and goes whole around them."""
    return sum(each.plan.traffic_bytes for each in laid)


def short_enough(
    model: GroupModel, placed: Sequence[PlacedGroup], clock: Clock, *, double_buffer: bool
) -> tuple[LaidGroup, ...]:
    """The groups, some in coarser ways where all together are too long for the time left.

    Where time ends before they are short enough, only what is a fraction as long is worth the
    traffic. Raises `BadInput` where they are too long in any time.
    """
    laid = tuple(each.laid for each in placed)
    most = most_in_time(clock)
    fewer = shortened(model, placed, most, clock, double_buffer=double_buffer)
    groups = tuple(each.laid for each in fewer)
    refuse_too_long(count_of(groups), REMEDY)
    return laid if most < count_of(groups) > WORTH * count_of(laid) else groups


def shortened(
    model: GroupModel,
    placed: Sequence[PlacedGroup],
    most: int,
    clock: Clock,
    *,
    double_buffer: bool,
) -> tuple[PlacedGroup, ...]:
    """The groups in `most` instructions, or in as few as there were ways and time for: first in the
    ways that cost the fewest bytes for each instruction less."""
    groups = list(placed)
    counts = [count_of([each.laid]) for each in groups]
    if sum(counts) > most and most < MOST_WRITTEN:
        clock.end()
    alike: dict[object, _CoarserWays] = {}
    waiting: list[tuple[float, int, GroupPlan]] = []

    def ask(k: int) -> None:
        """Find the next coarser way of a group, which waits for those that cost less."""
        steps = alike.setdefault(
            _likeness(model, placed[k]), _CoarserWays(model, placed[k], double_buffer)
        )
        step = steps.below(counts[k] // 2)
        if step is not None:
            more = step.way.traffic_bytes - groups[k].laid.plan.traffic_bytes
            heappush(waiting, (more / (counts[k] - step.instructions), k, step.way))

    for k, count in enumerate(counts):
        if sum(counts) > most and count > MATTERS * most / len(counts):
            if sum(counts) <= MOST_WRITTEN and clock.expired():
                break
            ask(k)
    while sum(counts) > most and waiting:
        _, k, way = heappop(waiting)
        groups[k] = replace(groups[k], laid=_in_another_way(model, groups[k], way, double_buffer))
        counts[k] = count_of([groups[k].laid])
        if sum(counts) > MOST_WRITTEN or not clock.expired():
            ask(k)
    return tuple(groups)


def _in_another_way(
    model: GroupModel, placed: PlacedGroup, way: GroupPlan, double_buffer: bool
) -> LaidGroup:
    laid, room = placed.laid, placed.high - placed.low
    arranger = Arranger(model.graph, laid.group, way, laid.stays.at)
    layout = arranger.arrange(room, double_buffer).moved(placed.low)
    return replace(laid, plan=way, layout=layout, arranger=arranger)


def _likeness(model: GroupModel, placed: PlacedGroup) -> object:
    """Equal for groups that have the same coarser ways."""
    laid = placed.laid
    stays_whole = tuple(tensor in laid.stays.at for tensor in laid.group.tensors)
    return model.content(placed.mask), stays_whole, placed.high - placed.low, laid.plan


class _CoarserWay(NamedTuple):
    instructions: int
    way: GroupPlan


class _CoarserWays:
    """Ways of a group of other tiles that fit, the least traffic first, of each kind of tile one;
    each is laid out when it is asked for."""

    def __init__(self, model: GroupModel, placed: PlacedGroup, double_buffer: bool) -> None:
        self.known: list[_CoarserWay] = []
        self.coming = self._coming(model, placed, double_buffer)

    def below(self, most: int) -> _CoarserWay | None:
        """The first in so many instructions; None where there is none."""
        for step in self.known:
            if step.instructions <= most:
                return step
        for step in self.coming:
            self.known.append(step)
            if step.instructions <= most:
                return step
        return None

    @staticmethod
    def _coming(
        model: GroupModel, placed: PlacedGroup, double_buffer: bool
    ) -> Iterator[_CoarserWay]:
        resident = frozenset(placed.laid.stays.at)
        fit = model.every_way(placed.mask, placed.high - placed.low, resident)
        seen = {_kind(placed.laid.plan)}
        for way in sorted(fit, key=lambda p: (p.traffic_bytes, p.strips)):
            if _kind(way) in seen or len(seen) > TRIES:
                continue
            seen.add(_kind(way))
            yield _CoarserWay(count_of([_in_another_way(model, placed, way, double_buffer)]), way)


def _kind(way: GroupPlan) -> tuple[object, ...]:
    return (way.strips, way.sliced, way.bands, way.channel_passes)
