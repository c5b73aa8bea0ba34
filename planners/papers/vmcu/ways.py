"""The ways to run a block, one a form, each with the least RAM that it can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planners.allocation.overlapping.linear import pack_overlapping
from planners.core.graph import Graph
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, alone, line
from planners.overlap.place.packing import packing_of
from planners.overlap.search.chain import ChainWay


def ways(graph: Graph) -> dict[str, ChainWay]:
    """A block's way of least RAM in each form that it can run in; `plain`: operators alone."""
    best: dict[str, ChainWay] = {}
    for form, runs in _forms(graph):
        packed = pack_overlapping(packing_of(graph, runs, graph.outputs))
        assert packed is not None  # without a limit there is always one
        extra = sum(run.extra_macs for run in runs)
        way = ChainWay(0, len(graph.operators), tuple(runs), packed, extra)
        if form not in best or way.size_bytes < best[form].size_bytes:
            best[form] = way
    return best


def _forms(graph: Graph) -> Iterator[tuple[str, Sequence[RunCandidate]]]:
    positions = range(len(graph.operators))
    yield "plain", [alone(graph, position) for position in positions]
    if (run := line(graph, positions)) is not None and len(positions) > 1:
        yield "line", [run]
        for candidate in recomputing(graph, positions):
            yield candidate.form, [candidate]
