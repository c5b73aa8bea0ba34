"""A machine file with a second DMA engine: every planner uses it, and no plan becomes slower."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from planners.core.errors import BadInput
from planners.core.machine import Machine, load_machine
from planners.core.program import Load
from planners.simulator.timing import schedule
from tests.random_graphs import random_graph

FILE = Path(__file__).parents[2] / "docs" / "examples" / "npu_two_dma.toml"
TWO = load_machine(FILE)
ONE = replace(TWO, engines=tuple(e for e in TWO.engines if not e.shares))
SMALL = (1, 3, 32, 32)
CASES: list[Any] = [
    ("mcunet_vww1", SMALL, "cosma", "MR", {}),
    ("mcunet_vww1", SMALL, "cosma", "MR", {"objective": "traffic_then_latency"}),
    ("mcunet_vww1", SMALL, "fusion", "256KiB", {}),
    pytest.param("mcunet_vww1", None, "fusion", "256KiB", {}, marks=pytest.mark.long),
    ("vmcu:S1", None, "overlap", "16KiB", {}),
    ("mcunet_vww1", SMALL, "streaming", "1MiB", {"pipeline": "async"}),
]


@pytest.mark.parametrize(("model", "shape", "planner", "budget", "options"), CASES)
def test_every_planner_uses_both_engines_and_is_no_slower(
    model: str, shape: tuple[int, ...] | None, planner: str, budget: str, options: dict[str, Any]
) -> None:
    graph = sp.load(model, input_shape=shape)
    one, two = (
        sp.plan(graph, planner, budget, machine, time_limit=600, **options)
        for machine in (ONE, TWO)
    )
    sp.check(two)
    used = Counter(i.engine for i in two.program.instructions if isinstance(i, Load))
    moved = [item for item in two.program.instructions if isinstance(item, Load)]
    if len(moved) > 1:
        assert set(used) >= {"dma_in", "dma_in_2"}
    assert sp.simulate(two).makespan_s <= sp.simulate(one).makespan_s
    again = sp.Plan.from_json(two.to_json())
    assert again.machine == two.machine
    assert sp.simulate(again).makespan_s == sp.simulate(two).makespan_s
    assert {i.engine for i in one.program.instructions if isinstance(i, Load)} <= {
        "dma_in",
        "storage",
    }


@given(st.integers(0, 10**6), st.integers(1, 20), st.floats(0.1, 4))
def test_a_second_engine_of_any_speed_makes_no_program_slower(
    seed: int, operators: int, speed: float
) -> None:
    engines = tuple(
        replace(e, bytes_per_s=e.bytes_per_s * speed) if e.shares else e for e in TWO.engines
    )
    plan = sp.plan(random_graph(seed, operators, largest=5000), machine=ONE)
    alone = schedule(plan.program, ONE, plan.graph)
    together = schedule(plan.program, replace(TWO, engines=engines), plan.graph, spread=True)
    for a, b in zip(alone, together, strict=True):
        assert b.stop_s <= a.stop_s * (1 + 1e-12)


def test_a_plan_moves_between_machines_with_one_engine_and_two() -> None:
    graph = random_graph(4, 12, largest=5000)
    one, two = (sp.plan(graph, machine=machine) for machine in (ONE, TWO))
    assert sp.simulate(one, TWO).makespan_s == sp.simulate(two).makespan_s
    assert sp.simulate(two, ONE).makespan_s == sp.simulate(one).makespan_s


def test_rows_without_an_engine_open_and_the_machine_chooses() -> None:
    plan = sp.plan(random_graph(4, 12, largest=5000), machine=TWO)
    data = plan.to_json()
    for row in data["program"]["instructions"]:
        if row[0] in ("load", "store"):
            del row[5:]
    older = sp.Plan.from_json(data)
    assert {i.engine for i in older.program.instructions if isinstance(i, Load)} == {""}
    sp.check(older)
    assert sp.simulate(older).makespan_s == sp.simulate(plan).makespan_s


def broken(**changes: Any) -> dict[str, Any]:
    data = TWO.to_json()
    for engine in data["engines"]:
        engine.update(changes.get(engine["name"], {}))
    return data


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dma_in_2": {"shares": "dma"}}, "engine 'dma_in_2' shares 'dma', which is not an engine"),
        (
            {"dma_in_2": {"shares": "compute"}},
            "shares 'compute', which is not an engine that moves",
        ),
        ({"dma_in_2": {"shares": "dma_in_2"}}, "shares 'dma_in_2', which is not an engine"),
        ({"dma_out": {"shares": "dma_in"}}, "'dma_out' has transfers of its own"),
        ({"dma_in_2": {"shares": 3}}, "shares must be of type str"),
    ],
)
def test_sharing_that_makes_no_sense_is_refused(changes: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        Machine.from_json(broken(**changes))


def test_a_machine_file_of_two_engines_survives_and_others_say_nothing_of_sharing() -> None:
    import tomllib

    assert Machine.from_json(tomllib.loads(TWO.to_toml())) == TWO
    assert "shares =" not in ONE.to_toml()
