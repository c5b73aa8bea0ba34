"""Joined plans on machines with a slower memory behind the scratchpad."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.errors import NoPlanFound
from planners.core.loops import items_of
from planners.core.program import Repeat
from planners.core.progress import Clock
from planners.joined.slow_memory.prefetch import AheadLoads, BankPlace, BankSpace
from planners.joined.slow_memory.reload_cache import nearer
from planners.simulator.account import account
from planners.simulator.simulate import simulate
from planners.wishes.language import broken, parse
from tests.cases import cases
from tests.joined.networks import late_weights, machine_of, narrowing
from tests.random_modules import random_case

COUNTED: dict[str, Any] = {"weights": "counted"}
ALONE: dict[str, Any] = {**COUNTED, "others": False}


@pytest.mark.parametrize("seed", range(cases(4, 48)))
def test_plans_of_random_modules_compute_what_these_compute(seed: int) -> None:
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    draw = random.Random(seed)
    with pytest.raises(sp.BudgetTooSmall) as error:
        sp.plan(graph, "fusion", 1, time_limit=1)
    budget = draw.randint(error.value.need_bytes, 3 * error.value.need_bytes)
    machine = machine_of(draw.choice([64, 1_000, 10_000, 100_000]))
    for objective in ("latency", "traffic", "energy"):
        weights = draw.choice(["counted", "in-place"])
        try:
            plan = sp.plan(
                graph, "joined", budget, machine, 1.0,
                objective=objective, weights=weights, others=False,
            )  # fmt: skip
        except NoPlanFound:
            continue
        report = sp.check(plan)
        assert plan.claims.bound_bytes <= report.traffic_bytes
        assert plan.machine.slower == ("l2",)
        if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
            assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4


def behind(plan: sp.Plan, program: Any, machine: sp.Machine) -> sp.Plan:
    """The plan with another program, and the claims that this has."""
    moved = account(plan.graph, program)
    claims = replace(
        plan.claims,
        status="feasible",
        bound_bytes=0,
        objective_bytes=moved.traffic_bytes,
        noncompulsory_bytes=moved.traffic_bytes - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
    )
    return replace(plan, program=program, claims=claims, machine=machine)


class Wide(nn.Module):
    """Two convolutions on wide maps: in little memory their parameters come again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 48, 3, padding=1)
        self.second = nn.Conv2d(48, 48, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def test_parameters_that_come_again_in_loops_come_from_off_chip_once() -> None:
    torch.manual_seed(0)
    module, inputs = Wide().eval(), (torch.randn(1, 8, 32, 32),)
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "fusion", 14_000, "npu_small", 4, **COUNTED)
    assert any(isinstance(item, Repeat) for item in items_of(plan.program))
    machine = machine_of(100_000)
    program, space = nearer(graph, machine, plan.program)
    assert space.taken
    better = behind(plan, program, machine)
    assert sp.check(better).traffic_bytes < sp.check(plan).traffic_bytes
    assert sp.execute(better, module, inputs).max_abs_error < 1e-4
    # In less than the parameters have there is room for some of them.
    some, _ = nearer(graph, machine_of(8_000), plan.program)
    least = sp.check(behind(plan, some, machine_of(8_000))).traffic_bytes
    assert sp.check(better).traffic_bytes <= least <= sp.check(plan).traffic_bytes


def test_where_nothing_has_room_the_program_stays() -> None:
    graph = sp.from_torch(*narrowing())
    plan = sp.plan(graph, "joined", 6_000, "npu_small", 2, objective="traffic", **ALONE)
    machine = machine_of(1)
    assert nearer(graph, machine, plan.program)[0] is plan.program
    clock = Clock(10.0, None)
    assert (
        AheadLoads(graph, machine, plan.program, BankSpace(machine), clock).best() is plan.program
    )


