"""Every plan of every planner is valid: replayed to the byte, and executed equal to PyTorch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.machine import Machine
from planners.core.registry import PlannerInfo, planners
from tests.cases import cases
from tests.fusion.networks import random_net as random_network
from tests.mixed_types import mixed
from tests.odd_modules import PADDED, SLICED, UNREAD, Case
from tests.overlap.random_nets import random_net
from tests.random_graphs import random_graph
from tests.random_modules import random_case

LIMIT_S = 0.5
WAYS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("cosma", {}),
    ("cosma", {"schedule": "joint", "parameters": True}),
    ("fusion", {}),
    ("fusion", {"online": True}),
    ("fusion", {"joint": True}),
    ("fusion", {"channel_tile": 2, "bands": 2}),
    ("overlap", {}),
    ("overlap", {"objective": "latency"}),
    ("overlap", {"objective": "ram", "parameters": True}),
    ("overlap", {"segment": "min"}),
    ("streaming", {}),
    ("streaming", {"joint": True}),
    ("streaming", {"slices": 2}),
)
AMPLE = 1 << 20
TOLERANCE = 1e-4


def broken(
    graph: sp.Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: Any = None,
) -> sp.Plan:
    """A planner that counts a byte too many."""
    made = planners()["cosma"].plan(graph, machine, budget_bytes, options, progress)
    claims = replace(made.claims, peak_bytes=made.claims.peak_bytes + 1)
    return replace(made, planner="broken", claims=claims)


def test_no_plan_that_check_refuses_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    info = PlannerInfo("broken", "one byte too many", f"{__name__}:broken")
    monkeypatch.setitem(planners(), "broken", info)  # type: ignore[arg-type]
    graph = random_graph(1, 5)
    with pytest.raises(sp.InvalidPlan, match="peak_bytes.*bug in the planner 'broken'.*report it"):
        sp.plan(graph, "broken", AMPLE)
    assert sp.plan(graph, "broken", AMPLE, replay=False).planner == "broken"


def test_a_long_replay_is_a_stage_of_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planners.simulator.symbolic.POLL_S", 0.0)
    told: list[sp.Progress] = []
    plan = sp.plan(random_graph(1, 5), budget=AMPLE, progress=told.append)
    assert told[-1].stage.startswith("checking every byte")
    assert told[-1].elapsed_s >= plan.claims.plan_s  # one clock for all of it


def plans(graph: sp.Graph, planner: str, options: Mapping[str, Any]) -> Iterator[sp.Plan]:
    """A plan with ample memory, and one in the least budget that the planner names."""
    yield sp.plan(graph, planner, AMPLE, time_limit=LIMIT_S, **options)
    budget = 1
    for _ in range(5):  # What is named may be a bound.
        try:
            yield sp.plan(graph, planner, budget, time_limit=LIMIT_S, **options)
            return
        except sp.BudgetTooSmall as error:
            budget = max(budget + 1, error.need_bytes)


@pytest.mark.parametrize("seed", range(cases(3, 32)))
def test_plans_of_random_modules(seed: int) -> None:
    case = random_case(seed)
    for planner, options in random.Random(seed).sample(WAYS, 4):
        hold(case, planner, [options])


@pytest.mark.parametrize("seed", range(cases(2, 24)))
def test_plans_of_mixed_types_are_valid_to_the_byte(seed: int) -> None:
    """Random maps and modules whose tensors have types of several widths, weights below a byte."""
    draw = random.Random(seed)
    module = random_case(seed)
    network, inputs = random_network(seed)
    for graph in (
        random_net(seed, 5)[0],
        sp.from_torch(module.module, module.inputs),
        sp.from_torch(network, inputs),
    ):
        ends = [t for op in graph.operators for t in op.outputs if not graph.consumers[t]]
        graph = replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *ends))))
        typed = mixed(graph, seed, draw.choice(("", "parameter")))
        for planner, options in draw.sample(WAYS, 2 if graph.operators else 0):
            assert list(plans(typed, planner, options))


@pytest.mark.parametrize("seed", range(cases(6)))
def test_maps_below_a_byte_are_planned_whole(seed: int) -> None:
    graph = mixed(random_graph(seed, 6), seed, "all")
    for planner, options in (("cosma", {}), ("cosma", {"parameters": True}), ("streaming", {})):
        assert list(plans(graph, planner, options))


def hold(case: Case, planner: str, several: Sequence[Mapping[str, Any]]) -> None:
    """A module's plans, with each of these options, are valid and compute what it computes."""
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return  # Views alone.
    for plan in (plan for options in several for plan in plans(graph, planner, options)):
        sp.check(plan)
        if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
            assert sp.execute(plan, case.module, case.inputs).max_abs_error < TOLERANCE


@pytest.mark.parametrize("name", UNREAD)
def test_what_nothing_reads_makes_room_in_the_pool(name: str) -> None:
    torch.manual_seed(0)
    hold(UNREAD[name](), "overlap", [{}, {"objective": "latency"}])


@pytest.mark.parametrize("name", PADDED)
def test_padding_reads_nothing_and_pieces_keep_their_type(name: str) -> None:
    torch.manual_seed(0)
    case = PADDED[name]()
    hold(case, "overlap", [{}, {"objective": "latency"}])
    hold(case, "fusion", [{}, {"channel_tile": 2}])


@pytest.mark.parametrize("name", SLICED)
def test_groups_load_what_they_read_of_a_parameter(name: str) -> None:
    torch.manual_seed(0)
    hold(SLICED[name](), "fusion", [{}, {"joint": True}])
