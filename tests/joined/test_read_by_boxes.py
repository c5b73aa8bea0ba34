"""Networks of rolls, transposed convolutions, norms of groups and writes into parts, in less memory
than any of these needs whole: planned, checked, executed.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

import planners as sp
from tests.joined.test_planner import AT_ONCE


class UNet(nn.Module):
    """Down by pools, up by transposed convolutions, norms of groups."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down = nn.ModuleList([self._twice(3, width), self._twice(width, 2 * width)])
        self.up = nn.ConvTranspose2d(2 * width, width, 3, 2, 1, 1)
        self.last = self._twice(2 * width, width)

    def _twice(self, a: int, b: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.down[0](x)
        deep = self.down[1](functional.max_pool2d(skip, 2))
        return self.last(torch.cat([skip, self.up(deep)], 1))


class ShiftedWindows(nn.Module):
    """Attention in windows of a map that is rolled, and rolled back, as in Swin."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, h, w, c = x.shape
        y = self.norm(x).roll((-2, -2), (1, 2))
        y = y.view(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = self.qkv(y).chunk(3, -1)
        y = (q @ k.transpose(1, 2)).softmax(-1) @ v
        y = y.view(n, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
        return x + y.roll((2, 2), (1, 2))


class PlacesAdded(nn.Module):
    """Attention whose scores those of places are added to, but for the first token, as in MViT."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.queries, self.table = nn.Linear(width, width), nn.Parameter(torch.randn(8, 8, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.queries(x)
        scores = q @ x.transpose(1, 2)
        places = torch.einsum("bhwc,hkc->bhwk", q[:, 1:].reshape(1, 8, 8, -1), self.table)
        scores[:, 1:, 1:] += (places[..., None] * places[..., None, :]).reshape(1, 64, 64)
        return scores.softmax(-1) @ x


NETWORKS = {
    "u-net": (UNet(), (torch.randn(1, 3, 16, 16),), 1_600),
    "shifted windows": (ShiftedWindows(), (torch.randn(1, 16, 16, 16),), 3_000),
    "places added": (PlacesAdded(), (torch.randn(1, 65, 8),), 1_500),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_in_less_than_their_operators_hold(name: str) -> None:
    module, inputs, budget = NETWORKS[name]
    graph = sp.from_torch(module, inputs)
    kinds = {"roll", "conv_transpose2d", "group_norm", "slice_scatter", "einsum"}
    wholes = [
        sum(map(graph.size_bytes, (*op.inputs, *op.outputs)))
        for op in graph.operators
        if op.kind in kinds
    ]
    assert wholes
    assert budget < max(wholes)
    plan = sp.plan(graph, "joined", budget, objective="traffic", **AT_ONCE)
    assert sp.check(plan).peak_bytes <= budget
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
