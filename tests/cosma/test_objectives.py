"""Objectives beside traffic: least memory, and time among plans of one traffic."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.allocation import Lifetime, check_packing, load_lower_bound
from planners.allocation.min_capacity import pack_tightest
from planners.core.errors import SpillwayError
from planners.core.program import Store
from planners.core.progress import Clock
from planners.cosma.emit.program import emit
from planners.cosma.ilp import plan as ilp_plan
from planners.cosma.ilp.export import export_ilp
from planners.cosma.ilp.solve import Solved
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.joint import solve_all_orders
from planners.simulator.check import replay
from tests.cases import cases
from tests.cosma.brute_force import optimum
from tests.random_graphs import random_graph

SEEDS = st.integers(0, 10**6)
PLENTY = 10**6


@given(SEEDS, st.integers(2, 6), st.booleans(), st.booleans())
@settings(max_examples=cases(10, 100))
def test_the_least_memory_is_the_least_budget_without_spills(
    seed: int, operators: int, parameters: bool, any_order: bool
) -> None:
    graph = random_graph(seed, operators, largest=3)
    schedule = "joint" if any_order else "default"
    options = {"objective": "peak", "schedule": schedule, "parameters": parameters}
    plan = sp.plan(graph, budget=PLENTY, **options)
    report = sp.check(plan)
    assert plan.claims.objective_bytes == report.extent_bytes
    assert report.noncompulsory_bytes == 0

    def free(budget: int) -> bool:
        return optimum(graph, budget, any_order=any_order, parameters=parameters) == 0

    need = plan.claims.objective_bytes
    assert free(need)
    if plan.claims.status == "optimal":
        assert not free(need - 1)
    if not any_order:
        assert plan.claims.status == "optimal"
    assert not free(plan.claims.bound_bytes - 1)
    assert sp.plan(graph, budget=need, **options).claims.objective_bytes == need
    with pytest.raises(sp.BudgetTooSmall) as error:
        sp.plan(graph, budget=need - 1, **options)
    # Below the need of one operator nothing helps; from there on it is spilling that would.
    assert error.value.need_bytes in (need, sp.budgets(graph, parameters=parameters).MR)


@given(SEEDS, st.integers(2, 30))
@settings(max_examples=cases(10, 100))
def test_the_order_of_least_peak_needs_no_more_memory_than_the_default(
    seed: int, operators: int
) -> None:
    graph = random_graph(seed, operators, largest=99)
    claims = {
        schedule: sp.plan(graph, budget=PLENTY, objective="peak", schedule=schedule).claims
        for schedule in ("default", "mpmf", "joint", "dnc")
    }
    b = sp.budgets(graph)
    assert claims["default"].bound_bytes >= b.default_peak
    for schedule in ("mpmf", "joint", "dnc"):
        assert claims[schedule].objective_bytes <= claims["default"].objective_bytes
        assert claims[schedule].bound_bytes == b.MP_bound


def test_a_memory_too_small_to_go_without_spills_says_what_would_do() -> None:
    graph = random_graph(11, 12, largest=50)
    need = sp.plan(graph, budget=PLENTY, objective="peak").claims.objective_bytes
    with pytest.raises(sp.BudgetTooSmall, match=f"without spills it takes {need}") as error:
        sp.plan(graph, budget=need - 1, objective="peak")
    assert error.value.need_bytes == need
    assert sp.plan(graph, budget=need - 1).claims.noncompulsory_bytes >= 0


def test_the_paper_s_ilp_finds_the_order_of_least_peak_too() -> None:
    graph = random_graph(8, 6)
    ours = sp.plan(graph, budget=PLENTY, objective="peak", schedule="mpmf").claims
    theirs = sp.plan(graph, budget=PLENTY, objective="peak", schedule="mpmf", method="ilp")
    sp.check(theirs)
    assert theirs.claims.bound_bytes == ours.bound_bytes
    assert theirs.claims.objective_bytes == ours.objective_bytes


@st.composite
def lifetimes(draw: st.DrawFn) -> list[Lifetime]:
    count = draw(st.integers(0, 12))
    starts = [draw(st.integers(0, 9)) for _ in range(count)]
    return [
        Lifetime(str(i), at, at + draw(st.integers(1, 5)), draw(st.integers(1, 4)))
        for i, at in enumerate(starts)
    ]


@given(lifetimes())
def test_the_tightest_packing_is_valid_and_its_bound_true(items: list[Lifetime]) -> None:
    found = pack_tightest(items)
    check_packing(items, found.offsets, found.extent_bytes)
    assert load_lower_bound(items) <= found.bound_bytes == found.extent_bytes


@given(SEEDS, st.integers(3, 25), st.sampled_from(["default", "mpmf", "joint", "dnc"]))
@settings(max_examples=cases(8, 48))
def test_less_time_never_costs_traffic(seed: int, operators: int, order: str) -> None:
    graph = random_graph(seed, operators, largest=99)
    plain = sp.plan(graph, schedule=order)
    timed = sp.plan(graph, schedule=order, objective="traffic_then_latency")
    sp.check(timed)
    assert timed.claims.objective_bytes == timed.claims.noncompulsory_bytes
    assert timed.claims.noncompulsory_bytes <= plain.claims.noncompulsory_bytes
    assert timed.claims.bound_bytes == plain.claims.bound_bytes
    assert sp.simulate(timed).makespan_s <= sp.simulate(plain).makespan_s + 1e-12
    assert any("no plan of this traffic takes less" in note for note in timed.notes)


def test_early_stores_move_the_same_bytes() -> None:
    graph = random_graph(5, 30, largest=99)
    plan = sp.plan(graph, budget="MR")
    assert plan.claims.noncompulsory_bytes > 0
    problem = ScheduleProblem(graph, tuple(range(30)), False, plan.budget_bytes)
    solved, solution = solve_all_orders(problem, Clock(20))
    traffic = []
    for early in (False, True):
        program = emit(solved, plan.machine, solution.offsets, early_stores=early)
        report = replay(graph, program)
        traffic.append((report.loaded_bytes, report.stored_bytes, report.peak_bytes))
    assert traffic[0] == traffic[1]
    first_stores = [
        next(i.step for i in program.instructions if isinstance(i, Store))
        for program in (
            emit(solved, plan.machine, solution.offsets, early_stores=early)
            for early in (False, True)
        )
    ]
    assert first_stores[1] <= first_stores[0]


@pytest.mark.parametrize("objective", ["traffic_then_latency", "latency"])
def test_a_stop_before_latency_keeps_the_first_plan(objective: str) -> None:
    graph = random_graph(5, 20, largest=99)

    def stop(moment: sp.Progress) -> bool:
        return moment.stage != "latency"

    plan = sp.plan(graph, objective=objective, progress=stop)
    sp.check(plan)
    assert plan.claims.objective_bytes == sp.plan(graph).claims.objective_bytes


# Operators, seed: graphs whose input is dropped at MR, which only the paper charges a store for.
STRICT = [(4, 66), (4, 12), (5, 52)]


@pytest.mark.parametrize("case", STRICT)
def test_paper_strict_charges_every_spill_and_lets_nothing_move(case: tuple[int, int]) -> None:
    operators, seed = case
    graph = random_graph(seed, operators, largest=9)
    strict = sp.plan(graph, method="ilp", paper_strict=True)
    plain = sp.plan(graph, method="ilp")
    report = sp.check(strict)
    assert strict.claims.status == "optimal"
    assert strict.claims.objective_bytes >= plain.claims.objective_bytes
    assert report.noncompulsory_bytes == strict.claims.objective_bytes
    stays: dict[str, list[tuple[int, int]]] = {}
    for stay in report.residencies:
        stays.setdefault(stay.tensor, []).append((stay.start_step, stay.stop_step))
    for times in stays.values():
        times.sort()
        for (_, left), (back, _) in pairwise(times):
            assert back > left  # a step at least between them: `left` is the first one away


def test_paper_strict_charges_the_spill_of_an_input() -> None:
    graph = random_graph(66, 4, largest=9)
    assert sp.plan(graph, method="ilp").claims.objective_bytes == 2
    plan = sp.plan(graph, method="ilp", paper_strict=True)
    assert plan.claims.objective_bytes == 4
    assert any("paper's equations" in note for note in plan.notes)


def test_paper_strict_is_the_ilp_s() -> None:
    with pytest.raises(sp.BadInput, match="use method='ilp'"):
        sp.plan(random_graph(1, 4), paper_strict=True)
    with pytest.raises(sp.BadInput, match="solver='CBC': only the paper's ILP has it"):
        sp.plan(random_graph(1, 4), solver="CBC")


@pytest.mark.parametrize(
    ("status", "words"),
    [("unknown", "no plan in the time given"), ("infeasible", "cannot move between two steps")],
)
def test_paper_strict_without_a_solution_is_one_clear_error(
    status: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def solve(*_: object) -> Solved:
        return Solved(status, None, 0, 0, "HiGHS", 0.0)  # type: ignore[arg-type]

    monkeypatch.setattr(ilp_plan, "solve", solve)
    graph = random_graph(66, 4, largest=9)
    with pytest.raises(SpillwayError, match=words):
        sp.plan(graph, method="ilp", paper_strict=True)
    # The time may be over for our reading too, but then there is the best scheme's plan.
    if status == "unknown":
        solver = sp.plan(graph, method="ilp").claims.solver
        assert "nothing better from the ILP" in solver


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "fixed"),
        ({"schedule": "mpmf"}, "fixed"),
        ({"schedule": "joint", "paper_strict": True}, "full"),
        ({"schedule": "joint", "objective": "peak"}, "mpmf"),
    ],
)
def test_the_ilp_is_exported_for_the_options(
    options: dict[str, object], kind: str, tmp_path: Path
) -> None:
    graph = random_graph(7, 5)
    b = sp.budgets(graph)
    lp, mps = tmp_path / "x.lp", tmp_path / "x.mps"
    facts = export_ilp(graph, b.MR, options, lp, mps)
    assert (facts["kind"], facts["lp"], facts["mps"]) == (kind, str(lp), str(mps))
    assert lp.read_text().startswith(f"\\* cosma_{kind} *\\")
    text = mps.read_text()
    assert text.count("eq7_") > 0
    assert ("eq1a_" in text) == ("paper_strict" not in options)
    with pytest.raises(sp.BadInput, match="cannot write"):
        export_ilp(graph, b.MR, options, tmp_path / "no" / "x.lp")


def test_what_no_ilp_is_for_is_not_exported(tmp_path: Path) -> None:
    graph = random_graph(7, 5)
    with pytest.raises(sp.BadInput, match="use --schedule mpmf"):
        export_ilp(graph, 100, {"objective": "peak"}, tmp_path / "x.lp")
    with pytest.raises(sp.BadInput, match="divide and conquer has a search of its own"):
        export_ilp(graph, 100, {"schedule": "dnc"}, tmp_path / "x.lp")
    with pytest.raises(sp.Cancelled, match="while the ILP was written"):
        export_ilp(random_graph(7, 40), 10**4, {}, tmp_path / "x.lp", progress=lambda _: False)
