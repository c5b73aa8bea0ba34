"""Partition and residency together against brute force over both, and what must hold of both."""

from __future__ import annotations

import os
import random
from functools import cache
from typing import TypeAlias

import pytest

import planners as sp
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.joint.resident_cost import HeldCosts, HeldModel
from planners.fusion.joint.search import JointSearch
from planners.fusion.joint.space import GroupSpace
from planners.fusion.partition.lattice import Dag
from planners.fusion.partition.shortest import lattice
from tests.cases import cases
from tests.fusion.models import Way, subsets, undominated
from tests.random_graphs import random_graph

# FUSION_CASES=500 runs as many graphs against brute force.
CASES = int(os.environ.get("FUSION_CASES", cases(10, 30)))


Wishes: TypeAlias = tuple[set[str], set[str]]  # tensors to be kept, and to be spilled


class HeldLines:
    """Maps in lines, in some strips; the tensors that are held have no lines and do not move.

    `odd` makes lines, loads and what is inside a group any numbers, by group and tensor.
    """

    def __init__(self, graph: sp.Graph, seed: int, odd: bool) -> None:
        self.graph, self.seed, self.odd = graph, seed, odd
        self.dag = Dag.from_graph(graph)

    def staircase(self, mask: int, held: frozenset[str] = frozenset()) -> tuple[Way, ...]:
        graph = self.graph
        ops = [graph.operators[i] for i in bits(mask)]
        made = {t for op in ops for t in op.outputs}
        read = {t for op in ops for t in op.inputs}
        weights = sum(graph.size_bytes(t) for op in ops for t in op.parameters)
        loaded, stored = read - made, {t for t in made if self._escapes(t, mask)}
        if not self.dag.is_convex(mask):
            return ()
        ways = []
        for strips in (4, 2, 1):
            rows = sum(self._line(mask, t, strips) for t in (made | read) - held)
            rows += self._any(mask, "room", 0, 6)
            turns = strips + self._any(mask, "turns", 0, 2)
            maps = sum(graph.size_bytes(t) for t in stored - held)
            maps += sum(self._loads(mask, t) for t in loaded - held)
            ways.append(Way(rows, maps + turns * weights))
            ways.append(Way(rows + weights, maps + weights))
        return undominated(ways)

    def _line(self, mask: int, tensor: str, strips: int) -> int:
        size = self.graph.size_bytes(tensor)
        line = min(size, -(-size // strips) + 1)
        return min(size, self._any(mask, tensor, line, size)) if self.odd else line

    def _loads(self, mask: int, tensor: str) -> int:
        size = self.graph.size_bytes(tensor)
        return size * self._any(mask, f"loads {tensor}", 1, 2)

    def _any(self, mask: int, what: str, low: int, high: int) -> int:
        if not self.odd:
            return low
        return random.Random(f"{self.seed} {mask} {what}").randint(low, high)

    def _escapes(self, tensor: str, mask: int) -> bool:
        readers = self.graph.consumers[tensor]
        return (
            tensor in self.graph.outputs or not readers or any(not mask >> i & 1 for i in readers)
        )


class Exhaustive:
    """The least traffic over all acyclic partitions, orders of groups and residency.

    For each group any tensors are on chip, whole, that can be: left from before, loaded, or made
    there. Nothing is lazy, and nothing is asked of the code under test. What is wished to be kept
    is on chip from the group that makes it on, what is to be spilled with its users only.
    """

    def __init__(
        self, graph: sp.Graph, model: HeldModel, budget: int, wished: Wishes = (set(), set())
    ) -> None:
        self.keep, self.spill = wished
        self.graph, self.model, self.budget = graph, model, budget
        self.dag = Dag.from_graph(graph)
        self.size = {t: graph.size_bytes(t) for t in graph.tensors}
        self.least = cache(self._least)

    def needed(self, done: int) -> set[str]:
        users = self.graph.consumers.items()
        return {t for t, at in users if any(~done >> i & 1 for i in at)}

    def _least(self, done: int, there: frozenset[str], stored: frozenset[str]) -> float:
        """From here on: `there` was on chip with the last group, `stored` is off chip."""
        if done == self.dag.everything:
            return 0
        best = float("inf")
        for mask in subsets(self.dag.everything & ~done):
            if not any(self.dag.predecessors[i] & ~(done | mask) for i in bits(mask)):
                made = {t for i in bits(mask) for t in self.graph.operators[i].outputs}
                pool = sorted(there | stored | (made & self.needed(done | mask)))
                for chosen in range(1 << len(pool)):
                    on_chip = frozenset(pool[k] for k in bits(chosen))
                    if not self._respects(mask, made, done, on_chip):
                        continue
                    best = min(best, self._run(mask, made, done, (there, stored, on_chip)))
        return best

    def _respects(self, mask: int, made: set[str], done: int, on_chip: frozenset[str]) -> bool:
        used = made | {t for i in bits(mask) for t in self.graph.operators[i].inputs}
        known = {t for t in self.keep if done >> self.graph.producer[t] & 1}
        must = (known & self.needed(done)) | (self.keep & made & self.needed(done | mask))
        return must <= on_chip and not (on_chip & self.spill) - used

    def _run(self, mask: int, made: set[str], done: int, sets: tuple[frozenset[str], ...]) -> float:
        """Run a group with these tensors on chip, and all that follows."""
        there, stored, on_chip = sets
        read = {t for i in bits(mask) for t in self.graph.operators[i].inputs} - made
        left = there - on_chip - stored  # the only copy leaves
        loads = on_chip - there - made
        if not read <= on_chip | stored | left:
            return float("inf")
        room = self.budget - sum(self.size[t] for t in on_chip)
        held = on_chip & (read | made)
        traffic = [
            way.traffic_bytes
            for way in self.model.staircase(mask, held)
            if way.buffer_bytes <= room
        ]
        if not traffic:
            return float("inf")
        outputs = set(self.graph.outputs)
        cost = sum(self.size[t] for t in (*left, *loads, *(held & made & outputs)))
        needed = self.needed(done | mask)
        off_chip = stored | left | (made - on_chip) | (made & outputs)
        after = (done | mask, on_chip & needed, frozenset(off_chip & needed))
        return min(traffic) + cost + self.least(*after)


def brute_force(
    graph: sp.Graph, model: HeldModel, budget: int, wished: Wishes = (set(), set())
) -> float:
    found = Exhaustive(graph, model, budget, wished)
    return found.least(0, frozenset(), frozenset(graph.inputs))


def search(
    graph: sp.Graph, model: HeldModel, budget: int, wished: Wishes = (set(), set())
) -> JointSearch:
    """The search over all groups and all downsets, with nothing known."""
    dag = Dag.from_graph(graph)
    groups = [m for m in subsets(dag.everything) if dag.is_convex(m)]
    way = lattice(dag, dag.downsets(), groups, 1_000_000)
    assert way is not None
    costs = HeldCosts(model, graph, local=False)
    keep, spill = (costs.tensors.mask(names) for names in wished)
    space = GroupSpace(way, groups, costs, budget, keep=keep, spill=spill)
    found = JointSearch(space, 10**9)
    found.run(Clock(60), 10**7)
    return found


def least_budget(graph: sp.Graph, model: HeldModel) -> int:
    """The least in which each operator fits alone."""
    count = len(graph.operators)
    return max(model.staircase(1 << i)[0].buffer_bytes for i in range(count))


@pytest.mark.parametrize(
    ("seed", "odd"),
    [
        pytest.param(seed, odd, marks=pytest.mark.long if odd and seed == 3 else ())
        for seed in range(CASES)
        for odd in (False, True)
    ],
)
def test_brute_force_agrees(seed: int, odd: bool) -> None:
    graph = random_graph(seed, 2 + seed % 4)
    model = HeldLines(graph, seed, odd)
    low = least_budget(graph, model)
    everything = sum(graph.size_bytes(t) for t in graph.tensors)
    for budget in (low, random.Random(seed).randint(low, everything + low), everything + low):
        found = search(graph, model, budget)
        route = found.route()
        assert route is not None
        assert route.cost_bytes == found.least == brute_force(graph, model, budget)


@pytest.mark.parametrize("odd", [False, True], ids=["lines", "odd"])
def test_brute_force_agrees_on_tensors_that_are_wished_for(odd: bool) -> None:
    outcomes = set()
    for seed in range(CASES):
        graph, rng = random_graph(seed, 2 + seed % (3 if odd else 4)), random.Random(seed)
        model = HeldLines(graph, seed, odd)
        names = [t for t in graph.producer if graph.consumers[t]]
        keep = set(rng.sample(names, min(len(names), rng.randint(0, 2))))
        spill = set(rng.sample(names, min(len(names), rng.randint(0, 2)))) - keep
        low = least_budget(graph, model)
        everything = sum(graph.size_bytes(t) for t in graph.tensors)
        for budget in (low, rng.randint(low, everything + low)):
            found = search(graph, model, budget, (keep, spill))
            best, route = brute_force(graph, model, budget, (keep, spill)), found.route()
            assert best == (float("inf") if route is None else route.cost_bytes), seed
            outcomes.add(route is None)
    assert outcomes == {False, True}


@pytest.mark.parametrize(
    ("seed", "odd", "budget"), [(2, False, 7), (4, True, 11), (12, False, 6), (44, False, 7)]
)
def test_a_state_stands_for_another_only_if_it_can_be_turned_into_it(
    seed: int, odd: bool, budget: int
) -> None:
    """Here what is on chip in one state only must be loaded first, or the optimum is ruled out."""
    graph = random_graph(seed, 5)
    model = HeldLines(graph, seed, odd)
    assert search(graph, model, budget).least == brute_force(graph, model, budget)
