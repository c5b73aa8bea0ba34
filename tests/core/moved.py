"""Modules whose calls move, cut, pad and mix their operands, each with inputs."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Calls(nn.Module):
    """A function with parameters of its own."""

    def __init__(self, function: Any, *parameters: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        own = (nn.Parameter(p, requires_grad=p.is_floating_point()) for p in parameters)
        self.own = nn.ParameterList(own)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs, *self.own)


Case = tuple[nn.Module, tuple[torch.Tensor, ...]]


def shuffled(x: torch.Tensor) -> torch.Tensor:
    n, c, h, w = x.shape
    return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


def split_and_joined(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    left, right = shuffled(x).chunk(2, 1)
    return torch.cat([right, y, left], 1)


def windowed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """A product over windows of a shifted map, as in Swin."""
    x = functional.pad(x, (0, 0, 0, 1, 0, 2))
    n, h, v, c = x.shape
    x = x.view(n, h // 3, 3, v // 3, 3, c).permute(0, 1, 3, 2, 4, 5)
    return functional.linear(x.reshape(-1, 9, c), w)


def merged(x: torch.Tensor) -> torch.Tensor:
    quarters = [x[..., a::2, b::2, :] for b in (0, 1) for a in (0, 1)]
    return torch.cat(quarters, -1)


def attended(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor, at: torch.Tensor
) -> torch.Tensor:
    """Attention whose bias is looked up, over heads of a packed product."""
    n, t, c = x.shape
    q, k, v = functional.linear(x, w).reshape(n, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
    scores = (q * 0.5) @ k.transpose(-2, -1) + bias[at.view(-1)].view(t, t, 2).permute(2, 0, 1)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c)


def squeezed(x: torch.Tensor) -> torch.Tensor:
    return x * x.mean((2, 3), keepdim=True).sigmoid()


def masked(x: torch.Tensor) -> torch.Tensor:
    """A constant that is written into through views."""
    mask = x.new_zeros(x.shape[-2:])
    mask[1:, :2] = -3.0
    return x + mask


def unpacked(x: torch.Tensor) -> torch.Tensor:
    a, b, c = x.unbind(2)
    return a * b + torch.stack([c, a], 0).select(0, 1)


def written(*place: Any, by: Any = torch.Tensor.copy_) -> nn.Module:
    """A value of which a part is written over."""

    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x + 1
        by(x[place], y)
        return x * 2

    return Calls(run)


def heard(*inputs: torch.Tensor, **given: Any) -> torch.Tensor:
    return functional.scaled_dot_product_attention(*inputs, **given)


def heard_at_once(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Queries, keys and values that one product made."""
    n, t, c = x.shape
    packed = functional.linear(x, w).view(n, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4).contiguous()
    return heard(packed[0], packed[1], packed[2]).transpose(1, 2).reshape(n, t, c)


