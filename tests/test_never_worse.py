"""More memory, a larger space and more time never give a worse plan; the same problem gives the
same plan twice, or the plan says that a clock decided."""

from __future__ import annotations

from typing import Any

import pytest

import planners as sp
from planners.core.loops import items_of
from planners.core.progress import Clock
from tests.fusion.families import MODULES, family
from tests.plans import graph_of

PLANNERS: dict[str, dict[str, Any]] = {
    "cosma": {"schedule": "joint", "weights": "counted"},
    "fusion": {"joint": True},
    "overlap": {},
    "streaming": {},
}
NETWORKS = [
    "inverted blocks",
    "fires",
    pytest.param("mcunet_vww1", marks=pytest.mark.long),
    pytest.param("squeezenet1_1", marks=pytest.mark.long),
]


def network(name: str) -> sp.Graph:
    """A small family, or a network of the catalogue."""
    return family(name) if name in MODULES else graph_of(name)


def cost_of(plan: sp.Plan) -> tuple[float, ...]:
    """What a planner makes least of."""
    if plan.details.streamed is not None:
        return (plan.details.streamed.delay_s,)
    if plan.details.pool is not None:
        front, least = plan.details.pool.front, plan.claims.objective_bytes
        return (min(p.extra_macs for p in front if p.ram_bytes <= plan.budget_bytes), least)
    return (plan.claims.offchip_bytes,)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("planner", PLANNERS)
def test_the_same_problem_gives_the_same_plan_twice(planner: str, name: str) -> None:
    graph = network(name)
    budget = 2 * sp.budgets(graph, parameters=True).MR
    one, other = (sp.plan(graph, planner, budget, **PLANNERS[planner]) for _ in range(2))
    assert not any("clock" in note or "time limit" in note for note in one.notes)
    assert tuple(items_of(one.program)) == tuple(items_of(other.program))
    assert one.claims.objective_bytes == other.claims.objective_bytes


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("planner", PLANNERS)
def test_more_memory_is_never_worse(planner: str, name: str) -> None:
    graph = network(name)
    least = sp.budgets(graph, parameters=True).MR
    costs = []
    for share in (1.0, 1.1, 1.5, 2.0, 4.0):
        try:
            costs.append(cost_of(sp.plan(graph, planner, int(share * least), **PLANNERS[planner])))
        except sp.BudgetTooSmall:
            assert not costs, "what fits a small budget fits a larger one"
    assert costs
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("budget", ["MR", "MP"])
@pytest.mark.parametrize(
    "name", ["inceptions", pytest.param("densenet121", marks=pytest.mark.long)]
)
def test_all_orders_are_never_worse_than_one(name: str, budget: str) -> None:
    graph = network(name)
    costs = {
        schedule: sp.plan(graph, "cosma", budget, schedule=schedule).claims.objective_bytes
        for schedule in ("joint", "dnc", "default", "mpmf")
    }
    assert costs["joint"] <= min(costs.values())


@pytest.mark.parametrize(
    ("name", "kibs"),
    [("fires", (2, 4)), pytest.param("squeezenet1_1", (128, 256), marks=pytest.mark.long)],
)
def test_what_stays_between_groups_is_never_worse_than_groups_alone(
    name: str, kibs: tuple[int, ...]
) -> None:
    graph = network(name)
    for kib in kibs:
        alone = sp.plan(graph, "fusion", kib * 1024)
        joint = sp.plan(graph, "fusion", kib * 1024, joint=True)
        assert joint.claims.offchip_bytes <= alone.claims.offchip_bytes
        for fuser in ("no_fusion", "fused_layer", "dnnvm", "efficient_s"):
            other = sp.plan(graph, "fusion", kib * 1024, baseline=fuser)
            assert alone.claims.offchip_bytes <= other.claims.offchip_bytes


def test_a_plan_that_a_clock_ended_says_so() -> None:
    """The limit is over before the search begins, whatever the machine."""
    plan = sp.plan(family("inceptions"), "fusion", "4KiB", time_limit=1e-6)
    assert plan.claims.status == "feasible"
    assert "the time limit of 0.001 s ended the search: a longer one may find better" in plan.notes


def test_parts_of_a_clock_end_the_whole_where_seconds_decided() -> None:
    whole = Clock(100)
    assert whole.silent(0.0).expired()  # No time was given: a rule, and no clock, decided.
    assert not whole.ended
    part = whole.silent(1e-11)
    assert part.expired()
    assert whole.ended
    assert whole.notes(proven=True) != whole.notes(proven=False)
    assert Clock(100).notes(proven=False) == ()
