"""Joined beginning with plans that were made before: never worse, and none is trusted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.core.plan_cache import keep_in, kept_in
from planners.core.progress import Clock
from planners.joined import warm_start
from planners.joined.fused import FusedParts
from planners.simulator.check import require_valid
from tests.joined.networks import graph_of

BUDGET = 12_000
COUNTED: dict[str, Any] = {"weights": "counted"}
ALONE: dict[str, Any] = {**COUNTED, "others": False, "objective": "traffic"}


@pytest.fixture(scope="module")
def graph() -> sp.Graph:
    """Wide maps, then narrow ones with many parameters."""
    return graph_of()


@pytest.fixture(scope="module")
def theirs(graph: sp.Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of fused groups, which joined beats."""
    plan = sp.plan(graph, "fusion", BUDGET, baseline="no_fusion", **COUNTED)
    path = tmp_path_factory.mktemp("plans") / "theirs.json"
    plan.save(path)
    return path


def traffic(plan: sp.Plan) -> int:
    return plan.claims.offchip_bytes


def test_the_better_of_what_it_began_with_and_of_its_own(graph: sp.Graph, theirs: Path) -> None:
    own = sp.plan(graph, "joined", BUDGET, time_limit=4, **ALONE)
    plan = sp.plan(graph, "joined", BUDGET, begin=str(theirs), time_limit=4, **ALONE)
    assert traffic(own) == traffic(plan) < traffic(sp.Plan.load(theirs))
    assert plan.planner == "joined"
    assert any("it began with (fusion)" in note for note in plan.notes)


@pytest.mark.parametrize("objective", ["latency", "traffic", "energy"])
def test_never_worse_whatever_the_time(graph: sp.Graph, objective: str, tmp_path: Path) -> None:
    good = sp.plan(graph, "joined", BUDGET, time_limit=4, **{**ALONE, "objective": objective})
    good.save(tmp_path / "good.json")
    options = {**ALONE, "objective": objective, "begin": [str(tmp_path / "good.json")]}
    plan = sp.plan(graph, "joined", BUDGET, time_limit=0.001, **options)
    values = [
        traffic(p) if objective == "traffic" else getattr(sp.simulate(p), name)
        for p in (plan, good)
        for name in [{"latency": "makespan_s", "energy": "energy_j"}.get(objective, "")]
    ]
    assert values[0] <= values[1] * (1 + 1e-9)