def moved_by(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """A map looked at a little aside of where it is."""
    grid = functional.conv2d(x, w).permute(0, 2, 3, 1)
    return functional.grid_sample(x, grid.tanh(), align_corners=True)


def turned(rank: int, stride: int, padding: int, more: int, dilation: int, groups: int) -> Case:
    """A transposed convolution, of a map on each of three sides at most, with a norm after it."""
    made = getattr(nn, f"ConvTranspose{rank}d")
    layer = made(4, 6, (3, 2, 4)[:rank], stride, padding, more, groups, dilation=dilation)
    return nn.Sequential(layer, nn.ReLU()), (torch.randn(2, 4, *(5, 4, 3)[:rank]),)


X = (torch.randn(2, 4, 8, 6),)
MOVED: dict[str, Case] = {
    "padded": (nn.ZeroPad2d((1, 2, 0, 3)), X),
    "padded all around": (nn.ZeroPad2d(2), X),
    "padded with ones": (Calls(lambda x: functional.pad(x, (2, 0), value=1.0)), X),
    "cropped": (nn.ZeroPad2d((-1, 2, -2, -1)), X),
    "padded for a convolution": (
        nn.Sequential(nn.ReLU(), nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(4, 5, 3, 2, bias=False)),
        X,
    ),
    "padded for a pool": (
        Calls(lambda x: functional.max_pool2d(functional.pad(x, (0, 1, 0, 1)), 3, 2)[..., 1:, 1:]),
        X,
    ),
    "reflected": (nn.ReflectionPad2d(1), X),
    "cut": (Calls(lambda x: functional.relu(x[:, 1:3, ::2, 1:-1])), X),
    "cut for a convolution": (
        Calls(
            lambda x, w: functional.conv2d(x[:, :, 1:, 1:], w, stride=2), torch.randn(3, 4, 1, 1)
        ),
        X,
    ),
    "rows of a matrix": (Calls(lambda x: functional.relu(x[:, 2, -3:])), X),
    "shuffled": (Calls(lambda x: functional.relu(shuffled(x))), X),
    "shuffled for a convolution": (
        Calls(lambda x, w: functional.conv2d(shuffled(x), w, padding=1), torch.randn(3, 4, 3, 3)),
        X,
    ),
    "half of the shuffled": (
        Calls(
            lambda x, w: functional.conv2d(shuffled(x).chunk(2, 1)[1], w, padding=1),
            torch.randn(3, 2, 3, 3),
        ),
        X,
    ),
    "split and joined": (Calls(split_and_joined), (*X, torch.randn(2, 3, 8, 6))),
    "joined with itself": (Calls(lambda x: torch.cat([x, functional.relu(x), x], 1)), X),
    "joined rows": (Calls(lambda x, y: torch.cat([x, y, x * y], 2)), (X[0], X[0] * 2)),
    "joined, equal sizes": (Calls(lambda x: torch.cat([x], 2)), X),
    "soft maxima of channels": (nn.Softmax(1), X),
    "soft maxima of rows": (nn.Sequential(nn.Softmax(-1), nn.ReLU()), X),
    "channels last": (Calls(lambda x: functional.layer_norm(x.permute(0, 2, 3, 1), (4,))), X),
    "channels last and back": (
        Calls(lambda x, g: (x.permute(0, 2, 3, 1) * g).permute(0, 3, 1, 2), torch.randn(4)),
        X,
    ),
    "norm of two axes": (nn.LayerNorm((8, 6)), X),
    "squeezed and excited": (Calls(squeezed), X),
    "a map for each channel": (Calls(torch.mul), (*X, torch.randn(2, 4, 1, 1))),
    "twice as large": (nn.Upsample(scale_factor=2), X),
    "nearly as large": (nn.Upsample(size=(11, 4)), X),
    "three times as large": (nn.Upsample(scale_factor=3), X),
    "half as large": (nn.Upsample(scale_factor=0.5), X),
    "by a crooked factor": (nn.Upsample(scale_factor=1.3), X),
    "smooth": (nn.Upsample(scale_factor=2, mode="bilinear"), X),
    "smooth, another size": (nn.Upsample(size=(13, 4), mode="bilinear"), X),
    "smooth between corners": (
        nn.Upsample(size=(13, 9), mode="bilinear", align_corners=True),
        X,
    ),
    "of one element": (nn.Upsample(size=(7, 5), mode="bilinear"), (torch.randn(1, 3, 1, 1),)),
    "windows": (Calls(windowed, torch.randn(5, 4)), (torch.randn(1, 7, 8, 4),)),
    "merged patches": (nn.Sequential(Calls(merged), nn.LayerNorm(16)), (torch.randn(1, 6, 4, 4),)),
    "attention": (
        Calls(attended, torch.randn(12, 4), torch.randn(9, 2), torch.randint(9, (3, 3))),
        (torch.randn(2, 3, 4),),
    ),
    "a mask": (Calls(masked), X),
    "unpacked": (Calls(unpacked), (torch.randn(2, 4, 3, 5),)),
    "largest, with places": (Calls(lambda x: x.topk(2, dim=2)[0] * 2), X),
    "rolled": (Calls(lambda x: functional.relu(torch.roll(x, (1, 2), (2, 3)))), X),
    "rolled about an axis twice": (Calls(lambda x: x.roll((3, -4, 7), (2, -1, 2))), X),
    "rolled in time": (Calls(lambda x: x.roll(1, 0) * 2), X),
    "rolled as it lies": (Calls(lambda x: torch.roll(x, 3)), X),
    "broadcast": (Calls(lambda x, y: x.expand(2, 4, 8, 6) * y), (torch.randn(4, 1, 6), *X)),
    "means of cells": (nn.AdaptiveAvgPool2d((3, 1)), X),
    "transposed convolution": (nn.ConvTranspose2d(4, 3, 3, 2, 1), X),
    "transposed, one axis": turned(1, 3, 2, 1, 2, 2),
    "transposed, apart": turned(2, 4, 0, 3, 1, 1),
    "transposed, three axes": turned(3, 2, 1, 0, 2, 2),
    "transposed, without a bias": (nn.ConvTranspose2d(4, 2, 1, 3, bias=False), X),
    "transposed, by channel": (nn.ConvTranspose2d(4, 4, 2, 2, groups=4), X),
    "norm of groups": (nn.Sequential(nn.GroupNorm(2, 4), nn.ReLU()), X),
    "norm of one group": (nn.GroupNorm(1, 4, affine=False), X),
    "norm of groups of a sequence": (nn.GroupNorm(2, 4), (torch.randn(2, 4, 5),)),
    "norm of each map": (nn.InstanceNorm2d(4, affine=True), X),
    "norm of each map by what is kept": (nn.InstanceNorm2d(4, track_running_stats=True), X),
    "written into": (written(..., slice(1, 7), slice(2, 9)), (*X, torch.randn(1, 4, 6, 4))),
    "written over rows": (written(..., slice(2, None), slice(None)), (*X, torch.randn(6))),
    "every other written": (written(..., slice(1, None, 2)), (*X, torch.randn(2, 4, 8, 3))),
    "a channel written": (written(slice(None), 2, slice(3)), (*X, torch.randn(3, 6))),
    "one number written": (written(1, 2, 3, 4), (*X, torch.randn(()))),
    "added to a part": (
        written(slice(None), slice(1, 3), 2, by=torch.Tensor.add_),
        (*X, torch.randn(2, 2, 6)),
    ),
    "written through a turn": (
        Calls(lambda x, y: (x * 2).transpose(1, 2)[:, 1].copy_(y)),
        (*X, torch.randn(4, 6)),
    ),
    "scattered": (
        Calls(lambda x, y: torch.slice_scatter(x, y, 2, 1, -1, 3) * 2),
        (*X, torch.randn(2, 4, 2, 6)),
    ),
    "one scattered": (
        Calls(lambda x, y: torch.select_scatter(x, y, -1, -2) * 2),
        (*X, torch.randn(2, 4, 8)),
    ),
    "products by letters": (
        Calls(lambda x, y: torch.einsum("bchw,bkcw->bhkw", x, y)),
        (*X, torch.randn(2, 5, 4, 6)),
    ),
    "products by letters, broadcast": (
        Calls(lambda x, y: torch.einsum("bchw,ck->hkb", x, y)),
        (*X, torch.randn(1, 5)),
    ),
    "sums": (Calls(lambda x: x.sum((1, -1)) * 2), X),
    "the largest": (Calls(lambda x: x.amax(2)), X),
    "the mean of all": (Calls(lambda x: x.mean()), X),
    "attention at once": (Calls(heard), (torch.randn(2, 3, 5, 4), *[torch.randn(2, 3, 7, 4)] * 2)),
    "attention, masked": (
        Calls(heard, torch.randn(5, 7)),
        (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 2)),
    ),
    "attention of one product": (Calls(heard_at_once, torch.randn(12, 4)), (torch.randn(2, 5, 4),)),
    "one image by the other": (
        Calls(lambda x: x[0].flatten(1).mT @ x[1].flatten(1)),
        (torch.randn(2, 3, 4, 5),),
    ),
    "attention backwards": (
        Calls(lambda q, k, v: heard(q, k, v, is_causal=True, scale=0.3)),
        (torch.randn(2, 3, 5, 4), torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 2)),
    ),
    "sampled aside": (Calls(moved_by, torch.randn(2, 4, 1, 1)), X),
    "flattened": (nn.Sequential(nn.Flatten(), nn.Linear(192, 5), nn.ReLU()), X),
    "grouped and padded": (
        nn.Sequential(nn.ZeroPad2d((2, 1, 2, 1)), nn.Conv2d(4, 6, 3, 2, groups=2)),
        X,
    ),
    "slopes": (nn.Sequential(nn.ZeroPad2d(1), nn.PReLU(4)), X),
    "norm of a shuffled map": (nn.Sequential(nn.ChannelShuffle(2), nn.BatchNorm2d(4)), X),
}


def padded(rng: random.Random) -> Case:
    """A random pad, perhaps negative, before a random window, and a cut after it."""
    pads = [rng.randint(-1, 3) for _ in range(4)]
    kernel = (rng.randint(1, 3), rng.randint(1, 3))
    kind = rng.choice(["conv", "max", "avg"])
    stride, ceil = rng.choice([1, 2]), rng.random() < 0.5

    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        x = functional.pad(x, pads)
        if kind == "conv":
            x = functional.conv2d(x, w, stride=stride, padding=1, dilation=2)
        elif kind == "max":
            x = functional.max_pool2d(x, kernel, stride, ceil_mode=ceil)
        else:
            x = functional.avg_pool2d(x, kernel, stride, ceil_mode=ceil)
        return x[:, :, rng_cut:, :].transpose(2, 3) * 2

    rng_cut = rng.randint(0, 1)
    return Calls(run, torch.randn(3, 4, *kernel)), (torch.randn(2, 4, 9, 8),)
