"""What no plan can be better than: no planner's is, and on small problems some plan is as good."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.registry import planner as find_planner
from planners.core.weights import IN_PLACE, WEIGHTS, weights_of
from tests.importers.few_blocks import few_blocks
from tests.random_graphs import random_graph

FORMS = [
    ("cosma", {}),
    ("cosma", {"objective": "traffic_then_latency"}),
    ("fusion", {}),
    ("fusion", {"joint": True}),
    ("overlap", {"objective": "latency"}),
    ("overlap", {"objective": "macs"}),
    ("streaming", {}),
    ("streaming", {"joint": True}),
]
MACHINES = ["npu_small", "stm32f411", "jetson_xavier", "ethos_u55_deep_embedded"]


def floors_of(plan: sp.Plan) -> ProblemFloors:
    weights = weights_of(plan.graph, plan.program) or "left-out"
    return ProblemFloors(plan.graph, plan.machine, weights, plan.program.homes.get("parameter", ""))


def assert_above(plan: sp.Plan) -> None:
    floors, trace = floors_of(plan), sp.simulate(plan)
    assert plan.claims.compulsory_bytes >= floors.compulsory_bytes > 0
    moved = plan.claims.offchip_bytes if floors.weights != IN_PLACE else 0
    assert trace.makespan_s >= floors.latency_of(moved) * (1 - 1e-9) > 0
    assert trace.makespan_s >= floors.latency_s * (1 - 1e-9)
    assert trace.energy_j >= floors.energy_j * (1 - 1e-9) >= 0


@cache
def network(name: str) -> sp.Graph:
    if name != "a few blocks":
        return sp.load(name)
    return sp.from_torch(few_blocks("mobilenet"), torch.ones(1, 3, 32, 32))


@pytest.mark.parametrize(
    ("name", "budget_kib"),
    [("a few blocks", 24), pytest.param("mcunet_vww1", 128, marks=pytest.mark.long)],
)
@pytest.mark.parametrize(("planner", "options"), FORMS)
def test_no_plan_lies_under_its_floors(
    planner: str, options: dict[str, object], name: str, budget_kib: int
) -> None:
    """Nor does one that a search ends with before it has the best: the limit decides nothing."""
    graph, planned = network(name), 0
    for weights in WEIGHTS:
        if find_planner(planner).cannot(weights):
            continue
        for machine, budget in (
            ("npu_small", f"{budget_kib}KiB"),
            ("stm32f411", "MR"),
            ("npu_small", "2MiB"),
        ):
            asked = {"machine": machine, "weights": weights, "time_limit": 2, **options}
            try:
                plan = sp.plan(graph, planner, budget, **asked)
            except sp.BudgetTooSmall:
                continue
            assert_above(plan)
            planned += 1
    assert planned


@pytest.mark.parametrize("seed", range(20))
def test_no_plan_of_a_random_graph_lies_under_its_floors(seed: int) -> None:
    graph = random_graph(seed, 6)
    for machine in MACHINES:
        for budget in ("MR", "MP"):
            assert_above(sp.plan(graph, "cosma", budget, machine, schedule="joint"))


def test_a_chain_in_all_the_memory_it_wants_reaches_what_its_engines_must_do() -> None:
    """The floor is not idle: beside the first load and the last store nothing is above it."""
    graph = sp.load("squeezenet1_1")
    machine = sp.load_machine("npu_ideal")
    plan = sp.plan(graph, "cosma", "MP", machine)
    floors, trace = floors_of(plan), sp.simulate(plan)
    ends = floors.load_s(floors.loaded_bytes) + floors.store_s(floors.stored_bytes)
    assert trace.makespan_s == pytest.approx(floors.computing_s + ends, rel=2e-3)


def test_slower_transfers_raise_the_floor_to_what_must_cross() -> None:
    graph, machine = sp.load("squeezenet1_1"), sp.load_machine("npu_small")
    slow = replace(
        machine, engines=tuple(replace(engine, bytes_per_s=1e6) for engine in machine.engines)
    )
    floors = ProblemFloors(graph, slow, "counted")
    assert floors.latency_s == floors.load_s(floors.loaded_bytes)
    assert floors.load_s(10**6) == 0.5  # by both engines that bring bytes
    assert ProblemFloors(graph, slow, "left-out").latency_s < floors.latency_s / 4


def test_the_last_store_comes_last_only_where_everything_is_read() -> None:
    """An operator whose results nobody reads may run while the last output leaves."""
    machine = sp.load_machine("npu_small")
    machine = replace(
        machine, engines=tuple(replace(engine, latency_s=1.0) for engine in machine.engines)
    )
    read = random_graph(2, 2)
    assert read.operators[-1].outputs[0] in read.outputs
    floors = ProblemFloors(read, machine, "left-out")
    ends = [
        any(read.consumers[t] or t in read.outputs for t in op.outputs) for op in read.operators
    ]
    assert floors.latency_s == pytest.approx(floors.computing_s + 1.0 + all(ends), rel=1e-6)
    idle = replace(read, outputs=read.operators[0].outputs[:1])
    assert not idle.consumers[read.operators[-1].outputs[0]]
    floors = ProblemFloors(idle, machine, "left-out")
    assert floors.latency_s == pytest.approx(floors.computing_s + 1.0, rel=1e-6)