def test_fused_groups_it_began_with_are_among_its_own_ways(
    graph: sp.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no block is found in the pool it goes on from the groups that it was given."""
    least = _least(graph)
    groups = sp.plan(graph, "fusion", least, **COUNTED)
    groups.save(tmp_path / "groups.json")

    plain = FusedParts._plan

    def only_parts(self: FusedParts, part: sp.Graph, clock: Clock) -> sp.Plan:
        assert part is not self.graph, "fused groups of all of the network were searched again"
        return plain(self, part, clock)

    monkeypatch.setattr(FusedParts, "_plan", only_parts)
    given = {**ALONE, "improve": False, "begin": str(tmp_path / "groups.json")}
    plan = sp.plan(graph, "joined", least, time_limit=4, **given)
    assert traffic(plan) <= traffic(groups)


def _least(graph: sp.Graph) -> int:
    with pytest.raises(sp.BudgetTooSmall) as error:
        sp.plan(graph, "fusion", 1, **COUNTED)
    return error.value.need_bytes


def test_a_plan_for_less_memory_is_one_for_more(graph: sp.Graph, theirs: Path) -> None:
    plan = sp.plan(graph, "joined", 2 * BUDGET, begin=str(theirs), time_limit=0.001, **ALONE)
    assert plan.budget_bytes == 2 * BUDGET
    assert traffic(plan) <= traffic(sp.Plan.load(theirs))


def test_one_that_breaks_a_wish_is_not_taken(graph: sp.Graph, theirs: Path) -> None:
    names = [op.name for op in graph.operators]
    wish = f"fuse {names[0]} {names[1]}"
    plan = sp.plan(graph, "joined", BUDGET, begin=str(theirs), wishes=[wish], time_limit=4, **ALONE)
    assert plan.planner == "joined"


def test_what_a_file_claims_to_have_proven_counts_for_nothing(
    graph: sp.Graph, theirs: Path, tmp_path: Path
) -> None:
    data = json.loads(theirs.read_text())
    data["claims"] |= {"status": "optimal", "bound_bytes": data["claims"]["objective_bytes"]}
    path = tmp_path / "proud.json"
    path.write_text(json.dumps(data))
    plan = sp.plan(graph, "joined", _least(graph), begin=[], time_limit=4, **ALONE)
    assert plan.claims.status == "feasible"
    begun = sp.plan(graph, "joined", BUDGET, begin=str(path), time_limit=0.001, **ALONE)
    assert begun.claims.bound_bytes < traffic(sp.Plan.load(path))


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("graph", "another graph"),
        ("machine", "another machine"),
        ("weights", "weights counted, not in-place"),
        ("budget", "more memory"),
        ("program", "does not replay"),
        ("plan", "other.json: malformed plan: missing 'graph'"),
        ("text", "not JSON"),
        ("nothing", "cannot read"),
    ],
)
def test_what_is_wrong_with_a_plan_is_said(
    graph: sp.Graph, theirs: Path, tmp_path: Path, what: str, wrong: str
) -> None:
    machine: Any = "npu_small"
    path, budget, options = theirs, BUDGET, {**ALONE, "begin": str(theirs)}
    if what == "graph":
        graph = graph_of(side=28)
    elif what == "machine":
        machine = "stm32f411"
    elif what == "weights":
        options |= {"weights": "in-place"}
    elif what == "budget":
        budget = BUDGET // 2
    elif what == "program":
        data = json.loads(theirs.read_text())
        data["program"]["instructions"].pop(0)
        path = tmp_path / "cut.json"
        path.write_text(json.dumps(data))
    elif what == "plan":
        path = tmp_path / "other.json"
        path.write_text('{"format": "spillway-plan", "version": 2}')
    elif what == "text":
        path = tmp_path / "text.json"
        path.write_text("{")
    else:
        path = tmp_path / "nothing.json"
    with pytest.raises(sp.BadInput, match=wrong):
        sp.plan(graph, "joined", budget, machine, **{**options, "begin": str(path)})


def test_a_sweep_keeps_plans_to_begin_with(graph: sp.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "plans"
    first = sp.sweep(graph, ["fusion", "cosma"], [BUDGET, 1], time_limit=4, plans=folder, **COUNTED)
    kept = list(kept_in(folder, graph, BUDGET))
    assert len(kept) == sum(first["status"] != "infeasible") >= 1
    assert not list(kept_in(folder, graph, 1))
    named = f"joined:objective=traffic:others=false:begin={folder}"
    table = sp.sweep(graph, named, BUDGET, time_limit=0.001, **COUNTED)
    best = first["offchip_bytes"].min()
    assert table["offchip_bytes"][0] <= best


def test_kept_plans_of_another_problem_are_passed_over(graph: sp.Graph, tmp_path: Path) -> None:
    """`overlap` reads weights in place: in a sweep with weights counted its plans are kept too."""
    size = 2 * BUDGET
    sp.sweep(graph, ["fusion", "overlap"], size, time_limit=4, plans=tmp_path, **COUNTED)
    fused, in_place = (sp.Plan.load(path) for path in kept_in(tmp_path, graph, size))
    assert (fused.planner, in_place.planner) == ("fusion", "overlap")
    plan = sp.plan(graph, "joined", size, begin=str(tmp_path), time_limit=0.001, **ALONE)
    assert traffic(plan) <= traffic(fused)


def test_of_kept_plans_those_that_claim_more_are_not_replayed(
    graph: sp.Graph, theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = sp.plan(graph, "joined", BUDGET, time_limit=4, **ALONE)
    many = sp.Plan.load(theirs)
    for key, plan in (("0", many), ("1", few)):
        keep_in(tmp_path, plan, BUDGET, key)
    replayed: list[int] = []

    def noted(plan: sp.Plan) -> None:
        replayed.append(traffic(plan))
        require_valid(plan)

    monkeypatch.setattr(warm_start, "require_valid", noted)
    found = sp.plan(graph, "joined", BUDGET, begin=str(tmp_path), time_limit=0.001, **ALONE)
    assert traffic(found) == traffic(few) < traffic(many)
    assert replayed == [traffic(few)]
    cut = replace(many, program=replace(many.program, instructions=()))
    cut.save(tmp_path / "cut.json")
    named = [str(tmp_path), str(tmp_path / "cut.json")]
    with pytest.raises(sp.BadInput, match="does not replay"):  # One that is named always is.
        sp.plan(graph, "joined", BUDGET, begin=named, time_limit=0.001, **ALONE)


def test_a_folder_that_cannot_be_written_is_said_at_once(graph: sp.Graph, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(sp.BadInput, match="cannot keep plans"):
        sp.sweep(graph, "fusion", BUDGET, time_limit=1, plans=file / "plans", **COUNTED)


def test_a_sweep_in_which_nothing_fits_leaves_a_folder(graph: sp.Graph, tmp_path: Path) -> None:
    sp.sweep(graph, "fusion", 1, time_limit=1, plans=tmp_path / "plans", **COUNTED)
    assert list(kept_in(tmp_path / "plans", graph, 1)) == []


def test_a_folder_without_plans_of_the_problem_is_no_error(graph: sp.Graph, tmp_path: Path) -> None:
    assert sp.plan(graph, "joined", BUDGET, begin=str(tmp_path), time_limit=2, **ALONE).program
