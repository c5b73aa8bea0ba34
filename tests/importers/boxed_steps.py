"""Steps of random modules whose calls look around, normalise, turn, or write into a part: each box
of their values needs boxes of what they read.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from tests.importers.random_modules import STEPS, Choose, Run, StepChoice, with_rank

F = nn.functional
MOST = 4_000
"""Elements of a value that may still grow."""


def _transposed(c: StepChoice) -> Run | None:
    """On one axis, two or three; any stride, padding, dilation and groups."""
    at, draw = c.pick(4), c.chance
    value, rank = c.values[at], draw.choice([1, 2, 2, 3])
    n = value.shape[1] if rank > 1 else value.shape[2]
    stride = draw.randint(1, 3)
    more, groups = draw.randrange(stride), draw.choice([g for g in (1, 1, 2, n) if n % g == 0])
    size, dilation = draw.randint(1, 3), draw.randint(1, 2)
    out, bias, padding = groups * draw.randint(1, 2), draw.random() < 0.7, draw.randint(0, 1)
    if value.numel() > MOST:
        return None
    depth = (size - 1) * dilation + 1 + more  # of what one element of the data is seen in
    if depth <= 2 * padding:
        return None
    kind = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}[rank]
    layer = kind(n, out, size, stride, padding, more, groups, bias, dilation)
    name = c.layer(layer)
    if rank == 1:
        return lambda m, v: m.layers[name](v[at].flatten(0, 1)).unsqueeze(0)
    if rank == 3:
        return lambda m, v: m.layers[name](v[at].unsqueeze(2))[:, :, 0]
    return lambda m, v: m.layers[name](v[at])


def _roll(c: StepChoice) -> Run:
    at, draw = c.pick(), c.chance
    rank = c.values[at].dim()
    axes = draw.sample(range(rank), draw.randint(1, 2))
    shifts = [draw.randint(-9, 9) for _ in axes]
    if draw.random() < 0.1:
        return lambda m, v: v[at].roll(shifts[0])  # as it lies in memory
    return lambda m, v: v[at].roll(shifts, axes)


def _norm(c: StepChoice) -> Run:
    at, draw = c.pick(), c.chance
    n = c.values[at].shape[1]
    groups = draw.choice([g for g in range(1, n + 1) if n % g == 0])
    if draw.random() < 0.3 and c.values[at].shape[2:].numel() > 1:
        affine = torch.rand(n) if draw.random() < 0.5 else None
        return lambda m, v: F.instance_norm(v[at], weight=affine)
    name = c.layer(nn.GroupNorm(groups, n, affine=draw.random() < 0.7))
    return lambda m, v: m.layers[name](v[at])


def _scattered(c: StepChoice) -> Run | None:
    at, draw = c.pick(), c.chance
    shape = c.values[at].shape
    axis = draw.randrange(1, len(shape))
    n = shape[axis]
    if n < 2:
        return None
    if draw.random() < 0.4:
        index = draw.randrange(-n, n)
        return lambda m, v: torch.select_scatter(v[at], v[at].select(axis, 0) * 2, axis, index)
    start, step = draw.randrange(n - 1), draw.choice([1, 1, 2, 3])
    stop = draw.randint(start + 1, n)
    place = (slice(None),) * axis + (slice(start, stop, step),)
    return lambda m, v: torch.slice_scatter(v[at], v[at][place] * 2, axis, start, stop, step)


def _written(c: StepChoice) -> Run | None:
    """A part of a copy: set, added to, or put through a function in its place."""
    at, draw = c.pick(), c.chance
    place: list[int | slice] = []
    for n in c.values[at].shape:
        start = draw.randrange(n)
        stop = draw.randint(start + 1, n)
        ways = [slice(None), slice(start, stop), slice(start, None, 2), start]
        place.append(draw.choice(ways))
    way, where = draw.randrange(5), tuple(place)

    def run(m: object, v: list[torch.Tensor]) -> torch.Tensor:
        y = v[at] + 1
        part = v[at][where]
        if way == 0:
            y[where] = part * 2
        elif way == 1:
            y[where] += part.sigmoid()
        elif way == 2:
            y[where] = 0.5
        elif way == 3:
            y[where].tanh_()
        else:
            y[where] *= 3.0
        return y * 2

    return run


def _letters(c: StepChoice) -> Run:
    at, draw = c.pick(4), c.chance
    n, width = c.values[at].shape[1], c.values[at].shape[3]
    table = torch.rand(3, n, width)
    equation = draw.choice(["bchw,kcw->bkhw", "bchw,kcw->bwkh", "bchw,kcw->bchw"])
    return lambda m, v: torch.einsum(equation, v[at], table)


def _reduced(c: StepChoice) -> Run:
    at, axis = c.pick(4), c.chance.choice([1, 2, -1])
    function = c.chance.choice([torch.sum, torch.mean, torch.amax])
    return lambda m, v: function(v[at], axis)


def _heard(c: StepChoice) -> Run:
    at, causal = c.pick(4), c.chance.random() < 0.5
    return lambda m, v: F.scaled_dot_product_attention(
        v[at] * 0.5, v[at].tanh(), v[at] - 1, is_causal=causal
    )


def _sampled(c: StepChoice) -> Run | None:
    at, corners = c.pick(4), c.chance.random() < 0.5
    if c.values[at].shape[1] < 2:
        return None
    mode = c.chance.choice(["bilinear", "nearest"])

    def run(m: object, v: list[torch.Tensor]) -> torch.Tensor:
        grid = v[at][:, :2].permute(0, 2, 3, 1).tanh()
        return F.grid_sample(v[at], grid, mode=mode, align_corners=corners)

    return run


KEPT = (
    "convolution",
    "linear",
    "unary",
    "pair",
    "cat",
    "slice",
    "view",
    "tiles",
    "canvas",
    "write",
)
BOXED: Mapping[str, Choose] = {kind: STEPS[kind] for kind in KEPT} | {
    "transposed": with_rank(4, _transposed),
    "roll": _roll,
    "norm": _norm,
    "scattered": _scattered,
    "written": _written,
    "letters": with_rank(4, _letters),
    "sums": with_rank(4, _reduced),
    "heard": with_rank(4, _heard),
    "sampled": with_rank(4, _sampled),
}
