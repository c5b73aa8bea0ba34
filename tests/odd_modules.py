"""Small PyTorch modules of odd styles: parts that nothing reads, sliced parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class OddModule(nn.Module):
    """A function of its parts and inputs as a module; tensors among the parts are parameters."""

    def __init__(self, run: Callable[..., Any], **parts: nn.Module | torch.Tensor) -> None:
        super().__init__()
        self.run = run
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                self.add_module(name, part)
            else:
                self.register_parameter(name, nn.Parameter(part))

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.run(self, *inputs)


class Case(NamedTuple):
    """A module with the arguments of one call."""

    module: nn.Module
    inputs: tuple[torch.Tensor, ...]


def _conv(channels: int, made: int, kernel: int = 3, **more: Any) -> nn.Module:
    return nn.Conv2d(channels, made, kernel, **more)


IMAGE, SEQUENCE = (1, 3, 8, 8), (1, 5, 4)


def _last(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.b(m.a(x)[:, -1])  # type: ignore[no-any-return]


def _last_of_recurrent(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.b(m.a(x)[0][:, -1])  # type: ignore[no-any-return]


def _crop(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.b(m.a(x)[:, :, 2:-2, 2:-2])  # type: ignore[no-any-return]


def _attention(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.a(x, x, x)[0]  # type: ignore[no-any-return]


def _cell(m: Any, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Any:
    return m.a(x, (h, c))


def _spectrum(m: Any, x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(torch.stft(x, 16, 8, window=m.window, return_complex=True))


def _row_steps(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.b(m.a(x)[:, ::2, 1::2])  # type: ignore[no-any-return]


def _cut_pad(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.c(F.relu(m.b(F.relu(m.a(F.pad(x, (-2, -1, -2, -1)))))))  # type: ignore[no-any-return]


def _halves(m: Any, x: torch.Tensor) -> torch.Tensor:
    first, second = torch.chunk(m.a(x), 2, 1)
    return first * torch.sigmoid(second)


def _sorted(m: Any, x: torch.Tensor) -> Any:
    values, places = torch.sort(m.a(x))
    return values[:, :2], places[:, 3:]


def _read_and_given(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    return y, m.b(y), y[:, :, 1:3]


UNREAD: dict[str, Callable[[], Case]] = {
    "last of linear": lambda: Case(
        OddModule(_last, a=nn.Linear(4, 6), b=nn.Linear(6, 3)), (torch.randn(SEQUENCE),)
    ),
    "last of recurrent": lambda: Case(
        OddModule(_last_of_recurrent, a=nn.GRU(4, 6, batch_first=True), b=nn.Linear(6, 3)),
        (torch.randn(SEQUENCE),),
    ),
    "crop": lambda: Case(
        OddModule(_crop, a=_conv(3, 4, padding=1), b=_conv(4, 2)), (torch.randn(1, 3, 10, 10),)
    ),
    "attention": lambda: Case(
        OddModule(_attention, a=nn.MultiheadAttention(8, 2, batch_first=True)),
        (torch.randn(1, 5, 8),),
    ),
    "cell": lambda: Case(
        OddModule(_cell, a=nn.LSTMCell(4, 6)),
        (torch.randn(1, 4), torch.randn(1, 6), torch.randn(1, 6)),
    ),
    "spectrum": lambda: Case(OddModule(_spectrum, window=torch.ones(16)), (torch.randn(1, 64),)),
    "steps": lambda: Case(
        OddModule(_row_steps, a=_conv(3, 4, padding=1), b=_conv(2, 2)), (torch.randn(IMAGE),)
    ),
    "1x1 with padding": lambda: Case(
        nn.Sequential(_conv(3, 4, padding=1), _conv(4, 6, 1, stride=2, padding=1)),
        (torch.randn(IMAGE),),
    ),
    "1x1 with stride": lambda: Case(
        nn.Sequential(_conv(3, 4, padding=1), _conv(4, 6, 1, stride=3)), (torch.randn(IMAGE),)
    ),
    "cut bottleneck": lambda: Case(
        OddModule(
            _cut_pad,
            a=_conv(4, 12, 1),
            b=_conv(12, 12, stride=2, padding=1, groups=12),
            c=_conv(12, 4, 1),
        ),
        (torch.randn(1, 4, 9, 9),),
    ),
    "sorted": lambda: Case(OddModule(_sorted, a=nn.Linear(6, 8)), (torch.randn(2, 6),)),
    "halves": lambda: Case(
        OddModule(_halves, a=_conv(3, 8, padding=1)), (torch.randn(2, 3, 6, 6),)
    ),
    "read and given": lambda: Case(
        OddModule(_read_and_given, a=_conv(3, 4, padding=1), b=_conv(4, 4)), (torch.randn(IMAGE),)
    ),
}
"""Networks with parts of tensors that nothing reads."""


PADDED: dict[str, Callable[[], Case]] = {
    "padding": lambda: Case(
        OddModule(lambda m, x: F.pad(F.pixel_shuffle(x, 2), (1, 0, 2, 1))),
        (torch.randn(1, 4, 3, 3),),
    ),
    "all of it cut away": lambda: Case(
        OddModule(lambda m, x: F.pad(F.max_pool2d(x, 2, 3), (1, -1))), (torch.randn(1, 1, 5, 4),)
    ),
    "choice": lambda: Case(
        OddModule(lambda m, x: F.relu(torch.where(x > 0, x, -x))), (torch.randn(1, 4, 7, 7),)
    ),
}
"""Networks with elements that come of no input, and with truth values in pieces."""


SLICED: dict[str, Callable[[], Case]] = {
    "positions": lambda: Case(
        OddModule(
            lambda m, x: m.a(x + m.p[:, : x.shape[1]]), p=torch.randn(1, 9, 8), a=nn.Linear(8, 8)
        ),
        (torch.randn(1, 5, 8),),
    ),
    "one position": lambda: Case(
        OddModule(lambda m, x: m.a(x + m.p[:, 1:2]), p=torch.randn(1, 3, 8), a=nn.Linear(8, 8)),
        (torch.randn(1, 5, 8),),
    ),
    "rows of a weight": lambda: Case(
        OddModule(lambda m, x: F.linear(x, m.w[:8]), w=torch.randn(12, 6)), (torch.randn(1, 5, 6),)
    ),
    "channels of a weight": lambda: Case(
        OddModule(lambda m, x: F.conv2d(x, m.w[:, 1:4]), w=torch.randn(4, 6, 3, 3)),
        (torch.randn(IMAGE),),
    ),
    "one number": lambda: Case(
        OddModule(lambda m, x: (m.a(x).mean(), m.a(x).sum() * x.max()), a=_conv(3, 4)),
        (torch.randn(IMAGE),),
    ),
    "all of a map": lambda: Case(
        OddModule(lambda m, x: m.a(x) + m.p, a=_conv(3, 4, padding=1), p=torch.randn(1, 4, 8, 8)),
        (torch.randn(IMAGE),),
    ),
    "part of a map": lambda: Case(
        OddModule(
            lambda m, x: F.relu(m.a(x) + m.p[:, :, :8, :8]),
            a=_conv(3, 4, padding=1),
            p=torch.randn(1, 4, 12, 12),
        ),
        (torch.randn(2, 3, 8, 8),),
    ),
}
"""Networks that read a part of a parameter, or make a single number."""
