"""Blocks that were placed apart become one layout: each is turned so that tensors stay put."""

from __future__ import annotations

from collections.abc import Sequence

from planners.allocation.overlapping.model import turn
from planners.core.details.pool import Buffer, KernelRun, PoolLayout
from planners.core.graph import Graph
from planners.overlap.search.chain import ChainWay


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
