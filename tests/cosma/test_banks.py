"""Plans in several memories: against all ways, valid, executed, timed, refused where none is."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from planners.allocation.banks.model import Bank, Banked, BankProblem
from planners.allocation.banks.place import place_in_banks
from planners.allocation.problem.model import Lifetime
from planners.core.errors import MemoriesTooSmall
from planners.core.machine import MemoryLevel
from planners.cosma import banks
from tests.allocation.all_ways import least
from tests.random_graphs import random_graph


def board(*sizes: int, speeds: tuple[float, ...] = (8e9, 2e9, 2e8)) -> sp.Machine:
    """A machine whose tensors may lie in memories of these sizes, the fastest first."""
    plain = sp.load_machine("npu_small")
    names = ("dtcm", "sram", "psram")[: len(sizes)]
    levels = [
        MemoryLevel(name, size, speed, speed, 1.0, 1.0)
        for name, size, speed in zip(names, sizes, speeds, strict=False)
    ]
    others = (m for m in plain.memories if m.name != plain.onchip)
    return replace(
        plain,
        name="board",
        memories=(*levels, *others),
        onchip=names[0],
        slower=names[1:],
        sources={},
    )


def asked(graph: sp.Graph, machine: sp.Machine) -> BankProblem:
    """The question of a graph in its own order, told from the graph alone."""
    lives, touched = [], {}
    for name in graph.tensors:
        size, uses, moved = graph.size_bytes(name), [], 0
        for step, op in enumerate(graph.operators):
            times = [*op.inputs, *op.outputs].count(name)
            uses += [step] * (times > 0)
            moved += times * size
        if not uses:
            continue
        lives.append(Lifetime(name, uses[0], uses[-1] + 1, size))
        made = name in graph.producer
        touched[name] = moved + size * ((not made) + (made and name in graph.outputs))
    return BankProblem(lives, [Bank(m.name, m.size_bytes) for m in machine.banks], touched)


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(3, 9), st.integers(4, 12))
def test_equals_all_assignments_and_addresses(
    seed: int, operators: int, fast: int, middle: int
) -> None:
    graph = random_graph(seed, operators, largest=3)
    machine = board(fast, middle, 12)
    best = least(asked(graph, machine))
    if best is None:
        with pytest.raises(MemoriesTooSmall):
            sp.plan(graph, machine=machine, budget=fast)
        return
    plan = sp.plan(graph, machine=machine, budget=fast)
    sp.check(plan)
    touched = sp.simulate(plan).touched_bytes
    assert (touched["psram"], touched["sram"]) == best
    assert (plan.claims.status, plan.claims.objective_bytes) == ("optimal", sum(best))


def network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, stride=2, padding=1),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 64, 10),
    ).eval()


@pytest.mark.parametrize(
    "options", [{}, {"schedule": "mpmf"}, {"weights": "in-place"}, {"parameters": True}]
)
def test_plans_execute_and_say_what_goes_through_each_memory(
    options: dict[str, object], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    module, x = network(), torch.randn(1, 3, 16, 16)
    graph = sp.from_torch(module, x)
    plan = sp.plan(graph, machine=board(1024, 2300, 9000), budget=1024, **options)
    sp.check(plan)
    assert len({r.memory for r in sp.check(plan).residencies}) > 1
    assert sp.execute(plan, module, (x,)).max_abs_error == 0.0
    plan.save(tmp_path / "plan.json")
    again = sp.Plan.load(tmp_path / "plan.json")
    assert again.to_json() == plan.to_json()
    assert again.machine.slower == ("sram", "psram")
    assert (
        sp.check(again).traffic_bytes == plan.claims.offchip_bytes == plan.claims.compulsory_bytes
    )


def test_a_slow_memory_costs_its_bandwidth() -> None:
    graph = sp.from_torch(network(), torch.randn(1, 3, 16, 16))
    roomy = sp.plan(graph, machine=board(9000, 9000), budget=9000)
    tight = sp.plan(graph, machine=board(1024, 9000), budget=1024)
    slower = sp.plan(graph, machine=board(1024, 9000, speeds=(8e9, 1e7)), budget=1024)
    seconds = [sp.simulate(plan).makespan_s for plan in (roomy, tight, slower)]
    assert seconds[0] < seconds[1] < seconds[2]
    moved = sp.simulate(slower).touched_bytes["sram"]
    assert seconds[2] > 0.5 * moved / 1e7  # at most reads and writes at once
    assert roomy.claims.objective_bytes == 0 < tight.claims.objective_bytes == moved


def test_the_budget_is_the_most_of_the_fastest_memory() -> None:
    graph = random_graph(5, 6, largest=9)
    machine = board(20, 50, 90)
    sizes = []
    for budget in (10, 20, 1000):
        plan = sp.plan(graph, machine=machine, budget=budget)
        sizes.append([plan.program.memory(m).size_bytes for m in ("dtcm", "sram", "psram")])
        assert plan.budget_bytes == budget
    assert sizes == [[10, 50, 90], [20, 50, 90], [20, 50, 90]]


def test_check_refuses_what_is_not_so() -> None:
    graph = sp.from_torch(network(), torch.randn(1, 3, 16, 16))
    plan = sp.plan(graph, machine=board(1024, 9000), budget=1024)
    claims = replace(plan.claims, objective_bytes=plan.claims.objective_bytes + 2)
    with pytest.raises(sp.InvalidPlan, match="objective_bytes: the plan claims"):
        sp.check(replace(plan, claims=claims))
    data = plan.to_json()
    for memory in data["program"]["memories"]:
        if memory["name"] == "sram":
            memory["size_bytes"] = 9001
    with pytest.raises(sp.InvalidPlan, match="has 9001 bytes of 'sram', the machine 9000"):
        sp.check(sp.Plan.from_json(data))
    one = replace(plan, machine=replace(plan.machine, slower=()))
    with pytest.raises(sp.InvalidPlan, match="hold 10024 bytes, the budget is 1024"):
        sp.check(one)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "peak"}, "objective: with several memories (dtcm and sram)"),
        ({"objective": "latency"}, "objective: with several memories (dtcm and sram)"),
        ({"schedule": "joint"}, "schedule: with several memories (dtcm and sram) the order comes"),
        ({"method": "ilp"}, "method: with several memories (dtcm and sram) the paper's ILP"),
        ({"replacement": "belady"}, "replacement: with several memories (dtcm and sram) nothing"),
    ],
)
def test_options_for_one_memory_are_refused_in_one_line(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(sp.BadInput) as refused:
        sp.plan(random_graph(1, 4), machine=board(900, 900), budget=900, **options)
    assert str(refused.value).startswith(message)


def test_what_fits_nowhere_is_said_in_one_line() -> None:
    graph = sp.from_torch(network(), torch.randn(1, 3, 16, 16))
    with pytest.raises(MemoriesTooSmall) as large:
        sp.plan(graph, machine=board(512, 1024), budget=512)
    assert "has 2048 bytes, more than each memory: 'sram' has 1024" in str(large.value)
    with pytest.raises(MemoriesTooSmall) as full:
        sp.plan(graph, machine=board(256, 2100), budget=256)
    assert "dtcm and sram have 2356 in all, short by 460" in str(full.value)
    for error in (large.value, full.value):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert "\n" not in str(error)


def test_auto_is_for_one_memory() -> None:
    with pytest.raises(sp.BadInput, match="one memory, not in dtcm and sram: use planner='cosma'"):
        sp.plan(random_graph(1, 4), planner="auto", machine=board(900, 900), budget=900)


def test_one_memory_is_written_as_before() -> None:
    plan = sp.plan(random_graph(1, 4), machine="npu_small")
    assert "slower" not in plan.to_json()["machine"]
    assert [m.name for m in plan.program.memories] == ["scratchpad", "host"]


def test_a_search_that_the_clock_ends_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: Any, **more: Any) -> Banked:
        return replace(place_in_banks(*given, **more), status="unknown")

    monkeypatch.setattr(banks, "place_in_banks", unknown)
    with pytest.raises(
        sp.NoPlanFound, match="none found: operator .* and no proof that none exists"
    ):
        sp.plan(random_graph(1, 4), machine=board(900, 900), budget=900)
