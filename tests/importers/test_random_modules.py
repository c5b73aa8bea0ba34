"""Random modules: imported, run operator by operator, planned by all planners, executed."""

from __future__ import annotations

import copy
import random
from functools import cache

import pytest
import torch

import planners as sp
from tests.cases import cases, in_turn
from tests.importers.apart import assert_boxes
from tests.importers.boxed_steps import BOXED
from tests.importers.once import ExportedOnce
from tests.importers.random_modules import StyledModule, fresh
from tests.importers.replay import replayed


@cache
def exported(seed: int) -> ExportedOnce:
    module = StyledModule(seed)
    return ExportedOnce(module, fresh(module))


@pytest.mark.parametrize(("seed", "granularity"), in_turn(range(12), [("aten",), ("fused",)]))
def test_operators_compute_what_eager_does(seed: int, granularity: str) -> None:
    made = exported(seed)
    module = copy.deepcopy(made.module)
    outputs, kept = replayed(made.graph(granularity), made.model, fresh(module))
    with torch.no_grad():
        expected = module(*fresh(module))
    torch.testing.assert_close(outputs, expected, rtol=0, atol=0)
    buffers = dict(module.named_buffers())
    torch.testing.assert_close({**buffers, **kept}, buffers, rtol=0, atol=0)


@pytest.mark.parametrize("seed", range(cases(8, 100)))
def test_boxes_of_operators_need_boxes(seed: int) -> None:
    module = StyledModule(seed, BOXED)
    made = ExportedOnce(module, fresh(module))
    with torch.no_grad():
        given = made.model.input_values(fresh(module))
        assert_boxes(made.graph("fused"), made.model, given, random.Random(seed))


@pytest.mark.parametrize(
    ("seed", "planner"),
    in_turn([0, 1, 2, 4], [("cosma",), ("fusion",), ("overlap",), ("streaming",)]),
)
def test_plans_compute_what_eager_does(seed: int, planner: str) -> None:
    module = StyledModule(seed)
    graph = exported(seed).graph("fused")
    budget: int | str = "1MiB" if planner == "streaming" else "MR"
    plan = sp.plan(graph, planner, budget, time_limit=600)
    assert sp.execute(plan, module, fresh(module)).max_abs_error < 1e-4
