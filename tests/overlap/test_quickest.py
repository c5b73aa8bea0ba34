"""Objective latency: valid within any budget that has a plan, coarse where there is room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

import planners as sp
from planners.backends.int8.random_net import random_net as random_net_of
from planners.core.program import Compute
from planners.core.progress import Clock
from planners.overlap.emit.saved_layout import layout_of
from planners.overlap.order.orders import all_distances
from planners.overlap.search.coarse import Coarse, steps_of
from tests.backends.int8_pool.execute import execute_int8
from tests.cases import cases
from tests.importers.few_blocks import FEW, few_blocks
from tests.overlap.byte_ring import runs_right
from tests.overlap.random_nets import random_net


def computed(plan: sp.Plan) -> list[str]:
    return [item.operator for item in plan.program.instructions if isinstance(item, Compute)]


def computes(plan: sp.Plan) -> int:
    return len(computed(plan))


@pytest.mark.parametrize("seed", range(cases(4, 40)))
@pytest.mark.parametrize("fuse", [True, False])
def test_random_networks_within_every_kind_of_budget(seed: int, fuse: bool) -> None:
    graph, known = random_net(seed, 3 + seed % 7)
    least = sp.plan(graph, "overlap", "1MB", objective="ram", fuse=fuse).claims.objective_bytes
    most = sum(graph.size_bytes(t) for t in graph.tensors)
    for budget in (least, (3 * least + most) // 4, most):
        plan = sp.plan(graph, "overlap", budget, objective="latency", fuse=fuse, parameters=True)
        report = sp.check(plan)
        claims = plan.claims
        assert claims.status == "feasible"
        assert claims.bound_bytes <= claims.objective_bytes <= budget
        assert report.peak_bytes <= claims.objective_bytes == plan.details.pool.layout.pool_bytes
        layout = layout_of(plan)
        if all(run.form == "alone" for run in layout.runs):
            assert runs_right(graph, layout, known)
    assert computes(plan) == len(graph.operators)
    with pytest.raises(sp.BudgetTooSmall) as short:
        sp.plan(graph, "overlap", least - 1, objective="latency", fuse=fuse)
    assert least - 1 < short.value.need_bytes <= least


@pytest.mark.parametrize("seed", range(cases(8, 80)))
def test_steps_need_what_their_order_holds(seed: int) -> None:
    """Whole tensors need the order's peak; with the finest segments, what any layout does."""
    graph, _ = random_net(seed, 7)
    order = range(len(graph.operators))
    shares = all_distances(graph)
    whole = Coarse(graph, order, 10**9, {})
    assert max(step.held for step in steps_of(graph, order)) == sp.budgets(graph).default_peak
    finest = Coarse(graph, order, 0, shares)
    laid = Coarse(graph, order, finest.need_bytes, shares).layout(Clock(600))
    assert finest.need_bytes <= whole.need_bytes
    if laid is not None:
        assert laid[0].pool_bytes == laid[1] == finest.need_bytes


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Pieces are small: threads would wait for each other longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def network(name: str, side: int) -> tuple[sp.Graph, tuple[Any, ...]]:
    """A graph, and what `execute` is given with its plans: of the catalogue nothing."""
    if name not in FEW:
        return sp.load(name, input_shape=(1, 3, side, side)), ()
    module, image = few_blocks(name), torch.randn(1, 3, side, side)
    return sp.from_torch(module, image), (module, image)


def networks(*whole: str) -> list[Any]:
    few = ["mobilenet", "inception"]
    return few + [pytest.param(name, marks=pytest.mark.long) for name in whole]


def plans_of(graph: sp.Graph) -> Iterator[sp.Plan]:
    """Plans of less and less memory, as far as there are any."""
    peak = sp.budgets(graph).default_peak
    for share in (1.0, 0.7, 0.45):
        try:
            yield sp.plan(graph, "overlap", int(share * peak), objective="latency")
        except sp.BudgetTooSmall:
            return


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", networks("mobilenet_v2", "googlenet"))
def test_networks_run_in_their_arenas(name: str) -> None:
    """Whole operators are the network's own bit for bit; of rows, kernels add in another order."""
    graph, model = network(name, 16 if name == "inception" else 32)
    whole = 0
    for plan in plans_of(graph):
        done = sp.execute(plan, *model)
        at_once = computes(plan) == len(graph.operators)
        assert done.bit_exact if at_once else done.max_abs_error < 0.02
        whole += at_once
    assert whole > 0


