"""Small networks with all that a fused group meets: windows of every kind, branches, batches."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp


class Residual(nn.Module):
    """A block whose shortcut skips every second row, and which is joined twice."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv2d(3, 5, 3, stride=2, padding=1)
        self.two = nn.Conv2d(5, 5, 3, padding=1)
        self.short = nn.Conv2d(3, 5, 1, stride=2)
        self.side = nn.Conv2d(5, 2, (5, 1), padding=(4, 0), dilation=(2, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.relu(self.one(x))
        joined = torch.relu(self.two(first) + self.short(x))
        return torch.cat([joined, self.side(joined), first], 1)


class TwoHeads(nn.Module):
    """Outputs of different heights, one of them read inside too; two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1, bias=False)
        self.down = nn.Conv2d(4, 6, 3, stride=2)
        self.wide = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mid = self.stem(x) * y
        return self.down(mid), self.wide(mid), mid


class Tail(nn.Module):
    """What a classifier ends in: pools of all rows, a product of flattened maps, a softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 6, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 1)
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.head(self.body(x)), 1)


class Chain(nn.Sequential):
    def __init__(self, batch_norm: bool = True) -> None:
        norm: list[nn.Module] = [nn.BatchNorm2d(4)] if batch_norm else []
        super().__init__(
            nn.Conv2d(2, 4, (3, 5), stride=(2, 1), padding=(0, 2)),
            *norm,
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1, ceil_mode=True),
            nn.Conv2d(4, 9, 3, padding=1),
            nn.Conv2d(9, 9, 3, padding=1, groups=9),
            nn.Conv2d(9, 3, 1),
        )


class Windows(nn.Module):
    """Products of tokens in windows that a map is cut into, and put together again."""

    def __init__(self, channels: int = 4, window: int = 3) -> None:
        super().__init__()
        self.window = window
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Linear(channels, 3 * channels)
        self.narrow = nn.Linear(3 * channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, height, width, channels = x.shape
        side, down, right = self.window, height // self.window, width // self.window
        cut = self.norm(x).view(n, down, side, right, side, channels).transpose(2, 3)
        made = self.narrow(torch.relu(self.wide(cut.reshape(-1, side * side, channels))))
        whole = made.view(n, down, right, side, side, channels).transpose(2, 3)
        return x + whole.reshape(n, height, width, channels)


class OneForAll(nn.Module):
    """Many images times the one of another input, and convolutions of the one and of the many."""

    def __init__(self) -> None:
        super().__init__()
        self.many = nn.Conv2d(2, 3, 3, padding=1)
        self.one = nn.Conv2d(2, 3, 3, padding=1)
        self.last = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.many(x)) * self.one(y))


def random_net(seed: int) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A few convolutions and pools of random windows, each reading something before it."""
    rng = random.Random(seed)

    class Random(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList()
            self.reads = []
            channels = [2]
            for i in range(rng.randint(3, 6)):
                at = rng.choice([i, i, rng.randint(0, i)])
                made = rng.randint(1, 5)
                self.layers.append(
                    nn.Conv2d(
                        channels[at],
                        made,
                        (rng.randint(1, 3), rng.randint(1, 3)),
                        padding=(rng.randint(0, 2), 1),
                        dilation=(rng.choice([1, 1, 2]), 1),
                        stride=(rng.choice([1, 1, 2]), 1),
                    )
                )
                self.reads.append(at)
                channels.append(made)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            made = [x]
            for at, layer in zip(self.reads, self.layers, strict=True):
                made.append(torch.relu(layer(made[at])))
            read = set(self.reads)
            return tuple(made[i] for i in range(1, len(made)) if i not in read or i % 3 == 0)

    return Random(), (torch.randn(rng.choice([1, 1, 2]), 2, rng.randint(9, 13), 5),)


def strided_net(seed: int) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Wide layers on maps of which strides step over rows and columns, sums and tokens of them."""
    rng = random.Random(seed)

    class Strided(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            width = before = rng.randint(4, 12)
            self.stem = nn.Conv2d(2, width, 3, padding=1)
            self.sums = [rng.choice([True, False]) for _ in range(rng.randint(1, 2))]
            self.layers, self.steps = nn.ModuleList(), nn.ModuleList()
            for _ in self.sums:
                self.layers.append(nn.Conv2d(width, width, 3, padding=1))
                more = rng.randint(2, 12)
                kernel, stride = rng.choice([(1, 2), (1, 2), (1, 3), (2, 3), (3, 2)])
                self.steps.append(nn.Conv2d(width, more, kernel, stride, padding=kernel // 2))
                before, width = width, more
            self.head, self.side = nn.Conv2d(width, 3, 3, padding=1), nn.Conv2d(before, 3, 1)
            self.tokens = rng.choice([True, False])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = last = self.stem(x)
            for layer, step, joined in zip(self.layers, self.steps, self.sums, strict=True):
                last = torch.relu(layer(x) + x) if joined else torch.relu(layer(x))
                x = step(last)
            made = self.head(x)
            if not self.tokens:
                return made
            return torch.cat([self.side(last).flatten(2), made.flatten(2)], 2)

    side = rng.randint(8, 17)
    return Strided().eval(), (torch.randn(1, 2, side, rng.choice([side, 16])),)


def cases() -> dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    torch.manual_seed(0)
    found: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
        "chain": (Chain(), (torch.randn(1, 2, 15, 6),)),
        "chain of four images": (Chain(), (torch.randn(4, 2, 13, 5),)),
        "residual": (Residual(), (torch.randn(1, 3, 12, 5),)),
        "two heads": (TwoHeads(), (torch.randn(1, 2, 11, 4), torch.randn(1, 1, 11, 1))),
        "tail": (Tail(), (torch.randn(2, 2, 12, 10),)),
    }
    for seed in range(4):
        found[f"random {seed}"] = random_net(seed)
    return {name: (module.eval(), inputs) for name, (module, inputs) in found.items()}


CASES = cases()
MIXED = {
    "windows": (Windows().eval(), (torch.randn(1, 9, 6, 4),)),
    "windows of two images": (Windows(3, 2).eval(), (torch.randn(2, 4, 6, 3),)),
    "one for all images": (OneForAll().eval(), (torch.randn(6, 2, 9, 5), torch.randn(1, 2, 9, 5))),
}
"""Maps of which some have more images than others."""
STRIDED = {f"strided {seed}": strided_net(seed) for seed in range(10, 20)}
STRIDED["every second column"] = (
    nn.Sequential(nn.Conv2d(24, 2, 1, 2), nn.Conv2d(2, 2, 1)).eval(),
    (torch.randn(1, 24, 5, 16),),
)
"""Maps that are not read everywhere."""
MOST_STRIDED = [
    pytest.param(name, marks=pytest.mark.long) if name[-1] in "2345679" else name
    for name in STRIDED
]
"""As parameters of tests: some of them always, all of them with `--all`."""


FEWER_CASES = [
    name
    if name in ("chain", "residual", "two heads", "random 1")
    else pytest.param(name, marks=pytest.mark.long)
    for name in CASES
]
"""Those of `CASES` that are tried always, and all of them with `--all`."""


def graph_of(name: str, width: int = 1) -> sp.Graph:
    module, inputs = (CASES | MIXED | STRIDED)[name]
    graph: Any = sp.from_torch(module, inputs, bytes_per_element=width)
    return graph
