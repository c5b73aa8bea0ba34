"""Small random PyTorch modules in the styles of real ones: slices, views, windows, recurrence."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import nn

from tests.odd_modules import Case

Step: TypeAlias = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
MOST_ELEMENTS = 1000
TRIES = 60


def random_case(seed: int) -> Case:
    """A module of a few steps, and its inputs: images or sequences, of one example or two."""
    module = RandomModule(seed)
    return Case(module.eval(), module.inputs)


class RandomModule(nn.Module):
    """Steps drawn from a seed: each reads two of the values before it; some values are outputs."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.draw = random.Random(seed)
        self.inputs = tuple(torch.randn(self._shape()) for _ in range(self.draw.choice((1, 1, 2))))
        self.steps: list[tuple[Step, int, int]] = []
        values = list(self.inputs)
        for _ in range(TRIES):
            if len(self.steps) < self.draw.randint(2, 5):
                self._try(values)
        made = range(len(self.inputs), len(values))
        more = self.draw.sample(list(made), min(len(made), self.draw.choice((0, 0, 1))))
        self.outputs = sorted({len(values) - 1, *more})

    def forward(self, *inputs: torch.Tensor) -> Any:
        values = list(inputs)
        for step, a, b in self.steps:
            values.append(step(values[a], values[b]))
        made = [values[at] for at in self.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    def _shape(self) -> tuple[int, ...]:
        batch, size = self.draw.choice((1, 1, 2)), self.draw.randint
        if self.draw.random() < 0.6:
            return batch, size(1, 4), size(3, 7), size(3, 7)
        return batch, size(2, 6), size(2, 6)

    def _try(self, values: list[torch.Tensor]) -> None:
        """A step, kept where shapes agree with it."""
        a = self.draw.randrange(max(0, len(values) - 3), len(values))
        b = self.draw.randrange(len(values))
        kinds = {4: self._of_images, 3: self._of_sequences}.get(values[a].dim(), self._of_rows)
        try:
            with torch.no_grad():
                step = self.draw.choice([kinds, kinds, self._of_any])(values[a])
                made = step(values[a], values[b])
        except (RuntimeError, IndexError, ValueError):
            return
        if 0 < made.numel() <= MOST_ELEMENTS:
            self.steps.append((step, a, b))
            values.append(made)

    def _module(self, module: nn.Module) -> Step:
        self.add_module(f"m{len(self._modules)}", module)
        return lambda x, _y: module(x)  # type: ignore[no-any-return]

    def _parameter(self, *shape: int) -> nn.Parameter:
        made = nn.Parameter(torch.randn(shape))
        self.register_parameter(f"p{len(self._parameters)}", made)
        return made

    def _of_images(self, x: torch.Tensor) -> Step:
        size, (_, channels, height, width) = self.draw.randint, x.shape
        kernel, stride, padding = size(1, 3), size(1, 3), size(0, 1)
        a, b, c, d = (size(0, 2) for _ in range(4))
        made = size(1, 6)
        steps: list[Callable[[], Step]] = [
            lambda: self._module(nn.Conv2d(channels, made, kernel, stride, padding)),
            lambda: self._module(nn.Conv2d(channels, channels, 3, stride, 1, groups=channels)),
            lambda: self._module(nn.ConvTranspose2d(channels, made, 2, 2)),
            lambda: self._module(nn.GroupNorm(1, channels)),
            lambda: lambda x, _: F.max_pool2d(x, 2, stride),
            lambda: lambda x, _: x[:, :, a : x.shape[2] - b, c : x.shape[3] - d],
            lambda: lambda x, _: F.pad(x, (a - 1, b - 1, c - 1, d - 1)),
            lambda: lambda x, _: torch.roll(x, (1, 2), (2, 3)),
            lambda: lambda x, _: F.pixel_shuffle(x, 2),
            lambda: lambda x, _: F.pixel_unshuffle(x, 2),
            lambda: lambda x, _: F.unfold(x, 2),
            lambda: lambda x, _: x * torch.sigmoid(x.mean((2, 3), keepdim=True)),
            lambda: lambda x, _: x.flatten(2).transpose(1, 2),
            lambda: self._plus(self._parameter(1, channels, height + a, width + b)),
            lambda: self._with_weight(self._parameter(made + 1, channels + 1, 3, 3)),
        ]
        return self.draw.choice(steps)()

    def _plus(self, table: nn.Parameter) -> Step:
        return lambda x, _: x + table[:, :, : x.shape[2], -x.shape[3] :]

    def _with_weight(self, weight: nn.Parameter) -> Step:
        return lambda x, _: F.conv2d(x, weight[1:, : x.shape[1]], padding=1)

    def _of_sequences(self, x: torch.Tensor) -> Step:
        size, (_, length, features) = self.draw.randint, x.shape
        made, at, axis = size(1, 6), size(0, length - 1), size(1, 2)
        recurrent = self.draw.choice((nn.LSTM, nn.GRU))(features, made, batch_first=True)
        steps: list[Callable[[], Step]] = [
            lambda: self._module(nn.Linear(features, made)),
            lambda: self._module(nn.LayerNorm(features)),
            lambda: self._module(nn.Conv1d(length, made, 2, axis)),
            lambda: self._first(recurrent, lambda x: recurrent(x)[0]),
            lambda: self._attention(nn.MultiheadAttention(features, 1, batch_first=True)),
            lambda: self._positions(self._parameter(1, length + at, features)),
            lambda: self._token(self._parameter(1, 2, features)),
            lambda: lambda x, _: x[:, -1],
            lambda: lambda x, _: x[:, at:],
            lambda: lambda x, _: x[:, ::2],
            lambda: lambda x, _: x[..., 1:],
            lambda: lambda x, _: torch.softmax(x, axis),
            lambda: lambda x, _: x @ x.transpose(1, 2),
            lambda: lambda x, _: torch.gather(x, 2, x.argsort(2))[:, :, :2],
            lambda: lambda x, _: torch.split(x, [1, x.shape[1] - 1], 1)[1],
            lambda: lambda x, _: x.flip(1),
        ]
        return self.draw.choice(steps)()

    def _first(self, module: nn.Module, run: Callable[[torch.Tensor], torch.Tensor]) -> Step:
        self._module(module)
        return lambda x, _: run(x)

    def _attention(self, module: nn.MultiheadAttention) -> Step:
        return self._first(module, lambda x: module(x, x, x, need_weights=False)[0])

    def _positions(self, table: nn.Parameter) -> Step:
        return lambda x, _: x + table[:, : x.shape[1]]

    def _token(self, table: nn.Parameter) -> Step:
        return lambda x, _: torch.cat([table[:, :1].expand(x.shape[0], -1, -1), x], 1)

    def _of_rows(self, x: torch.Tensor) -> Step:
        steps: list[Callable[[], Step]] = [
            lambda: self._module(nn.Linear(x.shape[-1], self.draw.randint(1, 6))),
            lambda: lambda x, _: x[:, 1:],
            lambda: lambda x, _: x[:, None, :],
            lambda: lambda x, _: torch.einsum("ij,ik->ijk", x, x),
        ]
        return self.draw.choice(steps)()

    def _of_any(self, _x: torch.Tensor) -> Step:
        steps: list[Step] = [
            lambda x, _: F.relu(x),
            lambda x, y: x + y,
            lambda x, y: x * torch.sigmoid(y),
            lambda x, y: torch.cat([x, y], 1),
            lambda x, y: torch.where(x > 0, x, y),
            lambda x, _: x.mean(),
            lambda x, _: x.reshape(x.shape[0], -1),
        ]
        return self.draw.choice(steps)
