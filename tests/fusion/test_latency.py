"""Fused groups with latency as first objective: valid, executed, never slower than other plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.machine import with_numbers
from planners.core.progress import Clock, Progress
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.program import emit
from planners.fusion.latency.chains import Link
from planners.fusion.latency.search import LatencySearch
from planners.fusion.latency.timed import laid_at_ends
from planners.fusion.latency.ways import FEW_STRIPS, KINDS, TimedWays, few
from planners.fusion.partition.cost_model import require_singles
from planners.fusion.tile.ways import GroupPlan
from planners.simulator.simulate import makespan_s
from planners.simulator.timing import schedule
from tests.fusion.families import MODULES, family
from tests.fusion.networks import CASES, graph_of
from tests.fusion.test_planner import budgets_of

NPU = sp.load_machine("npu_ideal")
MACHINES = {
    "as it is": NPU,
    "computes slowly": with_numbers(NPU, {"macs_per_s": 1e9}),
    "loads slowly": with_numbers(NPU, {"dma_in.bytes_per_s": 2e8}),
    "stores slowly": with_numbers(NPU, {"dma_out.bytes_per_s": 2e8}),
    "waits long": with_numbers(
        NPU, {"dma_in.latency_s": 1e-6, "dma_out.latency_s": 2e-6, "compute.latency_s": 3e-7}
    ),
}
OTHERS: tuple[dict[str, Any], ...] = (
    {},
    {"online": True},
    {"baseline": "no_fusion"},
    {"baseline": "efficient_s"},
)


# Each network on one machine, each machine with a network at least.
PAIRS = [(name, [*MACHINES][k % len(MACHINES)]) for k, name in enumerate(CASES)]
FEWER_PAIRS = [
    pytest.param(*pair, marks=pytest.mark.long if k >= len(MACHINES) else ())
    for k, pair in enumerate(PAIRS)
]


@pytest.mark.parametrize(("name", "machine"), FEWER_PAIRS)
def test_no_plan_of_another_objective_is_quicker(name: str, machine: str) -> None:
    module, inputs = CASES[name]
    graph, chosen = graph_of(name), MACHINES[machine]
    budget = budgets_of(graph)[1]
    plan = sp.plan(graph, "fusion", budget, chosen, objective="latency", bands=2)
    claim = plan.details.latency
    assert claim is not None
    assert claim.seconds == sp.simulate(plan).makespan_s
    assert 0 < claim.bound_s <= claim.seconds
    assert plan.claims.bound_bytes <= plan.claims.objective_bytes
    others = [sp.plan(graph, "fusion", budget, chosen, bands=2, **more) for more in OTHERS]
    assert claim.seconds <= min(sp.simulate(other).makespan_s for other in others)
    done = sp.execute(plan, module, inputs)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)


def test_parameters_come_early_into_bytes_that_the_group_before_leaves() -> None:
    module = torch.nn.Sequential(*[torch.nn.Conv2d(32, 32, 1) for _ in range(4)])
    inputs = (torch.randn(1, 32, 8, 8),)
    graph = sp.from_torch(module, inputs)
    budget = 16 * 1024
    ways = TimedWays(GroupModel(graph, NPU, {}), budget, double_buffer=True)
    links = []
    for i in range(len(graph.operators)):
        small = [way for way in ways.timed_ways(1 << i, more=True) if way.size_bytes * 2 <= budget]
        way = max(small, key=lambda way: (way.early_bytes, -way.plan.strips))
        links.append(Link(1 << i, way, early=way.early_bytes > 0))
    late = laid_at_ends(ways, [replace(link, early=False) for link in links])
    laid = laid_at_ends(ways, links)
    assert any(group.early for group in laid)
    plan = sp.plan(graph, "fusion", budget, replay=False)
    seconds, starts = [], []
    for groups in (laid, late):
        program = emit(graph, plan.machine, groups, budget)
        made = replace(plan, program=program)
        done = sp.execute(made, module, inputs)
        torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)
        seconds.append(makespan_s(graph, program, plan.machine))
        assert seconds[-1] == max(i.stop_s for i in schedule(program, plan.machine, graph))
        begins = {
            each.label: each.start_s for each in reversed(schedule(program, plan.machine, graph))
        }
        weights = [begins[name] for op in graph.operators[1:] for name in op.parameters[:1]]
        starts.append(weights)
    assert seconds[0] <= seconds[1]
    assert all(early < late for early, late in zip(*starts, strict=True))


class Repeated(torch.nn.Module):
    """One layer, and with it its weights, several times."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = torch.relu(self.layer(x))
        return x