def test_parameters_come_ahead_of_their_time_while_the_engine_waits() -> None:
    """Those of the last layer are larger than the scratchpad: they come when all else is done."""
    module, inputs = late_weights()
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "joined", 20_000, machine_of(1), 4, improve=False, **ALONE)
    before = simulate(plan).makespan_s
    for behind_bytes, quicker in ((1, False), (64_000, True)):
        machine = machine_of(behind_bytes)
        ahead = AheadLoads(graph, machine, plan.program, BankSpace(machine), Clock(60.0, None))
        better = behind(plan, ahead.best(), machine)
        better = replace(better, details=replace(better.details, latency=None))  # It was slower.
        seconds = simulate(better).makespan_s
        assert (seconds < before * 0.99) == quicker == bool(better.slow_memories)
        assert quicker or seconds == before
        assert sp.check(better).traffic_bytes == sp.check(plan).traffic_bytes
        assert sp.execute(better, module, inputs).max_abs_error < 1e-4


class Late(nn.Module):
    """A map that is read again after wider ones, which leave no room for it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(4, 8, 3, padding=1)
        self.wide = nn.Conv2d(8, 24, 5, padding=2)
        self.back = nn.Conv2d(24, 8, 5, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        y = torch.softmax(torch.relu(self.wide(x)), 2)
        return x + self.back(torch.softmax(y, 3))


def test_what_is_spilled_goes_no_further_than_it_must() -> None:
    torch.manual_seed(0)
    module, inputs = Late().eval(), (torch.randn(1, 4, 16, 16),)
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "cosma", "MR", schedule="joint", time_limit=5, **COUNTED)
    assert plan.claims.noncompulsory_bytes
    machine = machine_of(50_000)
    program, _ = nearer(graph, machine, plan.program)
    better = behind(plan, program, machine)
    assert sp.check(better).noncompulsory_bytes == 0
    assert sp.execute(better, module, inputs).max_abs_error < 1e-4


def test_with_others_the_plan_of_whole_tensors_in_several_memories_is_asked_too() -> None:
    """Where maps fit in the second memory whole, to read them there moves nothing twice."""
    torch.manual_seed(0)
    module, inputs = Wide().eval(), (torch.randn(1, 8, 32, 32),)
    graph = sp.from_torch(module, inputs)
    machine = machine_of(200_000)
    plan = sp.plan(graph, "joined", 2_000, machine, 4, objective="traffic", **COUNTED)
    assert plan.claims.noncompulsory_bytes == 0
    assert plan.slow_memories == ("l2",)


@pytest.mark.parametrize("seed", range(20))
def test_places_in_slower_memories_never_share_bytes(seed: int) -> None:
    draw, space = random.Random(seed), BankSpace(machine_of(1_000))
    for _ in range(60):
        first = draw.randrange(100)
        place = space.find(draw.randint(1, 300), first, first + draw.randrange(40))
        if place is None:
            continue
        assert place.offset + place.size_bytes <= 1_000
        assert not any(_share(place, other) for other in space.taken)
        space.take(place)
    assert len(space.taken) > 10


def _share(one: BankPlace, other: BankPlace) -> bool:
    times = one.first <= other.last and other.first <= one.last
    ends = (one.offset + one.size_bytes, other.offset + other.size_bytes)
    return times and one.offset < ends[1] and other.offset < ends[0]


def test_what_is_wished_to_be_spilled_leaves_the_chip() -> None:
    torch.manual_seed(0)
    graph = sp.from_torch(Late().eval(), (torch.randn(1, 4, 16, 16),))
    wish = f"spill {graph.operators[-1].inputs[0]}"
    for machine in (machine_of(1), machine_of(50_000)):
        plan = sp.plan(
            graph, "joined", "MR", machine, 6, objective="traffic", wishes=[wish], **COUNTED
        )
        assert not broken(plan, parse([wish], graph))


def test_a_plan_of_whole_tensors_to_begin_with_is_proven_by_what_is_asked(tmp_path: Path) -> None:
    """Its own aim is the bytes through slower memories; what is asked here is traffic."""
    torch.manual_seed(0)
    graph = sp.from_torch(Wide().eval(), (torch.randn(1, 8, 32, 32),))
    machine = machine_of(200_000)
    whole = sp.plan(graph, "cosma", 2_000, machine, 4, **COUNTED)
    whole.save(tmp_path / "whole.json")
    options = {**ALONE, "objective": "traffic", "begin": str(tmp_path / "whole.json")}
    plan = sp.plan(graph, "joined", 2_000, machine, 2, **options)
    assert plan.planner == "cosma"
    assert plan.details.best
    assert plan.details.best.proven
    assert plan.claims.status == "feasible"
