"""Plans of fused groups: valid, executed as PyTorch has it, and no worse with more memory."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch

import planners as sp
from planners.catalogue import build
from planners.cli import main
from planners.core.progress import Progress
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FUSERS
from planners.fusion.search import exact
from tests.fusion.families import MODULES, family, inputs_of
from tests.fusion.networks import CASES, FEWER_CASES, graph_of

MACHINE = sp.load_machine("npu_small")


def budgets_of(graph: sp.Graph) -> list[int]:
    """From the least that every operator fits in to what all of the network fits in."""
    model = GroupModel(graph, MACHINE, {})
    ways = [model.staircase(1 << i) for i in range(len(graph.operators))]
    least = max(way[0].buffer_bytes for way in ways)
    everything = 2 * sum(graph.size_bytes(t) for t in graph.tensors)
    return [least, (3 * least + everything) // 4, everything]


@pytest.mark.parametrize("name", FEWER_CASES)
def test_plans_compute_what_pytorch_does(name: str) -> None:
    module, inputs = CASES[name]
    for width in (1, 2):
        graph = graph_of(name, width)
        traffic = []
        for which, budget in enumerate(budgets_of(graph)):
            plan = sp.plan(graph, "fusion", budget)
            report = sp.check(plan)
            assert plan.claims.objective_bytes == report.traffic_bytes
            assert plan.claims.status == "optimal"
            assert report.extent_bytes <= budget
            traffic.append(report.traffic_bytes)
            if which % 2 == width - 1:  # Each in one of the widths: its pieces are the same.
                done = sp.execute(plan, module, inputs)
                assert done.arena_bytes == budget * 4 // width
                torch.testing.assert_close(done.outputs, done.reference, rtol=1e-4, atol=1e-5)
        assert traffic == sorted(traffic, reverse=True)
        assert traffic[-1] >= report.compulsory_bytes


def test_whole_numbers_come_out_in_every_bit() -> None:
    module, inputs = CASES["chain"]
    body = torch.nn.Sequential(*[m for m in module if not isinstance(m, torch.nn.BatchNorm2d)])
    for parameter in body.parameters():
        parameter.data = torch.randint(-3, 4, parameter.shape).float()
    data = (torch.randint(-8, 9, inputs[0].shape).float(),)
    graph = sp.from_torch(body, data)
    for budget in budgets_of(graph):
        assert sp.execute(sp.plan(graph, "fusion", budget), body, data).bit_exact


def network(name: str, side: int = 64) -> tuple[sp.Graph, torch.nn.Module, Any]:
    """A small family's graph, module and inputs, or those of a network of the catalogue."""
    if name in MODULES:
        return family(name), MODULES[name], inputs_of()
    graph = sp.load(name, input_shape=(1, 3, side, side))
    return graph, *build(graph.source, seed=0)


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("fires", "2KiB"),
        ("residual blocks", "4KiB"),
        ("inverted blocks", "2KiB"),
        pytest.param("squeezenet1_0", "32KiB", marks=pytest.mark.long),
        pytest.param("resnet18", "512KiB", marks=pytest.mark.long),
        pytest.param("mobilenet_v2", "96KiB", marks=pytest.mark.long),
    ],
)
def test_networks_compute_what_pytorch_does(name: str, budget: str) -> None:
    graph, module, inputs = network(name)
    plan = sp.plan(graph, "fusion", budget)
    sp.check(plan)
    done = sp.execute(plan, module, inputs)
    # Random weights amplify the last bit: as far from PyTorch as PyTorch is from exact numbers.
    with torch.no_grad():
        right = copy.deepcopy(module).double().eval()(*[x.double() for x in inputs])
    noise = float((right - done.reference).abs().max())
    assert done.max_abs_error <= 4 * noise + 1e-6
    assert noise < 0.02 * float(right.abs().max())
    alone = GroupModel(graph, MACHINE, {})
    unfused = [alone.best(1 << i, plan.budget_bytes) for i in range(len(graph.operators))]
    assert plan.claims.objective_bytes < sum(way.traffic_bytes for way in unfused if way)


