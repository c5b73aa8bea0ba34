"""Random ONNX models: shapes, types, MACs and what is read, by onnx itself; plans are valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.core.access import needs
from tests.cases import cases
from tests.importers.onnx_facts import wrong_facts
from tests.importers.random_onnx import RandomOnnx

PLANNERS = ("cosma", "fusion", "overlap", "streaming")


@pytest.mark.parametrize("seed", range(cases(16)))
def test_what_is_read_is_so_and_plans_are_valid(seed: int, tmp_path: Path) -> None:
    made = RandomOnnx(seed)
    path = tmp_path / "random.onnx"
    path.write_bytes(made.model.SerializeToString())
    graph = sp.from_onnx(path)
    assert list(wrong_facts(made, graph)) == []
    for planner in PLANNERS[seed % 2 :: 2] if graph.operators else ():
        sp.check(sp.plan(graph, planner, 1 << 18, time_limit=600))


def test_reading_less_than_is_needed_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RandomOnnx(1)
    path = tmp_path / "random.onnx"
    path.write_bytes(made.model.SerializeToString())
    graph = sp.from_onnx(path)

    def narrowed(*asked: Any) -> Any:
        return [(name, tuple((a, b - 1) for a, b in box)) for name, box in needs(*asked)]

    monkeypatch.setattr("tests.importers.onnx_facts.needs", narrowed)
    assert any("needs more than" in fault for fault in wrong_facts(made, graph))
