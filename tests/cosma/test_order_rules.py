"""Searches over orders without their rules: the same, in more states."""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.best_first import NO_LIMIT
from planners.core.progress import Clock
from planners.core.rules import names, without, without_any
from planners.cosma.latency.bound import ScheduleSeconds
from planners.cosma.latency.exact import MAKESPAN_RULES, MakespanRules, MakespanSearch
from planners.cosma.model.net import net_of
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.peak import Footprints, PeakSearch, order_peak
from planners.cosma.order.rules import ORDER_RULES, PEAK_RULES, OrderRules, PeakRules
from planners.cosma.order.shortest_path import OrderSearch
from planners.cosma.order.space import OrderSpace
from planners.cosma.order.suffix_bounds import Tails
from tests.cases import cases
from tests.cosma.test_joint import capacity_cost, orders
from tests.cosma.test_latency import small
from tests.random_graphs import random_graph


def searched(graph: sp.Graph, budget: int, rules: OrderRules, *, tails: bool) -> OrderSearch:
    """The search over orders at its end, with bounds from the end of the graph's order or not."""
    net = net_of(graph, False, budget)
    space, bound = OrderSpace(net, rules), None
    if tails:
        ends = Tails(net, rules)
        while ends.first > 0:
            ends.extend(Clock(60))
        bound = ends.bound_for(space)
    search = OrderSearch(space, NO_LIMIT, bound)
    search.run(Clock(60))
    return search


@pytest.mark.parametrize("seed", range(cases(24)))
@pytest.mark.parametrize("tails", [False, True], ids=["alone", "tails"])
def test_no_rule_of_orders_decides_what_is_found(seed: int, tails: bool) -> None:
    graph = random_graph(seed, 2 + seed % 5, largest=9)
    b = sp.budgets(graph)
    budget = b.MR + (b.MP - b.MR) * (seed % 3) // 3
    best = min(capacity_cost(graph, order, False, budget) for order in orders(graph))
    for rules in (ORDER_RULES, without_any(ORDER_RULES), *_one_less(ORDER_RULES)):
        route = searched(graph, budget, rules, tails=tails).route()
        assert route is not None
        assert route.cost_bytes == best, rules


def _one_less(rules: OrderRules) -> list[OrderRules]:
    return [without(rules, name) for name in names(rules)]


@pytest.mark.parametrize("seed", range(cases(24)))
def test_no_rule_of_peaks_decides_what_is_found(seed: int) -> None:
    graph = random_graph(seed, 2 + seed % 5, largest=9)
    best = min(order_peak(graph, order) for order in orders(graph))
    every: list[PeakRules] = [PEAK_RULES, without_any(PEAK_RULES)]
    for rules in (*every, *(without(PEAK_RULES, name) for name in names(PEAK_RULES))):
        search = PeakSearch(Footprints(graph, False), rules)
        search.run(Clock(60))
        assert search.least == order_peak(graph, search.schedule()) == best, rules


@pytest.mark.parametrize("seed", [1, 4, 6, 7][: cases(4)])
@pytest.mark.parametrize("any_order", [False, True])
def test_no_rule_of_makespans_decides_what_is_found(seed: int, any_order: bool) -> None:
    # What all rules find nothing is faster than: `test_nothing_is_faster_than_what_is_proven`.
    graph, machine, budget, counted = small(seed)
    schedule = tuple(range(len(graph.operators)))
    seconds = ScheduleSeconds(ScheduleProblem(graph, schedule, counted, budget), machine)
    least = _makespan(seconds, MAKESPAN_RULES, any_order)
    assert least < 1e9
    for name in names(MAKESPAN_RULES):
        rules = without(MAKESPAN_RULES, name)
        assert _makespan(seconds, rules, any_order) == pytest.approx(least, rel=1e-9), rules


def _makespan(seconds: ScheduleSeconds, rules: MakespanRules, any_order: bool) -> float:
    search = MakespanSearch(seconds, 1e9, any_order, rules)
    search.run(Clock(60))
    return search.least
