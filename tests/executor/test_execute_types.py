"""Plans that count each type as it is run in arenas of just their bytes, equal to PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.program import AddressSpace, Memory, Operand, Piece, Region
from planners.executor.arena import Arena, ByteFormat
from planners.simulator.memories import onchip_bytes
from tests.simulator.programs import plan_of
from tests.simulator.summed import SummedLayers
from tests.simulator.typed_modules import typed_cases
from tests.test_valid_plans import plans

WAYS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("cosma", {"parameters": True}),
    ("fusion", {"channel_tile": 2}),
    ("overlap", {"parameters": True}),
    ("streaming", {}),
)


@pytest.mark.parametrize("name", typed_cases())
def test_each_type_runs_in_its_own_bytes(name: str) -> None:
    case = typed_cases()[name]
    graph = sp.from_torch(case.module, case.inputs).with_bytes_per_element("native")
    for planner, options in WAYS:
        *_, plan = plans(graph, planner, options)
        done = sp.execute(plan, case.module, case.inputs)
        assert done.max_abs_error < 1e-3, (planner, options)
        assert done.arena_bytes == onchip_bytes(plan.program, plan.machine)


def test_bytes_are_those_of_the_tensors() -> None:
    case = typed_cases()["quantised"]
    graph = sp.from_torch(case.module, case.inputs).with_bytes_per_element("native")
    maps = {name: t for name, t in graph.tensors.items() if t.shape == (1, 5, 7, 5)}
    sizes = {t.dtype: graph.size_bytes(name) for name, t in maps.items()}
    assert sizes["int8"] * 4 == sizes["float32"] == 4 * 5 * 7 * 5


def test_sums_of_halves_are_floats_until_they_are_complete() -> None:
    torch.manual_seed(0)
    module = torch.nn.Conv2d(4, 3, 3, bias=False).half()
    case = SummedLayers(module, (torch.randn(1, 4, 5, 5).half(),), 5, types={})
    plan = plan_of(case.graph, case.program(), case.budget_bytes)
    done = sp.execute(plan, case.module, case.inputs)
    assert done.max_abs_error < 1e-2
    assert done.outputs.dtype == torch.float16


def test_what_no_arena_holds_is_refused_by_name() -> None:
    case = typed_cases()["masked"]
    graph = sp.from_torch(case.module, case.inputs).with_bytes_per_element("native")
    tensors = {
        name: replace(t, dtype="int4" if t.kind == "parameter" else t.dtype)
        for name, t in graph.tensors.items()
    }
    plan = sp.plan(replace(graph, tensors=tensors))
    with pytest.raises(sp.BadInput, match="no elements of int4, which '.*' is made of: plan with"):
        sp.execute(plan, case.module, case.inputs)


def test_a_value_of_another_type_is_refused() -> None:
    arena = Arena(AddressSpace([Memory("sram", 64)]), ByteFormat(native=True, scale=1))
    operand = Operand(Piece("x", ((0, 4),)), Region("sram", 3, 4))
    arena.write(operand, torch.ones(4, dtype=torch.int8), whole=True)
    assert arena.read(operand).tolist() == [1, 1, 1, 1]
    with pytest.raises(sp.BadInput, match="'x' is torch.float32, which is not the graph's type"):
        arena.write(operand, torch.ones(4), whole=True)
