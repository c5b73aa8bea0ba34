"""Steps of random modules that few networks have: operators of a library of one's own, work on
parameters alone, what is kept seen through views, numbers of several types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from tests.importers.random_modules import STEPS, Choose, Run, StepChoice, Values

F = nn.functional


@torch.library.custom_op("spillway_tests::add_to", mutates_args=("a",))
def add_to(a: torch.Tensor, b: torch.Tensor) -> None:
    a.add_(b)


@torch.library.custom_op("spillway_tests::relu", mutates_args=())
def relu(a: torch.Tensor) -> torch.Tensor:
    """Another one than torch's."""
    return a.clamp(min=-0.5) * 2


@relu.register_fake
def _(a: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(a)


@torch.library.custom_op("spillway_tests::constrained_", mutates_args=("a",))
def constrained(a: torch.Tensor, most: float) -> None:
    a.clamp_(max=most)


@torch.library.custom_op("spillway_tests::drawn_into", mutates_args=("b",))
def drawn_into(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Writes its second argument, and returns something else."""
    b.mul_(2)
    return a + b


@drawn_into.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(a)


@torch.library.custom_op("spillway_tests::halves", mutates_args=())
def halves(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    half = a.shape[1] // 2
    return a[:, :half].clone(), a[:, half:].clone()


@halves.register_fake
def _(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    half = a.shape[1] // 2
    return torch.empty_like(a[:, :half]), torch.empty_like(a[:, half:])


class Doubled(torch.autograd.Function):
    """A function with a backward pass of its own, that writes in place."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone().mul_(2)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return grad * 2


def _library(c: StepChoice) -> Run | None:
    """Operators of a library: whole values, parts, what the module keeps."""
    at, way = c.pick(), c.chance.randrange(8)
    if c.values[at].shape[1] < 2 and way in (1, 5):
        return None

    def run(m: Any, v: Values) -> torch.Tensor:
        x = v[at]
        if way == 0:
            add_to(x, x * 0.5)
        elif way == 1:
            add_to(x[:, :1], x[:, 1:2] * 1)
        elif way == 2:
            return relu(x)  # type: ignore[no-any-return]
        elif way == 3:
            constrained(x[..., -1:], 0.25)
        elif way == 4:
            add_to(m.hidden, m.hidden * 0 + x.mean())
            return x * m.hidden.sum()
        elif way == 5:
            first, second = halves(x)
            return first.sum(1, keepdim=True) * second
        elif way == 6:
            return drawn_into(x * 1, x)  # type: ignore[no-any-return]
        else:
            return Doubled.apply(x)  # type: ignore[no-any-return, no-untyped-call]
        return x + 0

    return run


def _parameter(c: StepChoice, *shape: int) -> str:
    name = f"own{len(c.module._parameters)}"
    c.module.register_parameter(name, nn.Parameter(torch.randn(shape)))
    return name


def _of_parameters(c: StepChoice) -> Run:
    """Low-rank adapters, weight norms, orthogonal weights, learned queries."""
    at, way = c.pick(), c.chance.randrange(5)
    n = c.values[at].shape[-1]
    w, a, b = _parameter(c, 6, n), _parameter(c, 6, 2), _parameter(c, 2, n)

    def run(m: Any, v: Values) -> torch.Tensor:
        x, weight, down, up = v[at], getattr(m, w), getattr(m, a), getattr(m, b)
        if way == 0:
            return F.linear(x, weight + down @ up)
        if way == 1:
            return F.linear(x, weight * (down[:, :1] / weight.norm(dim=1, keepdim=True)))
        if way == 2:
            turned = torch.matrix_exp(weight.mT @ weight * 0.01)
            return x @ turned + x @ turned.mT  # read twice
        if way == 3:
            queries = F.linear(down @ up, torch.eye(n) * 2)
            return queries @ x.mT if x.dim() == 3 else x @ queries.mT
        return F.linear(x, F.relu(down) @ F.silu(up)) + (down @ up).sum()

    return run


def _kept_in_views(c: StepChoice) -> Run:
    """What the module keeps, written and read through views."""
    at, way = c.pick(), c.chance.randrange(6)

    def run(m: Any, v: Values) -> torch.Tensor:
        x = v[at]
        if way == 0:
            row = m.ring[:, 1]
            row.add_(x.mean())
            return x * m.ring.sum()
        if way == 1:
            m.hidden.view(-1)[1:3] = x.reshape(-1)[:1]
            return x + m.hidden.mean()
        if way == 2:
            turned = m.ring.transpose(1, 2)
            turned[:, 0] *= 0.5
            return x + m.ring[:, 0].sum()
        if way == 3:
            old = m.ring[:, -1].clone()
            m.ring.copy_(m.ring.roll(1, 1))
            m.ring[:, 0] = x.mean()
            return x * old.sum()
        if way == 4:
            first, second = m.ring.chunk(2, 1)
            first.copy_(second + x.amax())
            return x - m.ring.mean()
        m.ring.unflatten(2, (2, 2)).diagonal(0, 2, 3).zero_()
        return x + m.ring.amax()

    return run


def _types(c: StepChoice) -> Run:
    """Halves, doubles, whole numbers and truths within a network of floats."""
    at, way = c.pick(), c.chance.randrange(6)

    def run(m: Any, v: Values) -> torch.Tensor:
        x = v[at]
        if way == 0:
            return (x.half() * 2).float()
        if way == 1:
            return x.double().cumsum(-1).float()
        if way == 2:
            return ((x * 8).round().to(torch.int8).to(torch.int32) * 3).float()
        if way == 3:
            return torch.where((x > 0) & (x < 1), x, x * 0.1)
        if way == 4:
            return x.bfloat16().relu().to(x.dtype) + x
        return x[:, (x.shape[1] > 2) * torch.ones(1, dtype=torch.int64)]

    return run


ODDER: Mapping[str, Choose] = {
    **STEPS,
    **dict.fromkeys(("library", "another library", "a third library"), _library),
    **dict.fromkeys(("of parameters", "of other parameters", "of more"), _of_parameters),
    **dict.fromkeys(("kept in views", "kept in other views"), _kept_in_views),
    **dict.fromkeys(("types", "other types"), _types),
}
