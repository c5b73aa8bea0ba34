"""Where a group's line buffers and parameters lie in the scratchpad, and how room to spare is used.

A plan needs its least buffer; what the budget leaves widens what is held by the channel and the
weight tiles, and makes room to load the next rows and weights while the present ones are in use.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from planners.core.graph import Graph
from planners.fusion.tile.axes import channels_of, columns_of
from planners.fusion.tile.channel_streaming import AdvancingUnit, units
from planners.fusion.tile.passes import channel_row, input_channels, pass_ranges, sum_row
from planners.fusion.tile.rows import OperatorRows
from planners.fusion.tile.strips import WHOLE, Flow, Group, bands, flow
from planners.fusion.tile.ways import GroupPlan


@dataclass(frozen=True, slots=True)
class LineBuffer:
    """A line buffer: bytes `[base, base + size)` of the scratchpad, `slot_bytes` for each row."""

    base: int
    size_bytes: int
    slot_bytes: int


@dataclass(frozen=True)
class GroupLayout:
    """Addresses of a group, in bytes.

    `channels` are those that each unit takes at once, `kept` where the parameters of an operator
    stay, `tiles` where refilled parameters lie in turn.
    """

    rings: dict[str, LineBuffer]
    channels: tuple[int, ...]
    kept: dict[int, int]
    tiles: tuple[int, ...]
    size_bytes: int

    def moved(self, by: int) -> GroupLayout:
        """The same at higher addresses."""
        rings = {t: replace(ring, base=ring.base + by) for t, ring in self.rings.items()}
        kept = {i: at + by for i, at in self.kept.items()}
        return replace(self, rings=rings, kept=kept, tiles=tuple(at + by for at in self.tiles))


@dataclass(frozen=True, slots=True)
class Room:
    """What is laid out: rows more than needed in line buffers, weight tiles, and bytes for each
    unit's channels at once."""

    ahead: bool
    tiles: int
    channel_budget: int


