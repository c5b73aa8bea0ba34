"""Random modules in the style of real ones, each made by running it step by step.

A module is a list of steps; a step reads values made before it and gives one more, or writes into
one. What a step does is drawn to suit the shapes that are there.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import nn

F = nn.functional
Values = list[torch.Tensor]
Run = Callable[[Any, Values], torch.Tensor]
Choose: TypeAlias = "Callable[[StepChoice], Run | None]"


@dataclass
class StepChoice:
    """What a step is drawn from: the source of chance, the module so far, and its values."""

    chance: random.Random
    module: StyledModule
    values: Values = field(default_factory=list)

    def pick(self, rank: int = 0) -> int:
        """One of the latest values of that rank."""
        found = [i for i, v in enumerate(self.values) if v.dim() == rank or not rank]
        return self.chance.choice(found[-4:])

    def layer(self, layer: nn.Module) -> str:
        """Keep a layer, or take one of the same kind and sizes that is there already."""
        kept = self.module.layers
        for name, other in kept.items():
            if str(other) == str(layer) and self.chance.random() < 0.5:
                return name
        kept[f"layer{len(kept)}"] = layer
        return f"layer{len(kept) - 1}"


class StyledModule(nn.Module):
    """Steps drawn from a seed, over one or two images; `lines` say what they are."""

    def __init__(self, seed: int, steps: Mapping[str, Choose] | None = None) -> None:
        super().__init__()
        chance = random.Random(seed)
        torch.manual_seed(seed)
        self.layers = nn.ModuleDict()
        self.drawn_from = STEPS if steps is None else steps
        self.steps: list[Run] = []
        self.lines: list[str] = []
        self.scale: torch.Tensor
        self.register_buffer("scale", torch.rand(8))
        self.register_buffer("places", torch.tensor([2, 0, 3]))
        self.register_buffer("hidden", torch.rand(1, 4))
        self.register_buffer("ring", torch.rand(1, 6, 4))
        self.register_buffer("count", torch.tensor(0))
        self.inputs = tuple(torch.randn(1, 4, 8, 8) for _ in range(chance.randint(1, 2)))
        self.eval()
        kept = {name: value.clone() for name, value in self.named_buffers()}
        choice = StepChoice(chance, self, [value.clone() for value in self.inputs])
        with torch.no_grad():
            for _ in range(chance.randint(4, 12)):
                self._draw(choice)
        for name, value in kept.items():  # As it was before it was drawn.
            setattr(self, name, value)
        later = range(len(self.inputs), len(choice.values))
        self.returned = sorted({later[-1], *chance.sample(later, min(2, len(later)))})
        self.style = chance.choice(["one", "tuple", "dict", "nested"])
        if steps is not None:  # Nothing of it is left out.
            self.returned, self.style = [*later], "tuple"

    def _draw(self, choice: StepChoice) -> None:
        for _ in range(50):
            kind = choice.chance.choice(list(self.drawn_from))
            run = self.drawn_from[kind](choice)
            if run is not None:
                break
        else:
            raise AssertionError("no step suits these shapes")
        self.layers.eval()
        choice.values.append(run(self, choice.values))
        self.steps.append(run)
        self.lines.append(f"{kind}: {tuple(choice.values[-1].shape)}")

    def forward(self, *inputs: torch.Tensor) -> Any:
        values = list(inputs)
        for step in self.steps:
            values.append(step(self, values))
        found = [values[i] for i in self.returned]
        if self.style == "one":
            return values[-1]
        if self.style == "dict":
            return {f"out{i}": value for i, value in enumerate(found)}
        return tuple(found) if self.style == "tuple" else [found[0], {"rest": found[1:]}]


def _conv(c: StepChoice) -> Run:
    at = c.pick(4)
    n = c.values[at].shape[1]
    groups = n if c.chance.random() < 0.3 else 1
    out = n if groups > 1 else c.chance.choice([2, 4, 6])
    stride = c.chance.choice([1, 1, 2])
    name = c.layer(nn.Conv2d(n, out, 3, stride, 1, groups=groups))
    return lambda m, v: m.layers[name](v[at])


def _norm(c: StepChoice) -> Run:
    at = c.pick(4)
    name = c.layer(nn.BatchNorm2d(c.values[at].shape[1]))
    return lambda m, v: m.layers[name](v[at])


def _linear(c: StepChoice) -> Run:
    at = c.pick()
    name = c.layer(nn.Linear(c.values[at].shape[-1], c.chance.choice([3, 8])))
    return lambda m, v: m.layers[name](v[at])


def _unary(c: StepChoice) -> Run:
    at = c.pick()
    function = c.chance.choice([torch.relu, F.silu, torch.tanh, lambda x: x * 2 - 1, F.gelu])
    return lambda m, v: function(v[at])


def _in_place(c: StepChoice) -> Run:
    at = c.pick()
    function = c.chance.choice([torch.relu_, torch.sigmoid_, lambda x: x.mul_(0.5).add_(1)])
    return lambda m, v: function(v[at])


def _pair(c: StepChoice) -> Run | None:
    at = c.pick()
    same = [i for i, v in enumerate(c.values) if v.shape == c.values[at].shape]
    other = c.chance.choice(same)
    function = c.chance.choice([torch.add, torch.mul, torch.maximum, lambda a, b: a - b / 3])
    return lambda m, v: function(v[at], v[other])


def _cat(c: StepChoice) -> Run:
    at, axis = c.pick(), c.chance.choice([-1, 1])
    shape = c.values[at].shape
    alike = [i for i, v in enumerate(c.values) if v.shape == shape]
    other = c.chance.choice(alike)
    return lambda m, v: torch.cat([v[at], v[other] * 2], axis)


def _slice(c: StepChoice) -> Run | None:
    at = c.pick()
    axis = c.chance.randrange(1, c.values[at].dim())
    n = c.values[at].shape[axis]
    if n < 3:
        return None
    start, step = c.chance.randrange(n - 2), c.chance.choice([1, 1, 2])
    stop = c.chance.randrange(start + 2, n + 1)
    place = (slice(None),) * axis + (slice(start, stop, step),)
    return lambda m, v: v[at][place]


def _chunk(c: StepChoice) -> Run | None:
    at = c.pick()
    axis = c.chance.randrange(1, c.values[at].dim())
    if c.values[at].shape[axis] < 2:
        return None
    swap = c.chance.random() < 0.5

    def run(m: Any, v: Values) -> torch.Tensor:
        a, *rest = v[at].chunk(2, axis)
        return torch.cat([*rest, a], axis) if swap else a.sigmoid()

    return run


def _view(c: StepChoice) -> Run:
    at = c.pick()
    rank = c.values[at].dim()
    if rank == 4:
        choices: list[Run] = [
            lambda m, v: v[at].flatten(2).transpose(1, 2),
            lambda m, v: v[at].permute(0, 2, 3, 1).contiguous(),
            lambda m, v: v[at].reshape(1, v[at].shape[1], -1),
        ]
    else:
        choices = [lambda m, v: v[at].transpose(1, 2), lambda m, v: v[at].unsqueeze(1)]
    return c.chance.choice(choices)


def _canvas(c: StepChoice) -> Run:
    at = c.pick(4)
    make = c.chance.choice(
        [lambda x, s: x.new_zeros(s), lambda x, s: torch.full(s, 0.5), lambda x, s: torch.zeros(s)]
    )
    border = c.chance.choice([0, 1, 2])

    def run(m: Any, v: Values) -> torch.Tensor:
        _, n, h, w = v[at].shape
        canvas = make(v[at], (1, n, h + border + 1, w + border))
        canvas[:, :, border : border + h, border:] = v[at]
        return canvas

    return run


def _tiles(c: StepChoice) -> Run:
    at = c.pick()

    def run(m: Any, v: Values) -> torch.Tensor:
        out = torch.empty_like(v[at])
        half = v[at].shape[1] // 2
        out[:, :half] = v[at][:, :half] * 2
        out[:, half:] = v[at][:, half:] + 1
        return out

    return run


def _write(c: StepChoice) -> Run:
    at, way = c.pick(), c.chance.randrange(5)

    def run(m: Any, v: Values) -> torch.Tensor:
        x = v[at]
        if way == 0:
            x[:, 0] += 1
        elif way == 1:
            x[..., -1:].mul_(3)
        elif way == 2:
            x[:, :1].copy_(torch.relu(x[:, -1:]))
        elif way == 3:
            x.transpose(1, 2)[:, 0] = 0.25
        else:
            x.masked_fill_(x > 1, 1.0)
        return x + 0

    return run


def _indexed(c: StepChoice) -> Run | None:
    at, way = c.pick(), c.chance.randrange(5)
    if c.values[at].shape[1] < 4:
        return None

    def run(m: Any, v: Values) -> torch.Tensor:
        x = v[at]
        if way == 0:
            return x[:, m.places]
        if way == 1:
            return x.index_select(1, m.places)
        if way == 2:
            return torch.gather(x, -1, x.argsort(-1))
        if way == 3:
            return torch.zeros_like(x).scatter_add(1, torch.zeros_like(x).long(), x)
        y = x.clone()
        y[:, m.places] = 0.5
        return y

    return run


def _reduced(c: StepChoice) -> Run:
    at, axis = c.pick(), c.chance.choice([-1, 1])
    function = c.chance.choice(
        [
            lambda x: x.mean(axis, keepdim=True) + x,
            lambda x: x.softmax(axis),
            lambda x: x - x.amax(axis, keepdim=True),
            lambda x: x.cumsum(axis),
            lambda x: torch.topk(x, 1, axis)[0] * x,
            lambda x: F.layer_norm(x, x.shape[-1:]),
        ]
    )
    return lambda m, v: function(v[at])


def _space(c: StepChoice) -> Run | None:
    at = c.pick(4)
    if min(c.values[at].shape[2:]) < 3:
        return None
    function = c.chance.choice(
        [
            lambda x: F.max_pool2d(x, 2),
            lambda x: F.avg_pool2d(x, 3, 1, 1),
            lambda x: F.interpolate(x, scale_factor=2),
            lambda x: F.pad(x, (1, 0, 2, 1)),
            lambda x: x[:, :, 1:-1, 1:-1],
            lambda x: x.roll(1, 2),
            lambda x: x.flip(3),
            lambda x: F.adaptive_avg_pool2d(x, 2),
        ]
    )
    return lambda m, v: function(v[at])


def _product(c: StepChoice) -> Run:
    at = c.pick()
    way = c.chance.randrange(3)

    def run(m: Any, v: Values) -> torch.Tensor:
        x = v[at]
        if way == 0:
            return x @ x.mT
        if way == 1:
            return torch.einsum("...ij,...ik->...jk", x, x)
        return F.scaled_dot_product_attention(x, x, x)

    return run


def _recurrent(c: StepChoice) -> Run:
    at = c.pick(3)
    n = c.values[at].shape[-1]
    way = c.chance.choice([nn.GRU, nn.LSTM, nn.GRUCell])
    name = c.layer(way(n, 4) if way is nn.GRUCell else way(n, 4, batch_first=True))

    def run(m: Any, v: Values) -> torch.Tensor:
        layer = m.layers[name]
        if not isinstance(layer, nn.GRUCell):
            found: torch.Tensor = layer(v[at])[0]
            return found[:, -2:]
        state, states = v[at].new_zeros(1, 4), []
        for step in v[at].unbind(1)[:3]:
            state = layer(step, state)
            states.append(state)
        return torch.stack(states, 1)

    return run


def _buffer(c: StepChoice) -> Run:
    at = c.pick()
    n = c.values[at].shape[-1]
    if n > 8:
        return lambda m, v: v[at] * m.scale[3] + m.scale.sum()
    return lambda m, v: v[at] * m.scale[:n].expand_as(v[at])


def _kept(c: StepChoice) -> Run | None:
    """What the module keeps is written, and read before or after: whole, in part, as a ring."""
    at, way = c.pick(), c.chance.randrange(6)
    if way == 5:
        return lambda m, v: v[at] / m.count.add_(1)
    before = c.chance.random() < 0.5

    def run(m: Any, v: Values) -> torch.Tensor:
        new = v[at].reshape(-1)[:4] if v[at].numel() >= 4 else v[at].mean().expand(4)
        old = m.hidden.clone() if before else m.hidden
        if way == 0:
            m.hidden.copy_(new.unsqueeze(0))
        elif way == 1:
            m.hidden = torch.tanh(m.hidden + new)
        elif way == 2:
            m.hidden[:, 1:3] += new[:2]
        elif way == 3:
            m.ring.copy_(torch.cat([m.ring[:, 1:], new[None, None]], 1))
            return m.ring[:, ::2] * 2
        else:
            m.ring[:, 2] = new
            m.ring.mul_(0.5)
            return v[at].sum() + m.ring.sum(1, keepdim=True)
        return v[at] * old.mean()

    return run


def _normalised(c: StepChoice) -> Run:
    at = c.pick(4)
    n = c.values[at].shape[1]
    if n != 4 or c.chance.random() < 0.3:
        return lambda m, v: F.batch_norm(v[at], None, None, training=True)
    return lambda m, v: F.batch_norm(v[at], m.hidden[0], m.scale[:4], training=True)


def _tokens(c: StepChoice) -> Run | None:
    return (lambda m, v: v[0].flatten(2)) if all(v.dim() != 3 for v in c.values) else None


def with_rank(rank: int, make: Callable[[StepChoice], Run | None]) -> Callable[..., Run | None]:
    def choose(c: StepChoice) -> Run | None:
        return make(c) if any(v.dim() == rank for v in c.values) else None

    return choose


STEPS: Mapping[str, Choose] = {
    "convolution": _conv,
    "batch norm": _norm,
    "linear": _linear,
    "unary": _unary,
    "in place": _in_place,
    "pair": _pair,
    "cat": _cat,
    "slice": _slice,
    "chunk": _chunk,
    "view": _view,
    "canvas": _canvas,
    "tiles": _tiles,
    "write": _write,
    "indexed": _indexed,
    "reduced": _reduced,
    "space": _space,
    "product": _product,
    "recurrent": with_rank(3, _recurrent),
    "buffer": _buffer,
    "tokens": _tokens,
    "kept": _kept,
    "batch": _normalised,
}


def fresh(module: StyledModule) -> tuple[torch.Tensor, ...]:
    """The module's inputs, which it may write into."""
    return copy.deepcopy(module.inputs)
