"""The paper's cost of a fused group as it is printed: equations 3 and 4 and Algorithm 2 of Optimus.

Kept to compare with. No program has these costs: parameters that are refilled have no place in
the buffer, and the halo of maps held a few channels at a time is free. `planners.fusion.cost.group`
has the costs of programs that run.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.core.access import CONVOLUTIONS, ELEMENTWISE, POOLS
from planners.core.graph import Graph, Operator
from planners.core.integers import least_parts
from planners.core.machine import load_machine
from planners.core.masks import bits
from planners.fusion.cost.group import GroupModel
from planners.fusion.tile.axes import Axes, rows_of

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tiling:
    """A way to run a group: the buffer it needs, the bytes it moves, its tiles."""

    buffer_bytes: int
    traffic_bytes: int
    strips: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What a fuser may do.

    `early`: Algorithm 2 picks maps of which `channel_tile` channels are enough (ISOA), of operators
    alone, and of groups too where `early_groups`. `refill`: groups may load their parameters anew
    for each tile (eq. 3); operators alone always may.
    `weights_bytes`: parameters have a buffer of their own of that size, and need none of maps.
    """

    channel_tile: int = 16
    early: bool = True
    early_groups: bool = True
    refill: bool = True
    weights_bytes: int | None = None


class _Around(NamedTuple):
    """The operators of a group, the maps that they read from off chip and make, and the bytes of
    maps that cross and of all parameters.
    """

    ops: list[Operator]
    loaded: list[str]
    made: list[str]
    sinks: list[str]
    moved: int
    parameters: int


