"""Small problems whose budgets are tight, asked in little time: is *infeasible* true?

    python benchmarks/infeasible.py [--count 2000] [--first 0] [--planners NAME... | memories]

Networks of operators that read anything, of convolutions with skips and of layers are drawn with a
seed, each with a planner, options, a budget between half of the largest operator's need and all,
and a limit of 0.05, 0.2 or 2 seconds. Wrong is
* *infeasible* where the same planner finds a plan with another objective or in more time, or brute
  force over every order, replacement and address does (`tests/cosma/brute_force.py`),
* a need, named by *infeasible* or by *none found*, with which the same question has no plan in
  `PATIENT_S`,
* an error of any other kind.
Prints each, and a line of counts for each planner; exits 1 for any.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from tests.allocation.all_ways import least
from tests.cosma.brute_force import optimum
from tests.cosma.test_banks import asked as asked_of
from tests.cosma.test_banks import board
from tests.overlap.random_nets import random_net
from tests.random_graphs import random_graph

LIMITS_S = (0.05, 0.2, 2.0)
PATIENT_S = 20.0
FEW = 6
"""Operators of which brute force tries everything."""
LOOKS = ("fusion", "joined", "overlap", "auto", "cosma", "streaming")
MEMORIES = "memories"
"""`cosma` with tensors in three memories on chip, which is asked for by this name alone."""
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "cosma": (
        {},
        {"schedule": "joint"},
        {"objective": "peak"},
        {"objective": "latency"},
        {"replacement": "greedy"},
        {"method": "ilp"},
        {"alignment": 4},
    ),
    "fusion": ({}, {"joint": True}, {"objective": "latency"}, {"online": True}),
    "overlap": (
        {},
        {"objective": "ram"},
        {"objective": "latency"},
        {"fuse": False},
        {"segment": "min"},
    ),
    "streaming": ({}, {"pipeline": "2s"}, {"pipeline": "exact"}),
    "joined": ({}, {"objective": "latency"}, {"others": True}),
    "auto": ({}, {"objective": "latency"}),
}
LONGER: dict[str, tuple[dict[str, Any], ...]] = {
    "overlap": ({"objective": "ram"}, {"objective": "macs"}, {"objective": "latency"}),
    "cosma": ({"objective": "traffic", "method": "search"},),
}
"""Other objectives of a planner, whose plans are plans for each of its objectives."""


class ProblemFields(NamedTuple):
    """A question, and whether brute force can answer it."""

    graph: sp.Graph
    planner: str
    options: dict[str, Any]
    budget: int
    limit_s: float
    few: bool
    machine: sp.Machine | None = None

    def plan(self, budget: int, limit_s: float, **more: Any) -> sp.Plan:
        options = {**self.options, **more}
        if self.machine is not None:
            options["machine"] = self.machine
        return sp.plan(self.graph, self.planner, budget, time_limit=limit_s, **options)

    @property
    def words(self) -> str:
        options = " ".join(f"{k}={v}" for k, v in self.options.items())
        where = f"{self.graph.name}, {len(self.graph.operators)} operators"
        return f"{self.planner} {options} at {self.budget} in {self.limit_s:g} s ({where})"


def drawn(seed: int, planners: list[str]) -> ProblemFields:
    rng = random.Random(seed)
    planner = rng.choice(planners)
    few = rng.random() < 0.4
    count = rng.randint(2, FEW if few else 14)
    if rng.random() < 0.5:
        graph = random_graph(seed, count, largest=rng.choice([5, 40]))
    else:
        graph = random_net(seed, count)[0]
    need = max(sum(map(graph.size_bytes, (*op.inputs, *op.outputs))) for op in graph.operators)
    budget = max(1, int(need * rng.uniform(0.4, 1.15)))
    options = rng.choice(OPTIONS[planner])
    return ProblemFields(graph, planner, options, budget, rng.choice(LIMITS_S), few)


def in_memories(seed: int) -> ProblemFields:
    """Tensors of a small graph in three memories that hold about what they must."""
    rng = random.Random(seed)
    graph = random_graph(seed, rng.randint(2, 6), largest=rng.choice([3, 9]))
    need = max(sum(map(graph.size_bytes, (*op.inputs, *op.outputs))) for op in graph.operators)
    fast, middle, slow = (max(1, int(need * rng.uniform(0.2, 0.7))) for _ in range(3))
    limit, few = rng.choice(LIMITS_S), len(graph.tensors) <= FEW
    return ProblemFields(graph, "cosma", {}, fast, limit, few, board(fast, middle, slow))


def faults(problem: ProblemFields, seen: Counter[str]) -> Iterator[str]:
    try:
        plan = problem.plan(problem.budget, problem.limit_s)
    except sp.BudgetTooSmall as error:
        seen["infeasible"] += 1
        yield from _feasible(problem)
        yield from _need(problem, error.need_bytes)
        return
    except sp.NoPlanFound as error:
        seen["none found"] += 1
        if error.need_bytes is not None:
            yield from _need(problem, error.need_bytes)
        return
    except sp.BadInput as error:
        seen["refused"] += 1
        if "not planned" not in str(error):
            yield f"{type(error).__name__}: {error}"
        return
    sp.check(plan)
    seen["planned"] += 1


def _feasible(problem: ProblemFields) -> Iterator[str]:
    """Plans at a budget of which *infeasible* was said."""
    others = LONGER.get(problem.planner, ()) if problem.machine is None else ()
    if problem.options.get("objective") == "peak":  # Without spills, as others are not.
        others = ()
    for more in ({}, *others):
        try:
            problem.plan(problem.budget, PATIENT_S, **more)
        except sp.SpillwayError:
            continue
        yield f"infeasible, and there is a plan {more or 'in more time'}"
        return
    if problem.machine is not None:
        with suppress(sp.BadInput):  # A tensor that is larger than each memory.
            if problem.few and least(asked_of(problem.graph, problem.machine)) is not None:
                yield "infeasible, and there is a way among all"
        return
    if problem.planner == "cosma" and problem.few and others:
        joint = problem.options.get("schedule") == "joint"
        if optimum(problem.graph, problem.budget, any_order=joint, parameters=False) is not None:
            yield "infeasible, and brute force has a plan"


def _need(problem: ProblemFields, need: int) -> Iterator[str]:
    if problem.machine is not None:
        yield from _need_of_memories(problem, problem.machine, need)
        return
    if need <= problem.budget:
        yield f"the need that is named, {need}, is no more than the budget"
        return
    try:
        problem.plan(need, PATIENT_S)
    except sp.SpillwayError as error:
        yield f"it names a need of {need}, and there: {error}"


def _need_of_memories(problem: ProblemFields, machine: sp.Machine, need: int) -> Iterator[str]:
    """Of bytes in all: with a fastest memory that holds them alone there is to be a plan."""
    if need <= sum(level.size_bytes for level in machine.banks):
        return  # No way to share them out is proven.
    larger = board(need, *(level.size_bytes for level in machine.banks[1:]))
    try:
        problem._replace(machine=larger).plan(need, PATIENT_S)
    except sp.SpillwayError as error:
        yield f"it names a need of {need}, and there: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--planners", nargs="+", default=list(LOOKS), choices=(*LOOKS, MEMORIES))
    asked = parser.parse_args()
    counts: dict[str, Counter[str]] = {name: Counter() for name in asked.planners}
    for seed in range(asked.first, asked.first + asked.count):
        alone = asked.planners == [MEMORIES]
        problem = in_memories(seed) if alone else drawn(seed, asked.planners)
        seen = counts[MEMORIES if alone else problem.planner]
        found = list(faults(problem, seen))
        seen["wrong"] += bool(found)
        for text in found:
            print(f"{seed}: {problem.words}: {text}", flush=True)
    for name, seen in counts.items():
        words = ("planned", "infeasible", "none found", "refused", "wrong")
        print(f"{name}: " + ", ".join(f"{seen[word]} {word}" for word in words))
    return any(seen["wrong"] for seen in counts.values())


if __name__ == "__main__":
    sys.exit(main())
