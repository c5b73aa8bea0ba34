"""Orders within blocks: less at once, the same network, and plans that say so."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import load_machine, with_scratchpad
from planners.core.objective import Objective
from planners.core.progress import Clock
from planners.joined.build import JoinedBuilder
from planners.joined.options import JoinedOptions
from planners.joined.subgraph import reordered
from planners.overlap.order.orders import all_distances, footprints
from planners.overlap.search.chain import cuts
from tests.cases import cases
from tests.joined.first import first_plan
from tests.joined.networks import Crossed
from tests.joined.test_planner import ALONE, least_of
from tests.random_modules import random_case


def crossed(side: int = 32) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...], sp.Graph]:
    torch.manual_seed(0)
    module, inputs = Crossed(), (torch.randn(1, 3, side, side),)
    return module, inputs, sp.from_torch(module, inputs)


def peak(graph: sp.Graph) -> int:
    return max(footprints(graph, all_distances(graph), range(len(graph.operators))))


def test_one_branch_after_the_other_needs_less() -> None:
    _, _, graph = crossed()
    other = reordered(graph, cuts(graph), Clock(5.0))
    assert other is not None
    assert peak(other) < peak(graph)
    assert {*other.operators} == {*graph.operators}


def test_a_block_that_fits_in_another_order_only_stays_on_chip() -> None:
    module, inputs, graph = crossed()
    other = reordered(graph, cuts(graph), Clock(5.0))
    assert other is not None
    budget = (peak(other) + peak(graph)) // 2
    machine = with_scratchpad(load_machine("npu_ideal"), budget)
    first = JoinedBuilder(graph, machine, budget, "latency", Clock(600.0))
    second = first.in_other_order(Clock(60.0))
    assert second is not None
    fit = [[(w.first, w.stop) for w in b.blocks(2000).ways()] for b in (first, second)]
    assert (1, 10) in fit[1]
    assert (1, 10) not in fit[0]

    aim = Objective("latency", ProblemFloors(graph, machine, "counted"), budget)
    asked = JoinedOptions(objective="latency", others=False, weights="counted")
    plan = first_plan(second, aim, asked).plan
    assert sp.check(plan).traffic_bytes == plan.claims.compulsory_bytes
    (segment,) = plan.details.stretches
    assert "an order that needs less" in segment.why
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


def test_the_planner_takes_the_other_order_where_it_is_better() -> None:
    _, _, graph = crossed(side=2)
    other = reordered(graph, cuts(graph), Clock(5.0))
    assert other is not None
    budget = (peak(other) + peak(graph)) // 2
    asked = {"objective": "latency", "time_limit": 30, "improve": False, **ALONE}
    plan = sp.plan(graph, "joined", budget, machine="npu_ideal", **asked)
    (segment,) = plan.details.stretches
    assert "an order that needs less" in segment.why


def test_the_order_of_the_model_where_none_needs_less() -> None:
    graph = sp.load("mcunet_in0")
    assert reordered(graph, cuts(graph), Clock(5.0)) is None
    assert reordered(crossed()[2], cuts(crossed()[2]), Clock(0.0)) is None


@pytest.mark.parametrize("seed", range(cases(4, 40)))
def test_random_modules_in_orders_within_blocks(seed: int) -> None:
    """Each block has its own operators, in an order that can run; plans compute the same."""
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    marks = cuts(graph)
    other = reordered(graph, marks, Clock(2.0))  # A graph in an impossible order is refused.
    if other is None:
        return
    for first, stop in pairwise(marks):
        assert {*other.operators[first:stop]} == {*graph.operators[first:stop]}
    budget = 2 * least_of(graph)
    plan = sp.plan(graph, "joined", budget, objective="latency", time_limit=2, **ALONE)
    assert sp.check(plan).peak_bytes <= budget
    if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
        assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4
