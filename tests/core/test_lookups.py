"""Of a table that is looked up, the rows that are read cross the interface, not all of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.lookups import with_rows_read
from tests.importers.lookup_modules import LooksUp, moved_bytes
from tests.importers.tflite_models import TfliteWriter


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sp.Graph:
    """1,000 rows of 64 bytes, of which four are read."""
    held = numpy_helper.from_array(np.ones((1000, 16), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["w", "x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT64, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 16])],
        [held],
    )
    path: Path = tmp_path_factory.mktemp("table") / "table.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    return sp.load(path)


@pytest.mark.parametrize(
    ("planner", "weights"),
    [("cosma", "in-place"), ("joined", "in-place"), ("streaming", "counted")],
)
def test_four_rows_of_a_thousand(table: sp.Graph, planner: str, weights: str) -> None:
    plan = sp.plan(table, planner, 2048, weights=weights, time_limit=2)
    assert plan.claims.offchip_bytes == 4 * 64 + 32 + 256 == sp.check(plan).traffic_bytes
    assert plan.graph.tensors["w"].table == "w"
    again = sp.Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.graph == plan.graph


def test_a_table_that_is_loaded_whole_takes_all_of_its_bytes(table: sp.Graph) -> None:
    """As the paper has every tensor."""
    with pytest.raises(sp.BudgetTooSmall, match="64288"):
        sp.plan(table, "cosma", 2048, weights="counted")


def test_floors_know_rows(table: sp.Graph) -> None:
    machine = sp.load_machine("npu_small")
    for graph in (table, with_rows_read(table)):
        assert ProblemFloors(graph, machine, "in-place").compulsory_bytes == 544


@pytest.mark.parametrize(
    ("kind", "options", "kinds"),
    [
        ("GATHER", {"options": "GatherOptions", "Axis": 0}, ["embedding"]),
        ("EMBEDDING_LOOKUP", {}, ["embedding"]),
        ("GATHER_ND", {"options": "GatherNdOptions"}, ["index"]),
    ],
)
def test_rows_in_a_tflite_file(
    kind: str, options: dict[str, Any], kinds: list[str], tmp_path: Path
) -> None:
    w = TfliteWriter()
    shape = (3, 1) if kind == "GATHER_ND" else (3,)
    x, y = w.tensor(shape, "int32", name="x"), w.tensor((3, 8), name="y")
    table = w.weight((100, 8))
    w.inputs, operands = [x], [table, x] if kind.startswith("GATHER") else [x, table]
    w.outputs = [w.operator(kind, operands, [y], **options)]
    graph = sp.load(w.save(tmp_path / "net.tflite"))
    assert [part.kind for op in graph.operators for part in op.parts] == kinds
    plan = sp.plan(graph, "cosma", "1KiB", weights="in-place")
    assert plan.claims.offchip_bytes == 3 * 4 + 3 * 32 + 3 * 32


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 6, 7, 8, 9, 10, 11])
def test_as_many_bytes_as_a_run_picks(seed: int) -> None:
    module = LooksUp(seed)
    graph = sp.from_torch(module, (module.indices,), granularity="aten", bytes_per_element="native")
    plan = sp.plan(graph, "cosma", "1MiB", weights="in-place", time_limit=600)
    assert plan.claims.offchip_bytes == moved_bytes(module, graph)
    assert sp.execute(plan, module, (module.indices,)).max_abs_error < 1e-5


class Twice(nn.Module):
    """A table that is looked up by what is given, and by what is computed from it."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.layer = nn.Embedding(200, 8), nn.Linear(8, 8)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        x = self.layer(self.table(i))
        return x + self.table(x.argmax(-1))  # type: ignore[no-any-return]


def test_rows_are_streamed_where_it_is_known_ahead_which(tmp_path: Path) -> None:
    module, indices = Twice().eval(), torch.tensor([1, 150, 7])
    graph = sp.from_torch(module, (indices,))
    plan = sp.plan(graph, "streaming", "1MiB")
    tables = {t.name: t.shape for t in plan.graph.tensors.values() if "table" in t.name}
    assert tables == {"table.weight of embedding": (3, 8), "table.weight": (200, 8)}
    assert sp.execute(plan, module, (indices,)).max_abs_error < 1e-5
    in_place = sp.plan(graph, "joined", "1MiB", weights="in-place", time_limit=1)
    assert sum(bool(t.table) for t in in_place.graph.tensors.values()) == 2
    assert sp.execute(in_place, module, (indices,)).max_abs_error < 1e-5


@pytest.mark.parametrize("planner", ["cosma", "streaming"])
def test_a_plan_that_says_fewer_rows_is_not_executed(planner: str) -> None:
    """It is true to its own graph, so that `check` has nothing to say; the model knows better."""
    module, indices = Twice().eval(), torch.tensor([1, 150, 7])
    graph = sp.from_torch(module, (indices,))
    name = "table.weight of embedding"
    plan = sp.plan(graph, planner, "1MiB", weights="in-place")
    tensors = dict(plan.graph.tensors)
    tensors[name] = replace(tensors[name], shape=(1, 8))
    fewer = replace(plan.graph, tensors=tensors)
    forged = sp.plan(fewer, planner, "1MiB", weights="in-place")
    assert sp.check(forged).traffic_bytes < sp.check(plan).traffic_bytes
    with pytest.raises(sp.InvalidPlan, match="looks up 24 elements of table.weight, not the 8"):
        sp.execute(forged, module, (indices,))


def test_a_slice_of_a_table_is_no_more_than_the_slice() -> None:
    class Sliced(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.positions = nn.Parameter(torch.randn(64, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.positions[3:8]

    module, x = Sliced().eval(), torch.randn(5, 16)
    graph = sp.from_torch(module, (x,), bytes_per_element=4)
    for planner in ("cosma", "joined", "overlap"):
        plan = sp.plan(graph, planner, "4KiB", weights="in-place", time_limit=1)
        assert plan.claims.offchip_bytes == 3 * 5 * 16 * 4
        assert sp.execute(plan, module, (x,)).max_abs_error < 1e-5
