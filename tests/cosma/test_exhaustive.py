"""Plans against every order, replacement and address: small problems, tried out in full.

`SPILLWAY_CASES=1000 pytest tests/cosma/test_exhaustive.py` tries a thousand instead of fifty.
"""

from __future__ import annotations

import os
from itertools import product
from typing import NamedTuple

import pytest

import planners as sp
from tests.cases import cases
from tests.cosma.brute_force import optimum, optimum_by_size
from tests.cosma.small_cases import CROWDED, Case, crowded_case, small_case

CASES = int(os.environ.get("SPILLWAY_CASES", cases(50)))
BLOCK = 10
BLOCKS = range(-(-CASES // BLOCK))
USUAL = 3
"""As many blocks, and as many of the crowded cases, are in the usual run."""
SLOW = (1, "joint")
"""A crowded case whose addresses take seconds to be proven."""
SCHEDULES = ("joint", "default")


class Outcome(NamedTuple):
    """Bytes by brute force; and what a plan claims."""

    best: int
    bound: int
    moved: int
    proven: bool

    @property
    def true(self) -> bool:
        """Whether the plan's claims are: of a bound, and of optimality."""
        return self.bound <= self.best <= self.moved and (
            self.moved == self.best or not self.proven
        )


def outcome(case: Case, schedule: str) -> Outcome:
    graph, budget, parameters = case
    plan = sp.plan(graph, budget=budget, parameters=parameters, schedule=schedule)
    moved = sp.check(plan).noncompulsory_bytes
    proven = plan.claims.status == "optimal"
    every = {"any_order": schedule == "joint", "parameters": parameters}
    best = optimum(graph, budget, **every)
    assert best is not None
    return Outcome(best, plan.claims.bound_bytes, moved, proven)


@pytest.mark.parametrize(
    ("block", "schedule"),
    [
        pytest.param(*each, marks=() if each[0] < USUAL else pytest.mark.long)
        for each in product(BLOCKS, SCHEDULES)
    ],
)
def test_the_least_traffic_there_is(block: int, schedule: str) -> None:
    seeds = range(block * BLOCK, min(CASES, (block + 1) * BLOCK))
    found = {seed: outcome(small_case(seed), schedule) for seed in seeds}
    assert [seed for seed, item in found.items() if not item.true] == []
    assert [seed for seed, item in found.items() if not item.proven] == []
    assert any(item.best for item in found.values())


@pytest.mark.parametrize(
    ("seed", "schedule"),
    [
        pytest.param(*each, marks=() if each[0] < USUAL and each != SLOW else pytest.mark.long)
        for each in product(range(min(CASES, cases(15))), SCHEDULES)
    ],
)
def test_where_memory_is_left_in_pieces(seed: int, schedule: str) -> None:
    """Where addresses cost something on top of sizes, that is found and proven too."""
    found = outcome(crowded_case(seed), schedule)
    assert found.true
    assert found.proven


@pytest.mark.parametrize(("seed", "schedule"), [(0, "default"), (1, "joint"), (2, "default")])
def test_addresses_cost_something_in_the_crowded_cases(seed: int, schedule: str) -> None:
    assert seed < len(CROWDED)
    graph, budget, _ = crowded_case(seed)
    every = {"any_order": schedule == "joint"}
    best = optimum(graph, budget, **every)
    assert best is not None
    assert optimum_by_size(graph, budget, **every) < best


def test_too_small_a_budget_has_no_way_through() -> None:
    for seed in range(20):
        graph, _, parameters = small_case(seed)
        least = sp.budgets(graph, parameters=parameters).MR
        assert optimum(graph, least, any_order=True, parameters=parameters) is not None
        assert optimum(graph, least - 1, any_order=True, parameters=parameters) is None
        with pytest.raises(sp.BudgetTooSmall):
            sp.plan(graph, budget=least - 1, parameters=parameters, schedule="joint")
