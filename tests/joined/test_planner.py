"""Joined plans: valid, executed, compulsory bytes alone where the pool holds all, never worse."""

from __future__ import annotations

from itertools import islice
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.errors import NoPlanFound
from planners.core.machine import load_machine, with_scratchpad
from planners.core.objective import Objective
from planners.core.program import Compute, Load
from planners.core.progress import Clock
from planners.core.weights import weights_of
from planners.joined import planner
from planners.joined.build import MOST_SLICES, JoinedBuilder
from planners.joined.fused import OBJECTIVE, FusedParts
from planners.joined.options import JoinedOptions
from planners.joined.part_search import FIRST_WORK
from planners.joined.pool import RoomyBlocks, least_slice_bytes, slice_channels
from planners.joined.segments import every
from planners.joined.strategies import SLICES
from tests.cases import cases
from tests.joined.first import first_plan, first_program
from tests.joined.networks import Again, Crossed, Shared, graph_of, narrowing
from tests.random_modules import random_case

ALONE = {"others": False, "weights": "counted"}
AT_ONCE: dict[str, Any] = {**ALONE, "improve": False, "time_limit": 60}
"""Ends by itself, where fused groups are `by_traffic`: the limit is far above the need."""
AMPLE = 1 << 20
LONG = pytest.mark.long


@pytest.fixture
def by_traffic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fused groups are those of least traffic, which is found, and not the quickest until the
    clock ends the search."""
    monkeypatch.setitem(OBJECTIVE, "latency", "traffic")


def least_of(graph: sp.Graph) -> int:
    """The least budget that fused groups name."""
    budget = 1
    for _ in range(5):
        try:
            sp.plan(graph, "fusion", budget, time_limit=1)
            return budget
        except sp.BudgetTooSmall as error:
            budget = max(budget + 1, error.need_bytes)
    raise AssertionError("no budget is enough")


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=LONG if n in (1, 2, 3, 4) else ()) for n in range(cases(8))]
)
def test_plans_of_random_modules_compute_what_these_compute(seed: int) -> None:
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    least = least_of(graph)
    for budget in (least, 3 * least):
        for objective in ("latency", "traffic"):
            try:
                plan = sp.plan(graph, "joined", budget, objective=objective, time_limit=1, **ALONE)
            except NoPlanFound:  # The time was over.
                continue
            report = sp.check(plan)
            assert report.peak_bytes <= budget
            assert plan.claims.bound_bytes <= report.traffic_bytes
            if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
                assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4


@pytest.mark.parametrize("seed", range(cases(3, 24)))
def test_random_modules_with_parameters_read_in_place(seed: int) -> None:
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    asked = {"others": False, "weights": "in-place", "objective": "latency", "time_limit": 1}
    for budget in (least_of(graph), 1 << 20):
        try:
            plan = sp.plan(graph, "joined", budget, **asked)
        except NoPlanFound:  # The time was over.
            continue
        assert sp.check(plan).peak_bytes <= budget
        assert weights_of(graph, plan.program) in (None, "in-place")
        if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
            assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4


def test_in_place_where_the_pool_alone_does_not_fit(by_traffic: None) -> None:
    """The wide maps as fused groups, the rest in the pool: overlap has no plan in these bytes."""
    module, inputs = narrowing(side=64)
    graph, asked = sp.from_torch(module, inputs), {"weights": "in-place", "time_limit": 60}
    with pytest.raises(sp.BudgetTooSmall):
        sp.plan(graph, "overlap", 9000, **asked)
    plan = sp.plan(graph, "joined", 9000, others=False, improve=False, **asked)
    assert "(fused groups: conv2d" in plan.notes[1]
    assert "pool: " in plan.notes[1]
    told = plan.details.stretches
    assert [segment.how for segment in told[:2]] == ["fused groups", "pool"]
    assert "no way in the pool was found within the budget" in told[0].why
    assert sp.Plan.from_json(plan.to_json()).details.stretches == told
    assert weights_of(graph, plan.program) == "in-place"
    parameters = {name for op in graph.operators for name in op.parameters}
    moved = {item.piece.tensor for item in plan.program.instructions if isinstance(item, Load)}
    assert moved
    assert not moved & parameters
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


@pytest.mark.parametrize(("budget", "how"), [(9000, "fused groups"), (14_000, "pool")])
def test_wide_maps_fused_and_heavy_parameters_streamed(
    budget: int, how: str, by_traffic: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first maps are larger than the memory; what follows runs in the pool wherever it fits."""
    monkeypatch.setattr("planners.joined.segments.SLOWER", 50.0)
    module, inputs = narrowing(side=64)
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "joined", budget, **AT_ONCE)
    assert f"({how}: conv2d" in plan.notes[1]
    assert plan.notes[1].endswith("to linear)")
    assert "pool: " in plan.notes[1]
    assert weights_of(graph, plan.program) == "counted"
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
    assert plan.details.latency is not None
    assert plan.details.latency.seconds == sp.simulate(plan).makespan_s


