"""What a module writes into is read as written, by `from_torch` and from a `.pt2` file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.importers.passes import GRANULARITIES
from tests.importers.once import ExportedOnce
from tests.importers.replay import replay
from tests.importers.writes import BODIES, Writes


def given() -> tuple[torch.Tensor, ...]:
    return (torch.randn(1, 4, 16, 16, generator=torch.Generator().manual_seed(1)),)


def eager(module: nn.Module) -> Any:
    with torch.no_grad():
        return module(*given())


@cache
def exported(body: str) -> ExportedOnce:
    return ExportedOnce(Writes(BODIES[body]), given())


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("body", BODIES)
def test_operators_compute_what_eager_does(body: str, granularity: Any) -> None:
    made = exported(body)
    found = replay(made.graph(granularity), made.model, given())
    torch.testing.assert_close(found, eager(made.module), rtol=0, atol=0)


@pytest.mark.parametrize("body", BODIES)
def test_a_file_gives_the_graph_of_its_module(body: str, tmp_path: Path) -> None:
    module = Writes(BODIES[body]).eval()
    with torch.no_grad():
        program = torch.export.export(module, given(), strict=False)
    torch.export.save(program, tmp_path / "net.pt2")
    whole = sp.from_torch(module, given(), name="net", bytes_per_element="native").to_json()
    assert {**sp.from_pt2(tmp_path / "net.pt2").to_json(), "source": {}} == whole


def test_a_canvas_keeps_both_convolutions() -> None:
    graph = sp.from_torch(Writes(BODIES["new_zeros"]), given())
    assert [op.kind for op in graph.operators] == ["conv2d", "slice_scatter", "conv2d"]
    assert [graph.size_bytes(name) for name in graph.outputs] == [8 * 18 * 18]
    assert graph.macs == 16 * 16 * 8 * 4 * 9 + 18 * 18 * 8 * 8 * 9


def shifted(m: Any, x: torch.Tensor) -> Any:
    y = m.a(x)
    y[:, 1:] = y[:, :-1]
    return y


def test_what_cannot_be_read_right_is_refused() -> None:
    with pytest.raises(sp.ImportFailed, match=r"copy_ writes into what it reads: clone\(\) it"):
        sp.from_torch(Writes(shifted), given())


def test_a_planned_canvas_executes() -> None:
    module = Writes(BODIES["tiles"]).eval()
    graph = sp.from_torch(module, given())
    for planner in ("cosma", "streaming"):
        assert sp.execute(sp.plan(graph, planner, "64KiB"), module, given()).bit_exact
