"""Plans on machines with an array beside the best of all plans, on hundreds of small problems.

    python benchmarks/small_arrays.py [--count 300] [--first 0] [--planner cosma|fusion]
        [--objective traffic|latency] [--machine NAME] [--tries 60000] [--plans 60]

Networks of two to four layers (seven by traffic; `tests/cosma/array_cases.py`, and convolutions of
`tests/fusion/every_plan.py`) on `npu_small`, on an Ethos-U55-128, on both with memories off chip so
slow that few bytes take as long as an operator, and on arrays as they fall. The best of `cosma` is
over every order, replacement, address and start of a transfer, with the array's steps counted one
by one; that of `fusion` over every order, group, tile and place, timed by the simulator. Problems
that take more tries of an instruction, or have more plans, than allowed are left out.

Printed, by planner, objective and machine: in how many problems the planner has the best, has worse
without saying that it is optimal (and by how much), says so and has worse, or has a bound above the
best (a fault), and has better than the best of all (a fault of what is compared with). Exits 1
where there is a fault of either.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.simulator.account import account
from planners.simulator.timing import schedule
from tests.array_machines import MACHINES
from tests.cosma.array_cases import array_case
from tests.cosma.brute_force import optimum
from tests.cosma.faster import TooMany, quickest_s
from tests.fusion.every_plan import budget_of, every_program, small_net

EQUAL, WORSE, FAULT, BETTER, LARGE = "equal", "worse", "FAULT", "better than all", "too large"
PLANNERS, OBJECTIVES = ("cosma", "fusion"), ("traffic", "latency")
ROUNDING, BOUND_ROUNDING = 1e-9, 1e-8
MOST_OPERATORS = {"traffic": 7, "latency": 4}


class Outcome(NamedTuple):
    """What became of a problem, and by what share the plan is worse."""

    word: str
    gap: float = 0.0


class Result(NamedTuple):
    """A plan's value, its bound, whether it says that it is optimal; and the best of all plans."""

    value: float
    bound: float
    proven: bool
    best: float | None

    @property
    def outcome(self) -> Outcome:
        if self.best is None or self.value < self.best * (1 - ROUNDING):
            return Outcome(BETTER)
        gap = 1 - self.best / self.value if self.value else 0.0
        if self.bound > self.best * (1 + BOUND_ROUNDING):
            return Outcome(FAULT, gap)
        if gap <= ROUNDING:
            return Outcome(EQUAL)
        return Outcome(FAULT if self.proven else WORSE, gap)


def cosma(seed: int, machine: sp.Machine, objective: str, most_tries: int) -> Outcome:
    """Plan whole tensors, in the model's order or any; the best of every program of theirs."""
    case = array_case(seed, MOST_OPERATORS[objective])
    graph, budget = case.graph, case.budget
    plan = case.plan(machine, objective)
    moved, claims = sp.check(plan).noncompulsory_bytes, plan.claims
    proven = claims.status == "optimal"
    if objective == "traffic":
        least = optimum(graph, budget, any_order=case.any_order, parameters=case.counted)
        return Result(moved, claims.bound_bytes, proven, least).outcome
    claim, took = plan.details.latency, sp.simulate(plan).makespan_s
    assert claim is not None
    own: dict[str, Any] = {
        "any_order": case.any_order,
        "weights": case.weights,
        "most_tries": most_tries,
    }
    try:
        best = quickest_s(graph, machine, budget, within_s=took * (1 + 1e-6), **own)
    except TooMany:
        return Outcome(LARGE)
    return Result(took, claim.bound_s, proven, best).outcome


def fusion(seed: int, machine: sp.Machine, objective: str, most_plans: int) -> Outcome:
    """Plan fused groups; the best of every plan of groups."""
    graph = small_net(seed)
    budget = budget_of(graph, machine, seed % 5)
    programs = every_program(graph, machine, budget, most_plans)
    if programs is None:
        return Outcome(LARGE)
    options: dict[str, Any] = {"objective": objective, "bands": 1, "time_limit": 600}
    plan = sp.plan(graph, "fusion", budget, machine, **options)
    claims, claim = plan.claims, plan.details.latency
    proven = claims.status == "optimal"
    if objective == "traffic":
        least = min(account(graph, program).traffic_bytes for program in programs)
        moved = sp.check(plan).traffic_bytes
        return Result(moved, claims.bound_bytes, proven, least).outcome
    best = min(max(i.stop_s for i in schedule(p, machine, graph)) for p in programs)
    assert claim is not None
    return Result(sp.simulate(plan).makespan_s, claim.bound_s, proven, best).outcome


def outcomes(
    planner: str, objective: str, name: str, seeds: Iterator[int], tries: int, plans: int
) -> Iterator[tuple[int, Outcome]]:
    """What becomes of the problem of each seed on a machine."""
    machine_of = MACHINES[name]
    for seed in seeds:
        if planner == "cosma":
            yield seed, cosma(seed, machine_of(seed), objective, tries)
        else:
            yield seed, fusion(seed, machine_of(seed), objective, plans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="problems by planner and objective")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--planner", choices=PLANNERS)
    parser.add_argument("--objective", choices=OBJECTIVES)
    parser.add_argument("--machine", choices=MACHINES, help="a fifth of them, on this one")
    parser.add_argument("--tries", type=int, default=60_000)
    parser.add_argument("--plans", type=int, default=60)
    asked = parser.parse_args()
    faults = 0
    print(f"{'':44}", *(f"{word:>15}" for word in (EQUAL, WORSE, FAULT, BETTER, LARGE)))
    for planner, objective in product(PLANNERS, OBJECTIVES):
        if asked.planner in (None, planner) and asked.objective in (None, objective):
            faults += report(planner, objective, asked)
    sys.exit(1 if faults else 0)


def report(planner: str, objective: str, asked: argparse.Namespace) -> int:
    """One planner by one objective on each machine, and how many faults there are."""
    every = list(MACHINES)
    totals, gaps = Counter[str](), defaultdict[str, list[float]](list)
    for i, name in enumerate(every):
        if asked.machine not in (None, name):
            continue
        share = asked.count * (i + 1) // len(every) - asked.count * i // len(every)
        found = Counter[str]()
        seeds = count(asked.first + i, len(every))
        for seed, (word, gap) in outcomes(
            planner, objective, name, seeds, asked.tries, asked.plans
        ):
            found[word] += 1
            if word == WORSE:
                gaps[name].append(gap)
            if word in (FAULT, BETTER):
                print(f"  {planner}, {objective}, {name}, seed {seed}: {word}, {gap:.3%}")
            if sum(found.values()) - found[LARGE] == share:
                break
        totals += found
        row(f"{planner}, {objective}, {name}", found, gaps[name])
    row(f"{planner}, {objective}", totals, [gap for each in gaps.values() for gap in each])
    return totals[FAULT] + totals[BETTER]


def row(title: str, found: Counter[str], gaps: list[float]) -> None:
    words = (EQUAL, WORSE, FAULT, BETTER, LARGE)
    worst = f"; worse by {sum(gaps) / len(gaps):.1%}, at most {max(gaps):.1%}" if gaps else ""
    print(f"{title:44}", *(f"{found[word]:15}" for word in words), worst, flush=True)


if __name__ == "__main__":
    main()
