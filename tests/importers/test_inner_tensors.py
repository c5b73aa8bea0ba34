"""Parameters that consist of several tensors, as quantised ones do, are read as those they hold."""

from __future__ import annotations

import torch
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

import planners as sp


class Scaled(nn.Module):
    """A weight of whole numbers and its scale in one parameter, both read twice."""

    def __init__(self) -> None:
        super().__init__()
        whole, scale = torch.randint(-9, 9, (4, 4)), torch.randint(1, 9, (4, 4))
        self.weight = nn.Parameter(TwoTensor(whole, scale), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight: TwoTensor = self.weight
        y = x @ weight.a.float() * weight.b[0]
        return y @ weight.a.float() * weight.b[1]


def test_a_quantised_parameter_is_its_whole_numbers_and_its_scale() -> None:
    module, x = Scaled().eval(), torch.randn(2, 4)
    graph = sp.from_torch(module, x)
    held = {t.name: t.dtype for t in graph.tensors.values() if t.kind == "parameter"}
    assert held == {"weight.a": "int64", "weight.b": "int64"}
    for planner in ("cosma", "streaming"):
        assert sp.execute(sp.plan(graph, planner, 4096), module, x).bit_exact
