"""Small problems: fused groups by latency take what the best of all plans takes."""

from __future__ import annotations

from itertools import count, cycle

import pytest

import planners as sp
from planners.core.progress import Clock
from planners.core.rules import names, without, without_any
from planners.fusion.cost.group import GroupModel
from planners.fusion.latency.exact import ENUMERATION_RULES, Enumeration
from planners.simulator.timing import schedule
from tests.array_machines import MACHINES as ARRAYS
from tests.fusion.every_plan import budget_of, every_program, small_net
from tests.fusion.test_latency import MACHINES

MOST_PLANS = 600  # of a problem that is small enough to look at all of them
FEW_PLANS = (0, 7, 15, 18, 20, 25, 32, 35, 36)  # Seeds of problems of at most a hundred plans.
FEWER_PLANS = FEW_PLANS[:4] + FEW_PLANS[5:]


def bettered(seed: int, machine: sp.Machine, most_plans: int) -> bool | None:
    """Compare a problem with the best of all of its plans: whether least traffic alone does not
    solve it; `None` where it has too many plans."""
    graph = small_net(seed)
    budget = budget_of(graph, machine, seed % 5)
    programs = every_program(graph, machine, budget, most_plans)
    if programs is None:
        return None
    seconds = [max(each.stop_s for each in schedule(p, machine, graph)) for p in programs]
    plan = sp.plan(graph, "fusion", budget, machine, objective="latency", bands=1, time_limit=600)
    claim = plan.details.latency
    assert claim is not None
    assert claim.seconds == pytest.approx(min(seconds), rel=1e-12), seed
    assert plan.claims.status == "optimal"
    traffic = sp.plan(graph, "fusion", budget, machine, bands=1)
    return sp.simulate(traffic).makespan_s > claim.seconds * (1 + 1e-9)


@pytest.mark.parametrize(
    ("seed", "machine"),
    [
        pytest.param(seed, machine, marks=pytest.mark.long if seed == 20 else ())
        for seed, machine in zip(FEW_PLANS, cycle(MACHINES))
    ],
)
def test_small_problems_take_what_the_best_of_all_plans_takes(seed: int, machine: str) -> None:
    assert bettered(seed, MACHINES[machine], MOST_PLANS) is not None


@pytest.mark.parametrize(("seed", "machine"), [*zip(FEWER_PLANS, cycle(ARRAYS))])
def test_the_same_on_an_array(seed: int, machine: str) -> None:
    assert bettered(seed, ARRAYS[machine](seed), MOST_PLANS) is not None


@pytest.mark.parametrize(("seed", "machine"), [*zip(FEWER_PLANS[:4], cycle(MACHINES))])
def test_no_rule_decides_which_plan_is_quickest(seed: int, machine: str) -> None:
    # What all rules find takes what the best of all plans takes: see above.
    graph, device = small_net(seed), MACHINES[machine]
    budget, least = budget_of(graph, device, seed % 5), set[float]()
    one_less = [without(ENUMERATION_RULES, name) for name in names(ENUMERATION_RULES)]
    for rules in (ENUMERATION_RULES, without_any(ENUMERATION_RULES), *one_less):
        model = GroupModel(graph, device, {})
        every = Enumeration(model, budget, double_buffer=True, rules=rules)
        found = every.best(float("inf"), Clock(60))
        assert found.complete
        assert found.best is not None
        least.add(found.best.seconds)
    assert len(least) == 1


def test_no_place_is_looked_at_when_the_time_is_over() -> None:
    """A group of many tiles takes long to write: one at a time, while there is time."""
    graph = small_net(25)
    every = Enumeration(
        GroupModel(graph, MACHINES[next(iter(MACHINES))], {}), 1 << 20, double_buffer=True
    )
    assert every.few
    found = every.best(float("inf"), Clock(0.0))
    assert (found.best, found.complete, every.laid) == (None, False, {})
    assert every.best(float("inf"), Clock(600.0)).best is not None
    assert every.laid


@pytest.mark.long
def test_three_hundred_small_problems() -> None:
    machines, found = [*MACHINES.values()], []
    for seed in count():
        found.append(bettered(seed, machines[seed % len(machines)], MOST_PLANS))
        if sum(each is not None for each in found) == 300:
            break
    assert sum(map(bool, found)) > 50