@pytest.mark.parametrize(
    ("name", "budget", "most_groups"),
    [
        ("inceptions", "4KiB", 60),
        pytest.param("googlenet", "64KiB", exact.MOST_GROUPS, marks=pytest.mark.long),
    ],
)
def test_branches_of_a_larger_network_end_in_time(
    name: str, budget: str, most_groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The large one by its clock, which no assertion hangs on; the small one by its groups."""
    monkeypatch.setattr(exact, "MOST_GROUPS", most_groups)
    graph, module, inputs = network(name)
    plan = sp.plan(graph, "fusion", budget, time_limit=3 if name == "googlenet" else 600)
    sp.check(plan)
    assert plan.claims.bound_bytes <= plan.claims.objective_bytes
    assert name == "googlenet" or plan.claims.status == "feasible"
    done = sp.execute(plan, module, inputs)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "budget"),
    [("fires", "4KiB"), pytest.param("squeezenet1_0", "64KiB", marks=pytest.mark.long)],
)
def test_loading_ahead_saves_time_and_costs_no_traffic(name: str, budget: str) -> None:
    graph, _, _ = network(name, 96)
    ahead = sp.plan(graph, "fusion", budget, "npu_ideal")
    plain = sp.plan(graph, "fusion", budget, "npu_ideal", double_buffer=False)
    assert ahead.claims.offchip_bytes == plain.claims.offchip_bytes
    assert sp.simulate(ahead).makespan_s < sp.simulate(plain, serial=True).makespan_s


def test_too_small_a_budget_names_the_operator_and_its_need() -> None:
    graph = graph_of("residual")
    least = budgets_of(graph)[0]
    sp.check(sp.plan(graph, "fusion", least))
    with pytest.raises(sp.BudgetTooSmall) as error:
        sp.plan(graph, "fusion", least - 1)
    assert (error.value.need_bytes, error.value.have_bytes) == (least, least - 1)
    assert error.value.operator in {op.name for op in graph.operators}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "joint"}, "fusion has no option 'schedule'"),
        ({"online": "yes"}, "online must be True or False"),
        ({"baseline": "best"}, "choose one of no_fusion"),
        ({"baseline": "dnnvm", "online": True}, "the baseline is a search of its own"),
        ({"channel_tile": 0}, "channel_tile must be"),
        ({"time_limit": float("nan")}, "time_limit must be a number of seconds above 0"),
    ],
)
def test_wrong_options_are_one_clear_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sp.BadInput, match=message):
        sp.plan(graph_of("chain"), "fusion", 10_000, **options)


def test_a_plan_survives_json(tmp_path: Path) -> None:
    plan = sp.plan(graph_of("two heads"), "fusion", 4096)
    plan.save(tmp_path / "plan.json")
    again = sp.Plan.load(tmp_path / "plan.json")
    assert sp.check(again) == sp.check(plan)
    assert again.claims == plan.claims
    assert json.dumps(again.to_json()) == json.dumps(plan.to_json())


def test_planning_tells_where_it_is_and_can_be_stopped() -> None:
    heard: list[Progress] = []

    def stop(moment: Progress) -> bool:
        heard.append(moment)
        return False

    plan = sp.plan(graph_of("residual"), "fusion", 100_000, progress=stop)
    sp.check(plan)
    assert heard[0].stage == "operators alone"
    assert heard[-1].incumbent_bytes == plan.claims.objective_bytes


def test_free_local_layers_are_for_the_search_only() -> None:
    graph = graph_of("chain")
    budget = budgets_of(graph)[0]
    free = sp.plan(graph, "fusion", budget, free_local_layers=True)
    assert sp.check(free).traffic_bytes == free.claims.objective_bytes
    assert free.claims.status == "feasible"
    assert free.claims.objective_bytes >= sp.plan(graph, "fusion", budget).claims.objective_bytes


@pytest.mark.parametrize("name", ["residual", "two heads", "random 1"])
def test_no_baseline_moves_less(name: str) -> None:
    graph = graph_of(name)
    for budget in budgets_of(graph):
        best = sp.plan(graph, "fusion", budget).claims.objective_bytes
        options: list[dict[str, Any]] = [{"baseline": baseline} for baseline in BASELINES]
        plans = [
            sp.plan(graph, "fusion", budget, **chosen) for chosen in (*options, {"online": True})
        ]
        for plan in plans:
            assert sp.check(plan).traffic_bytes >= best
        assert max(plan.claims.objective_bytes for plan in plans) == plans[0].claims.objective_bytes


def test_the_command_plans_and_refuses_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["plan", "squeezenet1_0", "--planner", "fusion", "--json", *arguments])
        return int(stop.value.code or 0), *capfd.readouterr()

    code, out, _ = run("--budget", "128KiB")
    assert code == 0
    facts = json.loads(out)
    assert (facts["planner"], facts["status"]) == ("fusion", "optimal")
    assert facts["objective_bytes"] == facts["offchip_bytes"]
    unfused = json.loads(run("--budget", "128KiB", "--baseline", "no_fusion")[1])
    assert unfused["offchip_bytes"] > 1.5 * facts["offchip_bytes"]
    code, out, _ = run("--budget", "1KiB")
    assert (code, json.loads(out)["status"]) == (3, "infeasible")
    code, _, error = run("--budget", "64KiB", "--schedule", "joint")
    assert code == 2
    assert "fusion has no option 'schedule'" in error


def test_every_fuser_is_offered_by_name() -> None:
    assert tuple(BASELINES) == FUSERS
