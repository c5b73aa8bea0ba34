"""What a program holds is read off its columns as its instructions say it, one after the other."""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.loops import expanded, items_of
from planners.core.machine import load_machine, with_scratchpad
from planners.core.program import (
    AddressSpace,
    Compute,
    Instruction,
    Load,
    Piece,
    Program,
    Region,
    Release,
    Repeat,
)
from planners.joined import free_intervals as module
from planners.joined.concatenate import consecutive
from planners.joined.free_intervals import occupied
from planners.joined.streamed import NoRoom, ParameterStream
from planners.joined.subgraph import part_of
from tests.cases import cases
from tests.joined.networks import graph_of
from tests.joined.test_streamed import in_the_pool
from tests.overlap.random_nets import random_net

MACHINE = load_machine("npu_small")
Row = tuple[int, ...]


def walked(program: Program) -> tuple[set[Row], list[tuple[int, int, Piece]]]:
    """The same, instruction by instruction, every loop unrolled."""
    spaces, home = AddressSpace(program.memories), MACHINE.parameters
    since: dict[Piece, tuple[int, Region, bool]] = {}
    taken, loaded = set[Row](), []

    def ends(piece: Piece, at: int) -> None:
        first, region, is_loaded = since.pop(piece)
        taken.update((span.start, span.stop, first, at) for span in spaces.spans(region))
        if is_loaded and at < count:
            loaded.append((first, at, piece))

    items = list(items_of(program))
    count = len(items)
    for at, item in enumerate(items):
        inside: list[Instruction] = list(expanded((item,))) if isinstance(item, Repeat) else [item]
        for each in inside:
            if isinstance(each, Load):
                since[each.piece] = (at, each.target, each.source.memory == home)
            elif isinstance(each, Compute):
                for index in each.frees:
                    ends(each.reads[index].piece, at)
                for piece, region in each.writes:
                    since.setdefault(piece, (at, region, False))
            elif isinstance(each, Release):
                ends(each.piece, at)
    for piece in [*since]:
        ends(piece, count)
    return taken, loaded


def same(graph: sp.Graph, program: Program) -> int:
    """That columns say the same; how many parameters the program loads itself."""
    found = occupied(graph, program, MACHINE.parameters)
    assert found is not None
    taken, loaded = walked(program)
    assert {tuple(row) for row in found.taken.tolist()} == taken
    assert len(found.taken) == len(taken)
    assert sorted(found.loaded) == sorted(loaded)
    return len(loaded)


@pytest.mark.parametrize("seed", range(cases(6, 80)))
def test_programs_that_load_their_parameters(seed: int) -> None:
    (graph, _), loaded = random_net(seed, 3 + seed % 6), 0
    cut = 1 + seed % (len(graph.operators) - 1)
    parts = [part_of(graph, 0, cut), part_of(graph, cut, len(graph.operators))]
    for planner in ("fusion", "cosma"):
        plans = [sp.plan(part, planner, "MR", parameters=True, time_limit=1) for part in parts]
        budget = max(plan.budget_bytes for plan in plans)
        loaded += same(graph, consecutive([plan.program for plan in plans], MACHINE, budget))
    assert loaded or not any(op.parameters for op in graph.operators)


def test_loops_and_the_pool_behind_them() -> None:
    graph, budget = graph_of(side=64), 12_000
    front = sp.plan(part_of(graph, 0, 5), "fusion", budget, time_limit=5).program
    base = in_the_pool(part_of(graph, 5, len(graph.operators)), budget, 800, [front])
    assert base is not None
    assert any(isinstance(item, Repeat) for item in items_of(base))
    assert same(graph, base)
    streamed = ParameterStream(graph, with_scratchpad(MACHINE, budget), base, budget).streamed(800)
    assert same(graph, streamed) > same(graph, base)  # Parts of sums and of outputs among them.


def test_a_program_that_columns_do_not_hold_is_not_streamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, budget = graph_of(side=64), 40_000
    base = in_the_pool(graph, budget, 800)
    assert base is not None
    monkeypatch.setattr(module, "table_of", lambda program: None)
    assert occupied(graph, base, MACHINE.parameters) is None
    stream = ParameterStream(graph, with_scratchpad(MACHINE, budget), base, budget)
    with pytest.raises(NoRoom, match="more instructions than columns hold"):
        stream.streamed(800)
