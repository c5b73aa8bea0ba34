"""The inverted bottleneck with the pixels under its window made anew (the paper's section 5.2).

Expanding convolution, depthwise one, projecting 1×1 and perhaps an addition: A → B → C → D and
E = D + A. The expanded pixels are computed for each window (`window`), for those columns that the
last window of the row did not have (`columns`), or in tiles of channels (`tile`). The paper's
expansion is a 1×1; a network's first blocks have a window there too, and gain as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planners.core.details.pool import Form
from planners.core.graph import Graph, Operator
from planners.overlap.kernels.candidates import UNPADDED, BufferNeed, RunCandidate, ends
from planners.overlap.model.dependences import Numbers, Reach
from planners.overlap.model.segments import Segments
from planners.overlap.model.separable import streams

ACCUMULATOR_BYTES = 4
LEAST_TILE = 4
"""Channels: as many int8 values as a Cortex-M takes at once."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The operators of one: `add` is None where there is no residual."""

    expand: Operator
    depthwise: Operator
    project: Operator
    add: Operator | None

    @property
    def a(self) -> str:
        return self.expand.inputs[0]

    @property
    def b(self) -> str:
        return self.expand.outputs[0]

    @property
    def c(self) -> str:
        return self.depthwise.outputs[0]

    @property
    def d(self) -> str:
        return self.project.outputs[0]

    @property
    def last(self) -> Operator:
        return self.add or self.project


def bottleneck(graph: Graph, positions: Sequence[int]) -> Bottleneck | None:
    """The operators as an inverted bottleneck; None where they are not one that can run as one."""
    ops = [graph.operators[p] for p in positions]
    if len(ops) not in (3, 4) or not all(streams(graph, op) for op in ops):
        return None
    block = Bottleneck(ops[0], ops[1], ops[2], ops[3] if len(ops) == 4 else None)
    reads, writes = ends(graph, positions)
    chained = block.depthwise.inputs == (block.b,) and block.project.inputs == (block.c,)
    if writes != block.last.outputs or reads != (block.a,) or not chained:
        return None
    expands = block.expand.kind == "conv2d" and block.expand.groups == 1
    if not (expands and _pointwise(block.project) and _slides(graph, block)):
        return None
    if block.add and (block.add.kind != "add" or set(block.add.inputs) != {block.a, block.d}):
        return None
    return block


def _pointwise(op: Operator) -> bool:
    plain = set(op.kernel) | set(op.stride) == {1} and not any(op.padding)
    return op.kind == "conv2d" and op.groups == 1 and plain


def _slides(graph: Graph, block: Bottleneck) -> bool:
    """A depthwise window without holes that touches every pixel of its input."""
    op = block.depthwise
    channels = graph.tensors[block.b].shape[1]
    if op.kind != "conv2d" or op.groups != channels or set(op.dilation) != {1}:
        return False
    if graph.tensors[block.c].shape[1] != channels:
        return False
    seen: set[int] = set()
    reach = Reach(graph, op, block.b)
    for number in range(reach.out.count):
        seen.update(reach.reads(number))
    return len(seen) == reach.source.count


def recomputing(graph: Graph, positions: Sequence[int]) -> Iterator[RunCandidate]:
    """The block in each form that computes expanded pixels more than once."""
    block = bottleneck(graph, positions)
    if block is None:
        return
    window = BottleneckWindows(graph, block)
    yield window.candidate("window", positions)
    yield window.candidate("columns", positions)
    channels = Segments(graph, block.b).channels
    tile = LEAST_TILE
    # A pixel of the pool has no room for sums that are wider than its elements.
    if graph.sum_bytes(block.project, 1) > graph.bytes_of(block.d, 1):
        return
    while tile < channels:
        yield window.candidate("tile", positions, tile)
        tile *= 4


