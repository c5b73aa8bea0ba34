"""Schedule and replacement together: the best over all orders, and bounded when cut short."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.cosma import joint
from planners.cosma.joint import Found, Route, beam, search
from planners.cosma.problem import Problem
from planners.cosma.relaxation import relax
from planners.cosma.space import Space
from planners.progress import Clock
from tests.random_graphs import random_graph


def orders(graph: sp.Graph) -> Iterator[tuple[int, ...]]:
    """All orders that can run."""
    count = len(graph.operators)
    needs = [
        {graph.producer[t] for t in op.inputs if t in graph.producer} for op in graph.operators
    ]
    for order in itertools.permutations(range(count)):
        at = {position: step for step, position in enumerate(order)}
        if all(at[near] < at[i] for i in range(count) for near in needs[i]):
            yield order


def capacity_cost(
    graph: sp.Graph, order: tuple[int, ...], parameters: bool, budget_bytes: int
) -> int:
    relaxed = relax(Problem(graph, order, parameters, budget_bytes))
    assert relaxed is not None
    return relaxed.objective_bytes


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.floats(0, 1))
def test_equals_the_best_over_all_orders(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=9)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    best = min(capacity_cost(graph, order, parameters, budget) for order in orders(graph))
    found = solve(graph, parameters, budget)
    assert found.route.cost_bytes == found.bound_bytes == best


def solve(graph: sp.Graph, parameters: bool, budget: int) -> Found:
    space = Space(graph, parameters, budget)
    start = beam(space, 1, Clock(60))
    assert start is not None
    return search(space, start, Clock(60))


@given(st.integers(0, 10**6), st.integers(2, 25), st.booleans(), st.floats(0, 1))
def test_a_route_costs_what_its_schedule_costs(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=99)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    space = Space(graph, parameters, budget)
    for width in (1, 5):
        route = beam(space, width, Clock(60))
        assert route is not None
        assert sorted(route.schedule) == list(range(operators))
        # The beam evicts greedily; the best replacement for its order costs no more.
        assert capacity_cost(graph, route.schedule, parameters, budget) <= route.cost_bytes


@given(st.integers(0, 10**6), st.integers(6, 14), st.floats(0, 0.7))
@settings(max_examples=25)
def test_a_search_cut_short_keeps_a_true_bound(seed: int, operators: int, share: float) -> None:
    graph = random_graph(seed, operators, largest=30)
    b = sp.budgets(graph)
    budget = b.MR + round(share * (b.MP - b.MR))
    space = Space(graph, False, budget)
    start = beam(space, 1, Clock(60))
    assert start is not None
    exact = search(space, start, Clock(60))
    assert exact.bound_bytes == exact.route.cost_bytes
    for states in (0, 3, 10):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(joint, "BREATH", 1)
            short = search(space, start, StopsAfter(states))
        assert short.states <= states + 1
        assert short.bound_bytes <= exact.bound_bytes <= short.route.cost_bytes


class StopsAfter(Clock):
    """A clock that lets so many looks at the time pass."""

    def __init__(self, looks: int) -> None:
        super().__init__(60.0)
        self.looks = looks

    def expired(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_every_bound_on_what_is_to_pay_is_true() -> None:
    for seed in range(40):
        graph = random_graph(seed, 9, largest=12)
        budget = sp.budgets(graph).MR
        space = Space(graph, False, budget)
        start = beam(space, 4, Clock(60))
        assert start is not None
        best = search(space, start, Clock(60)).route.cost_bytes
        first = space.settle(space.start(), [])
        assert space.still_to_pay(first) * space.unit <= best
        again = search(space, Route(start.schedule, start.cost_bytes + 1), Clock(60))
        assert again.route.cost_bytes == best


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.floats(0, 1))
@settings(max_examples=25)
def test_a_plan_over_all_orders_is_the_best_of_the_plans_for_each(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=9)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    options = {"budget": budget, "parameters": parameters}
    best = min(
        sp.plan(
            replace(graph, operators=tuple(graph.operators[i] for i in order)), **options
        ).claims.noncompulsory_bytes
        for order in orders(graph)
    )
    plan = sp.plan(graph, schedule="joint", **options)
    sp.check(plan)
    assert plan.claims.bound_bytes <= best <= plan.claims.noncompulsory_bytes
    if plan.claims.status == "optimal":
        assert plan.claims.noncompulsory_bytes == best


@given(st.integers(0, 10**6), st.integers(2, 30), st.floats(0, 1.1))
def test_joint_is_never_worse_than_a_fixed_schedule(
    seed: int, operators: int, share: float
) -> None:
    graph = random_graph(seed, operators, largest=99)
    b = sp.budgets(graph)
    budget = b.MR + round(share * (b.MP - b.MR))
    plan = sp.plan(graph, schedule="joint", budget=budget, time_limit=5)
    sp.check(plan)
    for schedule in ("default", "mpmf"):
        fixed = sp.plan(graph, schedule=schedule, budget=budget).claims
        assert plan.claims.bound_bytes <= fixed.noncompulsory_bytes
        if schedule == "default" or plan.claims.status == "optimal":
            assert plan.claims.noncompulsory_bytes <= fixed.noncompulsory_bytes


@pytest.mark.parametrize("moment", range(8))
def test_a_stop_at_any_moment_keeps_a_plan_under_a_true_bound(moment: int) -> None:
    graph = random_graph(5, 40, largest=99)
    exact = sp.plan(graph, schedule="joint").claims
    assert exact.status == "optimal"
    left = moment

    def stop(_: sp.Progress) -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    plan = sp.plan(graph, schedule="joint", progress=stop)
    sp.check(plan)
    assert plan.claims.bound_bytes <= exact.bound_bytes
    assert plan.claims.noncompulsory_bytes >= exact.noncompulsory_bytes


def test_joint_takes_no_baseline_replacement() -> None:
    with pytest.raises(sp.BadInput, match="chooses the replacement too"):
        sp.plan(random_graph(1, 5), schedule="joint", replacement="belady")


def test_a_chain_that_grows_again_is_not_forced_past_its_smallest_output() -> None:
    """The ninth byte of the chain's end would push something out that its middle leaves alone."""
    graph = random_graph(196936267, 7, largest=9)
    found = solve(graph, True, 31)
    assert found.route.cost_bytes == found.bound_bytes == 0
