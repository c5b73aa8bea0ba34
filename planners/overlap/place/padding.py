"""Segments of a kernel's own size: fewer modulo operations, for more bytes of padding.

A kernel takes one address modulo the pool for each segment that it loads or stores. The paper's
rule (section 5.3) makes a segment the smaller of the pixels, or rows, that a kernel reads and
writes (`min`); a larger pixel must then be whole segments, and is padded where it is not. Their
greatest common divisor (`gcd`) pads nothing and takes more operations.

The runs of a layout stay as they are and are placed anew:

* a run has the rule's segment, of the tensors that it reads and writes whole; pixels of its
  buffers, which no other run sees, are not padded;
* a tensor between runs of several segments has as pitch a multiple of all of them, the least that
  holds a pixel: each kernel then finds every pixel at the beginning of one of its segments, and no
  smaller pitch has that;
* the rule is one for convolutions and fully connected layers. An operator alone that makes each
  channel of that channel (depthwise, pooling, element-wise) can do with any segment, so it adds
  nothing to the padding: its segment is the largest that its tensors' pitches are multiples of;
* an output begins a multiple of the segment before an input that it overwrites.

The pool's size is not rounded. A segment may lie across its end, and is then loaded or stored in
two parts; a pool that is a multiple of all segments could waste more than all tensors together in
a network of many segment sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd, lcm

from planners.allocation.overlapping.circular import tightest
from planners.allocation.overlapping.model import PoolBlock, PoolProblem, joined
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.graph import Graph
from planners.core.integers import rounded_up
from planners.core.progress import Clock
from planners.overlap.kernels.bottleneck import BottleneckWindows, bottleneck
from planners.overlap.kernels.candidates import Pull, ends
from planners.overlap.model.distance import order
from planners.overlap.model.segments import Segments

Distances = Mapping[tuple[str, str], int]


def placed_anew(
    graph: Graph, layout: PoolLayout, rule: str, clock: Clock, may_share: Distances
) -> PoolLayout:
    """The runs of a layout with segments by a rule, tensors padded and placed for them.

    Of runs of one operator only the pairs (output, input) in `may_share` overlap. The pool is the
    smallest that is found; it may be larger than that of the layout, never smaller than its
    tensors need.
    """
    if rule == "pixel":
        return layout
    segment_bytes, pitches = segments(graph, layout.runs, rule)
    runs = zip(layout.runs, segment_bytes, strict=True)
    sized = tuple(replace(run, segment_bytes=each) for run, each in runs)
    padded = replace(layout, runs=sized, pitches=pitches)
    return _Placing(graph, padded, clock, may_share).layout()


def segments(
    graph: Graph, runs: Sequence[KernelRun], rule: str
) -> tuple[list[int], dict[str, int]]:
    """Bytes of each run's segment, and from one pixel to the next of tensors that are padded."""
    whole = [_whole(graph, run) for run in runs]
    sizes = {name: Segments(graph, name).size_bytes for names in whole for name in names}
    ruled = {
        number: min(sizes[n] for n in names) if rule == "min" else gcd(*(sizes[n] for n in names))
        for number, names in enumerate(whole)
        if not _by_channel(graph, runs[number])
    }
    touching: dict[str, list[int]] = {name: [] for name in sizes}
    for number, each in ruled.items():
        for name in whole[number]:
            touching[name].append(each)
    pitches = {name: rounded_up(size, lcm(*touching[name])) for name, size in sizes.items()}
    segment_bytes = [
        ruled[number] if number in ruled else gcd(*(pitches[n] for n in names))
        for number, names in enumerate(whole)
    ]
    return segment_bytes, {name: pitch for name, pitch in pitches.items() if pitch != sizes[name]}


def _by_channel(graph: Graph, run: KernelRun) -> bool:
    """Whether it is one operator that makes each channel of the output of that channel only."""
    positions = _positions(graph, run)
    return len(positions) == 1 and order(graph, graph.operators[positions[0]]) == "element"


def _positions(graph: Graph, run: KernelRun) -> list[int]:
    return [graph.index[name] for name in run.operators]


