"""What a fused group costs: the buffer it needs against the off-chip bytes that it moves.

Equations 3 and 4 of Optimus, for any DAG of operators, several outputs, and each operator's
parameters kept on chip or refilled for each tile by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from planners.fusion.advance import candidates, least_buffer
from planners.fusion.lattice import Dag
from planners.fusion.passes import batch_sizes, channel_row, pass_ways
from planners.fusion.rows import Counts, Rows, RowTables, channels_of, rows_of
from planners.fusion.strips import Flow, Group, flow, heights
from planners.fusion.ways import GroupPlan, Ways, cheapest, undominated
from planners.graph.access import CONVOLUTIONS, ELEMENTWISE, POOLS
from planners.graph.model import Graph
from planners.machine import Machine
from planners.masks import bits

MOST_SUBSETS = 5  # Of so many operators with parameters each subset is tried, of more some.
FEW_STRIPS = 4  # Enough to load the next strip and store the last while one is computed.


class GroupModel:
    """The cost of every group of a graph; groups that differ in names only are evaluated once.

    `options`: `channel_tile` (the least output channels computed at once, the paper's T_c) and
    `free_local_layers` (element-wise, pooling and depth-wise operators alone cost nothing).
    """

    def __init__(self, graph: Graph, machine: Machine, options: Mapping[str, Any]) -> None:
        self.graph, self.machine = graph, machine
        self.tables = RowTables(graph)
        self.evaluations = 0
        self._dag = Dag.of(graph)
        self._least_channels = int(options.get("channel_tile", 1))
        self._free = bool(options.get("free_local_layers", False))
        self._known: dict[object, tuple[GroupPlan, ...]] = {}

    def group(self, mask: int) -> Group:
        """The operators of a mask and the tensors around them."""
        return Group.of(self.graph, self.tables, bits(mask))

    def why_not(self, mask: int) -> str:
        """Why these operators cannot be fused, in a few words; empty where they can."""
        positions = list(bits(mask))
        if len(positions) < 2:
            return "" if positions else "no operators"
        for i in positions:
            if reason := self.tables[i].alone:
                return reason
        if not self._dag.is_convex(mask):
            return "a path leaves the group and comes back"
        return _shared_parameter([self.tables[i] for i in positions])

    def staircase(self, mask: int, held: frozenset[str] = frozenset()) -> tuple[GroupPlan, ...]:
        """Undominated ways to run a group, from small buffer and much traffic to the reverse.

        Tensors around the group that are `held` whole on chip count neither for its buffer nor
        for its traffic.
        """
        if self.why_not(mask):
            return ()
        group = self.group(mask)
        key = (_content(group), frozenset(i for i, t in enumerate(group.tensors) if t in held))
        if key not in self._known:
            self.evaluations += 1
            self._known[key] = self._evaluate(group, held)
        return self._known[key]

    def best(
        self, mask: int, budget_bytes: int, held: frozenset[str] = frozenset()
    ) -> GroupPlan | None:
        """The way of least traffic within a budget; None where there is none."""
        fitting = [p for p in self.staircase(mask, held) if p.buffer_bytes <= budget_bytes]
        return fitting[-1] if fitting else None

    def roomiest(
        self, mask: int, budget_bytes: int, held: frozenset[str] = frozenset()
    ) -> GroupPlan | None:
        """Of the ways that move what `best` moves within the budget, one of few, wide tiles.

        Parameters and maps then come in longer bursts; a few strips are left to overlap.
        """
        if self.why_not(mask):
            return None
        ways = self._ways(self.group(mask), held)
        return min(cheapest(ways, budget_bytes), key=_clumsiness, default=None)

    def _evaluate(self, group: Group, held: frozenset[str]) -> tuple[GroupPlan, ...]:
        found = undominated(self._ways(group, held))
        if self._free and len(group.members) == 1 and _is_local_layer(self.graph, group.members[0]):
            return (replace(found[0], traffic_bytes=0),)
        return found

    def _ways(self, group: Group, held: frozenset[str]) -> list[Ways]:
        found = []
        for sliced in self._choices(group, held):
            found += self._strips(group, held, sliced)
        if len(group.members) == 1:
            found += pass_ways(self.graph, group, held, self._least_channels)
        return found

    def _choices(self, group: Group, held: frozenset[str]) -> list[frozenset[str]]:
        """What to hold by the channel: outputs only, as much as can be, or that without inputs.

        Outputs leave as they are made. The halo of inputs would have to be loaded anew.
        """
        graph = self.graph
        able = candidates(graph, self._dag, group, held)
        outputs = frozenset(t for t in able if t in group.sinks)
        least = heights(graph, group)[:1]
        rows = flow(graph, group, least)
        saved = {}
        for tensor in able:
            few = min(self._least_channels, channels_of(graph.tensors[tensor]))
            row = channel_row(graph, tensor) * (channels_of(graph.tensors[tensor]) - few)
            saved[tensor] = int(rows.held(tensor)[0]) * row
        inside = {t: n for t, n in saved.items() if t not in group.loaded}
        most = (least_buffer(graph, group, saved), least_buffer(graph, group, inside))
        return list(dict.fromkeys((outputs, *most)))

    def _strips(self, group: Group, held: frozenset[str], sliced: frozenset[str]) -> list[Ways]:
        """Every height of strips and number of images, with the parameters kept or refilled."""
        options = heights(self.graph, group)
        flows = flow(self.graph, group, options, sliced)
        rings, moved = self._maps(group, flows, held)
        return [
            self._tiled(group, flows, options, (images, batches), rings // batches, moved)
            for images, batches in batch_sizes(self.graph, group)
        ]

    def _tiled(
        self,
        group: Group,
        flows: Flow,
        options: tuple[int, ...],
        tiles: tuple[int, int],
        rings: Counts,
        moved: Counts,
    ) -> Ways:
        """Ways with so many images in so many tiles, by what is kept and by height."""
        images, batches = tiles
        turns = [flows.turns(m.op.outputs[0]) * batches for m in group.members]
        buffers, traffic, kept = self._with_parameters(group, rings, moved, turns, flows.sliced)
        strips = np.diff(np.append(flows.first, len(flows.upto[group.made[0]])))
        places = tuple(i for i, t in enumerate(group.tensors) if t in flows.sliced)

        def make(at: int) -> GroupPlan:
            way, height = divmod(at, len(options))
            return GroupPlan(
                buffer_bytes=int(buffers[way, height]),
                traffic_bytes=int(traffic[way, height]),
                rows_per_strip=options[height],
                strips=int(strips[height]) * batches,
                images=images,
                kept=kept[way],
                channel_tile=self._least_channels,
                sliced=places,
            )

        return Ways(buffers.ravel(), traffic.ravel(), make)

    def _maps(self, group: Group, flows: Flow, held: frozenset[str]) -> tuple[Counts, Counts]:
        """Bytes of the line buffers for all images at once, and bytes of maps that cross."""
        graph = self.graph
        rings: Counts = np.zeros(len(flows.first), dtype=np.int64)
        moved = rings + sum(graph.size_bytes(t) for t in group.stored - held)
        for tensor in group.tensors:
            if tensor not in held:
                sliced = tensor in flows.sliced
                rings += flows.held(tensor) * slot_bytes(
                    graph, tensor, self._least_channels if sliced else None
                )
        for tensor in group.loaded:
            if tensor not in held:
                moved += flows.loaded(tensor) * slot_bytes(graph, tensor)
        return rings, moved

    def _with_parameters(
        self,
        group: Group,
        rings: Counts,
        moved: Counts,
        turns: list[Counts],
        sliced: frozenset[str],
    ) -> tuple[Counts, Counts, list[tuple[int, ...]]]:
        """Buffer and traffic by what is kept (one row for each set) and height of strips."""
        holders = [i for i, m in enumerate(group.members) if m.parameter_bytes]
        sets = _subsets(holders, [m.parameter_bytes for m in group.members])
        if not holders:
            return rings[None, :], moved[None, :], sets
        kept = np.array([[i in chosen for i in holders] for chosen in sets])
        sizes = np.array([group.members[i].parameter_bytes for i in holders], dtype=np.int64)
        tiles = [tile_bytes(group.members[i], self._least_channels, sliced) for i in holders]
        refills = sizes[:, None] * np.array([turns[i] for i in holders])
        held = kept @ sizes
        buffers = rings + (held + np.where(kept, 0, tiles).max(axis=1))[:, None]
        traffic = moved + held[:, None] + ~kept @ refills
        return buffers, traffic, sets


def slot_bytes(graph: Graph, tensor: str, channels: int | None = None) -> int:
    """Bytes of a row in a line buffer, for all images, of all channels or of so many."""
    if channels is None:
        return graph.size_bytes(tensor) // rows_of(graph.tensors[tensor])
    return channel_row(graph, tensor) * min(channels, channels_of(graph.tensors[tensor]))


def tile_bytes(member: Rows, channels: int, sliced: Collection[str]) -> int:
    """Bytes of the parameters for so many channels: of what it adds up, or else of what it makes.

    All of them where they cannot be taken apart.
    """
    if any(member.sums(t) for t in member.op.inputs if t in sliced):
        return min(channels, member.reduced) * member.reduced_bytes + member.rest_bytes
    return member.channel_bytes * (min(channels, member.channels) if member.sliced else 1)


def _clumsiness(way: GroupPlan) -> tuple[int, int, int]:
    """Passes over the input, then tiles beyond a few or short of them, then the buffer."""
    return way.channel_passes, abs(way.strips - FEW_STRIPS), way.buffer_bytes


def _subsets(holders: list[int], sizes: list[int]) -> list[tuple[int, ...]]:
    """Sets of operators to keep the parameters of: all sets of a few, of many the largest
    together and the smallest together."""
    if len(holders) <= MOST_SUBSETS:
        masks = range(1 << len(holders))
        return [tuple(h for i, h in enumerate(holders) if mask >> i & 1) for mask in masks]
    rising = sorted(holders, key=lambda i: (sizes[i], i))
    found = {tuple(sorted(rising[:n])) for n in range(len(rising) + 1)}
    return sorted(found | {tuple(sorted(rising[n:])) for n in range(len(rising))})


def _content(group: Group) -> object:
    """Equal for groups that differ in names only."""
    number = {tensor: i for i, tensor in enumerate(group.tensors)}
    return tuple(
        (
            m.content,
            tuple(number[t] for t in m.op.inputs),
            tuple((number[t], t in group.stored) for t in m.op.outputs),
        )
        for m in group.members
    )


def _shared_parameter(members: list[Rows]) -> str:
    seen: dict[str, str] = {}
    for member in members:
        for name in member.op.parameters:
            if name in seen:
                return f"{seen[name]} and {member.op.name} share the parameter {name}"
            seen[name] = member.op.name
    return ""


def _is_local_layer(graph: Graph, member: Rows) -> bool:
    """Element-wise, pooling or depth-wise: each output channel from its own input channel."""
    op = member.op
    if op.kind in CONVOLUTIONS:
        channels = graph.tensors[op.inputs[0]].shape[1:2]
        return op.groups > 1 and channels == (op.groups,)
    return op.kind in ELEMENTWISE | POOLS | {"adaptive_avg_pool2d", "batch_norm"}
