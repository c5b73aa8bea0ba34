"""What one element of an output reads: no plan has less; where it does not fit none is sought."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.errors import BudgetTooSmall
from planners.joined.minimum_working_set import read_bytes
from tests.cases import cases
from tests.joined.test_planner import ALONE
from tests.random_modules import random_case


class Turned(nn.Module):
    """A map turned around, of which it is not known how it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.two(torch.relu(self.one(x)).flip(2))


def most_bytes(graph: sp.Graph, *, in_place: bool = False) -> int:
    return max(read_bytes(graph, op, in_place=in_place) for op in graph.operators)


@pytest.mark.parametrize("seed", range(cases(3, 32)))
def test_plans_of_least_memory_hold_what_an_element_reads(seed: int) -> None:
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    for planner in ("fusion", "cosma", "joined"):
        options = {"weights": "counted", "time_limit": 1} | (ALONE if planner == "joined" else {})
        try:
            plan = sp.plan(graph, planner, 1, **options)
        except (BudgetTooSmall, sp.NoPlanFound) as error:
            plan = sp.plan(graph, planner, error.need_bytes or 1, **options)
        assert most_bytes(graph) <= plan.claims.peak_bytes


@pytest.mark.parametrize("weights", ["counted", "in-place"])
def test_where_an_element_does_not_fit_none_is_sought(weights: str) -> None:
    graph = sp.from_torch(Turned(), (torch.randn(1, 3, 16, 16),))
    turned = next(op for op in graph.operators if "flip" in op.kind)
    whole = graph.size_bytes(turned.inputs[0])
    assert most_bytes(graph, in_place=weights == "in-place") == whole
    with pytest.raises(BudgetTooSmall, match="one element of what it writes") as refused:
        sp.plan(graph, "joined", whole - 1, weights=weights, time_limit=600, others=False)
    assert refused.value.operator == turned.name
    need = refused.value.need_bytes  # And there is no room for what is written.
    assert whole <= need <= 3 * whole
    plan = sp.plan(graph, "joined", need, weights=weights, time_limit=4, others=False)
    assert plan.claims.extent_bytes <= need


def test_sums_of_several_parts_read_less_than_an_element_does() -> None:
    graph = sp.from_torch(nn.Conv2d(600, 2, 1), (torch.randn(1, 600, 2, 2),))
    assert most_bytes(graph) == 0
    plan = sp.plan(graph, "fusion", 1_000, weights="counted", time_limit=2)
    assert sp.check(plan).peak_bytes <= 1_000 < 2 * 600
