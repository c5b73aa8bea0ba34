"""Networks of the paper, planned as a user would: executed tile by tile, monotone in the budget."""

from __future__ import annotations

import copy

import pytest
import torch

import planners as sp
from planners.catalogue.torch_models import random_inputs, random_module
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.search.bound import compulsory_bytes
from planners.fusion.search.exact import sweep_partitions
from planners.papers.optimus.workloads import workload
from tests.fusion.families import MODULES, family

KIB = 1024


@pytest.mark.parametrize(
    ("name", "side", "kib"),
    [
        ("fires", 32, 4),
        ("inverted blocks", 32, 2),
        ("residual blocks", 32, 5),
        pytest.param("alexnet", 96, 128, marks=pytest.mark.long),
        pytest.param("squeezenet1_0", 224, 128, marks=pytest.mark.long),
        pytest.param("mobilenet_v2", 64, 64, marks=pytest.mark.long),
        pytest.param("resnet18", 64, 128, marks=pytest.mark.long),
    ],
)
def test_the_answer_is_that_of_pytorch(name: str, side: int, kib: int) -> None:
    """Within what float32 costs eager PyTorch itself: how far it is from float64."""
    shape = (1, 3, side, side)
    graph = family(name) if name in MODULES else sp.load(name, input_shape=(shape,))
    plan = sp.plan(graph, "fusion", kib * KIB, machine="optimus")
    report = sp.check(plan)
    assert report.extent_bytes <= kib * KIB
    assert len(plan.program.steps) > 1
    inputs = random_inputs((shape,), 0)
    module = MODULES.get(name) or random_module(name, 0, random_inputs(((8, *shape[1:]),), 1))
    result = sp.execute(plan, module, inputs)
    assert result.arena_bytes == 4 * kib * KIB
    with torch.no_grad():
        exact = copy.deepcopy(module).double().eval()(*(x.double() for x in inputs))
    own = float((result.reference.double() - exact).abs().max())
    assert own > 0
    assert result.max_abs_error <= 20 * own


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["alexnet", "squeezenet1_0"])
def test_traffic_never_rises_with_the_budget(name: str, count: int) -> None:
    """So many budgets from 16 KB to 2 MB, each proven; between the oracle and no fusion."""
    graph = workload(name, 1)
    model = GroupModel(graph, sp.load_machine("optimus"), {"bands": 4})
    budgets = [int(16_000 * (2_000_000 / 16_000) ** (k / (count - 1))) for k in range(count)]
    found = sweep_partitions(model, graph, budgets, Clock(600))
    moved = [partition.objective_bytes for partition in found]
    assert moved == sorted(moved, reverse=True)
    assert {partition.status for partition in found} == {"optimal"}
    assert len(set(moved)) > count / 3
    assert min(moved) >= compulsory_bytes(graph)
    for budget, partition in zip(budgets, found, strict=True):
        alone = [model.best(1 << i, budget) for i in range(len(graph.operators))]
        assert partition.objective_bytes <= sum(way.traffic_bytes for way in alone if way)
