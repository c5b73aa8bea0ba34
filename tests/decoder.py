"""A small decoder of text whose cache of keys and values is state, as a prompt and as steps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import planners as sp

WORDS, WIDTH, HEADS, GROUPS = 96, 64, 4, 2
SIZE = WIDTH // HEADS
"""Numbers of a head; two heads share keys and values."""


class Layer(nn.Module):
    """Attention that writes keys and values into the cache and reads all before; a gated MLP."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self.start = 0
        self.query, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(WIDTH, GROUPS * SIZE, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.before, self.between = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, GROUPS, places, SIZE))

    def forward(self, x: Tensor) -> Tensor:
        length, normed = x.shape[1], self.before(x)
        stop = self.start + length
        heads = [
            part(normed).view(1, length, -1, SIZE).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        self.keys[:, :, self.start : stop] = heads[1]
        self.values[:, :, self.start : stop] = heads[2]
        seen = self.keys[:, :, :stop], self.values[:, :, :stop]
        attended = nn.functional.scaled_dot_product_attention(
            heads[0], *seen, is_causal=length > 1, enable_gqa=True
        )
        x = x + self.out(attended.transpose(1, 2).reshape(1, length, WIDTH))
        normed = self.between(x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))


class Decoder(nn.Module):
    """Words in, a number for each word that may follow; `at` says how many it has seen."""

    def __init__(self, layers: int, places: int) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.layers = nn.ModuleList(Layer(places) for _ in range(layers))
        self.norm = nn.RMSNorm(WIDTH)

    def at(self, start: int) -> Decoder:
        for layer in self.layers:
            layer.start = start
        return self

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def made(layers: int, places: int) -> tuple[Decoder, Tensor]:
    """A decoder with random weights and an empty cache, and words for all of its places."""
    torch.manual_seed(0)
    return Decoder(layers, places).eval(), torch.randint(0, WORDS, (1, places))


def graph_of(decoder: Decoder, words: Tensor) -> sp.Graph:
    return sp.from_torch(decoder, (words,), name="decoder", bytes_per_element="native")


def budgets(graph: sp.Graph, planner: str, time_limit: float) -> list[int]:
    """The least that a planner says it needs, MP, and twice that; none where it has no plan."""
    most = 2 * sp.budgets(graph).MP
    least = sp.budgets(graph).MR
    while True:
        try:
            sp.plan(graph, planner, least, time_limit=time_limit)
        except (sp.BudgetTooSmall, sp.NoPlanFound) as error:
            need = error.need_bytes or 0
            if need <= least:
                return []
            least = need
        else:
            return sorted({least, max(least, most // 2), max(2 * least, most)})
