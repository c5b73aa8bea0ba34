"""Where a group's line buffers and parameters lie in the scratchpad, and how room to spare is used.

A plan needs its least buffer; what the budget leaves widens the weight tiles and makes room to
load the next rows and weights while the present ones are in use.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.fusion.group import GroupPlan, goes_by_channel
from planners.fusion.passes import channel_row, input_channels, pass_ranges
from planners.fusion.rows import Axes, Rows, rows_of
from planners.fusion.strips import Flow, Group, flow
from planners.graph.model import Graph


@dataclass(frozen=True, slots=True)
class Ring:
    """A line buffer: bytes `[base, base + size)` of the scratchpad, `slot_bytes` for each row."""

    base: int
    size_bytes: int
    slot_bytes: int


@dataclass(frozen=True)
class Layout:
    """Addresses of a group, in bytes.

    `channels` are those that each operator computes at once, `kept` where its parameters stay,
    `tiles` where refilled parameters lie in turn.
    """

    rings: dict[str, Ring]
    channels: tuple[int, ...]
    kept: dict[int, int]
    tiles: tuple[int, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Room:
    """What is laid out: rows more than needed in line buffers, weight tiles, and bytes for each
    operator's channels at once."""

    ahead: bool
    tiles: int
    channel_budget: int


class Arranger:
    """Tries how much a budget has room for."""

    def __init__(self, graph: Graph, group: Group, plan: GroupPlan) -> None:
        self.graph, self.group, self.plan = graph, group, plan
        self.flows: Flow = flow(graph, group, (plan.rows_per_strip,))
        shape = graph.tensors[group.made[0]].shape
        self.batches = (shape[0] if shape else 1) // plan.images
        self.held = {t: int(self.flows.held(t)[0]) for t in group.tensors}
        self.gained = {
            t: int((self.flows.upto[t] - self.flows.before[t]).max()) for t in group.tensors
        }
        self.widest = self._widest()

    def arrange(self, budget_bytes: int, double_buffer: bool) -> Layout:
        """The roomiest layout within the budget, which must be the plan's buffer at least."""
        ways = [(True, 2), (False, 2), (True, 1)] if double_buffer else []
        for ahead, tiles in (*ways, (False, 1)):
            room = Room(ahead, tiles, 0)
            if self.layout(room).size_bytes <= budget_bytes:
                return self._widened(room, budget_bytes)
        return self.layout(Room(False, 1, 0))

    def _widened(self, room: Room, budget_bytes: int) -> Layout:
        """The same with the most channels at once, by bisection."""
        low, high = 0, budget_bytes
        while low < high:
            middle = (low + high + 1) // 2
            found = self.layout(Room(room.ahead, room.tiles, middle))
            low, high = (middle, high) if found.size_bytes <= budget_bytes else (low, middle - 1)
        return self.layout(Room(room.ahead, room.tiles, low))

    def layout(self, room: Room) -> Layout:
        """Line buffers first, then kept parameters, then the tiles for refilled ones."""
        channels = tuple(
            self._channels(i, member, room) for i, member in enumerate(self.group.members)
        )
        rings, at = {}, 0
        for tensor in self.group.tensors:
            slot = self._slot(tensor, channels)
            more = tensor in self.group.loaded or tensor in self.group.stored
            rows = self.held[tensor] + (self.gained[tensor] if room.ahead and more else 0)
            if slot and rows:
                rings[tensor] = Ring(at, rows * slot, slot)
                at += rows * slot
        kept = {}
        for i in self.plan.kept:
            kept[i] = at
            at += self._parameters(i, channels[i])
        largest = max(
            (
                self._parameters(i, count)
                for i, count in enumerate(channels)
                if i not in self.plan.kept
            ),
            default=0,
        )
        tiles = tuple(at + n * largest for n in range(room.tiles)) if largest else ()
        return Layout(rings, channels, kept, tiles, at + largest * len(tiles))

    def _parameters(self, index: int, channels: int) -> int:
        """Bytes of an operator's parameters that are on chip at once."""
        member = self.group.members[index]
        if not member.sliced or (index in self.plan.kept and self.plan.channel_passes == 1):
            return member.parameter_bytes
        return member.channel_bytes * channels

    def _channels(self, index: int, member: Rows, room: Room) -> int:
        """Output channels computed at once: all, unless that saves weights or an output buffer."""
        if self.plan.channel_passes > 1:
            return self.plan.channel_tile
        out = member.op.outputs[0]
        stored_at_once = goes_by_channel(self.group, out) is not None
        if not member.sliced or (index in self.plan.kept and not stored_at_once):
            return member.channels
        weight = 0 if index in self.plan.kept else member.channel_bytes * room.tiles
        if stored_at_once:
            rows = self.held[out] + (self.gained[out] if room.ahead else 0)
            weight += rows * channel_row(self.graph, out) // self.batches
        least = min(self.plan.channel_tile, member.channels)
        most = max(least, min(member.channels, room.channel_budget // max(1, weight)))
        passes = -(-member.channels // most)
        return max(least, -(-member.channels // passes))

    def _slot(self, tensor: str, channels: tuple[int, ...]) -> int:
        graph = self.graph
        row = graph.size_bytes(tensor) // rows_of(graph.tensors[tensor])
        if tensor in self.widest:
            row = channel_row(graph, tensor) * self.widest[tensor]
        else:
            member = goes_by_channel(self.group, tensor)
            if member is not None:
                at = self.group.members.index(member)
                row = row // member.channels * channels[at]
        return row // self.batches

    def _widest(self) -> dict[str, int]:
        """The most channels of each tensor in a pass, where there are passes over channels."""
        if self.plan.channel_passes == 1:
            return {}
        (member,) = self.group.members
        out = self.graph.tensors[member.op.outputs[0]]
        found = dict.fromkeys(self.group.loaded, 0)
        for part in pass_ranges(out.shape[Axes.of(out.shape).channel or 0], self.plan.channel_tile):
            for name, (start, stop) in input_channels(self.graph, self.group, part).items():
                found[name] = max(found[name], stop - start)
        return found | {out.name: self.plan.channel_tile}
