"""The paper's ILP agrees with the search, to the byte; its solvers and files behave."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import planners as sp
from planners.cli import main
from planners.core.errors import SpillwayError
from planners.cosma.ilp import solve as ilp_solve
from planners.cosma.ilp.model import build
from planners.cosma.ilp.plan import order_of
from planners.cosma.ilp.solve import Solved, solve, solvers, write_lp, write_mps
from planners.cosma.ilp.variables import Ilp, Kind, load_pulp
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.peak import order_peak
from tests.random_graphs import random_graph

# Operators, seed, parameters, share of the way from MR to MP, schedule. The last four spill in
# all schedules, those before them (at MR) in their default one.
CASES = [
    *((3, 5, True, 1.0, "joint"), (4, 44, False, 0.5, "joint"), (4, 2, True, 0.0, "default")),
    *((4, 91, True, 0.0, "default"), (4, 91, True, 0.0, "joint"), (5, 52, True, 0.0, "joint")),
    *((4, 12, False, 0.0, "joint"), (4, 16, False, 0.0, "joint"), (4, 53, True, 0.0, "joint")),
]
USUAL = [CASES[0], CASES[2], CASES[6]]


def problem(
    operators: int, seed: int, parameters: bool = False, share: float = 0.0, largest: int = 9
) -> ScheduleProblem:
    graph = random_graph(seed, operators, largest)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    return ScheduleProblem(graph, tuple(range(operators)), parameters, budget)


def solved(
    kind: Kind, *case: int, solver: str | None = None, strict: bool = False
) -> tuple[Ilp, Solved]:
    model = build(problem(*case), kind, paper_strict=strict)
    return model, solve(model, solver)


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=() if c in USUAL else pytest.mark.long) for c in CASES]
)
def test_agrees_with_the_search(case: tuple[int, int, bool, float, str]) -> None:
    *given, schedule = case
    p = problem(*given)
    options = {"budget": p.budget_bytes, "parameters": p.parameters, "schedule": schedule}
    theirs = sp.plan(p.graph, method="ilp", **options)
    ours = sp.plan(p.graph, **options)
    sp.check(theirs)
    assert theirs.claims.status == ours.claims.status == "optimal"
    assert theirs.claims.objective_bytes == ours.claims.objective_bytes


@pytest.mark.parametrize("case", [(3, 5, True), (5, 7, False), (6, 8, True)])
def test_the_least_peak_is_the_search_s(case: tuple[int, int, bool]) -> None:
    model, found = solved("mpmf", *case)
    p = model.problem
    assert found.status == "optimal"
    assert found.objective_bytes == sp.budgets(p.graph, parameters=p.parameters).MP
    assert order_peak(p.graph, order_of(model, found), p.parameters) == found.objective_bytes


def test_plans_for_the_schedule_of_least_peak() -> None:
    graph = random_graph(7, 5)
    plan = sp.plan(graph, budget="MP", method="ilp", schedule="mpmf")
    sp.check(plan)
    order = tuple(graph.index[name] for name in plan.program.steps)
    assert order_peak(graph, order) == sp.budgets(graph).MP
    assert plan.claims.bound_bytes == 0


def test_solvers_agree() -> None:
    assert solvers()[0] == "HiGHS"
    for solver in solvers():
        assert solved("fixed", 4, 4, solver=solver)[1].objective_bytes == 10


@pytest.mark.parametrize("tighten", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize(("kind", "cost"), [("full", 2), ("fixed", 8)])
def test_capacity_rows_change_no_answer(kind: Kind, cost: int, tighten: bool) -> None:
    found = solve(build(problem(4, 12), kind, tighten=tighten))
    assert (found.status, found.objective_bytes) == ("optimal", cost)


def test_the_paper_s_own_equations_charge_the_spill_of_an_input() -> None:
    assert solved("fixed", 4, 66)[1].objective_bytes == 2
    model, found = solved("fixed", 4, 66, strict=True)
    assert (found.status, found.objective_bytes) == ("optimal", 4)
    names = {c.name.split("_")[0] for c in model.lp.constraints()}
    assert "eq1" in names
    assert not names & {"eq1a", "eq1b", "eq4a"}


def test_every_constraint_carries_its_equation() -> None:
    numbers = {
        "full": {*range(1, 12)},
        "mpmf": {1, 2, 5, 6, 7, 14},  # (13) by leaving S and R out
        "fixed": {*range(1, 12), 16},
    }
    p = problem(8, 36)
    for kind, wanted in numbers.items():
        model = build(p, kind)  # type: ignore[arg-type]
        names = [re.fullmatch(r"eq(\d+)[ab]?(_\d)?_\w+", c.name) for c in model.lp.constraints()]
        assert {int(name[1]) for name in names if name} == wanted
        assert None not in names


def test_writes_files_that_solvers_read(tmp_path: Path) -> None:
    model = build(problem(4, 4), "full")
    write_lp(model, tmp_path / "x.lp")
    write_mps(model, tmp_path / "x.mps")
    for name in ("x.lp", "x.mps"):
        text = (tmp_path / name).read_text()
        assert "eq5_t0_x_t0" in text or "eq5a_t0_x_t0" in text
    with pytest.raises(sp.BadInput, match="cannot write"):
        write_lp(model, tmp_path / "no" / "x.lp")


@pytest.mark.usefixtures("solver_process")
def test_pulp_leaves_room_for_ortools() -> None:
    code = (
        "import sys\n"
        "from planners.cosma.ilp.variables import load_pulp\n"
        "load_pulp()\n"
        "assert 'highspy' not in sys.modules\n"
        "import ortools.sat.python.cp_model\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_missing_solver_is_one_clear_error() -> None:
    model = build(problem(3, 1), "mpmf")
    with pytest.raises(sp.BadInput, match=r"unknown solver 'nonsense'; there are HiGHS"):
        solve(model, "nonsense")
    with pytest.raises(sp.BadInput, match=r"XPRESS is not installed here; there are HiGHS"):
        sp.plan(model.problem.graph, method="ilp", solver="xpress")


@pytest.mark.usefixtures("solver_process")
def test_a_dying_solver_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(problem(3, 1), "mpmf")
    monkeypatch.setattr(ilp_solve, "_WORKER", "import os, signal; os.kill(os.getpid(), 9)")
    with pytest.raises(SpillwayError, match="the solver HiGHS failed: exit -9"):
        solve(model)
    cbc = tmp_path / "cbc"
    cbc.write_text("#!/bin/sh\nexit 3\n")
    cbc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SpillwayError, match="the solver COIN_CMD failed: its command ended with an error"
    ):
        solve(model, "CBC")


@pytest.mark.parametrize("operators", [16, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.parametrize("schedule", ["default", "mpmf", "joint"])
def test_out_of_time_is_a_plan_under_a_true_bound(schedule: str, operators: int) -> None:
    graph = random_graph(3, operators, largest=99)
    plan = sp.plan(graph, method="ilp", schedule=schedule, time_limit=0.2)
    sp.check(plan)
    if schedule == "mpmf":  # What is bounded is the order found, which may have more than MP.
        found = [graph.operators[graph.index[name]] for name in plan.program.steps]
        best = sp.plan(replace(graph, operators=tuple(found))).claims
    else:
        best = sp.plan(graph, schedule=schedule).claims
    assert plan.claims.bound_bytes <= best.noncompulsory_bytes
    if schedule != "mpmf":
        online = sp.plan(graph, replacement="belady", alignment=1).claims
        assert plan.claims.noncompulsory_bytes <= online.noncompulsory_bytes
    if schedule == "joint":
        assert best.bound_bytes <= plan.claims.noncompulsory_bytes


@pytest.mark.usefixtures("solver_process")
def test_a_stop_ends_the_solver_s_process() -> None:
    model = build(problem(12, 7, largest=99), "full")
    found = solve(model, should_stop=lambda: True)
    assert (found.status, found.values) == ("unknown", None)
    assert found.seconds < 5


def test_takes_no_baseline_replacement() -> None:
    with pytest.raises(sp.BadInput, match="the ILP itself chooses what is spilled"):
        sp.plan(random_graph(1, 5), method="ilp", replacement="belady")


@pytest.mark.usefixtures("solver_process")
def test_the_command_line_has_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    random_graph(12, 4, 9).save(tmp_path / "x.json")
    arguments = ["plan", str(tmp_path / "x.json"), "--schedule", "joint", "--method", "ilp"]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--json"])
    assert not stop.value.code
    row = json.loads(capfd.readouterr().out)
    assert (row["status"], row["objective_bytes"], row["solver"]) == ("optimal", 2, "ILP (HiGHS)")


def test_another_pulp_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_pulp(), "__version__", "4.0.0a12")
    with pytest.raises(sp.BadInput, match=r"need PuLP 3, and 4\.0\.0a12 is installed: pip install"):
        sp.plan(sp.load("mcunet_in0"), "cosma", "MR", method="ilp")
