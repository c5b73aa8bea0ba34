"""Plans on machines with an array against every order, replacement, address and start.

`benchmarks/small_arrays.py` tries hundreds of these.
"""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.compute_seconds import ComputeSeconds
from planners.core.weights import WEIGHTS
from planners.simulator.timing import schedule
from tests.array_machines import MACHINES, operator_s, random_array, small_layers
from tests.cases import cases
from tests.cosma.array_cases import array_case
from tests.cosma.brute_force import optimum
from tests.cosma.faster import TooMany, quickest_s

SEEDS = range(cases(5))
MOST_TRIES = 2000  # of an instruction, in a problem that is small enough


@pytest.mark.parametrize("seed", range(cases(3)))
def test_an_operator_takes_its_steps_counted_one_by_one(seed: int) -> None:
    for number in range(20 * seed, 20 * seed + 20):
        graph, machine = small_layers(number, wide=1 + number % 5), random_array(number)
        weights = WEIGHTS[number % 3]
        budget = sp.budgets(graph, parameters=True).MP
        plan = sp.plan(graph, "cosma", budget, machine, weights=weights)
        took = {
            each.label: each.stop_s - each.start_s
            for each in schedule(plan.program, machine, graph)
            if each.engine == "compute"
        }
        for op in graph.operators:
            counted = operator_s(graph, machine, op, weights)
            assert took[op.name] == pytest.approx(counted, rel=1e-9), (number, op)
            assert ComputeSeconds(graph, machine).least_s(op) <= counted * (1 + 1e-9)


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_proven_is_the_least_traffic_there_is(name: str) -> None:
    for seed in SEEDS:
        case = array_case(seed, most=6)
        plan = case.plan(MACHINES[name](seed), "traffic")
        least = optimum(case.graph, case.budget, any_order=case.any_order, parameters=case.counted)
        assert plan.claims.status == "optimal", seed
        assert sp.check(plan).noncompulsory_bytes == least, seed


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_proven_is_the_least_latency_there_is(name: str) -> None:
    compared = 0
    for seed in range(2 * len(SEEDS)):
        case, machine = array_case(seed, most=3), MACHINES[name](seed)
        plan = case.plan(machine, "latency")
        took, claim = sp.simulate(plan).makespan_s, plan.details.latency
        assert claim is not None
        try:
            best = quickest_s(
                *(case.graph, machine, case.budget),
                any_order=case.any_order,
                weights=case.weights,
                within_s=took * (1 + 1e-6),
                most_tries=MOST_TRIES,
            )
        except TooMany:
            continue
        compared += 1
        assert best == pytest.approx(took, rel=1e-9), seed
        assert plan.claims.status == "optimal", seed
        assert claim.bound_s == pytest.approx(took, rel=1e-8), seed
    assert compared >= len(SEEDS)
