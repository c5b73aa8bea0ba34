"""Plans of any network: valid, never above COSMA's least peak, their claims the program's."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.progress import Clock
from planners.overlap.planner import tractable_distances
from planners.overlap.search.dag import best_layout
from tests.cases import cases
from tests.importers.few_blocks import few_blocks
from tests.overlap.random_nets import random_net


@pytest.mark.parametrize("operators", [3, 6, 9])
@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"objective": "ram"}], ids=str)
def test_random_networks_have_valid_plans(operators: int, options: dict[str, object]) -> None:
    for seed in range(cases(3, 32)):
        graph, _ = random_net(seed, operators)
        plan = sp.plan(graph, "overlap", "1MB", time_limit=600, **options)
        report = sp.check(plan)
        assert plan.claims.objective_bytes <= sp.budgets(graph).MP
        assert (
            report.peak_bytes <= plan.claims.objective_bytes == plan.details.pool.layout.pool_bytes
        )


def test_repeated_work_buys_ram() -> None:
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, 32, 32))
    plain = sp.plan(graph, "overlap", "1MB")
    least = sp.plan(graph, "overlap", plain.claims.objective_bytes - 1)
    assert sp.check(plain).macs == graph.macs < sp.check(least).macs
    assert least.claims.objective_bytes < plain.claims.objective_bytes
    extra = {point.ram_bytes: point.extra_macs for point in least.details.pool.front}
    assert sp.check(least).macs - graph.macs == extra[least.claims.objective_bytes]


def test_a_budget_below_the_least_says_what_binds() -> None:
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, 32, 32))
    with pytest.raises(sp.BudgetTooSmall, match="the least RAM by overlap is"):
        sp.plan(graph, "overlap", 100)


def test_unknown_options_are_refused() -> None:
    graph = sp.load("vmcu:S4")
    with pytest.raises(sp.BadInput, match="overlap has no option 'bands'"):
        sp.plan(graph, "overlap", "1MB", bands=4)
    with pytest.raises(sp.BadInput, match="objective='speed': choose one of macs, ram, latency"):
        sp.plan(graph, "overlap", "1MB", objective="speed")
    with pytest.raises(sp.BadInput, match="fuse must be True or False, not 'never'"):
        sp.plan(graph, "overlap", "1MB", fuse="never")


def test_parameters_are_read_in_place() -> None:
    graph = sp.load("vmcu:S4")
    plan = sp.plan(graph, "overlap", "1MB", "stm32f411", parameters=True)
    report = sp.check(plan)
    assert report.compulsory_bytes >= graph.parameter_count
    assert plan.program.homes["parameter"] == "flash"


def test_operators_that_mix_everything_lie_apart() -> None:
    """A program would name all segments for each segment; apart they are one instruction."""
    graph = sp.load("vit_b_32")
    kept = tractable_distances(graph)
    joint = best_layout(graph, Clock(600), kept)
    assert joint.layout.pool_bytes <= sp.budgets(graph).MP


def test_a_saved_plan_is_the_same_plan(tmp_path: object) -> None:
    graph = sp.load("vmcu:S8")
    plan = sp.plan(graph, "overlap", "1MB")
    path = f"{tmp_path}/plan.json"
    plan.save(path)
    again = sp.Plan.load(path)
    assert again.details == plan.details
    assert sp.check(again).macs == graph.macs


def test_no_bound_that_is_told_is_above_a_plan() -> None:
    """A bound of operators that run alone is none for those that run together."""
    told: list[sp.Progress] = []
    graph = sp.from_torch(few_blocks("mobilenet"), torch.ones(1, 3, 32, 32))
    plan = sp.plan(graph, "overlap", "1 MiB", progress=told.append)
    bounds = [now.bound_bytes for now in told if now.bound_bytes is not None]
    assert bounds
    assert max(bounds) <= plan.claims.objective_bytes


def test_sums_of_elements_that_are_wider_than_an_accumulator() -> None:
    class Bottleneck(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.slid = nn.Conv2d(4, 8, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.back = nn.Conv2d(8, 4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.back(self.slid(torch.relu(self.wide(x))))

    graph = sp.from_torch(Bottleneck(), (torch.randn(1, 4, 5, 8),), bytes_per_element=8)
    with pytest.raises(sp.BudgetTooSmall) as refused:
        sp.plan(graph, "overlap", 8, objective="ram")
    plan = sp.plan(graph, "overlap", refused.value.need_bytes, objective="ram")
    assert sp.check(plan).extent_bytes == refused.value.need_bytes
