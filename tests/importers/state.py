"""Modules that keep something from run to run: caches, rings, cells, statistics, counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Body = Callable[[Any, torch.Tensor], Any]
F = nn.functional


class Keeps(nn.Module):
    """Layers and buffers around what a function does with a sequence of three steps."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv1d(4, 4, 2), nn.Linear(4, 4)
        self.cell, self.norm = nn.GRUCell(4, 4), nn.BatchNorm1d(4)
        self.cache: torch.Tensor
        self.hidden: torch.Tensor
        self.other: torch.Tensor
        self.register_buffer("cache", torch.zeros(1, 6, 4))
        self.register_buffer("hidden", torch.full((1, 4), 0.5))
        self.register_buffer("other", torch.ones(1, 4), persistent=False)
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("variance", torch.ones(3))
        self.body = body

    def forward(self, x: torch.Tensor) -> Any:
        return self.body(self, x)


def key_value_cache(m: Any, x: torch.Tensor) -> Any:
    m.cache[:, 2:5] = m.linear(x)
    return F.scaled_dot_product_attention(x, m.cache, m.cache)


def ring(m: Any, x: torch.Tensor) -> Any:
    m.cache.copy_(torch.cat([m.cache[:, 3:], x], 1))
    return m.conv(m.cache.transpose(1, 2))


def rolled(m: Any, x: torch.Tensor) -> Any:
    m.cache = torch.roll(m.cache, -3, 1)
    m.cache[:, -3:] = x
    return m.linear(m.cache).sum(1)


def cell(m: Any, x: torch.Tensor) -> Any:
    states = []
    for step in x.unbind(1):
        m.hidden = m.cell(step, m.hidden)
        states.append(m.hidden)
    return torch.stack(states, 1)


def returned(m: Any, x: torch.Tensor) -> Any:
    m.hidden.copy_(m.cell(x[:, 0], m.hidden))
    return m.hidden


def written_twice(m: Any, x: torch.Tensor) -> Any:
    before = m.hidden.clone()
    m.hidden.add_(x[:, 0])
    m.hidden.mul_(0.5)
    return before + x[:, 1], m.hidden * 2


def counted(m: Any, x: torch.Tensor) -> Any:
    m.count.add_(1)
    m.hidden[:, :2] += m.count
    return m.linear(x) / m.count


def running(m: Any, x: torch.Tensor) -> Any:
    return F.batch_norm(m.linear(x), m.mean, m.variance, training=True) + m.mean[None, :, None]


def running_in_part(m: Any, x: torch.Tensor) -> Any:
    y = F.batch_norm(m.linear(x), m.cache[0, :3, 1], m.variance, training=True)
    return y + m.cache.sum()


def moved(m: Any, x: torch.Tensor) -> Any:
    m.mean.mul_(0.9).add_(x.mean((0, 2)), alpha=0.1)
    return x - m.mean[:, None]


def of_an_input(m: Any, x: torch.Tensor) -> Any:
    seen = m.hidden + 1
    m.hidden.copy_(x[:, -1])
    return seen


def swapped(m: Any, x: torch.Tensor) -> Any:
    kept = m.hidden.clone()
    m.hidden.copy_(m.other)
    m.other.copy_(kept)
    return x + m.other


def cleared(m: Any, x: torch.Tensor) -> Any:
    y = m.linear(x) + m.hidden
    m.hidden.zero_()
    m.cache.fill_(2)
    m.cache[:, 1:4] = x
    return y


def only_written(m: Any, x: torch.Tensor) -> Any:
    y = m.linear(x)
    m.hidden.copy_(y.detach().mean(1))
    m.mean.copy_(torch.tensor([1.0, 2.0, 3.0]))
    return y


def in_one(m: Any, x: torch.Tensor) -> Any:
    y = m.linear(x).mean(1)
    m.hidden.copy_(y)
    m.other.copy_(y)
    m.cache[:, :1].copy_(y)
    return y


BODIES: dict[str, Body] = {
    body.__name__: body
    for body in (
        key_value_cache, ring, rolled, cell, returned, written_twice, counted, running,
        running_in_part, moved,
        of_an_input, swapped, cleared, only_written, in_one,
    )
}  # fmt: skip
