"""Modules that mix element types, as float ones with indices, masks, halves and int8 maps do."""

from __future__ import annotations

import torch
from torch import nn

from tests.odd_modules import Case


class Indexed(nn.Module):
    """Whole numbers of eight bytes go in and come out, floats lie between."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(11, 6), nn.Linear(6, 5)

    def forward(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = torch.relu(self.head(self.table(index)))
        return scores, scores.argmax(-1)


class Halves(nn.Module):
    """A body in two bytes an element between floats."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 5, 3, padding=1)
        self.body = nn.Sequential(nn.Conv2d(5, 7, 3, padding=1), nn.ReLU(), nn.Conv2d(7, 3, 1))
        self.body.half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(torch.relu(self.stem(x)).half()).float() + 1.0


class Masked(nn.Module):
    """Masks of a byte, and floats where they hold."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept = self.conv(x) > 0
        return torch.where(kept, x, x.sigmoid()), kept


class Quantised(nn.Module):
    """Maps as int8 between operators, as what a quantiser writes."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 5, 3, padding=1), nn.Conv2d(5, 4, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = (self.one(x) * 16).round().clamp(-128, 127).to(torch.int8)
        return self.two(q.to(torch.float32) / 16)


def typed_cases() -> dict[str, Case]:
    """By name; a batch of one, of odd sizes, so that what follows a byte lies unaligned."""
    torch.manual_seed(0)
    return {
        "indexed": Case(Indexed().eval(), (torch.randint(0, 11, (1, 7)),)),
        "halves": Case(Halves().eval(), (torch.randn(1, 2, 5, 7),)),
        "masked": Case(Masked().eval(), (torch.randn(1, 3, 5, 3),)),
        "quantised": Case(Quantised().eval(), (torch.randn(1, 3, 7, 5),)),
    }
