"""Plans run in arenas of exactly their bytes, and equal eager PyTorch in every bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.program import Load


def test_resnet50_runs_bit_for_bit_in_an_arena_of_its_budget() -> None:
    graph = sp.load("resnet50", bytes_per_element=4)
    plan = sp.plan(graph, budget="MR")
    done = sp.execute(plan)
    assert done.bit_exact
    assert done.arena_bytes == plan.budget_bytes == sp.budgets(graph).MR


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("densenet121", (1, 3, 64, 64), {"budget": "MR"}),
        ("densenet121", (1, 3, 64, 64), {"budget": "MH", "replacement": "greedy"}),
        ("googlenet", (1, 3, 96, 96), {"budget": "MR", "replacement": "belady"}),
        ("swin_t", (1, 3, 64, 64), {"budget": "MR"}),
        ("convnext_tiny", (1, 3, 64, 64), {"budget": "MR", "parameters": True}),
        ("shufflenet_v2_x0_5", (2, 3, 96, 96), {"budget": "MR", "schedule": "mpmf"}),
        ("lraspp_mobilenet_v3_large", (1, 3, 96, 96), {"budget": "MR"}),
    ],
)
def test_a_network_that_spills_runs_bit_for_bit(
    name: str, shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    plan = sp.plan(sp.load(name, input_shape=shape), **options)
    sp.check(plan)
    done = sp.execute(plan)
    assert done.bit_exact
    assert done.max_abs_error == 0
    assert done.arena_bytes == 4 * plan.budget_bytes


@pytest.mark.parametrize("granularity", ["aten", "folded", "fused"])
def test_every_granularity_runs_bit_for_bit(granularity: Any) -> None:
    graph = sp.load("vit_b_16", granularity=granularity)
    assert sp.execute(sp.plan(graph, budget="MR")).bit_exact


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
    import planners.simulator.execute as executor

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
