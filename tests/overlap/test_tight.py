"""Distances as programs: valid as planned, refused with one byte less wherever they bind."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

import planners as sp
from planners.allocation.overlapping.exact import pack_overlapping
from planners.catalogue.vmcu import BottleneckShape, bottleneck
from planners.core.details.pool import PoolLayout
from planners.core.graph import Graph
from planners.overlap.emit.program import emit
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, alone, line
from planners.overlap.place.packing import packing_of
from planners.overlap.search.chain import ChainWay, turned
from planners.simulator.check import replay

MACHINE = sp.load_machine("stm32f411")


def random_module(seed: int) -> Graph:
    rng = random.Random(seed)
    strides = (1, rng.choice((1, 1, 2)), 1)
    c_in = rng.randint(1, 6)
    c_out = c_in if rng.random() < 0.5 else rng.randint(1, 6)
    kernel = rng.choice((1, 3, 3, 5)) if strides[1] == 1 else 3
    size = rng.randint(2, 7)
    return bottleneck(BottleneckShape("m", size, c_in, rng.randint(2, 8), c_out, kernel, strides))


def runs_of(graph: Graph) -> list[RunCandidate]:
    """All kernels of a module's first operators: one, two or three of them, or all."""
    count = len(graph.operators)
    found = [alone(graph, 0)]
    for stop in range(2, count + 1):
        for run in (line(graph, range(stop)), *recomputing(graph, range(stop))):
            if run is not None:
                found.append(run)
    return found


def layout_with(graph: Graph, run: RunCandidate, distance: int) -> PoolLayout | None:
    """A run and the rest alone, in a roomy pool, the run's output `distance` before its input."""
    rest = [alone(graph, p) for p in range(max(run.operators) + 1, len(graph.operators))]
    runs = [run, *rest]
    packing = packing_of(graph, runs, graph.outputs)
    dies = next(block.last for block in packing.blocks if block.name == "A") == 0
    if not dies or (run.writes[0], "A") not in packing.distances:
        return None
    packed = pack_overlapping(packing)
    assert packed is not None
    way = ChainWay(0, len(graph.operators), tuple(runs), packed, run.extra_macs)
    roomy = 4 * sum(graph.size_bytes(t) for t in graph.tensors)
    layout = turned(graph, [way], roomy)
    # Everything else moves out of the way of the two.
    first = {run.writes[0]: 0, "A": distance}
    others = {
        t: roomy // 2 + i
        for t, i in packed.offsets.items()
        if t not in first and t in layout.offsets
    }
    buffers, at = [], roomy // 4
    for buffer in layout.runs[0].buffers:
        buffers.append(replace(buffer, offset=at))
        at += buffer.size_bytes
    changed = (replace(layout.runs[0], buffers=tuple(buffers)), *layout.runs[1:])
    return PoolLayout(roomy, others | first, changed)


def valid(graph: Graph, layout: PoolLayout) -> bool:
    try:
        replay(graph, emit(graph, MACHINE, layout))
    except sp.InvalidPlan as error:
        if error.kind != "overlap":
            raise
        return False
    return True


def tight_distances(
    first: int,
    runs: Callable[[Graph], list[RunCandidate]],
    is_tight: Callable[[RunCandidate], bool] = lambda _: True,
) -> int:
    """How many runs of ten modules have a distance that is enough, while a byte less is not."""
    modules = [random_module(seed) for seed in range(first, first + 10)]
    tight = 0
    for graph, run in [(module, run) for module in modules for run in runs(module)]:
        d = run.distances.get("A")
        if d is None or (layout := layout_with(graph, run, d)) is None:
            continue
        assert valid(graph, layout), (run.form, run.rows, d)
        if d > 0 and is_tight(run):
            less = layout_with(graph, run, d - 1)
            assert less is not None
            assert not valid(graph, less), (run.form, run.operators, run.rows, d)
            tight += 1
    return tight


@pytest.mark.parametrize(
    "first", [pytest.param(n, marks=pytest.mark.long if n > 0 else ()) for n in range(0, 60, 10)]
)
def test_a_distance_is_enough_and_one_byte_less_is_not(first: int) -> None:
    assert tight_distances(first, runs_of) > 10
