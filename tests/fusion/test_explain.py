"""What the groups of a plan are said to be, and why two of them are not one."""

from __future__ import annotations

import json

import pytest

import planners as sp
from planners.cli import main
from planners.core.problem import Problem
from planners.core.program import Load, Store
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.explain import Explainer, FusedGroup, groups_of
from planners.fusion.options import FusionOptions
from planners.fusion.partition.cost_model import Partition
from planners.fusion.planner import plan_partition
from tests.fusion.families import family
from tests.fusion.networks import CASES, graph_of
from tests.plans import plan_of

MACHINE = sp.load_machine("npu_small")


@pytest.fixture(scope="module")
def squeezed() -> sp.Plan:
    """SqueezeNet where its weights do not all fit: several groups of many tiles."""
    return plan_of("squeezenet1_0", "fusion", 128 * 1024)


def explained(plan: sp.Plan) -> tuple[tuple[FusedGroup, ...], Explainer]:
    return groups_of(plan), Explainer.of_plan(plan)


def test_groups_have_all_operators_steps_and_traffic(squeezed: sp.Plan) -> None:
    groups, report = groups_of(squeezed), sp.check(squeezed)
    assert sorted(n for g in groups for n in g.operators) == sorted(squeezed.graph.index)
    steps = [(g.start_step, g.stop_step) for g in groups]
    assert [a for a, _ in steps] == [0, *[b for _, b in steps[:-1]]]
    assert steps[-1][1] == len(squeezed.program.steps)
    assert sum(g.traffic_bytes for g in groups) == report.traffic_bytes
    ends = {s.stop_step for s in report.residencies}
    assert {b for _, b in steps} <= ends


def test_groups_of_a_saved_plan_are_the_same(squeezed: sp.Plan) -> None:
    again = sp.Plan.from_json(json.loads(json.dumps(squeezed.to_json())))
    assert groups_of(again) == groups_of(squeezed)


def test_other_plans_have_no_groups() -> None:
    assert groups_of(sp.plan(graph_of("chain", 1), "cosma", "MR")) == ()


def test_kept_parameters_come_once_and_others_again(squeezed: sp.Plan) -> None:
    groups = groups_of(squeezed)
    times: dict[tuple[int, str], int] = {}
    for item in squeezed.program.instructions:
        if isinstance(item, Load) and squeezed.graph.tensors[item.piece.tensor].kind == "parameter":
            k = next(k for k, g in enumerate(groups) if item.step < g.stop_step)
            times[k, item.piece.tensor] = (
                times.get((k, item.piece.tensor), 0) + item.source.size_bytes
            )
    held = squeezed.graph.tensors
    for (k, name), size in times.items():
        if held[name].kind != "parameter":
            continue
        again = size > squeezed.graph.size_bytes(name)
        assert name in (groups[k].refilled if again else groups[k].kept)
    assert any(g.kept for g in groups)


def test_the_tile_is_what_the_first_step_stores(squeezed: sp.Plan) -> None:
    for group in groups_of(squeezed):
        stored = [
            item.piece.box
            for item in squeezed.program.instructions
            if isinstance(item, Store)
            and (item.step, item.piece.tensor) == (group.start_step, group.output)
        ]
        rows = sum({box[2]: box[2][1] - box[2][0] for box in stored if len(box) > 2}.values())
        if rows:
            assert group.tile[2][1] - group.tile[2][0] == rows


def test_costs_with_and_without_are_those_of_the_model(squeezed: sp.Plan) -> None:
    groups, why = explained(squeezed)
    budget, model = squeezed.budget_bytes, why.model
    for k, group in enumerate(groups):
        way = why.way(k)
        assert way
        assert way.traffic_bytes == group.traffic_bytes
        alone = why.alone_bytes(k)
        assert alone is not None
        assert alone >= group.traffic_bytes
        for pair in why.neighbours(k):
            assert pair.shared
            assert pair.reason
            assert pair.apart_bytes == group.traffic_bytes + groups[pair.there].traffic_bytes
            best = model.best(why.groups[k] | why.groups[pair.there], budget)
            assert pair.together_bytes == (best.traffic_bytes if best else None)
            if best:  # the plan is the best, so no union of two saves anything
                assert best.traffic_bytes >= pair.apart_bytes or "wait" in pair.reason
            elif pair.need_bytes is not None:
                assert pair.need_bytes > budget
                assert "does not fit" in pair.reason


