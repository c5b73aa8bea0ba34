"""Whole tensors with spills and room for parameters: valid, executed, tried where they may win."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.machine import load_machine, with_scratchpad
from planners.core.plan import Claims, Plan
from planners.core.program import Compute, Load, Program
from planners.core.progress import Clock
from planners.joined.build import JoinedBuilder
from planners.joined.concatenate import consecutive
from planners.joined.segments import KEPT, MOST_OPERATORS, SPILLED, Spilled, best_segments, every
from planners.joined.spilled import ROOM, SpilledParts, with_rooms
from planners.joined.streamed import NoRoom, ParameterStream
from planners.simulator.account import account
from planners.wishes.language import broken, parse
from tests.cases import cases
from tests.joined.networks import Shared, narrowing
from tests.random_modules import random_case

MACHINE = load_machine("npu_small")


class Bent(nn.Module):
    """Maps that are read again much later, in one block: all of them at once are too much."""

    def __init__(self, channels: int = 8, count: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.there = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1) for _ in range(count)
        )
        self.back = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, kept = torch.relu(self.stem(x)), []
        for there in self.there:
            kept.append(x)
            x = torch.relu(there(x))
        for back, before in zip(self.back, reversed(kept), strict=True):
            x = torch.relu(back(x)) + before
        return x


def bent() -> tuple[nn.Module, tuple[torch.Tensor, ...], sp.Graph]:
    torch.manual_seed(0)
    module, inputs = Bent().eval(), (torch.randn(1, 3, 32, 32),)
    return module, inputs, sp.from_torch(module, inputs)


def shared() -> sp.Graph:
    torch.manual_seed(0)
    return sp.from_torch(Shared().eval(), (torch.randn(1, 3, 16, 16),))


def made(graph: sp.Graph, budget: int, how: Spilled, objective: str) -> Plan | None:
    """All of a network so, its parameters streamed; None where it does not fit."""
    machine = with_scratchpad(MACHINE, budget)
    builder = JoinedBuilder(graph, machine, budget, objective, Clock(600.0))
    for share in (16, 4):
        blocks = builder.blocks(max(1, budget // share))
        found = builder.spilled.find(blocks, 0, len(graph.operators), how, Clock(1.0))
        if found is None:
            continue
        base = consecutive([found.program], machine, budget)
        try:
            program = ParameterStream(graph, machine, base, budget).streamed(blocks.slice_bytes)
        except NoRoom:
            continue
        return planned(graph, machine, budget, program)
    return None


def planned(graph: sp.Graph, machine: sp.Machine, budget: int, program: Program) -> Plan:
    found = account(graph, program)
    traffic = found.traffic_bytes
    claims = Claims(
        "feasible", traffic, 0, found.compulsory_bytes, traffic - found.compulsory_bytes,
        found.peak_bytes, found.extent_bytes, 0.0, "",
    )  # fmt: skip
    return Plan(
        planner="joined", graph=graph, machine=machine, budget_bytes=budget, program=program,
        claims=claims, options={}, notes=(),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(cases(10, 120)))
def test_random_modules_with_spills(seed: int) -> None:
    case, draw = random_case(seed), random.Random(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    graph = graph.with_bytes_per_element(draw.choice((1, 1, 2, "native")))
    needs = [
        sum(map(graph.size_bytes, (*op.inputs, *op.parameters, *op.outputs)))
        for op in graph.operators
    ]
    for budget in (max(needs), draw.randint(max(needs) // 2, 2 * max(needs))):
        plan = made(
            graph, budget, draw.choice((SPILLED, KEPT)), draw.choice(("latency", "traffic"))
        )
        if plan is None:
            assert budget < max(needs)
            continue
        assert sp.check(plan).traffic_bytes == plan.claims.offchip_bytes
        assert sp.check(plan).peak_bytes <= budget
        if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
            assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4


def test_what_several_operators_read_is_loaded_once_where_it_is_kept() -> None:
    graph = shared()
    whole = sum(map(graph.size_bytes, graph.tensors))
    kept, again = made(graph, whole, KEPT, "traffic"), made(graph, whole, SPILLED, "traffic")
    assert kept is not None
    assert again is not None
    assert kept.claims.noncompulsory_bytes == 0
    read_again = (
        sum(graph.size_bytes(name) for op in graph.operators for name in op.parameters)
        - graph.parameter_bytes
    )
    assert again.claims.noncompulsory_bytes == read_again > 0


def test_a_room_is_as_large_as_what_is_there_together() -> None:
    graph = shared()
    wide = graph.with_bytes_per_element(4)
    rooms = [10 * number for number in range(len(graph.operators))]
    roomy = with_rooms(wide, rooms, set())
    for op, size in zip(roomy.operators, rooms, strict=True):
        assert op.parameters == ((ROOM + op.name,) if size else ())
        assert sum(map(roomy.size_bytes, op.parameters)) in range(size, size + 4)
    kept = with_rooms(wide, rooms, {"again.weight", "again.bias", "scale"})
    for op in (op for op in wide.operators if "again.weight" in op.parameters):
        assert kept.operators[wide.index[op.name]].parameters == op.parameters


def test_what_fits_no_pool_is_tried_with_spills_and_alone_is_never_worse_than_they_are() -> None:
    module, inputs, graph = bent()
    need = sp.budgets(graph, parameters=True).MR
    machine = with_scratchpad(MACHINE, need)
    builder = JoinedBuilder(graph, machine, need, "traffic", Clock(600.0))
    blocks = builder.blocks(need // 16)
    best = tuple(best_segments(blocks, list(blocks.ways()))[0])
    assert any(segment.fused for segment in best)
    tried = list(builder.spills.in_order(blocks, best, Clock(60.0)))
    assert any(segment.spilled for found in tried for segment in found)
    asked = {"weights": "counted", "time_limit": 6}
    plan = sp.plan(graph, "joined", need, objective="traffic", others=False, **asked)
    cosma = sp.plan(graph, "cosma", need, **asked)
    assert plan.claims.offchip_bytes <= cosma.claims.offchip_bytes
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


def test_spills_are_found_where_nothing_reads_parameters_on_chip() -> None:
    module, inputs, graph = bent()
    need = sp.budgets(graph).MR
    plan = sp.plan(graph, "joined", need, weights="in-place", others=False, time_limit=3)
    assert {"whole tensors"} <= {segment.how for segment in plan.details.stretches}
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


def test_where_parameters_find_no_room_another_way_takes_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, inputs = narrowing()
    graph = sp.from_torch(module, inputs)
    streamed = ParameterStream.streamed
    asked: dict[str, Any] = {"objective": "latency", "weights": "counted", "time_limit": 4}
    before = sp.plan(graph, "joined", 12_000, others=False, **asked)
    assert {segment.how for segment in before.details.stretches} == {"pool"}
    there = graph.operators[3]

    def stuck(self: ParameterStream, slice_bytes: int) -> Program:
        for item in self.program.instructions:
            inside = isinstance(item, Compute) and item.operator == there.name
            if inside and any(operand.region.offset is None for operand in item.reads):
                error = NoRoom("no room")
                error.operator = there.name
                raise error
        return streamed(self, slice_bytes)

    monkeypatch.setattr(ParameterStream, "streamed", stuck)
    plan = sp.plan(graph, "joined", 12_000, others=False, **asked)
    assert "fused groups" in [segment.how for segment in plan.details.stretches]
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


def test_wishes_about_tensors_are_handed_on() -> None:
    _, _, graph = bent()
    need = 2 * sp.budgets(graph, parameters=True).MR
    machine = with_scratchpad(MACHINE, need)
    builder = JoinedBuilder(graph, machine, need, "traffic", Clock(60.0))
    blocks = builder.blocks(need // 4)
    first = graph.operators[0].outputs[0]
    for text, kept in ((f"keep {first}", True), (f"spill {first}", False)):
        some = parse([text], graph)
        parts = SpilledParts(graph, machine, need, "traffic", Clock(60.0), some)
        part = parts.find(blocks, 0, len(graph.operators), SPILLED, Clock(60.0))
        assert part is not None
        base = consecutive([part.program], machine, need)
        streamed = ParameterStream(graph, machine, base, need).streamed(blocks.slice_bytes)
        assert not broken(planned(graph, machine, need, streamed), some)
        loaded = any(isinstance(i, Load) and i.piece.tensor == first for i in streamed.instructions)
        assert loaded != kept


def test_small_networks_try_spills_everywhere_or_where_whole_tensors_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(0)
    graph = sp.from_torch(Bent(count=1).eval(), (torch.randn(1, 3, 4, 4),))
    assert len(graph.operators) <= MOST_OPERATORS
    whole = sum(map(graph.size_bytes, graph.tensors))
    for budget in (whole // 6, whole // 3, whole):
        machine = with_scratchpad(MACHINE, budget)
        builder = JoinedBuilder(graph, machine, budget, "latency", Clock(60.0))
        blocks = builder.blocks(budget // 16)
        sequences = every(blocks, builder.spilled.methods)
        assert any(s.spilled for found in sequences for s in found)
        monkeypatch.setattr("planners.joined.segments.MOST_SEQUENCES", len(sequences) - 1)
        fewer = every(blocks, builder.spilled.methods)
        monkeypatch.undo()
        assert len(fewer) < len(sequences)
        for segment in (s for found in fewer for s in found if s.spilled):
            inside = pairwise(m for m in blocks.marks if segment.first <= m <= segment.stop)
            assert all(blocks.whole(*block) is None for block in inside)
