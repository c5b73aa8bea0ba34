"""`map` and `scan` of PyTorch are the calls of their rounds; what data decide is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.nn.attention.flex_attention import flex_attention

import planners as sp
from tests.importers.test_regions import Careful
from tests.importers.torch_state import changed, torch_state

LINEAR = nn.Linear(8, 8)
CELL = nn.GRUCell(8, 8)


class Looping(nn.Module):
    def __init__(self, body: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.linear, self.cell, self.body = LINEAR, CELL, body

    def forward(self, x: torch.Tensor) -> Any:
        return self.body(x)


def _scanned(x: torch.Tensor, reverse: bool = False) -> Any:
    def step(carry: torch.Tensor, row: torch.Tensor) -> Any:
        carry = LINEAR(carry + row)
        return carry, carry * 2

    return scan(step, torch.zeros(8), x, dim=0, reverse=reverse)


def _cells(x: torch.Tensor) -> Any:
    def step(carry: torch.Tensor, row: torch.Tensor) -> Any:
        carry = CELL(row, carry)
        return carry, carry.clone()

    return scan(step, torch.zeros(4, 8), x, dim=0)[1]


LOOPS: Mapping[str, tuple[Callable[[torch.Tensor], Any], int]] = {
    "map": (lambda x: torch_map(LINEAR, x), 3 * 4 * 64),
    "map over pairs": (lambda x: torch_map(lambda p: p[0] @ p[1].mT, (x, LINEAR(x))), 12 * 96),
    "scan": (lambda x: _scanned(x[0]), 4 * 64),
    "backwards": (lambda x: _scanned(x[0], reverse=True), 4 * 64),
    "recurrent": (_cells, 3 * 4 * (8 + 8) * 24),
    "scans in a map": (lambda x: torch_map(lambda part: _scanned(part)[1], x), 3 * 4 * 64),
    "between layers": (lambda x: LINEAR(torch_map(torch.sin, LINEAR(x))), 2 * 12 * 64),
}


def plain(graph: sp.Graph) -> dict[str, Any]:
    return {**graph.with_bytes_per_element("native").to_json(), "source": {}, "name": ""}


@pytest.mark.parametrize("how", LOOPS)
def test_a_loop_of_known_length_is_its_rounds(how: str, tmp_path: Path) -> None:
    body, macs = LOOPS[how]
    module, x = Looping(body).eval(), torch.randn(3, 4, 8)
    graph = sp.from_torch(module, x)
    assert graph.macs == macs
    assert sp.execute(sp.plan(graph, budget="MP", time_limit=2), module, x).bit_exact
    with torch.no_grad():
        program = torch.export.export(module, (x,))
    before = str(program.graph)
    again = sp.from_torch(program)
    assert again.macs == macs
    assert str(program.graph) == before
    torch.export.save(program, tmp_path / "net.pt2")
    assert plain(sp.from_pt2(tmp_path / "net.pt2")) == plain(again)


def test_a_map_holds_one_row_at_a_time() -> None:
    graph = sp.from_torch(
        Looping(lambda x: torch_map(lambda r: LINEAR(r).sum(0), x)), torch.ones(5, 6, 8)
    )
    kinds = [op.kind for op in graph.operators]
    assert kinds == [*["linear", "sum"] * 5, "stack"]
    rows = [graph.tensors[name].shape for op in graph.operators[:-1] for name in op.outputs]
    assert rows == [(6, 8), (8,)] * 5


def test_a_loop_over_an_open_size_has_as_many_rounds() -> None:
    module, rows = Looping(lambda x: torch_map(LINEAR, x)).eval(), torch.export.Dim("rows", max=9)
    with torch.no_grad():
        program = torch.export.export(module, (torch.ones(5, 6, 8),), dynamic_shapes=({0: rows},))
    assert sp.from_torch(program).macs == 5 * 6 * 64
    assert sp.from_torch(program, torch.ones(7, 6, 8)).macs == 7 * 6 * 64


def test_a_loop_too_long_to_be_written_out_is_refused() -> None:
    with pytest.raises(
        sp.ImportFailed, match="a loop of 20000 rounds of .* 16384 calls are the mo"
    ):
        sp.from_torch(Looping(lambda x: torch_map(torch.sin, x)), torch.ones(20000, 2))


def test_regions_of_a_file_are_read(tmp_path: Path) -> None:
    module, x = Careful().eval(), torch.randn(2, 4)
    with torch.no_grad():
        torch.export.save(torch.export.export(module, (x,)), tmp_path / "net.pt2")
    assert plain(sp.from_pt2(tmp_path / "net.pt2")) == plain(sp.from_torch(module, x))


def heads(x: torch.Tensor) -> list[torch.Tensor]:
    return [LINEAR(x)[:, None].expand(5, 2, 6, 8)] * 3


REFUSED: Mapping[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "cond": (
        lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)),
        r"control flow that depends on data \(torch.cond\) has no fixed schedule",
    ),
    "while_loop": (
        lambda x: while_loop(lambda y: y.sum() > 0, lambda y: (LINEAR(y),), (x,)),
        r"control flow that depends on data \(torch.while_loop\) has no fixed schedule",
    ),
    "flex_attention": (
        lambda x: flex_attention(*heads(x)),
        "flex_attention is not read: use torch.nn.functional.scaled_dot_product_attention",
    ),
    "associative_scan": (
        lambda x: associative_scan(lambda a, b: a + b, x, 1, combine_mode="generic"),
        "which associative_scan is made of",
    ),
}


@pytest.mark.parametrize("how", REFUSED)
def test_other_graphs_within_are_named(how: str, tmp_path: Path) -> None:
    body, line = REFUSED[how]
    module, x, before = Looping(body).eval(), torch.randn(5, 6, 8), torch_state()
    with pytest.raises(sp.ImportFailed, match=line):
        sp.from_torch(module, x)
    assert changed(before) == []
    assert sp.from_torch(Looping(lambda x: F.scaled_dot_product_attention(*heads(x))), x).macs
    if how in ("cond", "while_loop"):
        with torch.no_grad():
            torch.export.save(torch.export.export(module, (x,)), tmp_path / "net.pt2")
        with pytest.raises(sp.ImportFailed, match=line):
            sp.from_pt2(tmp_path / "net.pt2")
