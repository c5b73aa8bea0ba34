"""Small networks with planned rings, and their parameters on disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

import planners as sp
from planners.backends.disk.session import write_weights
from tests.plans import plan_of

PLENTY = 2**30


class Small(nn.Module):
    """Convolutions with a branch, a layer without parameters, a table of whole numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.left = nn.Conv2d(8, 24, 3, padding=1)
        self.right = nn.Conv2d(8, 24, 1)
        self.last = nn.Linear(24, 10)
        self.register_buffer("order", torch.tensor([3, 1, 2, 0, 9, 8, 7, 6, 5, 4]))
        self.steps: Any = nn.ModuleList(nn.Conv2d(24, 24, 3, padding=1) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        x = self.left(x) + self.right(x)
        for step in self.steps:
            x = torch.relu(step(x))
        return self.last(x.mean((2, 3)))[:, self.order]


class Tied(nn.Module):
    """One linear layer twice."""

    def __init__(self) -> None:
        super().__init__()
        self.same, self.other = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.same(torch.tanh(self.other(torch.tanh(self.same(x)))))


@dataclass
class Case:
    """A module with values, the same on meta, its inputs and its graph."""

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]
    graph: sp.Graph

    @property
    def empty(self) -> nn.Module:
        with torch.device("meta"):
            return type(self.module)().eval()

    @property
    def reference(self) -> Any:
        with torch.no_grad():
            return self.module(*self.inputs)

    def plan(self, budget: int | str = PLENTY, **options: Any) -> sp.Plan:
        return plan_of(self.graph, "streaming", budget, "jetson_xavier", **options)

    def write(self, folder: Path, plan: sp.Plan) -> Path:
        path = folder / "weights.safetensors"
        write_weights(path, plan, self.module, self.inputs)
        return path


@cache
def case(kind: type[nn.Module] = Small, bytes_per_element: int = 4) -> Case:
    torch.manual_seed(1)
    module = kind().eval()
    inputs = (torch.randn(1, 16),) if kind is Tied else (torch.randn(1, 3, 9, 9),)
    graph = sp.from_torch(module, inputs, bytes_per_element=bytes_per_element)
    return Case(module, inputs, graph)
