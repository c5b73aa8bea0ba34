"""Values without elements, as caches begin with them: nothing of them is stored or read."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.importers.torch.source_model import SourceModel
from tests.importers.replay import replay


class Grown(nn.Module):
    """A cache as transformers' decoders keep it: it starts empty, and grows by what is new."""

    def __init__(self) -> None:
        super().__init__()
        self.new = nn.Linear(4, 4)
        self.register_buffer("none", torch.zeros(0, 4))

    def forward(self, x: torch.Tensor, past: torch.Tensor) -> Any:
        kept = torch.cat([torch.tensor([]), past], -2)
        grown = torch.cat([kept, self.new(x), self.none, x[:0]], -2)
        return grown, grown[:0] * 2


class Written(nn.Module):
    """Writes into a part that has no elements, and sums over none."""

    def __init__(self) -> None:
        super().__init__()
        self.new = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        y = self.new(x)
        y[3:] += 1
        return y + past[:0].sum(0) + torch.bmm(past[None, :, :0], past[None, :0, :]).sum()


@pytest.mark.parametrize("kind", [Grown, Written])
def test_what_is_empty_is_neither_stored_nor_read(kind: type[nn.Module]) -> None:
    module, inputs = kind().eval(), (torch.randn(1, 4), torch.randn(3, 4))
    graph = sp.from_torch(module, inputs)
    assert all(tensor.elements for tensor in graph.tensors.values())
    torch.testing.assert_close(
        replay(graph, SourceModel(module, inputs), inputs), module(*inputs), rtol=0, atol=0
    )
    for planner in ("cosma", "fusion", "overlap", "streaming"):
        plan = sp.plan(graph, planner, 1024)
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-6


def test_a_grown_cache_reads_row_by_row() -> None:
    """The empty parts have no say in where a row comes from."""
    module, inputs = Grown().eval(), (torch.randn(1, 4), torch.randn(3, 4))
    graph = sp.from_torch(module, inputs)
    parts = [part for op in graph.operators for part in op.parts if part.kind == "cat"]
    assert [part.relation for part in parts] == [("cat", 0)] * len(parts)
    assert graph.macs == 16


class Masked(nn.Module):
    """Masks joined by Python's operators."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        mask = (x > 0) & (y > 0) | (x > 1)
        mask ^= y > 1
        return torch.where(mask, x, y)


def test_operators_of_python_have_their_names() -> None:
    from planners.core.caveats import caveats

    inputs = (torch.randn(3, 4), torch.randn(3, 4))
    graph = sp.from_torch(Masked(), inputs)
    kinds = {part.kind for op in graph.operators for part in op.parts}
    assert {"bitwise_and", "bitwise_or", "bitwise_xor"} <= kinds
    assert not caveats(graph).uncounted
    torch.testing.assert_close(
        replay(graph, SourceModel(Masked(), inputs), inputs), Masked()(*inputs)
    )
