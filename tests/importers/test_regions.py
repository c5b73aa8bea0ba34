"""Regions that run under a setting are read like the rest; modules keep nothing of an import."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.importers.torch.source_model import SourceModel
from tests.importers.replay import replay


class Careful(nn.Module):
    """Attention of vision models: its sums in float32, whatever runs around it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.first(x)
        with torch.autocast("cpu", enabled=False):
            z = self.second(y.float()) * 2
            same = y
        with torch.enable_grad():
            w = z + 1
        return w * z, same, w


def test_the_calls_of_a_region_are_calls_of_the_network() -> None:
    module, x = Careful().eval(), torch.randn(2, 4)
    graph = sp.from_torch(module, x)
    assert [op.kind for op in graph.operators] == ["linear", "linear", "add", "mul"]
    assert graph.macs == 2 * 2 * 4 * 4
    torch.testing.assert_close(
        replay(graph, SourceModel(module, x), (x,)), module(x), rtol=0, atol=0
    )
    for planner in ("cosma", "streaming"):
        assert sp.execute(sp.plan(graph, planner, 1024), module, x).bit_exact


def test_an_exported_program_with_a_region_stays_as_it_was() -> None:
    module, x = Careful().eval(), torch.randn(2, 4)
    with torch.no_grad():
        program = torch.export.export(module, (x,))
    before = str(program.graph)
    assert len(sp.from_torch(program).operators) == 4
    assert str(program.graph) == before


class Lower(nn.Module):
    """A region in another type."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.layer(x)


def test_a_region_in_another_type_is_refused() -> None:
    with pytest.raises(sp.ImportFailed, match=r"runs under autocast to torch\.bfloat16: import"):
        sp.from_torch(Lower(), torch.randn(2, 4))


class Remembering(nn.Module):
    """Tables that it makes once for each size and keeps, as some attention biases are."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.by_size: dict[int, torch.Tensor] = {}
        self.sizes: list[int] = [3]
        self.seen: set[int] = set()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        if n not in self.by_size:
            self.by_size[n] = torch.arange(4.0) * n
            self.sizes.append(n)
            self.seen.add(n)
        return self.layer(x) + self.by_size[n]


def test_what_a_module_keeps_in_containers_is_as_before() -> None:
    module, x = Remembering().eval(), torch.randn(2, 4)
    kept = module.by_size
    graph = sp.from_torch(module, x)
    assert (module.by_size, module.sizes, module.seen) == ({}, [3], set())
    assert module.by_size is kept
    assert sp.execute(sp.plan(graph), module, x).bit_exact
    assert torch.is_tensor(module(x) + 0)


class Hooked(nn.Module):
    """Registers hooks on its parts in its first run, once, as transformers' models do."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.ready = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.ready:
            self.layer.register_forward_hook(lambda part, given, out: out + 1)
            self.ready = True
        return self.layer(x)


def test_hooks_of_a_first_run_are_there_once() -> None:
    module, x = Hooked().eval(), torch.randn(2, 4)
    graph = sp.from_torch(module, x)
    assert (module.ready, len(module.layer._forward_hooks)) == (False, 0)
    assert sp.execute(sp.plan(graph), module, x).bit_exact