@pytest.mark.parametrize("budget", [1800, 2500, 20_000])
def test_shared_parameters_are_nowhere_twice(budget: int, by_traffic: None) -> None:
    torch.manual_seed(0)
    module, inputs = Shared().eval(), (torch.randn(1, 3, 12, 12),)
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "joined", budget, **AT_ONCE)
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


@pytest.mark.parametrize(
    ("tried", "few"),
    [
        (((12, 2000),), True),
        pytest.param(((16, 2500), (16, 8000), (24, 3500), (24, 12_000)), False, marks=LONG),
    ],
)
def test_parameters_of_fused_groups_are_not_loaded_early_for_the_pool(
    tried: tuple[tuple[int, int], ...],
    few: bool,
    by_traffic: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With few sequences of blocks, all of them are looked at; else the clock ends that."""
    if few:
        strategies = planner.STRATEGIES
        few_of = (strategies[0], *(s for s in strategies if s.name == "every sequence of ways"))
        monkeypatch.setattr(planner, "STRATEGIES", few_of)
        monkeypatch.setattr("planners.joined.strategies.SLICES", SLICES[:1])
        monkeypatch.setattr(
            "planners.joined.strategies.every", lambda *each: islice(every(*each), 8)
        )
    torch.manual_seed(0)
    module, ways = Again().eval(), []
    for side, budget in tried:
        inputs = (torch.randn(1, 3, side, side),)
        graph = sp.from_torch(module, inputs)
        asked = {"objective": "latency", **AT_ONCE}
        plan = sp.plan(graph, "joined", budget, "npu_ideal", **asked)
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
        ways.append([segment.how for segment in plan.details.stretches])
    assert ["fused groups", "pool"] in ways


def test_in_the_pool_nothing_crosses_twice() -> None:
    """All parameters once, in slices where they are larger than what is free."""
    graph = graph_of()
    plan = sp.plan(graph, "joined", 9000, objective="traffic", time_limit=4, **ALONE)
    report = sp.check(plan)
    assert report.noncompulsory_bytes == 0
    assert plan.claims.status == "optimal"
    parts = [i for i in plan.program.instructions if isinstance(i, Compute) and i.parts]
    assert parts, "no operator runs in slices"
    names = {name for op in graph.operators for name in op.parameters}
    loads = [i for i in plan.program.instructions if isinstance(i, Load)]
    pieces = [i.piece for i in loads if i.piece.tensor in names]
    assert len(pieces) == len(set(pieces))


@pytest.mark.parametrize("objective", ["latency", "traffic", "energy"])
def test_with_others_the_better_plan_is_returned(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(side=16)

    def worth(plan: sp.Plan) -> float:
        trace = sp.simulate(plan)
        return {
            "latency": trace.makespan_s,
            "traffic": trace.traffic_bytes,
            "energy": trace.energy_j,
        }[objective]

    asked = {"objective": objective, "time_limit": 4}
    own = sp.plan(graph, "joined", 5000, **asked, **ALONE)
    worse = sp.plan(graph, "fusion", 5000, baseline="no_fusion", time_limit=4)
    assert worth(worse) > worth(own)
    for theirs in (worse, own):
        monkeypatch.setattr(
            "planners.auto.planner.best_of_others", lambda *_, plan=theirs, **__: plan
        )
        both = sp.plan(graph, "joined", 5000, **asked, parameters=True)
        assert worth(both) <= worth(theirs)
    small = sp.plan(graph, "fusion", 2000, time_limit=1)
    monkeypatch.setattr("planners.auto.planner.best_of_others", lambda *_, **__: small)
    monkeypatch.setattr("planners.joined.planner._best", lambda _: None)
    taken = sp.plan(graph, "joined", 2000, **asked, parameters=True)
    assert taken.program == small.program


def test_what_cannot_be_is_said() -> None:
    graph = graph_of()
    with pytest.raises(sp.BudgetTooSmall, match="joined may do with less"):
        sp.plan(graph, "joined", 10, time_limit=4, parameters=True)
    with pytest.raises(sp.BudgetTooSmall, match="one element of what it writes") as refused:
        sp.plan(graph, "joined", 10, time_limit=4, **ALONE)
    need = refused.value.need_bytes
    assert sp.plan(graph, "joined", need, time_limit=1, **ALONE).claims.extent_bytes <= need


def test_what_one_element_needs_is_said_where_groups_need_it() -> None:
    graph = graph_of()
    with pytest.raises(sp.BudgetTooSmall) as refused:
        sp.plan(graph, "joined", 10, time_limit=4, **ALONE)
    need = refused.value.need_bytes
    with pytest.raises(sp.NoPlanFound, match="fused groups need that") as unknown:
        sp.plan(graph, "joined", need - 1, time_limit=60, **ALONE)
    assert unknown.value.need_bytes == need


def test_weights_left_out_are_counted_there() -> None:
    graph = graph_of()
    plan = sp.plan(graph, "joined", 9000, time_limit=4, others=False, weights="left-out")
    assert "counted" in plan.notes[-1]


def test_the_best_of_all_asks_it_too() -> None:
    """Whether there was time for it or not."""
    graph = graph_of(side=16)
    best = sp.plan(graph, "auto", 5000, objective="latency", weights="counted", time_limit=2)
    assert "joined" in {row.planner for row in best.details.tried}


def test_blocks_of_many_operators_are_not_begun_when_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, machine = graph_of(), with_scratchpad(load_machine("npu_small"), 20_000)
    for module in ("coarse_blocks", "chain"):
        monkeypatch.setattr(f"planners.overlap.search.{module}.MOST_OPERATORS", 0)

    def large(limit_s: float) -> list[object]:
        return list(RoomyBlocks(graph, machine, 20_000, 500, Clock(limit_s), {}).large())

    assert large(0.0) == []
    assert large(600.0)


def test_products_of_tokens_in_a_map_run_in_slices() -> None:
    """Channels last, as in ConvNeXt and Swin: neither product's parameters fit beside the maps."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(64, 2048), nn.GELU(), nn.Linear(2048, 64)).eval()
    inputs = (torch.randn(1, 7, 7, 64),)
    graph = sp.from_torch(layers, inputs, bytes_per_element=1)
    plan = sp.plan(
        graph, "joined", 140_000, "npu_ideal", objective="latency", time_limit=4, **ALONE
    )
    assert [segment.how for segment in plan.details.stretches] == ["pool"]
    assert sp.check(plan).traffic_bytes == plan.claims.bound_bytes
    assert sum(isinstance(item, Compute) for item in plan.program.instructions) > 4
    assert sp.execute(plan, layers, inputs).max_abs_error < 1e-4


def test_what_is_made_of_parameters_alone_is_not_sliced() -> None:
    """As RAFT's first flow, zero everywhere: some channels need all parameters, others none."""

    class OfParameters(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Conv2d(2, 24, 3, padding=1), nn.Conv2d(24, 6, 3, padding=1)
            self.first, self.last = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(18, 4, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = self.two(torch.relu(self.one(torch.zeros(1, 2, 8, 8))))
            return self.last(torch.cat([self.first(x), made], 1))

    torch.manual_seed(0)
    module, inputs = OfParameters().eval(), (torch.randn(1, 3, 8, 8),)
    graph = sp.from_torch(module, inputs, bytes_per_element=1)
    (op,) = (op for op in graph.operators if len(op.parameters) == 4)
    assert least_slice_bytes(graph, op) is None
    for budget in (3_000, 6_000):
        plan = sp.plan(graph, "joined", budget, objective="latency", time_limit=3, **ALONE)
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


def test_the_first_size_of_slices_is_tried_however_many_parameters_there_are() -> None:
    layers = nn.Sequential(nn.Linear(300, 420), nn.Linear(420, 10)).eval()
    graph = sp.from_torch(layers, (torch.randn(1, 300),), bytes_per_element=1)
    whole = sum(t.elements for t in graph.tensors.values() if t.kind == "parameter")
    budget = 1040
    assert budget // SLICES[0] * MOST_SLICES < whole
    machine = with_scratchpad(load_machine("npu_small"), budget)
    builder = JoinedBuilder(graph, machine, budget, "latency", Clock(5.0))
    size = builder.slice_bytes(SLICES[0])
    assert size == -(-whole // MOST_SLICES)
    assert builder.sizes(cast(Any, SimpleNamespace(stream=object())), size) == [size]


@pytest.mark.parametrize(
    ("slice_bytes", "channels"),
    [(10, 1), (150, 7), (213, 10), (214, 16), (330, 16), (650, 32), (1000, 48)],
)
def test_slices_are_whole_steps_of_an_array_where_it_can_be(
    slice_bytes: int, channels: int
) -> None:
    assert slice_channels(20, slice_bytes, 16) == channels
    assert slice_channels(20, slice_bytes, 1) == max(1, slice_bytes // 20)


def test_slices_that_leave_most_of_an_array_idle_are_not_chosen() -> None:
    """Three channels of sixteen at a time made ResNet-18 take 17.6 ms instead of 9.6."""
    layers = nn.Sequential(*(nn.Linear(256, 256) for _ in range(7))).eval()
    graph = sp.from_torch(layers, (torch.randn(64, 256),), bytes_per_element=1)
    machine = with_scratchpad(load_machine("npu_small"), 40 * 1024)
    builder = JoinedBuilder(graph, machine, 40 * 1024, "latency", Clock(5.0))
    computes = [i for i in first_program(builder).program.instructions if isinstance(i, Compute)]
    made = [stop - start for item in computes for *_, (start, stop) in item.parts]
    assert made
    assert all(channels % 16 == 0 for channels in made)


def test_parts_of_a_network_without_products_have_a_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is shared by work: where there is none, by the number of operators."""

    class Sums(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.where(x > 0, x, x + 1) * (x + 2)

    graph = sp.from_torch(Sums(), (torch.randn(1, 2, 4, 4),))
    works: list[float] = []
    planned = FusedParts._plan_part

    def noted(parts: FusedParts, part: sp.Graph, first: int, clock: Clock) -> Any:
        works.append(clock.looks_left)
        return planned(parts, part, first, clock)

    monkeypatch.setattr(FusedParts, "_plan_part", noted)
    sp.plan(graph, "joined", least_of(graph), time_limit=2, **ALONE)
    assert min(works) > FIRST_WORK / 5


def test_where_no_block_runs_in_the_pool_all_of_it_runs_in_fused_groups(by_traffic: None) -> None:
    """Two wide maps, one after the other: neither fits beside a row of the other."""
    layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)).eval()
    inputs = (torch.randn(1, 3, 16, 16),)
    graph = sp.from_torch(layers, inputs, bytes_per_element=1)
    budget = 4 * least_of(graph) // 3
    plan = sp.plan(graph, "joined", budget, objective="latency", **AT_ONCE)
    assert [segment.how for segment in plan.details.stretches] == ["fused groups"]
    assert not any("slices" in note for note in plan.notes)
    assert sp.check(plan).peak_bytes <= budget
    assert sp.execute(plan, layers, inputs).max_abs_error < 1e-4


def test_a_sweep_goes_on_where_a_search_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planners.joined.planner._best", lambda _: None)
    asked = ["joined:others=false", "fusion"]
    table = sp.sweep([graph_of()], asked, ["9000"], weights="counted", time_limit=1.0)
    first, second = table.sort_values("planner", ascending=False).to_dict("records")
    assert first["status"] == "none found"
    assert "no way to run this network was found" in first["reason"]
    assert second["makespan_s"]


def test_parameters_find_room_in_the_pool_beside_many_operators() -> None:
    """Bytes are kept for them in one piece, for as long as rows of their operator are made."""
    torch.manual_seed(0)
    module, inputs = Crossed(), (torch.randn(1, 3, 32, 32),)
    graph, budget = sp.from_torch(module, inputs), 66_000
    machine = with_scratchpad(load_machine("npu_small"), budget)
    builder = JoinedBuilder(graph, machine, budget, "traffic", Clock(600.0))
    asked = JoinedOptions(objective="traffic", others=False)
    aim = Objective("traffic", ProblemFloors(graph, machine, "counted"), budget)
    plan = first_plan(builder, aim, asked).plan
    assert [segment.how for segment in plan.details.stretches] == ["pool"]
    assert plan.claims.offchip_bytes == aim.floor
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


class Remembers(nn.Module):
    """Adds what it made the last time."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("before", torch.zeros(1, 4, 8, 8))
        self.one, self.two = (nn.Conv2d(4, 4, 3, padding=1) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.one(x))
        self.before.copy_(y + self.before)
        return self.two(y)


@pytest.mark.parametrize("budget", [300, 600, 900, 2000])
def test_networks_with_state(budget: int) -> None:
    torch.manual_seed(0)
    module, inputs = Remembers().eval(), (torch.randn(1, 4, 8, 8),)
    graph = sp.from_torch(module, inputs)
    for objective in ("latency", "traffic"):
        plan = sp.plan(graph, "joined", budget, objective=objective, time_limit=2, **ALONE)
        assert sp.check(plan).peak_bytes <= budget
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
