"""Maps made some channels at a time: whole pieces of rows that their readers name once."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.program import Compute
from tests.simulator.test_sums import whole_numbers


def network() -> nn.Module:
    """A network whose last weights, refilled, leave no room for all output channels at once."""
    torch.manual_seed(0)
    layers = (
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.MaxPool2d(2),
    )
    return whole_numbers(nn.Sequential(*layers)).eval()


@pytest.mark.parametrize(("images", "budget"), [(1, 4000), (2, 6000)])
def test_a_map_made_in_parts_is_whole_pieces_of_rows(images: int, budget: int) -> None:
    module, inputs = network(), (torch.randint(-2, 3, (images, 3, 12, 12)).float(),)
    plan = sp.plan(sp.from_torch(module, inputs), "fusion", budget, machine="optimus")
    computes = [i for i in plan.program.instructions if isinstance(i, Compute)]
    some = [item for item in computes if item.parts]
    assert some
    for item in some:
        for piece, _ in item.writes:
            assert piece.box[1] == (0, plan.graph.tensors[piece.tensor].shape[1])
    sp.check(plan)
    assert sp.execute(plan, module, inputs).bit_exact


class Unbound(nn.Module):
    """Steps of a sequence taken apart by one call, which makes them all at once."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, third = x.unbind(1)
        return torch.stack([first + 1, second * 2, third], 1)


def test_an_operator_of_several_outputs_loads_what_each_of_them_needs() -> None:
    module, inputs = Unbound(), (torch.randn(2, 3, 4),)
    graph = sp.from_torch(module, inputs, granularity="aten")
    for options in ({}, {"joint": True}):
        plan = sp.plan(graph, "fusion", 4096, **options)
        assert sp.execute(plan, module, inputs).bit_exact


class _HalfRead(nn.Module):
    """A convolution whose bias is the first half of two vectors, as fused layers cut theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, 3, 3))
        self.first, self.second = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = torch.cat([self.first, self.second])[:4]
        return nn.functional.conv2d(x, self.weight, bias, padding=1).relu()


def test_a_parameter_of_which_nothing_is_read_is_no_obstacle() -> None:
    module, x = _HalfRead(), torch.randn(1, 3, 8, 8)
    plan = sp.plan(sp.from_torch(module, x), "fusion", 10_000)
    assert sp.execute(plan, module, x).max_abs_error < 1e-5
