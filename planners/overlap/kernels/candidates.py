"""What can run as one kernel: its workspace, its distances and the work that it repeats.

Operators that run together pull pixels from one another: each pixel of an inner tensor is made
just before it is first read, in raster order, and kept while a pixel still to be made reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planners.core.details.pool import Form
from planners.core.graph import Graph
from planners.overlap.model.dependences import Numbers, Reach
from planners.overlap.model.distance import distance, order
from planners.overlap.model.segments import Segments
from planners.overlap.model.separable import streams

UNPADDED: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class BufferNeed:
    """A buffer that a run needs: see `layout.Buffer`."""

    tensor: str
    pixels: int
    pixel_bytes: int
    sums: bool = False

    @property
    def size_bytes(self) -> int:
        return self.pixels * self.pixel_bytes


@dataclass(frozen=True, slots=True)
class RunCandidate:
    """Operators (positions in the graph) as one run.

    `reads` and `writes` lie whole in the pool. `distances`: by how many bytes the output must
    begin before a tensor read here, where that tensor dies with this run (d of eq. 2);
    those that are missing must lie apart from the output. `extra_macs` are computed again. `rows`
    of the output are made by an instruction; 0: each makes a segment, as in `KernelRun`.
    """

    form: Form
    operators: tuple[int, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    needs: tuple[BufferNeed, ...] = ()
    distances: Mapping[str, int] = field(default_factory=dict)
    extra_macs: int = 0
    channels: int = 0
    rows: int = 0

    @property
    def workspace_bytes(self) -> int:
        return sum(need.size_bytes for need in self.needs)


def alone(graph: Graph, position: int) -> RunCandidate:
    """One operator by itself."""
    op = graph.operators[position]
    by_input = {name: distance(graph, op, name) for name in op.inputs}
    distances = {name: d for name, d in by_input.items() if d is not None}
    return RunCandidate("alone", (position,), op.inputs, op.outputs, distances=distances)


def ends(graph: Graph, positions: Sequence[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a group reads from outside, and what of it is read outside or is an output."""
    inside = set(positions)
    written = {t for p in positions for t in graph.operators[p].outputs}
    read = dict.fromkeys(t for p in positions for t in graph.operators[p].inputs)
    left = [
        t
        for p in positions
        for t in graph.operators[p].outputs
        if t in graph.outputs or not graph.consumers[t] or set(graph.consumers[t]) - inside
    ]
    return tuple(t for t in read if t not in written), tuple(left)


def line(graph: Graph, positions: Sequence[int]) -> RunCandidate | None:
    """Operators with a line buffer between each two; None where they cannot run so.

    All must stream, and only what the last one makes may be read outside.
    """
    ops = [graph.operators[p] for p in positions]
    reads, writes = ends(graph, positions)
    if writes != ops[-1].outputs or not all(streams(graph, op) for op in ops):
        return None
    pull = Pull(graph, positions)
    needs = tuple(pull.need(op.outputs[0]) for op in ops[:-1])
    distances = {name: pull.distance(name) for name in reads}
    return RunCandidate("line", tuple(positions), reads, writes, needs, distances)


class Pull:
    """How far each operator of a group is when a pixel of the last one's output is made."""

    def __init__(self, graph: Graph, positions: Sequence[int]) -> None:
        self.graph = graph
        self.ops = [graph.operators[p] for p in positions]
        self.last = self.ops[-1]
        self.out = Segments(graph, self.last.outputs[0])
        self.reach: dict[str, dict[str, Reach]] = {}  # by tensor, then by the operator's output
        for op in self.ops:
            for name in op.inputs:
                self.reach.setdefault(name, {})[op.outputs[0]] = Reach(graph, op, name)
        self.made = self._made()

    def _made(self) -> dict[str, Numbers]:
        """The newest pixel of each inner tensor once each output pixel is made; -1: none yet."""
        newest_of = {self.out.tensor: np.arange(self.out.count)}
        for op in reversed(self.ops[:-1]):
            name = op.outputs[0]
            # Behind the last stands what none pulls: none.
            every = ((c, np.append(newest(reach), -1)) for c, reach in self.reach[name].items())
            pulled = [pulls[newest_of[c]] for c, pulls in every]
            newest_of[name] = np.maximum.reduce(pulled)
        return newest_of

    def need(self, name: str) -> BufferNeed:
        """The ring that holds an inner tensor's pixels from their making to their last read."""
        most = 1
        readers = self.reach[name]
        for c, reach in readers.items():
            most = max(most, int((newest(reach) - reach.still[:-1]).max()) + 1)
            if len(readers) > 1:  # Another may pull while this one waits for the next output.
                before = np.append(-1, self.made[c][:-1])
                most = max(most, int((self.made[name] - reach.still[before + 1]).max()) + 1)
        segments = Segments(self.graph, name)
        return BufferNeed(name, min(most, segments.count), segments.size_bytes)

    def distance(self, name: str, pitches: Mapping[str, int] = UNPADDED) -> int:
        """Bytes by which the output begins before a tensor that dies with the group, at least.

        `pitches`: from one pixel of a tensor to the next, where that is not a pixel's bytes.
        """
        source = Segments(self.graph, name)
        each, count = pitches.get(name, source.size_bytes), source.count
        begin = np.arange(self.out.count) * pitches.get(self.out.tensor, self.out.size_bytes)
        end = begin + self.out.size_bytes
        after = np.full(self.out.count, count)
        for c, reach in self.reach[name].items():
            after = np.minimum(after, reach.still[self.made[c] + 1])
        d = _most(end - each * after, after < count)
        of_last = self.reach[name].get(self.out.tensor)
        if of_last is not None:  # What a pixel reads is needed up to its last channel, or its own.
            each_reads_all = order(self.graph, self.last) == "segment"
            left = np.minimum(after, of_last.still[:-1])
            wider = self.graph.bytes_of(self.out.tensor, 1) - self.graph.bytes_of(name, 1)
            ahead = max(0, self.out.channels * wider)
            last = end - 1 if each_reads_all else begin + ahead
            d = max(d, _most(last - each * left, left < count))
        return d


def newest(reach: Reach) -> Numbers:
    """How far an operand must be for each output pixel; for the last one it must be complete."""
    furthest = reach.newest.copy()
    furthest[-1] = reach.source.count - 1
    return furthest


def _most(values: Numbers, counted: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    """The largest of the values that are counted, at least zero."""
    return max(0, int(values[counted].max())) if counted.any() else 0
