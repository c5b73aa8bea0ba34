"""Small modules of many styles, to be read as they are and from the files that exporters write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from zoo_parts.case import image, tokens

F = nn.functional


class Tagger(nn.Module):
    """Words, a recurrent layer of two directions, a tag a word."""

    def __init__(self, layer: type[nn.RNNBase]) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 24)
        self.layer = layer(24, 16, 2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(32, 9)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Tags of each word."""
        return self.tags(self.layer(self.words(words))[0])


class TextEncoder(nn.Module):
    """Words and places, two layers of attention, one class."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 64)
        self.places = nn.Parameter(torch.randn(1, 32, 64))
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 5)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Scores of a text."""
        x = self.words(words) + self.places[:, : words.shape[1]]
        return self.head(self.layers(x).mean(1))


class UNet(nn.Module):
    """Down, up, and what was skipped beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)])
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.grow = nn.ConvTranspose2d(16, 8, 2, 2)
        self.up = nn.Conv2d(24, 8, 3, padding=1)
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A map as large as the image."""
        a = F.relu(self.down[0](x))
        b = F.relu(self.down[1](F.max_pool2d(a, 2)))
        c = F.relu(self.middle(F.max_pool2d(b, 2)))
        d = self.up(torch.cat([self.grow(c), b], 1))
        e = F.interpolate(d, scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(torch.cat([e, a], 1))


class Heads(nn.Module):
    """Three maps of one image as a dictionary, as detectors return them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.SiLU())
        self.boxes, self.classes = nn.Conv2d(16, 4, 1), nn.Conv2d(16, 6, 1)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Boxes and classes, flat."""
        x = self.stem(x)
        boxes = self.boxes(x).flatten(2).transpose(1, 2)
        scores = self.classes(x).flatten(2).transpose(1, 2).sigmoid()
        return {"boxes": boxes, "scores": scores, "best": scores.max(-1).values}


class Einsums(nn.Module):
    """Attention in Einstein's sums, with gathered positions."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(32, 32) for _ in range(3))
        self.bias = nn.Parameter(torch.randn(4, 15))
        self.register_buffer("places", (torch.arange(8)[:, None] - torch.arange(8) + 7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens to tokens."""
        q, k, v = (layer(x).unflatten(-1, (4, 8)) for layer in (self.q, self.k, self.v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) + self.bias[:, self.places]
        return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2)


class Windows(nn.Module):
    """Windows cut out, worked on and put back, with a roll."""

    def __init__(self) -> None:
        super().__init__()
        self.work = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As large as it was."""
        b, h, w, c = x.shape
        y = (
            torch.roll(x, (-2, -2), (1, 2))
            .view(b, h // 4, 4, w // 4, 4, c)
            .permute(0, 1, 3, 2, 4, 5)
        )
        y = self.work(y.reshape(-1, 16, c)).view(b, h // 4, w // 4, 4, 4, c)
        return x + torch.roll(y.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c), (2, 2), (1, 2))


class Canvas(nn.Module):
    """A result written piece by piece into what was made for it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A frame of zeros around what was computed."""
        canvas = x.new_zeros(1, 8, 36, 36)
        canvas[:, :, 2:34, 2:34] = self.a(x)
        canvas[:, 4:] *= 2
        return self.b(canvas)


class Sound(nn.Module):
    """A spectrum, convolutions along time, a recurrent cell over its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(65, 32, 5, dilation=2), nn.GELU(), nn.Conv1d(32, 24, 3))
        self.cell = nn.GRUCell(24, 16)
        self.register_buffer("window", torch.hann_window(128))

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        """The state after the last step."""
        spectrum = torch.stft(wave, 128, 64, window=self.window, return_complex=True).abs()
        steps = self.conv(spectrum).transpose(1, 2)
        state = steps.new_zeros(steps.shape[0], 16)
        for step in steps.unbind(1):
            state = self.cell(step, state)
        return state


OWN: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...]]]] = {
    "lstm tagger": lambda: (Tagger(nn.LSTM), (tokens(1, 12, below=100),)),
    "gru tagger": lambda: (Tagger(nn.GRU), (tokens(1, 12, below=100),)),
    "text encoder": lambda: (TextEncoder(), (tokens(1, 16, below=100),)),
    "u-net": lambda: (UNet(), (image(32),)),
    "heads": lambda: (Heads(), (image(32),)),
    "einsums": lambda: (Einsums(), (torch.randn(1, 8, 32),)),
    "windows": lambda: (Windows(), (torch.randn(1, 8, 8, 8),)),
    "canvas": lambda: (Canvas(), (image(32),)),
    "sound": lambda: (Sound(), (torch.randn(1, 2048),)),
}