def _whole(graph: Graph, run: KernelRun) -> tuple[str, ...]:
    """What a run reads or writes in the pool, but for its buffers."""
    reads, writes = ends(graph, _positions(graph, run))
    return (*reads, *writes)


class _Placing:
    """Tensors and buffers of a padded layout as blocks, in parts that share one tensor."""

    def __init__(
        self, graph: Graph, layout: PoolLayout, clock: Clock, may_share: Distances
    ) -> None:
        self.graph, self.padded, self.clock = graph, layout, clock
        self.blocks = list(self._blocks())
        self.distances = {
            (output, name): rounded_up(d, run.segment_bytes)
            for number, run in enumerate(layout.runs)
            for output, name, d in self._distances_of(run, may_share)
            if self._dies(name, number)
        }

    def layout(self) -> PoolLayout:
        """All of it in the smallest pool found."""
        parts = list(self._parts())
        pool = max(part.floor for part in parts)
        laid = []
        for part in parts:
            size, places = tightest(part, pool, self.clock)
            pool = max(pool, size)
            laid.append(part.named(places))
        offsets = joined(laid, pool, from_zero=True)
        runs = tuple(self._moved(n, run, offsets) for n, run in enumerate(self.padded.runs))
        kept = {name: at for name, at in offsets.items() if name in self.graph.tensors}
        return replace(self.padded, pool_bytes=pool, offsets=kept, runs=runs)

    def _blocks(self) -> Iterator[PoolBlock]:
        """Whole tensors from first use to last, outputs of the network to the end; buffers."""
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for number, run in enumerate(self.padded.runs):
            for name in _whole(self.graph, run):
                first.setdefault(name, number)
                last[name] = number
            for k, buffer in enumerate(run.buffers):
                yield PoolBlock(_buffer_name(number, k), buffer.size_bytes, number, number)
        for name in first:
            end = len(self.padded.runs) - 1 if name in self.graph.outputs else last[name]
            pixels = Segments(self.graph, name)
            pitch = self.padded.pitches.get(name, pixels.size_bytes)
            yield PoolBlock(name, pixels.count * pitch, first[name], end)

    def _dies(self, name: str, number: int) -> bool:
        return next(b.last for b in self.blocks if b.name == name) == number

    def _distances_of(self, run: KernelRun, may_share: Distances) -> Iterator[tuple[str, str, int]]:
        """How far a run's output begins before what it reads, padded."""
        graph, padded = self.graph, self.padded.pitches
        positions = _positions(graph, run)
        reads, writes = ends(graph, positions)
        if len(writes) != 1:
            return
        if run.form in ("window", "columns", "tile"):
            block = bottleneck(graph, positions)
            assert block is not None  # the run was made from one
            yield writes[0], block.a, BottleneckWindows(graph, block).distance(run.form, padded)
            return
        shared = [n for n in reads if len(positions) > 1 or (writes[0], n) in may_share]
        pull = Pull(graph, positions) if shared else None
        for name in shared:
            assert pull is not None
            yield writes[0], name, pull.distance(name, padded)

    def _parts(self) -> Iterator[PoolProblem]:
        """Stretches of runs between which one tensor lives, or none."""
        count = len(self.padded.runs)
        live = [sum(b.first < n <= b.last for b in self.blocks) for n in range(count + 1)]
        for start, stop in pairwise(
            [n for n in range(count + 1) if n in (0, count) or live[n] < 2]
        ):
            inside = [
                block._replace(first=max(start, block.first), last=min(stop, block.last))
                for block in self.blocks
                if block.first < stop and block.last >= start
            ]
            unit = gcd(*(block.size for block in inside), *self.distances.values())
            yield PoolProblem(inside, self.distances, unit=unit)

    def _moved(self, number: int, run: KernelRun, offsets: Mapping[str, int]) -> KernelRun:
        buffers = tuple(
            replace(b, offset=offsets[_buffer_name(number, k)]) for k, b in enumerate(run.buffers)
        )
        return replace(run, buffers=buffers)


def _buffer_name(number: int, k: int) -> str:
    """No tensor's: names of tensors do not begin with a space."""
    return f" {number}:{k}"