@pytest.mark.usefixtures("one_thread")
def test_rows_run_bit_for_bit_where_sums_are_exact() -> None:
    torch.manual_seed(0)
    layers: list[torch.nn.Module] = []
    for before, channels, kind in ((3, 4, 1), (4, 8, 1), (8, 8, 8), (8, 6, 1)):
        layers += [torch.nn.Conv2d(before, channels, 3, 1, 1, groups=kind), torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers, torch.nn.MaxPool2d(3, 2, 1)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape))
    data = torch.randint(-3, 4, (1, 3, 12, 12)).float()
    graph = sp.from_torch(module, (data,))
    least = sp.plan(graph, "overlap", "1MB", objective="ram").claims.objective_bytes
    seen = set()
    most = sp.budgets(graph).MP
    for budget in range(least, most, (most - least) // 5):
        plan = sp.plan(graph, "overlap", budget, objective="latency")
        assert sp.execute(plan, module, (data,)).bit_exact
        seen |= {(run.form, run.rows) for run in plan.details.pool.layout.runs}
    assert len({rows for _, rows in seen}) > 3
    assert {"alone", "line"} <= {form for form, _ in seen}


@pytest.mark.parametrize("name", networks("mobilenet_v2", "squeezenet1_1", "mnasnet0_5"))
def test_kernels_that_go_by_pixels_are_exact_in_the_same_places(name: str) -> None:
    graph, _ = network(name, 32)
    net, seen = random_net_of(graph, 0), set()
    for plan in plans_of(graph):
        layout = layout_of(plan)
        assert execute_int8(layout, net).bit_exact
        seen |= {run.rows for run in layout.runs}
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("name", "side", "shares"),
    [
        ("mcunet_vww1", 64, (1, 4)),
        pytest.param("mcunet_vww1", 80, (1, 2, 4), marks=pytest.mark.long),
        pytest.param("mobilenet_v2", 96, (1, 2, 4), marks=pytest.mark.long),
    ],
)
def test_a_budget_of_room_has_an_instruction_an_operator(
    name: str, side: int, shares: tuple[int, ...]
) -> None:
    graph = sp.load(name, input_shape=(1, 3, side, side))
    peak = sp.budgets(graph).default_peak
    counts = []
    for budget in (peak // share for share in shares):
        plan = sp.plan(graph, "overlap", budget, objective="latency", parameters=True)
        sp.check(plan)
        counts.append(computes(plan))
        if budget == peak:
            several = {name for name, count in Counter(computed(plan)).items() if count > 1}
    fine = computes(sp.plan(graph, "overlap", peak // 4, parameters=True, replay=False))
    at_the_border = {
        op.name
        for op in graph.operators
        if {*op.inputs, *op.outputs} & {*graph.inputs, *graph.outputs}
    }
    assert several <= at_the_border  # Begun before all of an input has come.
    assert [len(graph.operators), *counts] == sorted([len(graph.operators), *counts])
    assert counts[-1] < fine / 10


@pytest.mark.parametrize(
    ("name", "budget", "machine"),
    [
        ("squeezenet1_1", "256KiB", "npu_small"),
        ("mcunet_vww1", "96KiB", "ethos_u55_high_end"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("squeezenet1_1", "256KiB", "ethos_u55_high_end"),
                ("squeezenet1_1", "768KiB", "npu_small"),
                ("squeezenet1_1", "768KiB", "ethos_u55_high_end"),
                ("mcunet_vww1", "96KiB", "npu_small"),
            )
        ),
    ],
)
def test_what_is_made_for_an_array_is_quicker_there(name: str, budget: str, machine: str) -> None:
    """Parts by the rows that they have: 27 rows in 7 parts are no 7 parts of 3."""
    graph = sp.load(name)
    own, ideal = (
        sp.plan(graph, "overlap", budget, for_machine, objective="latency")
        for for_machine in (machine, "npu_ideal")
    )
    there = replace(ideal, machine=sp.load_machine(machine))
    assert sp.simulate(own).makespan_s <= sp.simulate(there).makespan_s


def test_what_two_branches_take_is_made_at_once() -> None:
    """A branch of one pixel and one of three read other rows of what is squeezed before them."""
    graph = sp.load("squeezenet1_1")
    plan = sp.plan(graph, "overlap", "768KiB", "ethos_u55_high_end", objective="latency")
    counts, (run, *_) = Counter(computed(plan)), layout_of(plan).runs
    assert len(run.operators) > 4
    assert len({counts[name] for name in run.operators}) == 1


@pytest.mark.parametrize(
    ("name", "side", "budget"),
    [
        ("mobilenet", 32, 22_000),
        pytest.param("mobilenet_v2", 64, "64KiB", marks=pytest.mark.long),
    ],
)
def test_quicker_than_segments(name: str, side: int, budget: int | str) -> None:
    graph, _ = network(name, side)
    plain = sp.plan(graph, "overlap", budget, parameters=True)
    quick = sp.plan(graph, "overlap", budget, parameters=True, objective="latency")
    assert sp.simulate(quick).makespan_s < sp.simulate(plain).makespan_s / 3
    assert any("is not proven" in note for note in quick.notes)


def test_an_operator_too_large_names_a_need_that_has_a_plan() -> None:
    graph = sp.load("resnet18", input_shape=(1, 3, 64, 64))
    with pytest.raises(sp.BudgetTooSmall, match="the least RAM by overlap is") as refused:
        sp.plan(graph, "overlap", 12_000, objective="latency", time_limit=1)
    need = refused.value.need_bytes
    assert need >= 12_288  # of an operator alone
    plan = sp.plan(graph, "overlap", need, objective="latency", time_limit=1)
    assert plan.claims.extent_bytes <= need


def test_segments_by_a_rule_are_refused() -> None:
    graph = sp.load("vmcu:S4")
    with pytest.raises(sp.BadInput, match="objective latency has segments of its own"):
        sp.plan(graph, "overlap", "1MB", objective="latency", segment="min")


def test_a_saved_plan_is_the_same_plan(tmp_path: object) -> None:
    from planners.overlap.emit.saved_layout import proven_layout

    graph = sp.load("vmcu:S8")
    budget = sp.plan(graph, "overlap", "1MB").claims.objective_bytes * 3 // 2
    plan = sp.plan(graph, "overlap", budget, objective="latency")
    path = f"{tmp_path}/plan.json"
    plan.save(path)
    assert any(run.rows for run in proven_layout(sp.Plan.load(path)).runs)
