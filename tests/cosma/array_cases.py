"""Small problems of whole tensors for machines with an array."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import planners as sp
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT
from tests.array_machines import small_layers
from tests.random_graphs import random_graph


class ArrayCase(NamedTuple):
    """A graph, a budget of little more than MR, what weights do, and which order is asked."""

    graph: sp.Graph
    budget: int
    weights: str
    schedule: str

    @property
    def any_order(self) -> bool:
        return self.schedule == "joint"

    @property
    def counted(self) -> bool:
        return self.weights == COUNTED

    def plan(self, machine: sp.Machine, objective: str) -> sp.Plan:
        options: dict[str, Any] = {
            "weights": self.weights,
            "schedule": self.schedule,
            "objective": objective,
        }
        return sp.plan(self.graph, "cosma", self.budget, machine, **options)


def array_case(seed: int, most: int = 4) -> ArrayCase:
    """Two to `most` operators: layers, of one channel or of as many as an array has lanes, or any
    that read some of what was before them."""
    rng = random.Random(seed)
    graph = (
        random_graph(seed, rng.randint(2, most), largest=rng.randint(1, 3))
        if rng.random() < 0.3
        else small_layers(seed, most, wide=rng.choice((1, 1, 1, 8, 16)))
    )
    weights = rng.choice((LEFT_OUT, COUNTED, COUNTED, IN_PLACE))
    least = sp.budgets(graph, parameters=weights == COUNTED).MR
    unit = min(map(graph.size_bytes, graph.tensors))
    budget = least + rng.choice((0, 0, 1, 2)) * unit
    return ArrayCase(graph, budget, weights, rng.choice(("default", "joint")))
