"""Stretches with whole tensors and spills in the place of their fused groups: which, and when.

Whole tensors take less time to plan than fused groups do, and are tried first where what they move
does not take much longer than fused groups would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planners.joined.pool import RoomyBlocks
from planners.joined.spilled import SpilledPart, SpilledParts
from planners.joined.stretches import KEPT, SLOWER, Spilled, Stretch, counted, without_way

SPILLED_SHARE = 0.1
"""Of the time that is left, for a stretch as whole tensors with spills."""


@dataclass(frozen=True, slots=True)
class SpilledWays:
    """Ways to run stretches of one network with spills."""

    parts: SpilledParts

    def part(self, blocks: RoomyBlocks, stretch: Stretch) -> SpilledPart | None:
        """The part that a stretch with spills is; None where whole tensors do not fit."""
        assert stretch.spilled
        limit_s = SPILLED_SHARE * self.parts.clock.left_s
        return self.parts.find(blocks, stretch.first, stretch.stop, stretch.spilled, limit_s)

    def tried_first(
        self, blocks: RoomyBlocks, best: tuple[Stretch, ...]
    ) -> Iterator[tuple[Stretch, ...]]:
        """Stretches of pool and groups, and those with spills in the place of groups, in the order
        in which they are to be tried."""
        slow: list[tuple[Stretch, ...]] = []
        for found in self._instead(blocks, best):
            if slow or any(self._crosses_long(blocks, stretch) for stretch in found):
                slow.append(found)
            else:
                yield found
        yield from (best, *slow)

    def _crosses_long(self, blocks: RoomyBlocks, stretch: Stretch) -> bool:
        """Whether what a stretch with spills moves takes longer than fused groups would, about."""
        part = self.part(blocks, stretch) if stretch.spilled else None
        if part is None or self.parts.objective == "traffic":
            return False
        machine = self.parts.machine
        rate = machine.memory(machine.offchip).read_bytes_per_s
        return part.offchip_bytes / rate > SLOWER * blocks.least_s(stretch.first, stretch.stop)

    def _instead(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...]
    ) -> Iterator[tuple[Stretch, ...]]:
        """The same with whole tensors and spills in the place of fused groups, where they fit; and
        all of the network so."""
        count, unfit = sum(s.blocks for s in found), sum(s.unfit for s in found)
        whole = Stretch(0, len(blocks.graph.operators), blocks=count, unfit=unfit)
        for how in self.parts.hows:
            made = tuple(self.where(blocks, stretch, how) for stretch in found)
            if made != found:
                yield made
            beside = len(found) > 1 and any(stretch.fused for stretch in found)
            # In the pool what several operators read comes for each of them.
            if beside or (how == KEPT and self.parts.objective != "latency" and made == found):
                alone = self.where(blocks, whole, how)
                if alone.spilled:
                    yield (alone,)

    def where(self, blocks: RoomyBlocks, stretch: Stretch, how: Spilled) -> Stretch:
        """A stretch of fused groups as whole tensors where these fit."""
        if not stretch.fused or self.parts.clock.expired():
            return stretch
        other = replace(stretch, spilled=how)
        return stretch if self.part(blocks, other) is None else other

    def without_way(
        self, blocks: RoomyBlocks, found: tuple[Stretch, ...], operator: str
    ) -> tuple[Stretch, ...]:
        """The stretches where the way that has no room for an operator's parameters is none: as
        whole tensors where these fit and were not it, or as fused groups."""
        at = blocks.graph.index[operator]
        other = tuple(counted(each, blocks.marks, ()) for each in without_way(found, at))
        if any(stretch.spilled and stretch.first <= at < stretch.stop for stretch in found):
            return other
        known = {(stretch.first, stretch.stop) for stretch in found if stretch.fused}
        how = self.parts.hows[0]
        return tuple(
            each if (each.first, each.stop) in known else self.where(blocks, each, how)
            for each in other
        )
