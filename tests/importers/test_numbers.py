"""Single numbers: PyTorch takes axis 0 and −1 of a tensor that has none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import planners as sp

ALONG: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda t: t.sum(-1),
    "mean": lambda t: t.mean(0),
    "amax": lambda t: t.amax(-1),
    "softmax": lambda t: t.softmax(-1),
    "log_softmax": lambda t: t.log_softmax(0),
    "norm": lambda t: torch.linalg.vector_norm(t, dim=0),
    "cumsum": lambda t: t.cumsum(-1),
}


class OfOneNumber(nn.Module):
    """The sum of an input goes through a function and back to the input."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x.sum()) + x.relu()


@pytest.mark.parametrize("name", ALONG)
def test_an_axis_of_a_number_is_no_axis(name: str) -> None:
    module, x = OfOneNumber(ALONG[name]).eval(), torch.randn(2, 3)
    for granularity in ("fused", "aten"):
        graph = sp.from_torch(module, x, granularity=granularity)
        for planner in ("cosma", "fusion", "overlap"):
            done = sp.execute(sp.plan(graph, planner, 10**5), module, x)
            assert done.max_abs_error < 1e-5
