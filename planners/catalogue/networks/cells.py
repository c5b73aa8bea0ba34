"""What searched networks are made of: cells of pairwise sums, and the convolutions between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

Edge = tuple[int, str]
"""The state that an operation reads, and the operation's name."""


@dataclass(frozen=True, slots=True)
class Genotype:
    """A cell as its paper gives it: a pair of edges for each new state, and what it returns."""

    nodes: tuple[tuple[Edge, Edge], ...]
    concat: tuple[int, ...]


class Cell(nn.Module):
    """States 0 and 1 are the prepared inputs; each further state is the sum of two operations."""

    def __init__(
        self,
        genotype: Genotype,
        prepare: tuple[nn.Module, nn.Module],
        operation: Callable[[int, str], nn.Module],
    ) -> None:
        super().__init__()
        self.genotype = genotype
        self.prepare = nn.ModuleList(prepare)
        edges = [edge for pair in genotype.nodes for edge in pair]
        self.operations = nn.ModuleList(operation(state, name) for state, name in edges)

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        states = [self.prepare[0](first), self.prepare[1](second)]
        for i, ((left, _), (right, _)) in enumerate(self.genotype.nodes):
            a = self.operations[2 * i](states[left])
            b = self.operations[2 * i + 1](states[right])
            states.append(a + b)
        return torch.cat([states[i] for i in self.genotype.concat], dim=1)


class FactorizedReduction(nn.Module):
    """Half the size: even pixels give one half of the channels, odd pixels the other."""

    def __init__(self, inputs: int, outputs: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs // 2, 1, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(x)
        # Beyond the edge of an odd size lie zeros.
        height, width = x.shape[-2] % 2, x.shape[-1] % 2
        shifted = nn.functional.pad(x, (0, width, 0, height)) if height or width else x
        return self.norm(torch.cat([self.even(x), self.odd(shifted[:, :, 1:, 1:])], dim=1))  # type: ignore[no-any-return]


def relu_conv_norm(
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int] = 1,
    stride: int | tuple[int, int] = 1,
    *,
    eps: float = 1e-5,
) -> nn.Sequential:
    """An activation first, then a convolution that keeps the size but for its stride."""
    pair = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = (pair[0] // 2, pair[1] // 2)
    conv = nn.Conv2d(inputs, outputs, pair, stride, padding, bias=False)
    return nn.Sequential(nn.ReLU(), conv, nn.BatchNorm2d(outputs, eps))