@pytest.mark.parametrize("channels", [2, pytest.param(8, marks=pytest.mark.long)])
def test_weights_that_the_group_before_reads_do_not_come_early(channels: int) -> None:
    """They are on chip already, in another place.

    The clock ends the search, and whatever plan is there then has to be right.
    """
    side = 12 if channels > 4 else 4
    module, inputs = Repeated(channels), (torch.randn(1, channels, side, side),)
    graph = sp.from_torch(module, inputs)
    least = budgets_of(graph)[0]
    for budget in (2 * least, sp.budgets(graph, parameters=True).MR):
        plan = sp.plan(graph, "fusion", budget, time_limit=0.1, objective="latency")
        done = sp.execute(plan, module, inputs)
        torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)


def test_a_group_alone_takes_what_its_own_program_takes() -> None:
    graph = graph_of("residual")
    budget = budgets_of(graph)[2]
    ways = TimedWays(GroupModel(graph, NPU, {"bands": 8}), budget, double_buffer=True)
    for i in range(len(graph.operators)):
        for way in ways.timed_ways(1 << i, more=True):
            program = emit(graph, NPU, [ways.laid("g", 1 << i, way)], budget)
            took = schedule(program, NPU, graph)
            assert way.pace.alone_s == pytest.approx(max(each.stop_s for each in took), rel=1e-12)
            for engine, seconds in (
                ("compute", way.pace.compute_s),
                ("dma_in", way.pace.in_s),
                ("dma_out", way.pace.out_s),
            ):
                busy = sum(each.stop_s - each.start_s for each in took if each.engine == engine)
                assert seconds == pytest.approx(busy, rel=1e-9)


def test_an_estimate_of_a_few_strips_is_near_to_all_of_them() -> None:
    """Also where kept parameters are loaded anew for each pass, or are there before it begins."""
    graph = sp.load("mobilenet_v2")
    ways = TimedWays(GroupModel(graph, NPU, {}), 256 * 1024, double_buffer=True)
    count, passes = len(graph.operators), 0
    masks = [3 << i for i in range(count - 20, count - 1)] + [1 << i for i in range(count)]
    for mask in masks:
        for way in ways.timed_ways(mask):
            laid = replace(ways.laid("g", mask, way), early=way.plan.kept)
            exact = ways.pacer.work(laid, exact=True).pace(exact=True)
            for name in ("alone_s", "ready_s", "in_s", "early_s"):
                seconds = getattr(way.pace, name)
                assert seconds == pytest.approx(getattr(exact, name), rel=0.15), (mask, name)
            passes = max(passes, way.plan.channel_passes if way.early_bytes else 1)
    assert passes > 1


def stairs_of(plans: list[GroupPlan]) -> list[GroupPlan]:
    """Those for which no other needs no more buffer and moves no more."""
    stairs: list[GroupPlan] = []
    for plan in sorted(plans, key=lambda p: (p.buffer_bytes, p.traffic_bytes, p.strips)):
        if not stairs or plan.traffic_bytes < stairs[-1].traffic_bytes:
            stairs.append(plan)
    return stairs


