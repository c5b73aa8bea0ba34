"""Operators of a library, work on parameters alone, kept views and mixed types: read as they are.

`benchmarks/random_modules.py --odder` tries thousands.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import planners as sp
from planners.core.caveats import caveats
from planners.importers.torch.source_model import SourceModel
from tests.importers import odder_steps
from tests.importers.odder_steps import ODDER
from tests.importers.random_modules import StyledModule, fresh
from tests.importers.replay import replayed
from tests.odd_modules import OddModule


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 8])
def test_all_that_it_gives_is_what_eager_gives(seed: int) -> None:
    module = StyledModule(seed, ODDER)
    graph = sp.from_torch(module, fresh(module))
    outputs, kept = replayed(graph, SourceModel(module, fresh(module)), fresh(module))
    run = copy.deepcopy(module)
    with torch.no_grad():
        expected = run(*fresh(module))
    torch.testing.assert_close(outputs, expected, rtol=0, atol=0)
    buffers = dict(run.named_buffers())
    torch.testing.assert_close({**buffers, **kept}, buffers, rtol=0, atol=0)


def _written(m: Any, x: torch.Tensor) -> torch.Tensor:
    y = m.a(x)
    odder_steps.add_to(y, x)
    return m.b(y)  # type: ignore[no-any-return]


def _written_in_part(m: Any, x: torch.Tensor) -> torch.Tensor:
    y = m.a(x)
    odder_steps.add_to(y[:, :4], x[:, :4])
    return m.b(y) + y[:, 4:].sum()  # type: ignore[no-any-return]


def _called_as_torchs(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.b(odder_steps.relu(m.a(x)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("run", [_written, _written_in_part, _called_as_torchs])
@pytest.mark.parametrize("planner", ["cosma", "fusion", "streaming", "joined"])
def test_plans_run_what_a_library_does(run: Callable[..., Any], planner: str) -> None:
    module, x = OddModule(run, a=nn.Linear(8, 8), b=nn.Linear(8, 8)).eval(), torch.randn(2, 8)
    graph = sp.from_torch(module, (x,))
    plan = sp.plan(graph, planner, "4KiB", time_limit=0.5 if planner == "joined" else 2)
    sp.check(plan)
    assert sp.execute(plan, module, (x,)).max_abs_error == 0


def test_what_nothing_is_known_of_is_said() -> None:
    module = OddModule(_called_as_torchs, a=nn.Linear(8, 8), b=nn.Linear(8, 8)).eval()
    graph = sp.from_torch(module, (torch.randn(2, 8),))
    assert [op.kind for op in graph.operators] == ["linear", "spillway_tests.relu", "linear"]
    assert caveats(graph).opaque == (graph.operators[1].name,)


def test_one_that_writes_and_returns_something_else_is_refused() -> None:
    module = OddModule(lambda m, x: odder_steps.drawn_into(x, m.a(x)), a=nn.Linear(8, 8)).eval()
    with pytest.raises(sp.ImportFailed, match="drawn_into writes into an argument besides"):
        sp.from_torch(module, (torch.randn(2, 8),))


class LowRank(nn.Module):
    """A linear layer with an adapter, whose product is of parameters alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64, bias=False)
        self.down, self.up = nn.Parameter(torch.randn(64, 4)), nn.Parameter(torch.randn(4, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.layer.weight + self.down @ self.up)


def test_work_on_parameters_alone_is_counted() -> None:
    module, x = LowRank().eval(), torch.randn(2, 64)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(x)
    graph = sp.from_torch(module, (x,))
    assert graph.macs == 64 * 4 * 64 + 2 * 64 * 64 == counter.get_total_flops() // 2


def test_it_is_counted_for_each_reader_that_runs_it() -> None:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        queries = m.q @ m.r
        return m.a(x @ queries) + m.b(x @ queries)  # type: ignore[no-any-return]

    parts = {"a": nn.Linear(6, 6), "b": nn.Linear(6, 6)}
    module = OddModule(run, q=torch.randn(8, 3), r=torch.randn(3, 6), **parts).eval()
    graph = sp.from_torch(module, (torch.randn(2, 8),))
    readers = sum("matmul" in [p.kind for p in op.parts] for op in graph.operators)
    assert readers == 2
    assert graph.macs == readers * (8 * 3 * 6 + 2 * 8 * 6) + 2 * 2 * 6 * 6


@pytest.mark.parametrize("norm", ["weight_norm", "orthogonal"])
def test_parametrizations_are_counted(norm: str) -> None:
    made = getattr(nn.utils.parametrizations, norm)(nn.Linear(6, 6))
    x = torch.randn(2, 6)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        made(x)
    assert sp.from_torch(made.eval(), (x,)).macs == counter.get_total_flops() // 2


def test_an_axis_of_one_element_is_no_sum() -> None:
    module = OddModule(lambda m, x: torch.einsum("...ij,...ik->...jk", x, x)).eval()
    for rows in (1, 2):
        x = torch.randn(3, rows, 4)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            module(x)
        assert sp.from_torch(module, (x,)).macs == counter.get_total_flops() // 2
