"""Parameters come to free bytes as early as can be, and parts of networks join."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import planners as sp
from planners.core.boxes import meet
from planners.core.loops import items_of
from planners.core.machine import load_machine, with_scratchpad
from planners.core.program import Box, Load, Piece, Program, Repeat
from planners.core.progress import Clock
from planners.joined.concatenate import consecutive
from planners.joined.pool import RoomyBlocks, emitted
from planners.joined.segments import best_segments
from planners.joined.streamed import NEVER, LastReads, NoRoom, ParameterStream, Wanted
from planners.joined.subgraph import part_of
from planners.simulator.check import replay
from tests.cases import cases
from tests.joined.networks import graph_of
from tests.overlap.random_nets import random_net
from tests.random_graphs import random_graph

MACHINE = load_machine("npu_small")


def in_the_pool(
    graph: sp.Graph, budget: int, slice_bytes: int, before: Sequence[Program] = ()
) -> Program | None:
    """A program of the pool that reads parameters in place, after others; None where not all runs
    there."""
    machine = with_scratchpad(MACHINE, budget)
    ideal = with_scratchpad(sp.load_machine("npu_ideal"), budget)  # It minds no small slices.
    blocks = RoomyBlocks(graph, ideal, budget, slice_bytes, Clock(5), {})
    found, _ = best_segments(blocks, list(blocks.ways()))
    if any(segment.fused for segment in found):
        return None
    (segment,) = found
    own = emitted(graph, machine, blocks.layout(segment.ways))
    return consecutive([*before, own], machine, budget)


@pytest.mark.parametrize("seed", range(cases(12, 160)))
def test_streamed_programs_are_right_and_load_all_once(seed: int) -> None:
    graph, _ = random_net(seed, 3 + seed % 6)
    names = {name for op in graph.operators for name in op.parameters}
    found = 0
    for budget in (40, 60, 90, 150, 4000):
        for slice_bytes in (4, 16, 4000):
            program = in_the_pool(graph, budget, slice_bytes)
            if program is None:
                continue
            machine = with_scratchpad(MACHINE, budget)
            stream = ParameterStream(graph, machine, program, budget)
            streamed = stream.streamed(slice_bytes)  # The layout has left room for it.
            report = replay(graph, streamed, machine=machine)
            assert report.peak_bytes <= budget
            loaded = [i for i in streamed.instructions if isinstance(i, Load)]
            weights = sum(i.source.size_bytes for i in loaded if i.piece.tensor in names)
            assert weights == sum(map(graph.size_bytes, names))
            found += 1
    assert found


@pytest.mark.parametrize("seed", range(cases(40, 400)))
def test_a_place_is_the_earliest_of_all(seed: int) -> None:
    """Against every offset of the ring, byte by byte."""
    draw = random.Random(seed)
    budget = draw.randint(4, 30)
    graph, _ = random_net(0, 3)
    program = Program((), (), {}, ())
    stream = ParameterStream(graph, MACHINE, program, budget)
    near = []
    for _ in range(draw.randint(0, 6)):
        start = draw.randrange(budget)
        first = draw.randrange(20)
        near.append((start, draw.randint(start + 1, budget), first, draw.randint(first, 20)))
    rows = np.array(near, dtype=np.int64).reshape(-1, 4)
    first = draw.randrange(5, 20)
    transfers = ((Piece("w", ()),),)
    wanted = Wanted(transfers, first, draw.randint(first, 20), draw.randint(1, budget + 1))
    not_before = draw.randrange(first + 1)
    free = [not_before] * budget
    for start, stop, _, last in near:
        for at in range(start, stop):
            free[at] = max(free[at], last + 1 if last < first else NEVER)
    ways = [
        max(free[(offset + k) % budget] for k in range(wanted.size_bytes))
        for offset in range(budget)
        if wanted.size_bytes <= budget
    ]
    best = min(ways, default=NEVER)
    if best == NEVER:
        with pytest.raises(NoRoom):
            stream.place(wanted, rows, not_before)
        return
    offset, come = stream.place(wanted, rows, not_before)
    assert come == best == ways[offset]


@pytest.mark.parametrize("seed", range(cases(6, 80)))
def test_parts_one_after_the_other_are_the_whole(seed: int) -> None:
    """What crosses a cut goes through the host; all else is as the parts' own plans have it."""
    graph = random_graph(seed, 7)
    cut = 1 + seed % (len(graph.operators) - 1)
    parts = [part_of(graph, 0, cut), part_of(graph, cut, len(graph.operators))]
    plans = [sp.plan(part, "cosma", "MP", parameters=True, time_limit=1) for part in parts]
    budget = max(plan.budget_bytes for plan in plans)
    program = consecutive([plan.program for plan in plans], MACHINE, budget)
    report = replay(graph, program, machine=with_scratchpad(MACHINE, budget))
    assert report.traffic_bytes == sum(plan.claims.offchip_bytes for plan in plans)


@pytest.mark.parametrize("axes", [0, 1, 2, 4])
def test_the_last_read_of_what_overlaps_is_known(axes: int) -> None:
    draw, reads, seen = random.Random(axes), LastReads(axes), list[tuple[Box, int]]()
    for last in range(60):
        starts = [draw.randrange(6) for _ in range(axes)]
        box = tuple((start, start + draw.randint(1, 3)) for start in starts)
        assert reads.last_read(box) == max((at for b, at in seen if meet(b, box)), default=-1)
        reads.add(box, last)
        seen.append((box, last))


def test_loops_in_front_of_the_pool_stay_loops() -> None:
    graph, budget, slice_bytes = graph_of(side=64), 12_000, 800
    front = sp.plan(part_of(graph, 0, 5), "fusion", budget, time_limit=5).program
    base = in_the_pool(part_of(graph, 5, len(graph.operators)), budget, slice_bytes, [front])
    assert base is not None
    flat = replace(base, instructions=tuple(base.instructions))
    machine, moved = with_scratchpad(MACHINE, budget), []
    for program in (base, flat):
        streamed = ParameterStream(graph, machine, program, budget).streamed(slice_bytes)
        moved.append(replay(graph, streamed, machine=machine).traffic_bytes)
        loops = [item for item in items_of(streamed) if isinstance(item, Repeat)]
        assert bool(loops) == (program is base)
    assert moved[0] == moved[1]
