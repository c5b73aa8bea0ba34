"""The heaviest clique, beside networkx, which looks for it in another way."""

from __future__ import annotations

import random
import sys

import networkx as nx
import pytest

from planners.allocation.heaviest_clique import CLIQUE_RULES, heaviest_clique
from planners.core.progress import Clock
from planners.core.rules import without_any


def drawn(seed: int) -> nx.Graph:
    rng = random.Random(seed)
    graph = nx.gnp_random_graph(rng.randint(1, 24), rng.choice((0.1, 0.5, 0.9)), seed=seed)
    for node in graph:
        graph.nodes[node]["weight"] = rng.choice((1, 1, 2, rng.randint(1, 90)))
    return graph


def found(graph: nx.Graph, seconds: float = 10) -> list[int]:
    weights = [graph.nodes[node]["weight"] for node in graph]
    return heaviest_clique(weights, [set(graph[node]) for node in graph], Clock(seconds))


@pytest.mark.parametrize("seed", range(60))
def test_no_clique_is_heavier(seed: int) -> None:
    graph = drawn(seed)
    clique = found(graph)
    assert all(graph.has_edge(a, b) for a in clique for b in clique if a != b)
    weight = sum(graph.nodes[node]["weight"] for node in clique)
    assert weight == nx.max_weight_clique(graph, "weight")[1]


@pytest.mark.parametrize("seed", range(60))
def test_no_rule_decides_what_is_heaviest(seed: int) -> None:
    graph = drawn(seed).subgraph(range(14))
    weights = [graph.nodes[node]["weight"] for node in graph]
    conflicts = [set(graph[node]) for node in graph]
    cliques = [
        heaviest_clique(weights, conflicts, Clock(60), rules)
        for rules in (CLIQUE_RULES, without_any(CLIQUE_RULES))
    ]
    one, other = (sum(weights[member] for member in clique) for clique in cliques)
    assert one == other


def test_without_time_there_is_none() -> None:
    assert not found(drawn(1), 0)
    assert not heaviest_clique([], [], Clock(1))


def test_many_in_conflict_are_no_deep_recursion() -> None:
    many = sys.getrecursionlimit() + 50
    conflicts = [set(range(many)) - {node} for node in range(many)]
    assert len(heaviest_clique([1] * many, conflicts, Clock(60))) == many
