"""Modules that write into tensors: canvases, tilings, caches, masks, parts of activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Body = Callable[[Any, torch.Tensor], Any]


class Writes(nn.Module):
    """Two convolutions around what a function does."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 8, 3)
        self.register_buffer("index", torch.tensor([1, 0, 5]))
        self.body = body

    def forward(self, x: torch.Tensor) -> Any:
        return self.body(self, x)


def canvas(make: Callable[[torch.Tensor], torch.Tensor]) -> Body:
    def body(m: Any, x: torch.Tensor) -> Any:
        o = make(x)
        o[:, :, 2:18, 2:18] = m.a(x)
        return m.b(o)

    return body


def by_index(m: Any, x: torch.Tensor) -> Any:
    o = torch.zeros(1, 8, 20, 20)
    o[:, :, m.index, 0] = m.a(x)[:, :, :3, 0]
    return m.b(o)


def tiles(m: Any, x: torch.Tensor) -> Any:
    o = torch.zeros(1, 8, 16, 16)
    for i in range(2):
        for j in range(2):
            o[:, :, 8 * i : 8 * i + 8, 8 * j : 8 * j + 8] = m.a(x[:, :, 8 * i :, 8 * j :])[
                :, :, :8, :8
            ]
    return m.b(o)


def cache(m: Any, x: torch.Tensor) -> Any:
    steps = x.new_zeros(3, 1, 8, 16, 16)
    for t in range(3):
        steps[t] = m.a(x * t)
    return steps[1:], m.b(steps[2])


def part_read_after(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    left, right = y.chunk(2, 1)
    left.relu_()
    return right * 2, y.sum(1), left - 1


def view_made_before(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    flat, row = y.view(-1), y[:, :, 3]
    y.mul_(2)
    flat[5:9] = 1
    return row, flat[:100], y


def split_and_written(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    p, q = torch.split(y, [3, 5], 1)
    q += 1
    y[:, :4] = 3
    return p, q


def alone(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)[:, 2:6]
    y.clamp_(0, 1)
    z = y[:, 1:]
    z.add_(1)
    return y.sum(2), z


def input_written(m: Any, x: torch.Tensor) -> Any:
    y = x.clone()
    x[:, 1:].neg_()
    return y, m.a(x)


def mask(m: Any, x: torch.Tensor) -> Any:
    allowed = torch.ones(16, 16, dtype=torch.bool).tril_()
    allowed[0] |= True
    allowed[:, 2] &= False
    y = m.a(x)
    y.masked_fill_(~allowed, -1.0)
    y[:, 0][allowed.expand(1, 16, 16)] = 0
    return y


def reshape_is_a_view(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    y.reshape(8, 256)[0] = 1
    y.permute(0, 2, 3, 1).reshape(256, 8)[0] = 2  # of a copy
    return y


def other_types(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x).half()
    y.mul_(m.a(x))
    counts = torch.zeros(16, dtype=torch.int64)
    counts.copy_(m.a(x)[0, 0, 0] * 10)
    return y.float(), counts


def filled_again(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    z = y + 1
    y.zero_()
    y[:, 2] = z[:, 3]
    return m.b(y), z


def copied_whole(m: Any, x: torch.Tensor) -> Any:
    o = torch.empty(1, 8, 16, 16)
    y = m.a(x)
    o.copy_(y)
    y.add_(1)
    o[:, 0] = 0
    return o, y


def axes_in_place(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    z = y[0]
    z.unsqueeze_(1)
    z.transpose_(0, 1)
    z.mul_(3)
    return y, z


def accumulate(m: Any, x: torch.Tensor) -> Any:
    y = torch.zeros(1, 8, 16, 16)
    y += m.a(x)
    y[:, :, 1:] += y[:, :, :-1].clone()
    y[:, 0] -= y[:, 3]
    y.index_add_(2, m.index, m.a(x)[:, :, :3])
    y.scatter_(1, torch.zeros(1, 1, 16, 16, dtype=torch.int64), 1.5)
    return m.b(y)


BODIES: dict[str, Body] = {
    "new_zeros": canvas(lambda x: x.new_zeros(1, 8, 20, 20)),
    "zeros": canvas(lambda x: torch.zeros(1, 8, 20, 20)),
    "full": canvas(lambda x: torch.full((1, 8, 20, 20), 0.5)),
    "empty": canvas(lambda x: torch.empty(1, 8, 20, 20).fill_(1)),
    "zeros_like": canvas(lambda x: torch.zeros_like(x.repeat(1, 2, 2, 2))[:, :, :20, :20]),
    **{
        body.__name__: body
        for body in (
            by_index, tiles, cache, part_read_after, view_made_before, split_and_written, alone,
            input_written, mask, reshape_is_a_view, other_types, filled_again, copied_whole,
            axes_in_place, accumulate,
        )
    },
}  # fmt: skip