class PrintedModel:
    """The cost of every group of a graph by the paper's equations."""

    def __init__(self, graph: Graph, rules: Rules) -> None:
        self.graph, self.rules = graph, rules
        # Which groups there are at all is not a matter of cost.
        self._valid = GroupModel(graph, load_machine("optimus"), {})

    def staircase(self, mask: int) -> tuple[Tiling, ...]:
        """Undominated ways to run a group, from small buffer and much traffic to the reverse."""
        if self._valid.why_not(mask):
            return ()
        steps: list[Tiling] = []
        for way in sorted(self._tilings(mask), key=attrgetter("buffer_bytes", "traffic_bytes")):
            if not steps or way.traffic_bytes < steps[-1].traffic_bytes:
                steps.append(way)
        return tuple(steps)

    def fuses(self, mask: int) -> bool:
        """Whether a convex group can run as one."""
        return self._valid.fuses(mask)

    def least_traffic(self, mask: int) -> int:
        """Bytes that no way to run a group is below: what crosses, once."""
        around = self._around(mask)
        return around.moved + around.parameters

    def _around(self, mask: int) -> _Around:
        graph, size = self.graph, self.graph.size_bytes
        ops = [graph.operators[i] for i in bits(mask)]
        written = [t for op in ops for t in op.outputs]
        read = dict.fromkeys(t for op in ops for t in op.inputs)
        loaded = [t for t in read if t not in written]
        stored = [t for t in written if self._leaves(t, mask)]
        return _Around(
            ops,
            loaded,
            written,
            [t for t in written if t not in read],
            moved=sum(map(size, loaded)) + sum(map(size, stored)),
            parameters=sum(size(t) for t in {t for op in ops for t in op.parameters}),
        )

    def _tilings(self, mask: int) -> list[Tiling]:
        graph, around = self.graph, self._around(mask)
        ops, loaded, written, sinks, moved, parameters = around
        tallest = max(rows_of(graph.tensors[t]) for t in sinks)
        heights = [tallest] if any(_whole(graph, op) for op in ops) else least_parts(tallest)
        buffers = self._held(ops, [*loaded, *written], sinks, tallest, heights)
        tilings = []
        images = graph.tensors[written[0]].shape[0] if graph.tensors[written[0]].shape else 1
        for together in (n for n in range(1, images + 1) if images % n == 0):
            for height, rows in zip(heights, buffers):
                tiles = -(-tallest // height) * (images // together)
                buffer = int(rows) * together // images
                tilings += self._ways(buffer, moved, parameters, tiles, len(ops) == 1)
        if len(ops) == 1 and is_local_layer(graph, ops[0]):
            # Channels on their own: so many in, as many out, all rows at once.
            buffer = int(
                max(self._share(t) for t in written)
                * sum(map(graph.size_bytes, (*loaded, *written)))
            )
            tilings.append(Tiling(buffer // images + parameters, moved + parameters, images))
        return tilings

    def _ways(
        self, buffer: int, moved: int, parameters: int, tiles: int, alone: bool
    ) -> list[Tiling]:
        """Parameters kept, and loaded for each tile (eq. 3)."""
        weights_bytes, ways = self.rules.weights_bytes, []
        if weights_bytes is None or parameters <= weights_bytes:
            place = parameters if weights_bytes is None else 0
            ways.append(Tiling(buffer + place, moved + parameters, tiles))
        if alone or self.rules.refill:
            ways.append(Tiling(buffer, moved + tiles * parameters, tiles))
        return ways

    def _leaves(self, tensor: str, mask: int) -> bool:
        readers = self.graph.consumers[tensor]
        outside = any(not mask >> i & 1 for i in readers)
        return outside or not readers or tensor in self.graph.outputs

    def _held(
        self,
        ops: list[Operator],
        tensors: list[str],
        sinks: list[str],
        tallest: int,
        heights: list[int],
    ) -> Counts:
        """The left side of eq. 4 in bytes, for all images, for each height of the last tile."""
        graph = self.graph
        need = _rows_needed(graph, ops, tensors, sinks, tallest, [1, *heights])
        row = {t: graph.size_bytes(t) // rows_of(graph.tensors[t]) for t in tensors}
        few = {t: row[t] * self._share(t) for t in tensors}
        allowed = self.rules.early and (len(ops) == 1 or self.rules.early_groups)
        early = self._early(ops, tensors, need, row, few) if allowed else set()
        total = sum(need[t] * (few[t] if t in early else row[t]) for t in tensors)
        return np.asarray(np.ceil(total), dtype=np.int64)[1:]

    def _share(self, tensor: str) -> float:
        shape = self.graph.tensors[tensor].shape
        axis = Axes.from_shape(shape).channel
        return 1.0 if axis is None else min(1.0, self.rules.channel_tile / shape[axis])

    def _early(
        self,
        ops: list[Operator],
        tensors: list[str],
        need: dict[str, Counts],
        row: dict[str, int],
        few: dict[str, float],
    ) -> set[str]:
        """Algorithm 2: the maps held a few channels at a time, none made from another."""
        after = {t: [o for op in ops if t in op.inputs for o in op.outputs] for t in tensors}
        whole: dict[str, float] = {}
        part: dict[str, float] = {}
        for tensor in reversed(tensors):
            rows = int(need[tensor][0])
            part[tensor] = rows * few[tensor] + sum(whole[t] for t in after[tensor])
            best = sum(min(whole[t], part[t]) for t in after[tensor])
            whole[tensor] = rows * row[tensor] + best
        chosen: set[str] = set()
        barred: set[str] = set()
        for tensor in tensors:
            if tensor not in barred and part[tensor] < whole[tensor]:
                chosen.add(tensor)
                barred.update(after[tensor])
        return chosen


def is_local_layer(graph: Graph, op: Operator) -> bool:
    """Element-wise, pooling or depth-wise: each output channel from its own input channel."""
    if op.kind in CONVOLUTIONS:
        return op.groups > 1 and graph.tensors[op.inputs[0]].shape[1:2] == (op.groups,)
    return op.kind in ELEMENTWISE | POOLS | {"adaptive_avg_pool2d", "batch_norm"}


def _rows_needed(
    graph: Graph,
    ops: list[Operator],
    tensors: list[str],
    sinks: list[str],
    tallest: int,
    heights: list[int],
) -> dict[str, Counts]:
    """R_h(l, t): t·S + K − S rows of an input for t of the output, back from the last tile."""
    last = np.array(heights, dtype=np.int64)
    need = {t: np.zeros_like(last) for t in tensors}
    for tensor in sinks:
        need[tensor] = -(-last * rows_of(graph.tensors[tensor]) // tallest)
    for op in reversed(ops):
        rows = need[op.outputs[0]]
        for tensor in op.inputs:
            all_rows = rows_of(graph.tensors[tensor])
            below = _below(graph, op, tensor, rows)
            need[tensor] = np.maximum(need[tensor], np.minimum(below, all_rows))
    return need


def _below(graph: Graph, op: Operator, tensor: str, rows: Counts) -> Counts:
    if _whole(graph, op):
        return np.full_like(rows, rows_of(graph.tensors[tensor]))
    if op.kind not in CONVOLUTIONS | POOLS or not op.kernel:
        return rows
    kernel = op.dilation[0] * (op.kernel[0] - 1) + 1
    return np.asarray(rows * op.stride[0] + kernel - op.stride[0], dtype=np.int64)


def _whole(graph: Graph, op: Operator) -> bool:
    """Whether an operator needs all rows of its input at once."""
    rows = rows_of(graph.tensors[op.outputs[0]])
    slides = op.kind in CONVOLUTIONS | POOLS
    return not slides and any(rows_of(graph.tensors[t]) != rows for t in op.inputs)
