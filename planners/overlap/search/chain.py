"""A network as blocks between tensors that are alone in memory, and the runs of each block.

Where one tensor is all that is held, the pool can turn: what is in front of it and what is behind
are placed without regard to each other, and the network needs what its neediest block needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planners.allocation.overlapping.exact import Packed, pack_overlapping
from planners.allocation.overlapping.model import turn
from planners.core.details.pool import Buffer, KernelRun, PoolLayout
from planners.core.graph import Graph
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, alone, line
from planners.overlap.place.packing import packing_of


@dataclass(frozen=True, slots=True)
class WayRules:
    """Of the search for the ways to run a block."""

    beaten: bool = True
    """Runs are not placed that take, by a bound, no less memory than others that repeat no more."""


WAY_RULES = WayRules()

MOST_OPERATORS = 8
"""In a block whose ways of splitting into runs are all tried."""
MOST_JOINED = 24
"""Operators of several blocks that are tried as one run."""


@dataclass(frozen=True, slots=True)
class ChainWay:
    """One way to run the operators `[first, stop)`: runs, their offsets, bytes and repeated work.

    Offsets are from the lowest address of the block.
    """

    first: int
    stop: int
    runs: tuple[RunCandidate, ...]
    packed: Packed
    extra_macs: int

    @property
    def size_bytes(self) -> int:
        return self.packed.size_bytes

    @property
    def workspace_bytes(self) -> int:
        return sum(run.workspace_bytes for run in self.runs)


def cuts(graph: Graph) -> list[int]:
    """Positions in the default order at which exactly one tensor is held; both ends always."""
    positions = [0]
    outputs = set(graph.outputs)
    for position in range(1, len(graph.operators)):
        live = [
            name
            for name, tensor in graph.tensors.items()
            if tensor.kind != "parameter"
            and graph.producer.get(name, -1) < position
            and (max(graph.consumers[name], default=-1) >= position)
        ]
        if len(live) == 1 and outputs.isdisjoint(graph.operators[position - 1].outputs):
            positions.append(position)
    return [*positions, len(graph.operators)]


def ways_of_block(
    graph: Graph, first: int, stop: int, fuse: bool = True, rules: WayRules = WAY_RULES
) -> Iterator[ChainWay]:
    """All ways to split a block into runs, each in every form; dominated ones may be among them."""
    options = _Options(graph)
    ops = graph.operators[first:stop]
    stay = [t for op in ops for t in (*op.inputs, *op.outputs) if stays(graph, t, stop)]
    seen: list[tuple[int, int]] = []
    for parts in splits(first, stop, fuse):
        for runs in _choices(options, parts):
            extra = sum(run.extra_macs for run in runs)
            packing = packing_of(graph, runs, stay)
            if any(size <= packing.floor and macs <= extra for size, macs in seen):
                continue
            packed = pack_overlapping(packing)
            if packed is not None:
                if rules.beaten:
                    seen.append((packed.size_bytes, extra))
                yield ChainWay(first, stop, tuple(runs), packed, extra)


def joined_ways(graph: Graph, first: int, stop: int) -> list[ChainWay]:
    """The operators of several blocks as one run; none where they cannot run so."""
    run = line(graph, range(first, stop))
    if run is None:
        return []
    ways = []
    stay = [t for t in (*run.reads, *run.writes) if stays(graph, t, stop)]
    for candidate in (run, *recomputing(graph, range(first, stop))):
        packed = pack_overlapping(packing_of(graph, [candidate], stay))
        if packed is not None:
            ways.append(ChainWay(first, stop, (candidate,), packed, candidate.extra_macs))
    return ways


def stays(graph: Graph, tensor: str, stop: int) -> bool:
    return tensor in graph.outputs or any(p >= stop for p in graph.consumers[tensor])


def splits(first: int, stop: int, fuse: bool) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut a range into consecutive ranges, those with fewest pieces first."""
    if not fuse:
        yield [(p, p + 1) for p in range(first, stop)]
        return
    inner = list(range(first + 1, stop))
    for mask in sorted(range(1 << len(inner)), key=lambda m: (m.bit_count(), m)):
        marks = [first, *(p for i, p in enumerate(inner) if mask >> i & 1), stop]
        yield list(zip(marks, marks[1:], strict=False))


class _Options:
    """The candidates for each range of operators, made once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[tuple[int, int], list[RunCandidate]] = {}

    def candidates(self, part: tuple[int, int]) -> list[RunCandidate]:
        if part not in self.known:
            self.known[part] = list(self._make(range(*part)))
        return self.known[part]

    def _make(self, positions: Sequence[int]) -> Iterator[RunCandidate]:
        if len(positions) == 1:
            yield alone(self.graph, positions[0])
            return
        if (run := line(self.graph, positions)) is not None:
            yield run
            yield from recomputing(self.graph, positions)


def _choices(options: _Options, parts: Sequence[tuple[int, int]]) -> Iterator[list[RunCandidate]]:
    """One candidate for each part, in every combination."""
    if not parts:
        yield []
        return
    for candidate in options.candidates(parts[0]):
        for rest in _choices(options, parts[1:]):
            yield [candidate, *rest]


# ---- Blocks that were placed apart become one layout: each is turned so that tensors stay put ----


def turned(graph: Graph, ways: Sequence[ChainWay], pool_bytes: int) -> PoolLayout:
    """The layout of a network's blocks in a pool, modulo its size."""
    offsets: dict[str, int] = {}
    runs: list[KernelRun] = []
    for way in ways:
        local = way.packed.offsets
        shift = turn(local, offsets)
        for at, run in enumerate(way.runs):
            for name in (*run.reads, *run.writes):
                offsets[name] = (local[name] + shift) % pool_bytes
            buffers = tuple(
                Buffer(
                    need.tensor,
                    (local[f"{at}:{number}"] + shift) % pool_bytes,
                    need.pixels,
                    need.pixel_bytes,
                    need.sums,
                )
                for number, need in enumerate(run.needs)
            )
            names = tuple(graph.operators[p].name for p in run.operators)
            runs.append(KernelRun(run.form, names, buffers, run.channels, rows=run.rows))
    return PoolLayout(pool_bytes, offsets, tuple(runs))