class BottleneckWindows:
    """What each window of a bottleneck's depthwise convolution reads, and what of it is new."""

    def __init__(self, graph: Graph, block: Bottleneck) -> None:
        self.graph, self.block = graph, block
        self.reach = Reach(graph, block.depthwise, block.b)
        self.out = Segments(graph, block.last.outputs[0])
        self.width = self.reach.source.grid[2]
        self.source = Reach(graph, block.expand, block.a)

    def rows(self, number: int) -> tuple[int, int]:
        return self.reach.rows[number // self.out.grid[2]]

    def columns(self, number: int) -> tuple[int, int]:
        return self.reach.columns[number % self.out.grid[2]]

    def fresh(self, number: int) -> tuple[int, int]:
        """The columns under a window that the window before it, in the same row, has not."""
        start, stop = self.columns(number)
        if number % self.out.grid[2]:
            start = max(start, self.columns(number - 1)[1])
        return start, max(start, stop)

    def computed(self, form: Form) -> Numbers:
        """How many expanded pixels each output pixel computes."""
        span = self.columns if form != "columns" else self.fresh
        counts = []
        for number in range(self.out.count):
            (top, bottom), (left, right) = self.rows(number), span(number)
            counts.append((bottom - top) * (right - left))
        return np.array(counts)

    def still(self, form: Form) -> Numbers:
        """The lowest pixel of A that each output pixel and those after it read; then the count."""
        count = self.reach.source.count
        if form != "columns":
            return self.source.still[self.reach.still]
        low = []
        for number in range(self.out.count):
            (top, bottom), (left, right) = self.rows(number), self.fresh(number)
            low.append(top * self.width + left if bottom > top and right > left else count)
        lowest: Numbers = np.minimum.accumulate(np.append(low, count)[::-1])[::-1]
        return self.source.still[lowest]

    def candidate(self, form: Form, positions: Sequence[int], channels: int = 0) -> RunCandidate:
        block = self.block
        again = int(self.computed(form).sum()) - self.reach.source.count
        each = block.expand.macs // self.reach.source.count
        return RunCandidate(
            form=form,
            operators=tuple(positions),
            reads=(block.a,),
            writes=block.last.outputs,
            needs=tuple(self._needs(form, channels)),
            distances={block.a: self.distance(form)},
            extra_macs=again * each,
            channels=channels if form == "tile" else 0,
        )

    def _needs(self, form: Form, channels: int) -> Iterator[BufferNeed]:
        graph, block = self.graph, self.block
        count = channels or Segments(graph, block.b).channels
        rows, columns = block.depthwise.kernel
        yield BufferNeed(block.b, rows * columns, graph.bytes_of(block.b, count))
        yield BufferNeed(block.c, 1, graph.bytes_of(block.c, count))
        kept = Segments(graph, block.d)
        if form == "tile":
            size = max(ACCUMULATOR_BYTES * kept.channels, kept.size_bytes)
            yield BufferNeed(block.d, 1, size, sums=True)
        elif block.add is not None:
            yield BufferNeed(block.d, 1, kept.size_bytes)

    def distance(self, form: Form, pitches: Mapping[str, int] = UNPADDED) -> int:
        """d in bytes: what is written once each output pixel is, before what A still must keep.

        `pitches`: from one pixel of a tensor to the next, where that is not a pixel's bytes.
        """
        block, size = self.block, self.out.size_bytes
        each = pitches.get(block.a, Segments(self.graph, block.a).size_bytes)
        number = np.arange(self.out.count)
        begin = number * pitches.get(self.out.tensor, size)
        still = self.still(form)
        # Sums that go straight into the pool begin while their window is still to be read.
        sums_in_pool = form == "tile" and block.add is None
        low = still[:-1] if sums_in_pool else still[1:]
        d = 0
        if block.add is not None:  # The pixel of A itself is read with the last write to it.
            low = np.minimum(low, number + 1)
            d = int((begin - each * number).max())
        open_ = low < self.source.source.count
        after = (begin + size - each * low)[open_]
        return max(0, d, int(after.max()) if open_.any() else 0)
