"""How far a plan and eager float32 are from float64, said where it is so and where it cannot be."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from tests.importers.state import BODIES, Keeps


class Function(nn.Module):
    """A layer, and what a function does after it."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.linear, self.function = nn.Linear(3, 3), function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x) + 0 * self.linear(x)


def executed(module: nn.Module, x: torch.Tensor, planner: str = "cosma") -> Any:
    plan = sp.plan(sp.from_torch(module, x), planner, 1 << 16)
    return sp.execute(plan, module, x, float64=True)


def test_constants_that_name_no_type_are_exact_too() -> None:
    done = executed(Function(lambda x: x @ torch.full((3, 3), 0.1)), torch.ones(1, 3)).float64
    assert done is not None
    assert done.why_not == ""
    assert done.eager is not None
    assert 1e-9 < done.eager < 1e-6


def test_what_float32_loses_is_seen() -> None:
    x = torch.tensor([[2.0**26, 1.0, -(2.0**26)]])
    done = executed(Function(lambda x: (x[:, :1] + x[:, 1:2]) + x[:, 2:]), x).float64
    assert done is not None
    assert (done.plan, done.eager, done.why_not) == (1.0, 1.0, "")


@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap", "streaming"])
def test_a_plan_is_as_near_as_eager_is(planner: str) -> None:
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3, 2))
    done = executed(nn.Sequential(*layers).eval(), torch.randn(1, 3, 16, 16), planner)
    found = done.float64
    assert found is not None
    assert found.plan is not None
    assert found.eager is not None
    assert 0 < found.eager < 1e-5
    assert found.plan <= 2 * found.eager
    if done.bit_exact:
        assert found.plan == found.eager
    assert done.outputs.dtype == done.reference.dtype == torch.float32


def test_state_starts_where_the_module_is_and_moves_once() -> None:
    module, x = Keeps(BODIES["cell"]).eval(), torch.randn(1, 3, 4)
    other = copy.deepcopy(module)
    found = executed(module, x).float64
    with torch.no_grad():
        other(x)
    assert found is not None
    assert found.plan == found.eager
    assert found.plan is not None
    assert found.plan < 1e-5
    assert torch.equal(module.get_buffer("hidden"), other.get_buffer("hidden"))


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (lambda x: x.float().exp(), "the module computes _to_copy in another type than float64"),
        (lambda x: x @ torch.ones(3, 3, dtype=torch.float32), "the module does not run in float64"),
    ],
)
def test_what_does_not_run_in_float64_is_said(function: Any, line: str) -> None:
    found = executed(Function(function), torch.ones(1, 3)).float64
    assert found is not None
    assert (found.plan, found.eager) == (None, None)
    assert found.why_not.startswith(line)