def test_an_operator_of_its_own_has_a_reason(squeezed: sp.Plan) -> None:
    groups, why = explained(squeezed)
    for k, group in enumerate(groups):
        assert bool(why.why_single(k)) == (len(group.operators) == 1)


def test_what_cannot_be_fused_says_so() -> None:
    plan = sp.plan(graph_of("tail", 1), "fusion", 10**6)
    _, why = explained(plan)
    needy = [i for i in range(len(plan.graph.operators)) if why.model.tables[i].alone]
    assert needy
    for i in needy:
        k = why.groups.index(1 << i)
        assert why.why_single(k) == why.model.tables[i].alone
        assert all("all" in pair.reason for pair in why.neighbours(k))


def test_a_plan_that_is_not_the_best_is_told() -> None:
    graph = graph_of("chain", 1)
    plan = sp.plan(graph, "fusion", 10**6, baseline="no_fusion")
    _, why = explained(plan)
    reasons = [pair.reason for k in range(len(graph.operators)) for pair in why.neighbours(k)]
    assert any("saves traffic: this plan is not the best" in reason for reason in reasons)
    assert any("it would save" in why.why_single(k) for k in range(len(graph.operators)))


def test_plans_that_keep_maps_on_chip_are_told_so() -> None:
    plan = sp.plan(family("fires"), "fusion", 2048, joint=True)
    groups, why = explained(plan)
    assert sum(group.traffic_bytes for group in groups) == sp.check(plan).traffic_bytes
    pairs = [pair for k in range(len(groups)) for pair in why.neighbours(k)]
    for pair in pairs:
        saves = pair.together_bytes is not None and pair.together_bytes < pair.apart_bytes
        assert saves == (pair.reason.startswith("saves traffic"))
        assert "not the best" not in pair.reason


def test_a_path_that_comes_back_is_named() -> None:
    graph = graph_of("residual", 1)
    model = GroupModel(graph, MACHINE, FusionOptions().values())
    masks = tuple(1 << i for i in range(len(graph.operators)))
    cost = sum(model.best(mask, 10**6).traffic_bytes for mask in masks)  # type: ignore[union-attr]
    found = Partition(masks, cost, 0, "feasible")
    request = Problem(graph, MACHINE, 10**6, FusionOptions(), Clock(10))
    plan = plan_partition(request, model, found)
    _, why = explained(plan)
    reasons = [pair.reason for k in range(len(masks)) for pair in why.neighbours(k)]
    assert any("comes back by" in reason for reason in reasons)


def test_all_small_networks_are_explained() -> None:
    for name in CASES:
        graph = graph_of(name, 1)
        plan = sp.plan(graph, "fusion", 10**6)
        groups, why = explained(plan)
        assert sum(len(g.operators) for g in groups) == len(graph.operators)
        for k in range(len(groups)):
            assert all(pair.reason for pair in why.neighbours(k))


def test_the_command_lists_groups(capfd: pytest.CaptureFixture[str], squeezed: sp.Plan) -> None:
    asked = ["plan", "squeezenet1_0", "--planner", "fusion", "--budget", "128KiB"]
    with pytest.raises(SystemExit) as ended:
        main([*asked, "--json"])
    assert not ended.value.code
    groups = json.loads(capfd.readouterr().out)["groups"]
    assert groups == [list(group.operators) for group in groups_of(squeezed)]
    with pytest.raises(SystemExit):
        main(asked)
    lines = capfd.readouterr().out.splitlines()
    for group in groups_of(squeezed):
        (line,) = [line for line in lines if line.split()[:1] == [group.name]]
        assert f"{group.tiles} tiles" in line
        assert line.endswith(", ".join(group.operators))
    with pytest.raises(SystemExit):
        main(["plan", "squeezenet1_0", "--json"])
    assert "groups" not in json.loads(capfd.readouterr().out)
