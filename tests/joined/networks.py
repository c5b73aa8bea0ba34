"""Small networks with what joined plans are made of: wide maps first, heavy parameters last."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

import planners as sp
from planners.core.machine import MemoryLevel, load_machine


class Narrowing(nn.Module):
    """Inverted bottlenecks with shortcuts on ever smaller maps, then a wide classifier."""

    def __init__(self, channels: int = 8, classes: int = 40) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.expand = nn.Conv2d(channels, 4 * channels, 1)
        self.depth = nn.Conv2d(4 * channels, 4 * channels, 3, padding=1, groups=4 * channels)
        self.project = nn.Conv2d(4 * channels, channels, 1)
        self.down = nn.Conv2d(channels, 3 * channels, 3, stride=2, padding=1)
        self.wide = nn.Conv2d(3 * channels, 6 * channels, 3, stride=2, padding=1)
        self.head = nn.Linear(6 * channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = x + self.project(torch.relu(self.depth(torch.relu(self.expand(x)))))
        x = torch.relu(self.wide(torch.relu(self.down(x))))
        return self.head(x.mean((2, 3)))


class Shared(nn.Module):
    """One layer three times in a row, and once more behind others."""

    def __init__(self, channels: int = 6) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.again = nn.Conv2d(channels, channels, 3, padding=1)
        self.scale = nn.Parameter(torch.ones(1, 1, 1, 1) * 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        for _ in range(3):
            x = torch.relu(self.again(x))
        return self.again(torch.max_pool2d(x, 2) * self.scale) * self.scale


class Again(nn.Module):
    """One layer on wide maps, which run as fused groups, and on small ones, which do not."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.again = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.again(torch.relu(self.stem(x))))
        return self.again(torch.relu(self.again(torch.max_pool2d(x, 4))))


def narrowing(seed: int = 0, side: int = 24) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A module with random weights, and its input."""
    torch.manual_seed(seed)
    return Narrowing().eval(), (torch.randn(1, 3, side, side),)


def graph_of(seed: int = 0, side: int = 24) -> sp.Graph:
    return sp.from_torch(*narrowing(seed, side))


class Squeezing(nn.Module):
    """Wide maps made of small ones, which are looked at as a whole before they are scaled."""

    def __init__(self, channels: int = 2, times: int = 16) -> None:
        super().__init__()
        wide = times * channels
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.expand = nn.Conv2d(channels, wide, 1)
        self.depth = nn.Conv2d(wide, wide, 3, padding=1, groups=wide)
        self.squeeze, self.excite = nn.Conv2d(wide, channels, 1), nn.Conv2d(channels, wide, 1)
        self.project = nn.Conv2d(wide, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = torch.relu(self.depth(torch.relu(self.expand(x))))
        scale = torch.relu(self.squeeze(x.mean((2, 3), keepdim=True)))
        return self.project(x * torch.sigmoid(self.excite(scale)))


class Crossed(nn.Module):
    """Two wide maps that are looked at as a whole, both made before either is narrow again."""

    def __init__(self, channels: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.wide = nn.ModuleList(nn.Conv2d(channels, 8 * channels, 1) for _ in range(2))
        self.narrow = nn.ModuleList(nn.Conv2d(8 * channels, channels, 1) for _ in range(2))
        self.down = nn.Conv2d(channels, 4 * channels, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        wide = [torch.relu(layer(x)) for layer in self.wide]
        scaled = [each * each.mean((2, 3), keepdim=True) for each in wide]
        near = [layer(each) for layer, each in zip(self.narrow, scaled, strict=True)]
        return self.down(near[0] + near[1])


def late_weights() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A module whose last layer has more weights than the ones before, behind all other work."""
    torch.manual_seed(0)
    module = nn.Sequential(
        *(nn.Conv2d(16, 16, 3, padding=1) for _ in range(4)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 4000),
    ).eval()
    return module, (torch.randn(1, 16, 24, 24),)


def machine_of(behind_bytes: int) -> sp.Machine:
    """A small NPU with a memory between scratchpad and host, four times as quick as the host."""
    one = load_machine("npu_ideal")
    level = MemoryLevel("l2", behind_bytes, 32e9, 32e9, 8.0, 8.0)
    engines = tuple(
        replace(engine, bytes_per_s=32e9) if engine.name.startswith("dma") else engine
        for engine in one.engines
    )
    memories = (one.memories[0], level, *one.memories[1:])
    return replace(one, memories=memories, engines=engines, slower=("l2",), sources={})
