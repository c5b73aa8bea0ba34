"""Schedule and replacement together: the best over all orders, and bounded when cut short."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.core.best_first import NO_LIMIT
from planners.core.progress import Clock
from planners.cosma.model.net import Net, net_of
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order import suffix_bounds as tails
from planners.cosma.order.bounds import Bound, Largest, Overflow
from planners.cosma.order.shortest_path import OrderSearch, beam
from planners.cosma.order.space import OrderSpace, OrderState
from planners.cosma.order.suffix_bounds import Tails
from planners.cosma.replace.relaxation import relax
from tests.cases import MANY, cases
from tests.plans import plan_of
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
    relaxed = relax(ScheduleProblem(graph, order, parameters, budget_bytes))
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
    route = solve(graph, parameters, budget).route()
    assert route is not None
    assert route.cost_bytes == best


def solve(graph: sp.Graph, parameters: bool, budget: int, bound: str = "overflow") -> OrderSearch:
    """The search over orders, carried to its end under some bound."""
    net = net_of(graph, parameters, budget)
    space = OrderSpace(net)
    search = OrderSearch(space, NO_LIMIT, bounds(net, space)[bound])
    search.run(Clock(60), 10**9)
    assert search.done
    return search


def bounds(net: Net, space: OrderSpace) -> dict[str, Bound]:
    """All lower bounds on what is left to pay, on nets whose order is that of the graph."""
    middle = sorted(net.sizes)[len(net.sizes) // 2]
    coarse = Largest(net, max(net.sizes))
    ends = Tails(net)
    while ends.first > 0:
        ends.extend(Clock(60))
    return {
        "overflow": Overflow(space),
        "largest": Largest(net, middle, coarse),
        "tails": ends.bound_for(space),
    }


@given(st.integers(0, 10**6), st.integers(2, 25), st.booleans(), st.floats(0, 1))
def test_a_route_costs_what_its_schedule_costs(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=99)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    space = OrderSpace(net_of(graph, parameters, budget))
    for width in (1, 5):
        route = beam(space, width, Clock(60))
        assert route is not None
        assert sorted(route.schedule) == list(range(operators))
        # The beam evicts greedily; the best replacement for its order costs no more.
        assert capacity_cost(graph, route.schedule, parameters, budget) <= route.cost_bytes


@given(st.integers(0, 10**6), st.integers(6, 14), st.floats(0, 0.7))
@settings(max_examples=cases(25))
def test_a_search_cut_short_keeps_a_true_bound(seed: int, operators: int, share: float) -> None:
    graph = random_graph(seed, operators, largest=30)
    b = sp.budgets(graph)
    budget = b.MR + round(share * (b.MP - b.MR))
    exact = solve(graph, False, budget)
    for states in (1, 3, 10):
        short = OrderSearch(OrderSpace(net_of(graph, False, budget)), NO_LIMIT)
        short.run(Clock(60), states)
        assert short.states <= states
        assert short.least <= exact.least
        short.run(Clock(60), 10**9)
        assert short.least == exact.least
        assert short.route() == exact.route()


@given(st.integers(0, 10**6), st.integers(4, 12), st.booleans(), st.floats(0, 0.9))
@settings(max_examples=cases(20, MANY))
def test_every_bound_finds_the_same_least_cost(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=12)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "FREE_STRIDE", 2)
        patch.setattr(tails, "STRIDE", 1)
        found = {
            name: solve(graph, parameters, budget, name)
            for name in ("overflow", "largest", "tails")
        }
    costs = {name: search.route() for name, search in found.items()}
    assert all(route is not None for route in costs.values())
    assert len({route.cost_bytes for route in costs.values() if route is not None}) == 1
    assert len({search.least for search in found.values()}) == 1


@given(st.integers(0, 10**6), st.integers(4, 9), st.floats(0, 0.9))
def test_no_bound_exceeds_what_is_left_to_pay(seed: int, operators: int, share: float) -> None:
    graph = random_graph(seed, operators, largest=12)
    b = sp.budgets(graph)
    net = net_of(graph, False, b.MR + round(share * (b.MP - b.MR)))
    space = OrderSpace(net)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "FREE_STRIDE", 2)
        patch.setattr(tails, "STRIDE", 1)
        known = bounds(net, space)
    rng = random.Random(seed)
    state = space.settle(space.start(), [])
    while state.done != space.everything:
        left = left_to_pay(space, state)
        assert all(bound(state) <= left for bound in known.values())
        _, state, _ = rng.choice(list(space.moves(state)))
        state = space.settle(state, [])


def left_to_pay(space: OrderSpace, state: OrderState) -> int:
    """The least cost from a state, by trying everything."""
    least: dict[OrderState, int] = {}

    def solve_from(at: OrderState) -> int:
        if at.done == space.everything:
            return 0
        if at not in least:
            least[at] = min(
                paid + solve_from(space.settle(after, [])) for paid, after, _ in space.moves(at)
            )
        return least[at]

    return solve_from(state)


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.floats(0, 1))
@settings(max_examples=cases(8, 100))
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
@settings(max_examples=cases(15, MANY))
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
    graph = random_graph(2, 24, largest=99)
    exact = plan_of(graph, schedule="joint").claims
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
    with pytest.raises(sp.BadInput, match="it is chosen together with the order"):
        sp.plan(random_graph(1, 5), schedule="joint", replacement="belady")


def test_a_chain_that_grows_again_is_not_forced_past_its_smallest_output() -> None:
    """The ninth byte of the chain's end would push something out that its middle leaves alone."""
    graph = random_graph(196936267, 7, largest=9)
    route = solve(graph, True, 31).route()
    assert route is not None
    assert route.cost_bytes == 0


def test_a_bound_that_is_told_holds_over_all_orders() -> None:
    told: list[int] = []

    def listen(moment: sp.Progress) -> None:
        told.append(moment.bound_bytes or 0)

    below = 0
    for seed in range(cases(2, 16)):
        graph = random_graph(seed, 30, largest=99)
        best = sp.plan(graph, schedule="joint", progress=listen).claims.noncompulsory_bytes
        assert all(bound <= best for bound in told)
        below += sp.plan(graph).claims.bound_bytes > best
        told.clear()
    assert below, "the given order is nowhere worse: nothing was tried"
