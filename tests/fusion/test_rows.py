"""Rows that an operator needs for its own: enough for any strip that a group makes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.access import needs
from planners.fusion.tile.axes import box_of, rows_in, rows_of
from planners.fusion.tile.rows import RowTables


@pytest.mark.parametrize("name", ["maxvit_t", "swin_t", "vit_b_16", "squeezenet1_1"])
def test_a_strip_needs_no_more_than_the_tables_say(name: str) -> None:
    """Through a reshape, rows together may need more than each of them alone."""
    graph = sp.load(name)
    tables, seen = RowTables(graph), set()
    for position, op in enumerate(graph.operators):
        rows = tables[position]
        out = graph.tensors[op.outputs[0]]
        size = rows_of(out)
        if rows.content in seen or size == 1:
            continue
        seen.add(rows.content)
        height = max(1, size // 4)
        for low in range(0, size, height):
            box = box_of(out, (low, min(size, low + height)))
            wanted = dict(needs(graph, op, out.name, box))
            for window in rows.windows:
                if window.tensor in wanted:
                    first, stop = rows_in(graph.tensors[window.tensor], wanted[window.tensor])
                    assert window.start[low] <= first, (op.name, low)
                    assert stop <= window.upto[min(size, low + height)], (op.name, low)
    assert len(seen) > 5


class Positions(nn.Module):
    """Each row gets a position of its own, a parameter, before operators on its channels."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.randn(1, 48, 64))
        self.linear = nn.Linear(64, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(torch.sin(x) + self.positions))


@pytest.mark.parametrize("budget", range(4_000, 20_000, 1_000))
def test_parameters_with_rows_serve_every_strip(budget: int) -> None:
    module, inputs = Positions(), (torch.randn(1, 48, 64),)
    graph = sp.from_torch(module, inputs, name="positions")
    try:
        plan = sp.plan(graph, "fusion", budget)
    except sp.BudgetTooSmall:
        assert budget < 10_000
        return
    sp.check(plan)
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-5
