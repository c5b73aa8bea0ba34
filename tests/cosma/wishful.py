"""Random wishes for small graphs, most of which can be had."""

from __future__ import annotations

import random

from planners.wishes.conflicts import consistent
from planners.wishes.language import Wish
from tests.cosma.small_cases import Case


def random_wishes(case: Case, seed: int, most: int = 3) -> list[Wish]:
    """One to `most` wishes that do not contradict each other or the graph."""
    rng = random.Random(seed)
    graph = case.graph
    counted = [n for n, t in graph.tensors.items() if case.parameters or t.kind != "parameter"]
    longer = [n for n in counted if len(graph.consumers[n]) > (n not in graph.producer)] or counted
    names = [op.name for op in graph.operators]
    found: list[Wish] = []
    for _ in range(rng.randint(1, most)):
        kind = rng.choice(("keep", "spill", "before"))
        if kind == "before":
            wish = Wish("before", tuple(rng.sample(names, 2)))
        else:
            wish = Wish("keep" if kind == "keep" else "spill", (rng.choice(longer),))
        if wish not in found and consistent([*found, wish], graph):
            found.append(wish)
    return found
