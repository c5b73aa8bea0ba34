"""Footprints with shared bytes: their search against all orders, and what it takes for granted."""

from __future__ import annotations

import itertools
import random

import pytest

from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.cosma.order.peak import Footprints
from planners.overlap.order.orders import all_distances, least_orders, most_shared, shared_bytes
from tests.overlap.random_nets import random_net


def all_orders(graph: Graph) -> list[tuple[int, ...]]:
    """Every order in which the operators can run."""
    before = [
        {graph.producer[name] for name in op.inputs if name in graph.producer}
        for op in graph.operators
    ]
    return [
        order
        for order in itertools.permutations(range(len(before)))
        if all(before[i] <= set(order[:at]) for at, i in enumerate(order))
    ]


def test_what_an_output_shares_with_its_dying_inputs() -> None:
    assert most_shared(10, []) == 0
    assert most_shared(10, [(4, 0)]) == 4
    assert most_shared(4, [(10, 0)]) == 4
    assert most_shared(10, [(8, 3)]) == 7
    # Two inputs lie apart, so only what is behind the smaller distance is shared.
    assert most_shared(10, [(8, 3), (8, 6)]) == 7
    assert most_shared(10, [(4, 3), (2, 6)]) == 6
    assert most_shared(10, [(4, 3), (9, 8)]) == 6


@pytest.mark.parametrize("seed", range(25))
def test_the_search_finds_the_least_footprint_of_all_orders(seed: int) -> None:
    graph, _ = random_net(seed, 6)
    distances = all_distances(graph)
    prints = Footprints(graph, False, shares=shared_bytes(graph, distances))
    shared, apart, orders = least_orders(graph, distances, Clock(600))
    assert shared.proven
    assert shared.peak_bytes == min(map(prints.peak, all_orders(graph))) == prints.peak(orders[0])
    assert shared.peak_bytes <= apart.peak_bytes


@pytest.mark.parametrize("seed", range(20))
def test_footprints_shrink_where_more_ran_before(seed: int) -> None:
    """What makes it right to run at once what raises nothing."""
    graph, _ = random_net(seed, 7)
    prints = Footprints(graph, False, shares=shared_bytes(graph, all_distances(graph)))
    rng = random.Random(seed)
    orders = all_orders(graph)
    for _ in range(20):
        order = rng.choice(orders)
        done = live = 0
        ready = prints.first_ready()
        for position in order:
            for early in bits(ready & ~(1 << position)):
                now = prints.move(done, live, early)
                if now.live <= live:
                    later = prints.move(now.done, now.live, position)
                    assert later.footprint <= prints.move(done, live, position).footprint
            ready = prints.ready(done, ready, position)
            _, live, done = prints.move(done, live, position)
