"""What a fused group costs: the buffer it needs against the off-chip bytes that it moves.

Equations 3 and 4 of Optimus, for any DAG of operators, several outputs, and each operator's
parameters kept on chip or refilled for each tile by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planners.core.access import CONVOLUTIONS, ELEMENTWISE, POOLS, reduced
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.masks import bits, positions
from planners.fusion.cost.boundary import Crossing
from planners.fusion.partition.cost_model import Traits
from planners.fusion.partition.lattice import Dag
from planners.fusion.tile.axes import channels_of
from planners.fusion.tile.channel_streaming import candidates, least_buffer
from planners.fusion.tile.cuts import wider
from planners.fusion.tile.passes import channel_row, pass_ways, sum_row
from planners.fusion.tile.rows import OperatorRows, RowTables
from planners.fusion.tile.strip_ways import strip_ways
from planners.fusion.tile.strips import Flow, Group, bands, flow, heights
from planners.fusion.tile.ways import (
    GroupPlan,
    GroupWays,
    Staircase,
    cheapest,
    fitting,
    undominated,
)

FEW_STRIPS = 4  # Enough to load the next strip and store the last while one is computed.


class GroupModel:
    """The cost of every group of a graph; groups that differ in names only are evaluated once.

    `options`: `channel_tile` (the least channels computed at once, the paper's T_c), `bands` (the
    most bands of columns, 1, 2, 4, ...; the paper has 1) and `free_local_layers` (element-wise,
    pooling and depth-wise operators alone cost nothing) and `joint`, which `leaves_out_sums` where
    accumulators are wider than what they become.
    """

    def __init__(self, graph: Graph, machine: Machine, options: Mapping[str, Any]) -> None:
        self.graph, self.machine = graph, machine
        self._most_bands = int(options.get("bands", 1))
        graph.assert_whole_bytes("fusion")
        joint = bool(options.get("joint", False))
        self.tables = RowTables(graph, columns=self._most_bands > 1, wide_sums=not joint)
        wide = (op for op in graph.operators if wider(graph, op))
        self.leaves_out_sums = joint and any(reduced(graph, op) for op in wide)
        self.evaluations = 0
        self._dag = Dag.from_graph(graph)
        self._least_channels = int(options.get("channel_tile", 1))
        self._free = bool(options.get("free_local_layers", False))
        self._known: dict[object, Sequence[GroupPlan]] = {}
        self._alone = sum(1 << i for i in range(self._dag.count) if self.tables[i].alone)
        self._sharing = _sharing(graph)
        number = {name: k for k, name in enumerate(graph.tensors)}
        self._crossing = [
            Crossing.around_operator(graph, self.tables[i], number) for i in range(self._dag.count)
        ]

    @property
    def traits(self) -> Traits:
        """What a search may take for granted of these costs."""
        return Traits(least_channels=self._least_channels, bands=self._most_bands)

    @property
    def frees_local_layers(self) -> bool:
        """Whether some operators alone are taken to move nothing."""
        return self._free

    def group(self, mask: int) -> Group:
        """The operators of a mask and the tensors around them."""
        return Group.from_operators(self.graph, self.tables, bits(mask))

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

    def fuses(self, mask: int) -> bool:
        """Whether a convex group of operators can run as one."""
        if mask & (mask - 1) == 0:
            return True
        return not mask & self._alone and all((mask & m).bit_count() < 2 for m in self._sharing)

    @property
    def apart(self) -> Sequence[int]:
        """For each operator those that it cannot be in a group with, itself too where it must be
        alone."""
        alone = [self._alone if self._alone >> i & 1 else 0 for i in range(self._dag.count)]
        for sharing in self._sharing:
            for i in bits(sharing):
                alone[i] |= sharing & ~(1 << i)
        return alone

    def least_traffic(self, mask: int) -> int:
        """Bytes that cross however a group runs: maps around it, as far as read, and parameters."""
        total = 0
        loaded: dict[int, int] = {}
        for i in positions(mask):
            crossing = self._crossing[i]
            total += crossing.parameters
            for size, readers in crossing.made:
                if readers & ~mask:
                    total += size
            for tensor, size, maker in crossing.read:
                if not maker & mask and size > loaded.get(tensor, 0):
                    loaded[tensor] = size
        return total + sum(loaded.values())

    def staircase(self, mask: int, held: frozenset[str] = frozenset()) -> Sequence[GroupPlan]:
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
        fits = [p for p in self.staircase(mask, held) if p.buffer_bytes <= budget_bytes]
        return fits[-1] if fits else None

    def roomiest(
        self, mask: int, budget_bytes: int, held: frozenset[str] = frozenset()
    ) -> GroupPlan | None:
        """Of the ways that move what `best` moves within the budget, one of few, wide tiles.

        Parameters and maps then come in longer bursts; a few strips are left to overlap.
        """
        return min(cheapest(self.ways(mask, held), budget_bytes), key=_clumsiness, default=None)

    def ways(self, mask: int, held: frozenset[str] = frozenset()) -> Sequence[GroupWays]:
        """All ways to run a group, dominated ones too, in tables; none where it cannot be fused."""
        staircase = self.staircase(mask, held)
        if not staircase:
            return ()
        # Of a local layer that is free the staircase has one way only.
        return (
            staircase.ways
            if isinstance(staircase, Staircase)
            else self._ways(self.group(mask), held)
        )

    def every_way(
        self, mask: int, budget_bytes: int, held: frozenset[str] = frozenset()
    ) -> list[GroupPlan]:
        """All ways to run a group that fit a budget, whatever they move."""
        return fitting(self.ways(mask, held), budget_bytes)

    def content(self, mask: int) -> object:
        """Equal for groups that differ in names only."""
        return _content(self.group(mask))

    def _evaluate(self, group: Group, held: frozenset[str]) -> Sequence[GroupPlan]:
        staircase: Staircase = undominated(self._ways(group, held))
        if self._free and len(group.members) == 1 and _is_local_layer(self.graph, group.members[0]):
            return (replace(staircase[0], traffic_bytes=0),)
        return staircase

    def _ways(self, group: Group, held: frozenset[str]) -> list[GroupWays]:
        options = heights(self.graph, group)
        flows = self._choices(group, held, options)
        counts = [1 << k for k in range(self._most_bands.bit_length())]
        bandings = [b for n in counts if (b := bands(self.graph, group, n)) is not None]
        ways = [strip_ways(self.graph, group, held, options, flows, bandings, self._least_channels)]
        if len(group.members) == 1:
            ways += pass_ways(self.graph, group, held, self._least_channels)
        return ways

    def _choices(self, group: Group, held: frozenset[str], options: tuple[int, ...]) -> list[Flow]:
        """What to hold by the channel: with something held whole, the choices for nothing held and
        for all around the group, so that more held never has fewer ways.
        """
        graph = self.graph
        able = candidates(graph, self._dag, group, frozenset())
        outputs = flow(graph, group, options, frozenset(t for t in able if t in group.sinks))
        choices = self._sliced(group, outputs, able)
        if held:
            choices += self._sliced(group, outputs, [t for t in able if not group.outside(t)])
        more = [sliced for sliced in dict.fromkeys(choices) if sliced != outputs.sliced]
        return [outputs, *(flow(graph, group, options, sliced) for sliced in more)]

    def _sliced(self, group: Group, outputs: Flow, able: Sequence[str]) -> list[frozenset[str]]:
        """As much as can be, and that without inputs, beside outputs only.

        Outputs leave as they are made. The halo of inputs would have to be loaded anew.
        """
        graph = self.graph
        if not able:
            return [frozenset()]
        saved = {}
        for tensor, rows in zip(able, outputs.held(*able)[:, 0], strict=True):
            channels = channels_of(graph.tensors[tensor])
            fewer = channels - min(self._least_channels, channels)
            saved[tensor] = int(rows) * channel_row(graph, tensor) * fewer
            if fewer:  # Accumulators are wider than what they become.
                summed = [m for m in group.members if m.adds_up({tensor})]
                outs = [m.op.outputs[0] for m in summed]
                for m, held_rows in zip(summed, outputs.held(*outs)[:, 0] if outs else ()):
                    row_bytes = channel_row(graph, m.op.outputs[0])
                    wide = (sum_row(graph, m.op) - row_bytes) * channels_of(
                        graph.tensors[m.op.outputs[0]]
                    )
                    saved[tensor] -= int(held_rows) * wide
        inside = {t: n for t, n in saved.items() if t not in group.loaded}
        return [least_buffer(graph, group, saved), least_buffer(graph, group, inside)]


def _clumsiness(way: GroupPlan) -> tuple[int, int, int]:
    """Passes over the input, then tiles beyond a few or short of them, then the buffer."""
    return way.channel_passes, abs(way.strips - FEW_STRIPS), way.buffer_bytes


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


def _sharing(graph: Graph) -> list[int]:
    """Sets of operators that read the same parameter."""
    readers = (graph.consumers[t] for t, x in graph.tensors.items() if x.kind == "parameter")
    return [sum(1 << i for i in users) for users in readers if len(users) > 1]


def _shared_parameter(members: list[OperatorRows]) -> str:
    seen: dict[str, str] = {}
    for member in members:
        for name in member.op.parameters:
            if name in seen:
                return f"{seen[name]} and {member.op.name} share the parameter {name}"
            seen[name] = member.op.name
    return ""


def _is_local_layer(graph: Graph, member: OperatorRows) -> bool:
    """Element-wise, pooling or depth-wise: each output channel from its own input channel."""
    op = member.op
    if op.kind in CONVOLUTIONS:
        channels = graph.tensors[op.inputs[0]].shape[1:2]
        return op.groups > 1 and channels == (op.groups,)
    return op.kind in ELEMENTWISE | POOLS | {"adaptive_avg_pool2d", "batch_norm"}
