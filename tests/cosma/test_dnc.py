"""Divide and conquer: parts of any DAG, plans that hold, bounds that are true."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import planners as sp
from planners.core.progress import Clock
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order import divide_and_conquer as dnc
from planners.cosma.order.breaks import find_breaks, parts_at
from planners.cosma.order.divide_and_conquer import solve_parts
from planners.cosma.order.joint import solve_all_orders
from planners.cosma.order.parts import Boundary, boundary_after, induced, part_problem
from planners.cosma.order.peak import minimum_peak
from planners.cosma.replace.optimal import solve_fixed
from tests.cases import MANY, cases
from tests.importers.few_blocks import few_blocks
from tests.plans import plan_of
from tests.random_graphs import random_graph

SEEDS = st.integers(0, 10**6)


def problem(graph: sp.Graph, share: float, parameters: bool = False) -> ScheduleProblem:
    b = sp.budgets(graph, parameters=parameters)
    budget = b.MR + round(share * (b.MP - b.MR))
    return ScheduleProblem(graph, tuple(range(len(graph.operators))), parameters, budget)


@given(SEEDS, st.integers(3, 8), st.booleans(), st.floats(0, 1), st.data())
@settings(max_examples=cases(20, 160))
def test_never_below_the_optimum_and_under_a_true_bound(
    seed: int, operators: int, parameters: bool, share: float, data: st.DataObject
) -> None:
    graph = random_graph(seed, operators, largest=9)
    p = problem(graph, share, parameters)
    options = {"budget": p.budget_bytes, "parameters": parameters}
    breaks = data.draw(st.lists(st.sampled_from(list(graph.index)), max_size=3, unique=True))
    assume(_split(graph, breaks))
    plan = sp.plan(graph, schedule="dnc", break_nodes=breaks or "auto", **options)
    sp.check(plan)
    best = sp.plan(graph, schedule="joint", **options).claims
    assert plan.claims.objective_bytes >= best.bound_bytes
    assert plan.claims.bound_bytes <= best.objective_bytes
    assert plan.claims.bound_bytes <= plan.claims.objective_bytes


def _split(graph: sp.Graph, names: list[str]) -> bool:
    try:
        return bool(parts_at(graph, names))
    except sp.BadInput:
        return False


@given(SEEDS, st.integers(2, 40), st.integers(1, 12))
@settings(max_examples=cases(25, MANY))
def test_parts_are_a_schedule_of_any_graph(seed: int, operators: int, most: int) -> None:
    graph = random_graph(seed, operators)
    names = find_breaks(graph, most)
    parts = parts_at(graph, names)
    assert len(parts) == len(names) + 1
    assert sorted(i for part in parts for i in part) == list(range(operators))
    done: set[str] = set(graph.inputs)
    for part in parts:
        for i in part:
            assert done.issuperset(graph.operators[i].inputs)
            done.update(graph.operators[i].outputs)


def chain_of_cells(cells: int) -> sp.Graph:
    """Cells of three operators between which one small tensor passes; large ones within."""
    tensors = {"y0": sp.Tensor("y0", (2,), "input")}
    ops = []
    for i in range(cells):
        for name, size in ((f"a{i}", 8), (f"b{i}", 9), (f"y{i + 1}", 2)):
            tensors[name] = sp.Tensor(name, (size,))
        ops += [
            sp.Operator(f"a{i}", "any", (f"y{i}",), (f"a{i}",)),
            sp.Operator(f"b{i}", "any", (f"y{i}", f"a{i}"), (f"b{i}",)),
            sp.Operator(f"y{i + 1}", "any", (f"b{i}",), (f"y{i + 1}",)),
        ]
    return sp.Graph("cells", tensors, tuple(ops), ("y0",), (f"y{cells}",))


def test_cuts_are_where_little_crosses() -> None:
    graph = chain_of_cells(5)
    assert find_breaks(graph, 3) == ("y1", "y2", "y3", "y4")
    assert find_breaks(graph, 7) in [("y1", "y3"), ("y2", "y3"), ("y2", "y4"), ("y1", "y3")]
    assert find_breaks(graph, 15) == ()


def test_a_large_tensor_that_crosses_a_part_takes_its_space_in_it() -> None:
    """`keep` is made first and read last: 10 of 20 bytes all the way through the middle part."""
    sizes = {"keep": 10, "s": 1, "p": 6, "q": 5, "m": 1, "end": 1}
    tensors = {"x": sp.Tensor("x", (1,), "input")}
    tensors |= {name: sp.Tensor(name, (size,)) for name, size in sizes.items()}
    wires = {
        "keep": ("x",),
        "s": ("x",),
        "p": ("s",),
        "q": ("s",),
        "m": ("p", "q"),
        "end": ("keep", "m"),
    }
    ops = tuple(sp.Operator(name, "any", reads, (name,)) for name, reads in wires.items())
    graph = sp.Graph("across", tensors, ops, ("x",), ("end",))
    whole = ScheduleProblem(graph, tuple(range(6)), False, 20)
    first, middle, last = (0, 1), (2, 3, 4), (5,)
    planned = part_problem(whole, first, Boundary(), [*middle, *last])
    solved, solution = solve_all_orders(planned.problem, Clock(20))
    after = boundary_after(planned, solved, solution, Boundary())
    assert after == Boundary(frozenset({"keep", "s"}))
    planned = part_problem(whole, middle, after, last)
    names = {op.name: op for op in planned.problem.graph.operators}
    assert set(names["enter"].outputs) == {"keep", "s"}
    assert set(names["leave"].inputs) == {"keep", "m"}
    # 10 + 6 + 5 + 1 bytes are two too many: the part alone has to spill, and says so.
    assert solve_all_orders(planned.problem, Clock(20))[1].cost_bytes > 0
    assert solve_all_orders(induced(whole, middle), Clock(20))[1].cost_bytes == 0


@given(SEEDS, st.integers(6, 16), st.integers(2, 5), st.floats(0, 0.6))
@settings(max_examples=cases(10, 100))
def test_bounds_of_parts_hold_for_the_whole(
    seed: int, operators: int, most: int, share: float
) -> None:
    graph = random_graph(seed, operators, largest=30)
    p = problem(graph, share)
    found = solve_parts(p, Clock(20), find_breaks(graph, most))
    best = solve_all_orders(p, Clock(20))[1]
    assert found.solution.bound_bytes <= best.cost_bytes
    assert found.solution.cost_bytes >= best.bound_bytes


def test_parts_bound_a_network_whose_cells_all_spill() -> None:
    graph = wide_cells(3)
    p = problem(graph, 0.0)
    parts = solve_parts(p, Clock(20), ("y1", "y2")).solution
    best = solve_all_orders(p, Clock(20))[1]
    assert 0 < parts.bound_bytes <= best.bound_bytes <= best.cost_bytes <= parts.cost_bytes


def wide_cells(cells: int) -> sp.Graph:
    """Cells in which three tensors must live across an operator that leaves room for one."""
    tensors = {"y0": sp.Tensor("y0", (1,), "input")}
    ops = []
    for i in range(cells):
        for name, size in (("a", 6), ("b", 7), ("c", 8), ("d", 9), ("e", 14)):
            tensors[f"{name}{i}"] = sp.Tensor(f"{name}{i}", (size,))
        tensors[f"y{i + 1}"] = sp.Tensor(f"y{i + 1}", (1,))
        wires = {
            "a": (f"y{i}",),
            "b": (f"a{i}",),
            "c": (f"b{i}",),
            "d": (f"c{i}",),
            "e": (f"d{i}",),
        }
        ops += [sp.Operator(n + str(i), "any", r, (n + str(i),)) for n, r in wires.items()]
        names = (f"a{i}", f"b{i}", f"e{i}")
        ops.append(sp.Operator(f"y{i + 1}", "any", names, (f"y{i + 1}",)))
    return sp.Graph("wide cells", tensors, tuple(ops), ("y0",), (f"y{cells}",))


@given(SEEDS, st.integers(4, 20), st.integers(2, 6), st.floats(0, 0.8), st.booleans())
@settings(max_examples=cases(12, 120))
def test_never_worse_than_a_known_order_of_the_whole(
    seed: int, operators: int, most: int, share: float, parameters: bool
) -> None:
    graph = random_graph(seed, operators, largest=30)
    p = problem(graph, share, parameters)
    least = replace(p, schedule=minimum_peak(graph, parameters).schedule)
    known = min(solve_fixed(ordered, Clock(20)).cost_bytes for ordered in (p, least))
    assert solve_parts(p, Clock(60), find_breaks(graph, most)).solution.cost_bytes <= known


@pytest.mark.parametrize("seed", range(4))
def test_at_the_least_peak_nothing_is_spilled(seed: int) -> None:
    """Parts alone would spill: within them, orders know nothing of what the others hold."""
    graph = random_graph(seed, 40, largest=99)
    plan = sp.plan(graph, budget="MP", schedule="dnc", break_nodes=find_breaks(graph, 4))
    sp.check(plan)
    assert (plan.claims.status, plan.claims.objective_bytes) == ("optimal", 0)


def test_a_plan_is_known_before_anything_is_searched() -> None:
    heard: list[sp.Progress] = []
    graph = random_graph(2, 24, largest=99)
    plan = sp.plan(graph, schedule="dnc", progress=heard.append)
    costs = [moment.incumbent_bytes for moment in heard if moment.incumbent_bytes is not None]
    assert costs[0] in [moment.incumbent_bytes for moment in heard[:2]]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == plan.claims.objective_bytes


def test_larger_parts_are_tried_while_there_is_something_to_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dnc, "FIRST_OPERATORS", 4)
    graph = random_graph(2, 24, largest=99)
    p = problem(graph, 0.0)
    levels = [find_breaks(graph, most) for most in (4, 8, 16, 32)]
    alone = [solve_parts(p, Clock(4), names).solution.cost_bytes for names in levels if names]
    found = solve_parts(p, Clock(12))
    assert found.solution.cost_bytes <= min(alone)
    assert found.breaks in levels


def test_break_nodes_by_name_as_list_and_as_text() -> None:
    graph = chain_of_cells(4)
    plans = [
        sp.plan(graph, budget="MR", schedule="dnc", break_nodes=given)
        for given in (["y3", "y1"], ("y1", "y3"), "y1, y3")
    ]
    for plan in plans:
        assert plan.program == plans[0].program
        notes = " ".join(plan.notes)
        assert "break nodes: y1, y3" in notes or "break nodes: y3, y1" in notes
    again = sp.Plan.from_json(plans[0].to_json())
    assert again == plans[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere", "'nowhere' is not an operator"),
        (["y4"], "'y4' does not split the network: it leaves nothing"),
        (["y1", "y1"], "'y1' does not split the network: it is named twice"),
        (7, "break_nodes must be 'auto' or names"),
        ([1], "break_nodes must be 'auto' or names"),
        ("", "break_nodes must be 'auto' or names"),
    ],
)
def test_wrong_break_nodes_are_named(given: object, words: str) -> None:
    with pytest.raises(sp.BadInput, match=words):
        sp.plan(chain_of_cells(4), schedule="dnc", break_nodes=given)


def test_what_does_not_go_with_divide_and_conquer() -> None:
    graph = chain_of_cells(3)
    with pytest.raises(sp.BadInput, match="use schedule='dnc'"):
        sp.plan(graph, break_nodes=["y1"])
    with pytest.raises(sp.BadInput, match="divide and conquer has a search of its own"):
        sp.plan(graph, schedule="dnc", method="ilp")
    with pytest.raises(sp.BadInput, match="it is chosen together with the order"):
        sp.plan(graph, schedule="dnc", replacement="belady")


@pytest.mark.parametrize("moment", range(0, 16, 3))
def test_a_stop_at_any_moment_keeps_a_plan_under_a_true_bound(moment: int) -> None:
    graph = replace(random_graph(2, 24, largest=99), name="stopped")
    best = plan_of(graph, schedule="joint").claims
    heard: list[sp.Progress] = []

    def stop(progress: sp.Progress) -> bool:
        heard.append(progress)
        return len(heard) <= moment

    breaks = find_breaks(graph, 8)
    plan = sp.plan(graph, schedule="dnc", break_nodes=breaks, progress=stop)
    sp.check(plan)
    assert plan.claims.bound_bytes <= best.objective_bytes
    assert plan.claims.objective_bytes >= best.bound_bytes


def test_nothing_to_spill_is_optimal_at_once() -> None:
    plan = sp.plan(random_graph(3, 60), budget="1MB", schedule="dnc")
    assert (plan.claims.status, plan.claims.objective_bytes) == ("optimal", 0)


WAYS = pytest.mark.parametrize(
    "options",
    [
        {"schedule": "dnc", "budget": "MR", "time_limit": 1},
        {"objective": "peak", "schedule": "mpmf", "budget": "MP"},
        {"objective": "traffic_then_latency", "budget": "MR"},
    ],
)


@cache
def inceptions() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...], sp.Graph]:
    """Two of GoogLeNet's blocks."""
    module, inputs = few_blocks("inception"), (torch.ones(1, 3, 32, 32),)
    return module, inputs, sp.from_torch(module, inputs)


@WAYS
def test_plans_compute_what_pytorch_computes(options: dict[str, object]) -> None:
    module, inputs, graph = inceptions()
    plan = sp.plan(graph, **options)  # type: ignore[arg-type]
    sp.check(plan)
    assert sp.execute(plan, module, inputs).bit_exact


@pytest.mark.long
@WAYS
def test_plans_of_a_whole_network_compute_what_pytorch_computes(options: dict[str, object]) -> None:
    plan = sp.plan(sp.load("googlenet", input_shape=(1, 3, 64, 64)), **options)  # type: ignore[arg-type]
    sp.check(plan)
    assert sp.execute(plan).bit_exact
