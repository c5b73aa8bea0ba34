"""Random modules that look rows up, and what a run of them picks, without a part of ours."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import planners as sp

F = nn.functional
WAYS = (
    "embedding",
    "embedding",
    "two",
    "tied",
    "index_select",
    "index_select 1",
    "index",
    "gather",
    "take",
    "bag",
    "router",
    "positions",
    "all of it",
)


class LooksUp(nn.Module):
    """Several tables, each read in a way that the seed draws."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        draw = random.Random(seed)
        self.width = draw.choice((4, 8))
        self.count = draw.randint(1, 6)
        self.ways = [draw.choice(WAYS) for _ in range(draw.randint(1, 3))]
        self.rows = [draw.randint(self.count + 1, 90) for _ in self.ways]
        self.tables = nn.ParameterList(torch.randn(n, self.width) for n in self.rows)
        self.last = nn.Linear(self.width, self.width)
        self.indices = torch.tensor([draw.randrange(min(self.rows)) for _ in range(self.count)])
        self.eval()

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        total = i[:, None] * torch.zeros(self.width)  # nothing is of parameters alone
        for way, table in zip(self.ways, self.tables, strict=True):
            total = total + self._read(way, table, i, total)
        return total

    def _read(self, way: str, t: torch.Tensor, i: torch.Tensor, total: torch.Tensor) -> Any:
        match way:
            case "embedding":
                return self.last(F.embedding(i, t))
            case "two":
                return self.last(F.embedding(i, t)) + F.embedding(i.flip(0), t)
            case "tied":
                return (self.last(F.embedding(i, t)) @ t.T).mean()
            case "index_select":
                return torch.index_select(t, 0, i)
            case "index_select 1":
                return torch.index_select(t, 1, i % 3).sum()
            case "index":
                return t[i]
            case "gather":
                return torch.gather(t, 0, i[:, None].expand(-1, 2)).sum()
            case "take":
                return torch.take(t, i)[:, None]
            case "bag":
                return F.embedding_bag(i[None], t)
            case "router":
                expert = (total.sum(1) > 0).long()
                return self.last(t[expert])
            case "positions":
                return t[1 : self.count + 1]
        return t.sum(0)


class Picked(TorchDispatchMode):
    """Elements that each table has picked of it in a run, call by call, all of it at most."""

    def __init__(self, module: LooksUp) -> None:
        super().__init__()
        self.tables = {t.untyped_storage().data_ptr(): t for t in module.parameters()}
        self.read: dict[int, list[int]] = defaultdict(list)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        name = func._overloadpacket.__name__
        for at, value in enumerate(torch.utils._pytree.tree_leaves((args, kwargs))):
            if not isinstance(value, torch.Tensor):
                continue
            table = self.tables.get(value.untyped_storage().data_ptr())
            if table is None:
                continue
            made = found[0] if isinstance(found, tuple) else found
            if made.untyped_storage().data_ptr() == value.untyped_storage().data_ptr():
                continue  # A view: it is read by who reads that.
            if name in ("embedding", "index_select", "gather", "index", "take") and at == 0:
                count = made.numel()
            elif name == "_embedding_bag":
                count = args[1].numel() * table.shape[1]
            else:
                count = value.numel()
            self.read[value.untyped_storage().data_ptr()].append(min(count, table.numel()))
        return found


def picked_elements(module: LooksUp) -> int:
    """Elements of parameters that a run reads, each call by itself."""
    with torch.no_grad(), Picked(module) as seen:
        module(module.indices)
    return sum(map(sum, seen.read.values()))


def moved_bytes(module: LooksUp, graph: sp.Graph) -> int:
    """What must cross: the inputs, the outputs, and what is picked of tables of float32."""
    ends = {*graph.inputs, *graph.outputs}
    return 4 * picked_elements(module) + sum(map(graph.size_bytes, ends))