class Arranger:
    """Tries how much a budget has room for; tensors that are `held` lie elsewhere."""

    def __init__(
        self, graph: Graph, group: Group, plan: GroupPlan, held: Collection[str] = ()
    ) -> None:
        self.graph, self.group, self.plan = graph, group, plan
        self.sliced = frozenset(group.tensors[i] for i in plan.sliced)
        self.units: tuple[AdvancingUnit, ...] = units(graph, group, self.sliced)
        self.flows: Flow = flow(graph, group, (plan.rows_per_strip,), self.sliced)
        shape = graph.tensors[group.made[0]].shape
        self.bands = bands(graph, group, plan.bands) or WHOLE
        self.batches = (shape[0] if shape else 1) // plan.images
        self.inside = [t for t in group.tensors if t not in held]
        rows = self.flows.held(*group.tensors)[:, 0]
        self.held = {t: int(n) for t, n in zip(group.tensors, rows, strict=True)}
        self.gained = {
            t: max(0, int((self.flows.upto[t] - self.flows.fresh(t)).max())) for t in group.tensors
        }
        self.widest = self._widest()
        self._known: dict[object, GroupLayout] = {}
        self._each: dict[object, int] = {}

    def arrange(self, budget_bytes: int, double_buffer: bool) -> GroupLayout:
        """The roomiest layout within the budget, which must be the plan's buffer at least."""
        ways = [(True, 2), (False, 2), (True, 1)] if double_buffer else []
        for ahead, tiles in (*ways, (False, 1)):
            room = Room(ahead, tiles, 0)
            if self.layout(room).size_bytes <= budget_bytes:
                return self._widened(room, budget_bytes)
        return self.layout(Room(False, 1, 0))

    def _widened(self, room: Room, budget_bytes: int) -> GroupLayout:
        """The same with the most channels at once: all, as often, or else found by bisection."""
        layout = self.layout(Room(room.ahead, room.tiles, budget_bytes))
        if layout.size_bytes <= budget_bytes:
            return layout
        low, high = 0, budget_bytes - 1
        while low < high:
            middle = (low + high + 1) // 2
            layout = self.layout(Room(room.ahead, room.tiles, middle))
            low, high = (middle, high) if layout.size_bytes <= budget_bytes else (low, middle - 1)
        return self.layout(Room(room.ahead, room.tiles, low))

    def layout(self, room: Room) -> GroupLayout:
        """Line buffers first, then kept parameters, then the tiles for refilled ones."""
        channels = tuple(self._channels(unit, room) for unit in self.units)
        key = (room.ahead, room.tiles, channels)
        if key not in self._known:
            self._known[key] = self._placed(room, channels)
        return self._known[key]

    def _placed(self, room: Room, channels: tuple[int, ...]) -> GroupLayout:
        rings, at = {}, 0
        for tensor in self.inside:
            rows, slot = self._rows(tensor, room), self._slot(tensor, channels)
            if slot and rows:
                rings[tensor] = LineBuffer(at, rows * slot, slot)
                at += rows * slot
        kept = {}
        for i in self.plan.kept:
            kept[i] = at
            at += self.kept_bytes(i)
        largest = max(
            (
                self.tile_bytes(i, unit, count)
                for unit, count in zip(self.units, channels, strict=True)
                for i in unit.members
                if i not in self.plan.kept
            ),
            default=0,
        )
        tiles = tuple(at + n * largest for n in range(room.tiles)) if largest else ()
        return GroupLayout(rings, channels, kept, tiles, at + largest * len(tiles))

    def passes(self) -> tuple[tuple[int, int] | None, ...]:
        """The output channels of each pass; None for all in one."""
        if self.plan.channel_passes == 1:
            return (None,)
        out = self.graph.tensors[self.group.made[0]]
        return pass_ranges(channels_of(out), self.plan.pass_channels)

    def _rows(self, tensor: str, room: Room) -> int:
        """Rows of a line buffer; of what crosses, room for the next ones where that is wanted."""
        crosses = tensor in self.group.loaded or tensor in self.group.stored
        return self.held[tensor] + (self.gained[tensor] if room.ahead and crosses else 0)

    def kept_bytes(self, index: int) -> int:
        """Bytes of the place of an operator's parameters that are kept."""
        member = self.group.members[index]
        if self.plan.channel_passes == 1:
            return member.parameter_bytes
        return member.channel_bytes * self.plan.pass_channels

    def tile_bytes(self, index: int, unit: AdvancingUnit, channels: int) -> int:
        """Bytes of an operator's parameters that are on chip at once, for so many channels."""
        member = self.group.members[index]
        if unit.channels and member.adds_up(self.sliced):
            size = member.reduced_bytes * min(channels, member.reduced) + member.rest_bytes
            if self.plan.channel_passes > 1:
                size = size // member.channels * self.plan.pass_channels
            return size
        return member.channel_bytes * (min(channels, member.channels) if member.sliced else 1)

    def _channels(self, unit: AdvancingUnit, room: Room) -> int:
        """Channels taken at once: all, unless that saves weights or line buffers."""
        total = unit.channels
        if not total:
            (index,) = unit.members
            member = self.group.members[index]
            if self.plan.channel_passes > 1:
                return self.plan.pass_channels
            if not member.sliced or index in self.plan.kept:
                return member.channels
            total = member.channels
        each = self._channel_bytes(unit, room)
        if not each:  # What is read and made lies elsewhere, whole.
            return total
        most = room.channel_budget // each
        least = min(self.plan.channel_tile, total)
        passes = -(-total // max(least, min(total, most)))
        return max(least, -(-total // passes))

    def _channel_bytes(self, unit: AdvancingUnit, room: Room) -> int:
        """Bytes that one channel more takes: its rows, and its parameters in each tile."""
        key = (unit, room.ahead, room.tiles)
        if key not in self._each:
            self._each[key] = self._more_bytes(unit, room)
        return self._each[key]

    def _more_bytes(self, unit: AdvancingUnit, room: Room) -> int:
        rows = weights = 0
        for index in unit.members:
            if index not in self.plan.kept:
                more = self.tile_bytes(index, unit, 2) - self.tile_bytes(index, unit, 1)
                weights = max(weights, more)
        for tensor in self._sliced_in(unit):
            row = channel_row(self.graph, tensor) // columns_of(self.graph.tensors[tensor])
            row = row * self.bands.widest(self.graph, tensor) // self.batches
            rows += self._rows(tensor, room) * row
        return rows + weights * room.tiles

    def _sliced_in(self, unit: AdvancingUnit) -> list[str]:
        ops = [self.group.members[i].op for i in unit.members]
        around = {t for op in ops for t in (*op.inputs, *op.outputs)}
        return [t for t in self.inside if t in self.sliced and t in around]

    def _slot(self, tensor: str, channels: tuple[int, ...]) -> int:
        """Bytes of a row of a tile's images, of the channels that are there at once."""
        count = self.widest.get(tensor, channels_of(self.graph.tensors[tensor]))
        if tensor in self.sliced:
            count = next(
                n for n, unit in zip(channels, self.units) if tensor in self._sliced_in(unit)
            )
        member = self._summed(channels).get(tensor)
        row = sum_row(self.graph, member.op) if member else channel_row(self.graph, tensor)
        row //= columns_of(self.graph.tensors[tensor])
        return row * self.bands.widest(self.graph, tensor) * count // self.batches

    def _summed(self, channels: tuple[int, ...]) -> dict[str, OperatorRows]:
        """What is made as sums of several parts, with so many channels of each unit at once."""
        grows = [
            i for n, unit in zip(channels, self.units) if n < unit.channels for i in unit.members
        ]
        members = [self.group.members[i] for i in grows]
        return {m.op.outputs[0]: m for m in members if m.adds_up(self.sliced)}

    def _widest(self) -> dict[str, int]:
        """The most channels of each tensor in a pass, where there are passes over channels."""
        if self.plan.channel_passes == 1:
            return {}
        out = self.group.made[0]
        widest = dict.fromkeys(self.group.loaded, 0)
        for part in self.passes():
            assert part is not None
            for name, (start, stop) in input_channels(self.graph, self.group, part).items():
                widest[name] = max(widest[name], stop - start)
        return widest | {out: self.plan.pass_channels}
