"""Fixed-schedule plans: optimal by brute force, valid by replay, never better than proven."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from planners.core.progress import Clock, Progress, now
from planners.cosma.model.problem import ScheduleProblem, TensorStay, cost_of, runs
from planners.cosma.order.peak import Footprints, minimum_peak, order_peak
from planners.cosma.place.joint_addresses import solve_jointly
from planners.cosma.replace.optimal import solve_fixed
from planners.cosma.replace.relaxation import relax
from planners.cosma.replace.repair import repair
from tests.cases import MANY, cases
from tests.cosma.brute_force import optimum
from tests.random_graphs import random_graph

SCHEMES = [(s, r) for s in ("default", "mpmf") for r in ("optimal", "belady", "greedy")]


@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(0, 1))
def test_equals_brute_force(seed: int, operators: int, share: float) -> None:
    graph = random_graph(seed, operators, largest=3)
    b = sp.budgets(graph)
    budget = min(b.MR + round(share * (b.default_peak - b.MR)), 11)
    if budget < b.MR:
        return
    plan = sp.plan(graph, budget=budget)
    sp.check(plan)
    assert plan.claims.status == "optimal"
    assert plan.claims.noncompulsory_bytes == optimum(graph, budget)


@given(st.integers(0, 10**6), st.integers(1, 30), st.booleans(), st.floats(0, 1.2))
@settings(max_examples=cases(15, MANY))
def test_every_scheme_is_valid_and_none_beats_the_bound(
    seed: int, operators: int, parameters: bool, share: float
) -> None:
    graph = random_graph(seed, operators, largest=200)
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    cost = {}
    for schedule, replacement in SCHEMES:
        plan = sp.plan(
            graph, budget=budget, schedule=schedule, replacement=replacement, parameters=parameters
        )
        report = sp.check(plan)
        assert report.traffic_bytes == plan.claims.offchip_bytes
        assert report.peak_bytes <= report.extent_bytes <= budget
        assert plan.claims.bound_bytes <= plan.claims.noncompulsory_bytes
        cost[schedule, replacement] = plan.claims
    for schedule in ("default", "mpmf"):
        best = cost[schedule, "optimal"]
        for other in ("belady", "greedy"):
            assert best.bound_bytes <= cost[schedule, other].noncompulsory_bytes
            if best.status == "optimal":
                assert best.noncompulsory_bytes <= cost[schedule, other].noncompulsory_bytes


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(max_examples=cases(20, MANY))
def test_nothing_is_spilled_where_the_schedule_of_least_peak_can_be_packed(
    seed: int, operators: int
) -> None:
    graph = random_graph(seed, operators)
    claims = sp.plan(graph, budget="MP", schedule="mpmf").claims
    # Fragmentation may cost something; the capacity alone never does.
    problem = ScheduleProblem(graph, sp.budgets(graph).schedule, False, sp.budgets(graph).MP)
    relaxed = relax(problem)
    assert relaxed is not None
    assert relaxed.objective_bytes == 0
    assert claims.noncompulsory_bytes >= 0


@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans())
def test_peak_equals_brute_force(seed: int, operators: int, parameters: bool) -> None:
    graph = random_graph(seed, operators)
    best = min(
        order_peak(graph, order, parameters)
        for order in itertools.permutations(range(operators))
        if _can_run(graph, order)
    )
    found = minimum_peak(graph, parameters)
    assert found.proven
    assert found.peak_bytes == best == order_peak(graph, found.schedule, parameters)


def _can_run(graph: sp.Graph, order: tuple[int, ...]) -> bool:
    done: set[int] = set()
    for position in order:
        inputs = graph.operators[position].inputs
        if any(graph.producer.get(t, position) not in {*done, position} for t in inputs):
            return False
        done.add(position)
    return True


@given(st.integers(0, 10**6), st.integers(5, 14))
def test_peak_search_cut_short_keeps_a_true_bound(seed: int, operators: int) -> None:
    graph = random_graph(seed, operators)
    exact = minimum_peak(graph)
    short = minimum_peak(graph, max_states=2)
    assert short.bound_bytes <= exact.peak_bytes <= short.peak_bytes
    assert sorted(short.schedule) == list(range(operators))
    assert order_peak(graph, short.schedule) == short.peak_bytes


def test_peak_search_looks_at_its_clock_within_a_state() -> None:
    """Where hundreds of operators are ready, one state takes seconds."""
    wide = [sp.Operator(f"o{i}", "op", (), (f"y{i}",)) for i in range(600)]
    sizes = {f"y{i}": 1 + i * 7919 % 997 for i in range(600)}
    tensors = {name: sp.Tensor(name, (n,), "activation", "int8") for name, n in sizes.items()}
    outputs = tuple(f"y{i}" for i in range(600))
    graph = sp.Graph("wide", tensors, tuple(wide), (), outputs)
    began = now()
    short = minimum_peak(graph, clock=Clock(0.2))
    assert now() - began < 1
    assert short.bound_bytes <= short.peak_bytes == order_peak(graph, short.schedule)


@given(st.integers(0, 10**6), st.integers(2, 20))
def test_repair_always_places_everything(seed: int, operators: int) -> None:
    graph = random_graph(seed, operators, largest=50)
    budget = sp.budgets(graph).MR
    problem = ScheduleProblem(graph, tuple(range(operators)), False, budget)
    relaxed = relax(problem)
    assert relaxed is not None
    stays = repair(problem, relaxed.dropped, Clock(10))
    assert len(stays) >= len(runs(problem, relaxed.dropped))
    assert all(at + problem.lines[run.line].size_bytes <= budget for run, at in stays.items())


def test_live_bytes_return_to_zero() -> None:
    graph = random_graph(7, 20)
    prints = Footprints(graph, parameters=True)
    done = live = 0
    for position in range(20):
        _, live, done = prints.move(done, live, position)
    assert (live, done) == (0, prints.all)


def test_too_small_a_budget_names_what_binds() -> None:
    graph = random_graph(3, 8, largest=100)
    b = sp.budgets(graph)
    with pytest.raises(sp.BudgetTooSmall, match=b.binding_operator) as error:
        sp.plan(graph, budget=b.MR - 1)
    assert (error.value.need_bytes, error.value.have_bytes) == (b.MR, b.MR - 1)


def test_wrong_options_say_what_there_is() -> None:
    graph = random_graph(3, 4)
    with pytest.raises(sp.BadInput, match="no option 'shedule'"):
        sp.plan(graph, shedule="mpmf")
    with pytest.raises(sp.BadInput, match="choose one of default, mpmf, joint"):
        sp.plan(graph, schedule="best")
    with pytest.raises(sp.UnknownName, match="did you mean 'cosma'"):
        sp.plan(graph, planner="cosmo")


def test_progress_is_told_and_a_stop_keeps_a_valid_plan() -> None:
    graph = random_graph(11, 30, largest=100)
    heard: list[Progress] = []

    def stop_at_once(moment: Progress) -> bool:
        heard.append(moment)
        return False

    plan = sp.plan(graph, budget="MR", progress=stop_at_once)
    assert sp.check(plan).noncompulsory_bytes == plan.claims.noncompulsory_bytes
    assert heard[0].stage == "capacity relaxation"
    assert heard[-1].stage == "done"


def test_a_plan_survives_json(tmp_path: object) -> None:
    plan = sp.plan(random_graph(5, 12, largest=90), budget="MH")
    path = f"{tmp_path}/plan.json"
    plan.save(path)
    again = sp.Plan.load(path)
    assert again == plan
    assert sp.check(again) == sp.check(plan)


def fragmented_graph() -> sp.Graph:
    """Seven operators whose runs fit by bytes at every step, and by address do not.

    Found by search: the capacity relaxation spills nothing at 12 bytes; one tensor of three bytes
    has to move.
    """
    sizes = "t0:4 u0:4 t1:1 u1:2 t2:3 t3:2 u3:1 t4:2 u4:3 t5:3 u5:3 t6:2".split()
    tensors = {"x": sp.Tensor("x", (3,), "input")}
    for name, size in (item.split(":") for item in sizes):
        tensors[name] = sp.Tensor(name, (int(size),))
    wires = ["x t0 u0", "x t1 u1", "u1 t2", "t0 t3 u3", "u1 t4 u4", "x t5 u5", "t3 t6"]
    operators = tuple(
        sp.Operator(f"op{i}", "any", (wire.split()[0],), tuple(wire.split()[1:]))
        for i, wire in enumerate(wires)
    )
    return sp.Graph("fragmented", tensors, operators, ("x",), ("t6",))


def test_fragmentation_costs_what_brute_force_says_it_does() -> None:
    graph = fragmented_graph()
    relaxed = relax(ScheduleProblem(graph, tuple(range(7)), False, 12))
    assert relaxed is not None
    assert relaxed.objective_bytes == 0
    plan = sp.plan(graph, budget=12)
    sp.check(plan)
    assert plan.claims.status == "optimal"
    assert plan.claims.noncompulsory_bytes == optimum(graph, 12) == 3


@pytest.mark.parametrize("hinted", [False, True])
def test_the_joint_model_finds_it_alone(hinted: bool) -> None:
    problem = ScheduleProblem(fragmented_graph(), tuple(range(7)), False, 12)
    hint = repair(problem, frozenset(), Clock(10)) if hinted else None
    joint = solve_jointly(problem, 0, hint, Clock(20))
    stays = joint.stays(problem)
    assert stays is not None
    assert cost_of(problem, stays) == 3
    assert (joint.objective_bytes, joint.bound_bytes) == (3, 3)


@given(st.integers(0, 10**6))
@settings(max_examples=cases(10))
def test_the_joint_model_agrees_with_windows(seed: int) -> None:
    graph = random_graph(seed, 12, largest=6)
    b = sp.budgets(graph)
    problem = ScheduleProblem(graph, tuple(range(12)), False, (b.MR + b.MP) // 2)
    joint = solve_jointly(problem, 0, None, Clock(20))
    assert joint.objective_bytes == joint.bound_bytes == solve_fixed(problem, Clock(20)).cost_bytes


@given(st.integers(0, 10**6), st.integers(0, 11), st.integers(1, 12))
@settings(max_examples=cases(10))
def test_windows_bound_the_whole(seed: int, first: int, steps: int) -> None:
    graph = random_graph(seed, 12, largest=6)
    problem = ScheduleProblem(graph, tuple(range(12)), False, sp.budgets(graph).MR)
    relaxed = relax(problem)
    assert relaxed is not None
    window = range(first, min(12, first + steps))
    within = solve_jointly(problem, 0, None, Clock(20), windows=(window,))
    assert within.dropped is not None
    assert within.objective_bytes == within.bound_bytes == problem.cost(within.dropped)
    best = solve_fixed(problem, Clock(20)).cost_bytes
    assert relaxed.bound_bytes <= within.bound_bytes <= best
    _check_window(problem, runs(problem, within.dropped), within.offsets, window)


def _check_window(
    problem: ScheduleProblem,
    stays: tuple[TensorStay, ...],
    offsets: Mapping[tuple[int, int], int],
    window: range,
) -> None:
    """Within the window every stay lies still, within the budget, and over no other."""
    for step in window:
        taken = []
        for run in stays:
            if run.first <= step <= run.last:
                uses = [u for u in problem.lines[run.line].uses if run.first <= u <= run.last]
                found = {offsets[run.line, u] for u in uses if (run.line, u) in offsets}
                (at,) = found
                taken.append((at, at + problem.lines[run.line].size_bytes))
        taken.sort()
        assert all(low[1] <= high[0] for low, high in itertools.pairwise(taken))
        assert taken[-1][1] <= problem.budget_bytes


@given(st.integers(0, 10**6), st.integers(8, 25))
@settings(max_examples=cases(25))
def test_progress_has_an_incumbent_at_once_and_both_only_improve(seed: int, operators: int) -> None:
    heard: list[Progress] = []
    plan = sp.plan(random_graph(seed, operators, largest=60), budget="MR", progress=heard.append)
    best = [m.incumbent_bytes for m in heard if m.incumbent_bytes is not None]
    bounds = [m.bound_bytes for m in heard if m.bound_bytes is not None]
    assert heard[0].incumbent_bytes is not None
    assert best == sorted(best, reverse=True)
    assert best[-1] == plan.claims.objective_bytes
    assert bounds[-1] == plan.claims.bound_bytes


@pytest.mark.parametrize("moment", range(6))
def test_a_stop_at_any_moment_keeps_the_best_plan_so_far(moment: int) -> None:
    heard: list[Progress] = []

    def stop(progress: Progress) -> bool:
        heard.append(progress)
        return len(heard) <= moment

    plan = sp.plan(fragmented_graph(), budget=12, progress=stop)
    sp.check(plan)
    best = min(m.incumbent_bytes for m in heard if m.incumbent_bytes is not None)
    assert plan.claims.objective_bytes <= best
    assert plan.claims.bound_bytes <= 3 <= plan.claims.objective_bytes
