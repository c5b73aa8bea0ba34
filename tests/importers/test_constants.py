"""What a module reads out of its own buffers is known; what it takes from a shape is no operand."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.importers.torch.source_model import SourceModel
from tests.importers.replay import replay


class Anchors(nn.Module):
    """A head that makes its grid at the first pass and keeps it, with strides from a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.register_buffer("strides", torch.tensor([8.0, 16.0]))
        self.grid: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        if self.grid is None:
            n = y.shape[-1]
            line = (torch.arange(n) + 0.5).type_as(y)
            rows = torch.full((n, 1), self.strides[1])
            self.grid = rows + line * self.strides[0].item() / 2
        return y * self.grid.expand_as(y)


def test_numbers_are_read_out_of_buffers() -> None:
    module, x = Anchors().eval(), torch.randn(1, 3, 8, 8)
    graph = sp.from_torch(module, x)
    assert [(op.kind, op.inputs) for op in graph.operators] == [
        ("conv2d", ("x",)),
        ("mul", ("conv2d",)),
    ]
    assert module.grid is None
    found = replay(graph, SourceModel(module, (x,)), (x,))
    torch.testing.assert_close(found, copy.deepcopy(module)(x), rtol=0, atol=0)
    assert sp.execute(sp.plan(graph, budget="MP"), module, x).bit_exact


def test_numbers_of_a_module_without_values_are_refused() -> None:
    with torch.device("meta"):
        module: Any = Anchors()
    line = "reads the values of strides, which are not there: give from_torch the module"
    with pytest.raises(sp.ImportFailed, match=line):
        sp.from_torch(module, torch.empty(1, 3, 8, 8))
