"""What a few runs hold: tensors and workspaces, an output over what dies with its run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planners.allocation.overlapping.model import PoolBlock, PoolProblem
from planners.core.graph import Graph
from planners.overlap.kernels.candidates import RunCandidate


def packing_of(graph: Graph, runs: Sequence[RunCandidate], stay: Sequence[str]) -> PoolProblem:
    """The packing of runs in order; steps are runs, workspaces are named `run:number`.

    `stay` are held beyond the end; what no run here makes is held from the start.
    """
    distances = {
        (run.writes[0], name): d
        for run in runs
        if len(run.writes) == 1
        for name, d in run.distances.items()
    }
    return PoolProblem(tuple(_blocks(graph, runs, frozenset(stay))), distances)


def _blocks(
    graph: Graph, runs: Sequence[RunCandidate], stay: frozenset[str]
) -> Iterator[PoolBlock]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, run in enumerate(runs):
        for name in (*run.reads, *run.writes):
            first.setdefault(name, at if name in run.writes else 0)
            last[name] = at
        for number, need in enumerate(run.needs):
            yield PoolBlock(f"{at}:{number}", need.size_bytes, at, at)
    for name in first:
        end = len(runs) if name in stay else last[name]
        yield PoolBlock(name, graph.size_bytes(name), first[name], end)