@pytest.mark.parametrize("budget", [30_000, 400_000])
def test_the_few_ways_of_a_group_are_those_of_all_one_by_one(budget: int) -> None:
    graph = sp.load("squeezenet1_1")
    model = GroupModel(graph, NPU, {"bands": 2})
    for mask in [1 << i for i in range(0, 20, 2)] + [7 << i for i in range(0, 20, 3)]:
        plans = model.every_way(mask, budget)
        quick = [plan for plan in plans if plan.strips <= FEW_STRIPS] or plans
        kinds: dict[object, list[GroupPlan]] = {}
        for plan in quick:
            kind = (plan.sliced, plan.bands, plan.images, plan.channel_passes > 1)
            kinds.setdefault(kind, []).append(plan)
        stairs = [stairs_of(alike) for alike in kinds.values()]
        stairs.sort(key=lambda s: (s[-1].traffic_bytes, s[-1].bands, len(s[-1].sliced)))
        simple = sorted(stairs, key=lambda s: (s[-1].bands, len(s[-1].sliced)))
        least = [s[-1] for s in (*stairs[:1], *simple[:1])]
        assert few(model.ways(mask), budget, more=False) == least
        for plan in few(model.ways(mask), budget, more=True):
            assert any(plan in stair for stair in stairs[:KINDS])


@pytest.mark.parametrize(
    ("name", "budget", "seconds"),
    [("inceptions", 6000, 0.2), pytest.param("resnet18", 2**20, 1.0, marks=pytest.mark.long)],
)
def test_a_search_that_goes_on_is_never_worse(name: str, budget: int, seconds: float) -> None:
    """Each time it writes and times what it has grown, however little that is when time is over."""
    graph = family(name) if name in MODULES else sp.load(name)
    timed = []
    asked: dict[str, Any] = {"objective": "latency", "time_limit": seconds, "replay": False}
    for _ in range(3):
        plan = sp.plan(graph, "fusion", budget, **asked)
        timed.append(sp.simulate(plan).makespan_s)
    assert timed[2] <= timed[1] <= timed[0]


def test_tensors_that_stay_between_groups_are_looked_at_too() -> None:
    graph = graph_of("residual")
    budget = budgets_of(graph)[1]
    kept = sp.plan(graph, "fusion", budget, joint=True)
    plan = sp.plan(graph, "fusion", budget, joint=True, objective="latency")
    assert plan.details.latency is not None
    assert plan.details.latency.seconds <= sp.simulate(kept).makespan_s
    assert plan.claims.bound_bytes <= kept.claims.objective_bytes


@pytest.mark.parametrize(
    "more", [{"online": True}, {"baseline": "dnnvm"}, {"free_local_layers": True}]
)
def test_what_is_for_traffic_only_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(sp.BadInput, match="for traffic only"):
        sp.plan(graph_of("chain"), "fusion", 4096, objective="latency", **more)


def test_a_stop_leaves_the_best_so_far() -> None:
    graph = graph_of("tail")
    seen: list[str] = []

    def stop(moment: Progress) -> bool:
        seen.append(moment.stage)
        return not moment.stage.startswith("latency")

    budget = budgets_of(graph)[1]
    plan = sp.plan(graph, "fusion", budget, progress=stop, objective="latency")
    assert plan.details.latency is not None
    assert sum(stage.startswith("latency") for stage in seen) == 1


@pytest.mark.parametrize(
    ("name", "budgets", "limit_s"),
    [
        ("fires", (3000, 6000, 20_000), 0.2),
        pytest.param("squeezenet1_1", (200_000, 400_000, 1_600_000), 2.0, marks=pytest.mark.long),
    ],
)
def test_more_memory_is_not_slower_where_less_was_asked_before(
    name: str, budgets: tuple[int, ...], limit_s: float
) -> None:
    """What was found before is remembered, so that it does not matter where the clock ends it."""
    graph = family(name) if name in MODULES else sp.load(name)
    seconds = []
    for budget in budgets:
        plan = sp.plan(graph, "fusion", budget, objective="latency", time_limit=limit_s)
        sp.check(plan)
        seconds.append(sp.simulate(plan).makespan_s)
    assert seconds == sorted(seconds, reverse=True)


@pytest.mark.parametrize("budget", [50_000, 100_000, 400_000, 1_600_000, 2**24])
def test_a_part_of_the_memory_that_is_searched_has_room_for_each_operator(budget: int) -> None:
    model = GroupModel(sp.load("squeezenet1_1"), NPU, {})
    part = LatencySearch(model, budget, Clock(1.0), True)._soon_full()
    assert (part > 0) == (budget > 100_000)
    if part:
        assert 2 * part <= budget
        require_singles(model, model.graph, part)
