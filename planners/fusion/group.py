"""What a fused group costs: the buffer it needs against the off-chip bytes that it moves.

Equations 3 and 4 of Optimus, for any DAG of operators, several outputs, and each operator's
parameters kept on chip or refilled for each tile by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planners.fusion.lattice import Dag
from planners.fusion.passes import channel_passes
from planners.fusion.rows import Counts, Rows, RowTables, rows_of
from planners.fusion.strips import Flow, Group, flow, heights
from planners.graph.access import CONVOLUTIONS, ELEMENTWISE, POOLS
from planners.graph.model import Graph
from planners.machine import Machine
from planners.masks import bits

MOST_SUBSETS = 5  # Of so many operators with parameters each subset is tried, of more some.
FEW_STRIPS = 4  # Enough to load the next strip and store the last while one is computed.


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A way to run a group: `traffic_bytes` are all that cross, parameters included.

    `rows_per_strip` counts rows of the tallest output, `images` those in a tile. `kept` are the
    places in the group of operators whose parameters stay on chip; the others' are loaded anew
    for each tile, `channel_tile` output channels or more at a time. An operator alone may be run
    in `channel_passes` over its input, each with the parameters of `channel_tile` channels.
    """

    buffer_bytes: int
    traffic_bytes: int
    rows_per_strip: int
    strips: int
    images: int
    kept: tuple[int, ...]
    channel_tile: int
    channel_passes: int = 1


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

    def staircase(self, mask: int) -> tuple[GroupPlan, ...]:
        """Undominated ways to run a group, from small buffer and much traffic to the reverse."""
        if self.why_not(mask):
            return ()
        group = self.group(mask)
        key = _content(group)
        if key not in self._known:
            self.evaluations += 1
            self._known[key] = self._evaluate(group)
        return self._known[key]

    def best(self, mask: int, budget_bytes: int) -> GroupPlan | None:
        """The way of least traffic within a budget; None where there is none."""
        fitting = [plan for plan in self.staircase(mask) if plan.buffer_bytes <= budget_bytes]
        return fitting[-1] if fitting else None

    def roomiest(self, mask: int, budget_bytes: int) -> GroupPlan | None:
        """Of the ways that move what `best` moves within the budget, one of few, wide tiles.

        Parameters and maps then come in longer bursts; a few strips are left to overlap.
        """
        if self.why_not(mask):
            return None
        group = self.group(mask)
        fitting = [way for way in self._ways(group, True) if way.buffer_bytes <= budget_bytes]
        least = min((way.traffic_bytes for way in fitting), default=0)
        equal = [way for way in fitting if way.traffic_bytes == least]
        return min(equal, key=_clumsiness, default=None)

    def _evaluate(self, group: Group) -> tuple[GroupPlan, ...]:
        found = undominated(list(self._ways(group, False)))
        if self._free and len(group.members) == 1 and _is_local_layer(self.graph, group.members[0]):
            return (replace(found[0], traffic_bytes=0),)
        return found

    def _ways(self, group: Group, dominated: bool) -> Iterator[GroupPlan]:
        yield from self._strip_ways(group, dominated)
        if len(group.members) == 1:
            for point in channel_passes(self.graph, group):
                yield GroupPlan(**point)

    def _strip_ways(self, group: Group, dominated: bool) -> Iterator[GroupPlan]:
        """Every height of strips and number of images, with the parameters kept or refilled."""
        options = heights(self.graph, group)
        flows = flow(self.graph, group, options)
        strips = np.diff(np.append(flows.first, len(next(iter(flows.upto.values())))))
        rings, moved = self._maps(group, flows)
        for images, batches in _batches(self.graph, group):
            turns = [flows.turns(m.op.outputs[0]) * batches for m in group.members]
            buffers, traffic, kept = self._with_parameters(group, rings // batches, moved, turns)
            points = np.ndindex(buffers.shape) if dominated else _undominated_at(buffers, traffic)
            for way, height in points:
                yield GroupPlan(
                    buffer_bytes=int(buffers[way, height]),
                    traffic_bytes=int(traffic[way, height]),
                    rows_per_strip=options[height],
                    strips=int(strips[height]) * batches,
                    images=images,
                    kept=kept[way],
                    channel_tile=self._least_channels,
                )

    def _maps(self, group: Group, flows: Flow) -> tuple[Counts, Counts]:
        """Bytes of the line buffers for all images at once, and bytes of maps that cross."""
        graph = self.graph
        rings: Counts = np.zeros(len(flows.first), dtype=np.int64)
        moved = rings + sum(graph.size_bytes(t) for t in group.stored)
        for tensor in group.tensors:
            rings += flows.held(tensor) * slot_bytes(graph, group, tensor, self._least_channels)
        for tensor in group.loaded:
            row = graph.size_bytes(tensor) // rows_of(graph.tensors[tensor])
            moved += flows.loaded(tensor) * row
        return rings, moved

    def _with_parameters(
        self, group: Group, rings: Counts, moved: Counts, turns: list[Counts]
    ) -> tuple[Counts, Counts, list[tuple[int, ...]]]:
        """Buffer and traffic by what is kept (one row for each set) and height of strips."""
        holders = [i for i, m in enumerate(group.members) if m.parameter_bytes]
        sets = _subsets(holders, [m.parameter_bytes for m in group.members])
        if not holders:
            return rings[None, :], moved[None, :], sets
        kept = np.array([[i in chosen for i in holders] for chosen in sets])
        sizes = np.array([group.members[i].parameter_bytes for i in holders], dtype=np.int64)
        tiles = [tile_bytes(group.members[i], self._least_channels) for i in holders]
        refills = sizes[:, None] * np.array([turns[i] for i in holders])
        held = kept @ sizes
        buffers = rings + (held + np.where(kept, 0, tiles).max(axis=1))[:, None]
        traffic = moved + held[:, None] + ~kept @ refills
        return buffers, traffic, sets


def slot_bytes(graph: Graph, group: Group, tensor: str, channels: int) -> int:
    """Bytes of a row, for all images, in the line buffer of a tensor.

    An output that nothing in the group reads goes off chip as it is made, `channels` at a time.
    """
    row = graph.size_bytes(tensor) // rows_of(graph.tensors[tensor])
    member = goes_by_channel(group, tensor)
    if member is None:
        return row
    return row // member.channels * min(channels, member.channels)


def goes_by_channel(group: Group, tensor: str) -> Rows | None:
    """The operator that makes a tensor some channels at a time, each stored at once."""
    if tensor not in group.sinks or tensor not in group.stored:
        return None
    member = next(m for m in group.members if tensor in m.op.outputs)
    return member if member.sliced else None


def tile_bytes(member: Rows, channels: int) -> int:
    """Bytes of the parameters of so many output channels; of all where they are not sliced."""
    return member.channel_bytes * (min(channels, member.channels) if member.sliced else 1)


def undominated(plans: list[GroupPlan]) -> tuple[GroupPlan, ...]:
    """Those for which no other needs no more buffer and moves no more, by rising buffer."""
    found: list[GroupPlan] = []
    for plan in sorted(plans, key=lambda p: (p.buffer_bytes, p.traffic_bytes, p.strips)):
        if not found or plan.traffic_bytes < found[-1].traffic_bytes:
            found.append(plan)
    return tuple(found)


def _clumsiness(way: GroupPlan) -> tuple[int, int, int]:
    """Passes over the input, then tiles beyond a few or short of them, then the buffer."""
    return way.channel_passes, abs(way.strips - FEW_STRIPS), way.buffer_bytes


def _undominated_at(buffers: Counts, traffic: Counts) -> Iterator[tuple[int, int]]:
    flat = np.lexsort((traffic.ravel(), buffers.ravel()))
    least = np.minimum.accumulate(traffic.ravel()[flat])
    better = np.concatenate(([True], least[1:] < least[:-1]))
    for index in flat[better]:
        yield divmod(int(index), buffers.shape[1])


def _subsets(holders: list[int], sizes: list[int]) -> list[tuple[int, ...]]:
    """Sets of operators to keep the parameters of: all sets of a few, of many the largest
    together and the smallest together."""
    if len(holders) <= MOST_SUBSETS:
        masks = range(1 << len(holders))
        return [tuple(h for i, h in enumerate(holders) if mask >> i & 1) for mask in masks]
    rising = sorted(holders, key=lambda i: (sizes[i], i))
    found = {tuple(sorted(rising[:n])) for n in range(len(rising) + 1)}
    return sorted(found | {tuple(sorted(rising[n:])) for n in range(len(rising))})


def _batches(graph: Graph, group: Group) -> Iterator[tuple[int, int]]:
    """Images in a tile and the number of such tiles: all at once, or a divisor of them."""
    shape = graph.tensors[group.made[0]].shape
    total = shape[0] if shape else 1
    yield total, 1
    if all(m.by_image for m in group.members):
        yield from ((n, total // n) for n in range(1, total) if total % n == 0)


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
