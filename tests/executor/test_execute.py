"""Plans run in arenas of exactly their bytes, and equal eager PyTorch in every bit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.program import Load
from tests.importers.few_blocks import few_blocks

FEW = "a few blocks of "
"""Before a family: a small network of it in place of a whole one."""


@cache
def network(name: str, shape: tuple[int, ...], granularity: str = "fused") -> tuple[Any, ...]:
    """A graph, and what `execute` is given with its plans: of the catalogue nothing."""
    if not name.startswith(FEW):
        return (sp.load(name, input_shape=shape, granularity=granularity),)
    module, inputs = few_blocks(name.removeprefix(FEW)), (torch.randn(shape),)
    graph = sp.from_torch(module, inputs, granularity=granularity, bytes_per_element=1)
    return graph, module, inputs


@pytest.mark.parametrize(
    ("name", "side"),
    [(f"{FEW}resnet", 40), pytest.param("resnet50", 224, marks=pytest.mark.long)],
)
def test_a_residual_network_runs_bit_for_bit_in_an_arena_of_its_budget(
    name: str, side: int
) -> None:
    graph, *model = network(name, (1, 3, side, side))
    graph = graph.with_bytes_per_element(4)
    plan = sp.plan(graph, budget="MR")
    done = sp.execute(plan, *model)
    assert done.bit_exact
    assert done.arena_bytes == plan.budget_bytes == sp.budgets(graph).MR


def whole(name: str, shape: tuple[int, ...], options: dict[str, Any]) -> Any:
    return pytest.param(name, shape, options, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        (f"{FEW}densenet", (1, 3, 32, 32), {"budget": "MR"}),
        (f"{FEW}densenet", (1, 3, 32, 32), {"budget": "MH", "replacement": "greedy"}),
        (f"{FEW}inception", (1, 3, 32, 32), {"budget": "MR", "replacement": "belady"}),
        (f"{FEW}swin", (1, 3, 36, 32), {"budget": "MR"}),
        (f"{FEW}convnext", (1, 3, 32, 32), {"budget": "MR", "parameters": True}),
        (f"{FEW}shufflenet", (2, 3, 64, 64), {"budget": "MR", "schedule": "mpmf"}),
        (f"{FEW}segmenter", (1, 3, 48, 48), {"budget": "MR"}),
        whole("densenet121", (1, 3, 64, 64), {"budget": "MR"}),
        whole("densenet121", (1, 3, 64, 64), {"budget": "MH", "replacement": "greedy"}),
        whole("googlenet", (1, 3, 96, 96), {"budget": "MR", "replacement": "belady"}),
        whole("swin_t", (1, 3, 64, 64), {"budget": "MR"}),
        whole("convnext_tiny", (1, 3, 64, 64), {"budget": "MR", "parameters": True}),
        whole("shufflenet_v2_x0_5", (2, 3, 96, 96), {"budget": "MR", "schedule": "mpmf"}),
        whole("lraspp_mobilenet_v3_large", (1, 3, 96, 96), {"budget": "MR"}),
    ],
)
def test_a_network_that_spills_runs_bit_for_bit(
    name: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    graph, *model = network(name, shape)
    plan = sp.plan(graph, **options)
    sp.check(plan)
    done = sp.execute(plan, *model)
    assert done.bit_exact
    assert done.max_abs_error == 0
    assert done.arena_bytes == 4 * plan.budget_bytes


@pytest.mark.parametrize("granularity", ["aten", "folded", "fused"])
@pytest.mark.parametrize(
    ("name", "side"), [(f"{FEW}vit", 32), pytest.param("vit_b_16", 224, marks=pytest.mark.long)]
)
def test_every_granularity_runs_bit_for_bit(name: str, side: int, granularity: str) -> None:
    graph, *model = network(name, (1, 3, side, side), granularity)
    assert sp.execute(sp.plan(graph, budget="MR"), *model).bit_exact


class Branches(torch.nn.Module):
    """Whole numbers, views as outputs, several inputs, and a parameter that is only reshaped."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(6))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
        z = x * self.scale.view(1, 6) + y
        order = z.argsort(dim=1)
        return {"view": z.t(), "order": order, "both": (torch.gather(z, 1, order), z.relu())}


def test_a_module_of_ones_own_with_structured_outputs() -> None:
    module, inputs = Branches().eval(), (torch.randn(4, 6), torch.randn(4, 6))
    plan = sp.plan(sp.from_torch(module, inputs), budget="MP")
    done = sp.execute(plan, module, inputs)
    assert done.bit_exact
    assert set(done.outputs) == {"view", "order", "both"}
    assert torch.equal(done.outputs["order"], done.reference["order"])


def test_a_wrong_address_spoils_the_result_even_if_nothing_checked_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import planners.executor.execute as executor

    module, inputs = Branches().eval(), (torch.randn(4, 6), torch.randn(4, 6))
    plan = sp.plan(sp.from_torch(module, inputs), budget="MP")
    items = list(plan.program.instructions)
    i, load = next((i, x) for i, x in enumerate(items) if isinstance(x, Load))
    region = load.target._replace(offset=(load.target.offset or 0) + 1)
    items[i] = replace(load, target=region)
    broken = replace(plan, program=replace(plan.program, instructions=tuple(items)))
    with pytest.raises(sp.InvalidPlan):
        sp.execute(broken, module, inputs)
    report = executor.replay(plan.graph, plan.program)
    monkeypatch.setattr(executor, "replay", lambda graph, program: report)
    assert not sp.execute(broken, module, inputs).bit_exact


def test_the_module_is_left_as_it_was() -> None:
    module, inputs = Branches(), (torch.randn(4, 6), torch.randn(4, 6))
    sp.execute(sp.plan(sp.from_torch(module, inputs)), module, inputs)
    assert module.training
    assert module.scale.requires_grad


def test_another_module_is_refused() -> None:
    module, inputs = Branches().eval(), (torch.randn(4, 6), torch.randn(4, 6))
    plan = sp.plan(sp.from_torch(module, inputs))
    with pytest.raises(sp.BadInput):
        sp.execute(plan, torch.nn.Linear(6, 6), (torch.randn(4, 6),))


def test_three_bytes_an_element_are_refused() -> None:
    plan = sp.plan(sp.load("resnet18", bytes_per_element=3))
    with pytest.raises(sp.BadInput, match="not 3"):
        sp.execute(plan)
