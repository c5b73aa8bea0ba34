"""One small network a family, of its operators: two blocks of each on maps of 32 x 32."""

from __future__ import annotations

from functools import cache

import torch
from torch import nn

import planners as sp


def convolution(made: int, out: int, side: int = 3, stride: int = 1, groups: int = 1) -> nn.Module:
    """A convolution of square windows, normalized, that keeps the sides of a map but for its
    stride."""
    layer = nn.Conv2d(made, out, side, stride, side // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(out))


class Fire(nn.Module):
    """SqueezeNet's: few channels, then many of two kinds side by side."""

    def __init__(self, made: int, few: int, many: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(made, few, 1)
        self.one, self.three = nn.Conv2d(few, many, 1), nn.Conv2d(few, many, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)


class Basic(nn.Module):
    """ResNet's: two convolutions beside a shortcut, which has one of its own where sides halve."""

    def __init__(self, made: int, out: int, stride: int) -> None:
        super().__init__()
        self.one, self.two = convolution(made, out, 3, stride), convolution(out, out)
        self.short = convolution(made, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.two(torch.relu(self.one(x))) + self.short(x))


class Inverted(nn.Module):
    """MobileNet's: wide inside, each channel of it by itself, with a shortcut where it can be."""

    def __init__(self, made: int, out: int, stride: int, times: int = 4) -> None:
        super().__init__()
        wide = times * made
        self.wide, self.narrow = convolution(made, wide, 1), convolution(wide, out, 1)
        self.depth = convolution(wide, wide, 3, stride, groups=wide)
        self.joined = stride == 1 and made == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.relu6(self.depth(nn.functional.relu6(self.wide(x))))
        return x + self.narrow(y) if self.joined else self.narrow(y)


class Inception(nn.Module):
    """GoogLeNet's: four branches of one map, a pool among them, side by side again."""

    def __init__(self, made: int, out: int) -> None:
        super().__init__()
        self.one, self.after = convolution(made, out, 1), convolution(made, out, 1)
        self.three = nn.Sequential(convolution(made, out, 1), nn.ReLU(), convolution(out, out))
        self.five = nn.Sequential(convolution(made, 4, 1), nn.ReLU(), convolution(4, 4, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = self.after(nn.functional.max_pool2d(x, 3, 1, 1))
        branches = [self.one(x), self.three(x), self.five(x), pooled]
        return torch.cat([torch.relu(branch) for branch in branches], 1)


def between(channels: int, *blocks: nn.Module, last: int, classes: int = 10) -> nn.Module:
    """Blocks between a stem and a classifier."""
    stem = [convolution(3, channels, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes)]
    return nn.Sequential(*stem, *blocks, *head)


def families() -> dict[str, nn.Module]:
    torch.manual_seed(0)
    fires = (Fire(16, 8, 16), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(32, 8, 24))
    return {
        "fires": between(16, *fires, last=48),
        "residual blocks": between(16, Basic(16, 16, 1), Basic(16, 32, 2), last=32),
        "inverted blocks": between(8, Inverted(8, 8, 1), Inverted(8, 16, 2), last=16),
        "inceptions": between(8, Inception(8, 8), Inception(28, 12), last=40),
    }


MODULES = {name: module.eval() for name, module in families().items()}


def inputs_of(side: int = 32) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    return (torch.randn(1, 3, side, side),)


@cache
def family(name: str, side: int = 32) -> sp.Graph:
    """The graph of such a network."""
    graph: sp.Graph = sp.from_torch(MODULES[name], inputs_of(side), name=name.replace(" ", "_"))
    return graph
