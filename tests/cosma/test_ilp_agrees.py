"""The search over orders equals the paper's whole ILP, equations (1) to (12), on random graphs.

`SPILLWAY_CASES=1000 pytest tests/cosma/test_ilp_agrees.py` tries a hundred of up to ten operators
(minutes); without it, those of the usual run have up to five.
"""

from __future__ import annotations

import os

import pytest

import planners as sp
from tests.cases import cases
from tests.cosma.small_cases import small_case

CASES = int(os.environ.get("SPILLWAY_CASES", cases(100))) // 10
OPERATORS = 10 if CASES >= 100 else 5


USUAL = (0, 1, 4)
"""Those that spill."""


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=() if seed in USUAL else pytest.mark.long) for seed in range(CASES)],
)
def test_both_prove_the_same_traffic(seed: int) -> None:
    graph, budget, parameters = small_case(seed, OPERATORS)
    options = {"budget": budget, "parameters": parameters, "schedule": "joint"}
    theirs = sp.plan(graph, method="ilp", time_limit=600, **options)
    ours = sp.plan(graph, **options)
    assert sp.check(theirs).noncompulsory_bytes == theirs.claims.objective_bytes
    assert theirs.claims.status == ours.claims.status == "optimal"
    assert theirs.claims.objective_bytes == ours.claims.objective_bytes
