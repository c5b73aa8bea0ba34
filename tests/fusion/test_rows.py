"""Rows that an operator needs for its own: enough for any strip that a group makes."""

from __future__ import annotations

import pytest

import planners as sp
from planners.fusion.rows import RowTables, box_of, rows_in, rows_of
from planners.graph.access import needs


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
