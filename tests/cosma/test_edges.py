"""Problems at the edge of what there is to plan: an exact answer or an exact error, every way."""

from __future__ import annotations

from typing import Any

import pytest

import planners as sp
from tests.plans import plan_of
from tests.random_graphs import random_graph

WAYS: list[dict[str, Any]] = [
    *({"schedule": schedule} for schedule in ("default", "mpmf", "joint", "dnc")),
    *({"schedule": schedule, "method": "ilp"} for schedule in ("default", "mpmf", "joint")),
    *({"replacement": scheme} for scheme in ("belady", "greedy", "size_ordered", "hill_climb")),
]
EXACT = [way for way in WAYS if "replacement" not in way]
OFTEN = [way for way in WAYS if "method" not in way or way["schedule"] == "joint"]


def named(way: dict[str, Any]) -> str:
    return "-".join(map(str, way.values()))


def ways(chosen: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """Each way; a solver of the ILP starts in a process, so one of its schedules is usual."""
    cases = [pytest.param(w, marks=() if w in OFTEN else pytest.mark.long) for w in chosen]
    return pytest.mark.parametrize("way", cases, ids=named)


every_way = ways(WAYS)
every_exact_way = ways(EXACT)


def graph_of(sizes: str, wires: str, outputs: str, inputs: str = "x") -> sp.Graph:
    """`sizes`: tensor:bytes; `wires`: what each operator reads > makes."""
    given = tuple(inputs.split())
    tensors = {}
    for name, size in (item.split(":") for item in sizes.split()):
        tensors[name] = sp.Tensor(name, (int(size),), "input" if name in given else "activation")
    ops = []
    for i, wire in enumerate(wires.split()):
        reads, makes = (tuple(side.split(",")) for side in wire.split(">"))
        ops.append(sp.Operator(f"op{i}", "any", reads, makes))
    return sp.Graph("edge", tensors, tuple(ops), given, tuple(outputs.split()))


def solved(graph: sp.Graph, budget: int, way: dict[str, Any]) -> sp.Plan:
    """A plan that passed `check` with the traffic that it claims."""
    plan = sp.plan(graph, budget=budget, **way)
    report = sp.check(plan)
    assert report.noncompulsory_bytes == plan.claims.noncompulsory_bytes
    assert plan.claims.bound_bytes <= plan.claims.objective_bytes
    assert sorted(plan.program.steps) == sorted(op.name for op in graph.operators)
    return plan


def assert_costs(graph: sp.Graph, budget: int, way: dict[str, Any], cost: int) -> None:
    claims = solved(graph, budget, way).claims
    assert (claims.status, claims.objective_bytes, claims.bound_bytes) == ("optimal", cost, cost)


@every_way
def test_a_byte_below_the_largest_need(way: dict[str, Any]) -> None:
    graph = random_graph(3, 8, largest=100)
    b = sp.budgets(graph)
    with pytest.raises(sp.BudgetTooSmall, match=b.binding_operator) as error:
        sp.plan(graph, budget=b.MR - 1, **way)
    assert (error.value.need_bytes, error.value.have_bytes) == (b.MR, b.MR - 1)


@every_way
def test_a_tensor_larger_than_the_budget(way: dict[str, Any]) -> None:
    graph = graph_of("x:1 a:50 b:1", "x>a a>b", "b")
    with pytest.raises(sp.BudgetTooSmall, match="op0") as error:
        sp.plan(graph, budget=20, **way)
    assert (error.value.need_bytes, error.value.have_bytes) == (51, 20)


@every_exact_way
@pytest.mark.parametrize(("budget", "cost"), [(8, 2), (9, 0)])
def test_two_inputs_one_of_which_waits(way: dict[str, Any], budget: int, cost: int) -> None:
    """x waits while op1 needs seven bytes of eight: the host has it, so only its reload counts."""
    graph = graph_of("x:2 y:3 a:2 b:2 c:1", "x>a a,y>b b,x>c", "c", inputs="x y")
    assert_costs(graph, budget, way, cost)


@every_exact_way
@pytest.mark.parametrize(("outputs", "cost"), [("z", 4), ("z o", 2)])
def test_an_output_that_is_read_again_is_stored_once(
    way: dict[str, Any], outputs: str, cost: int
) -> None:
    """o waits while op2 needs all there is: an output's store is compulsory, another's is not."""
    graph = graph_of("x:1 o:2 p:3 q:4 z:1", "x>o o>p p>q q,o>z", outputs)
    plan = solved(graph, 7, way)
    made = sum(graph.size_bytes(name) for name in graph.outputs)
    assert plan.claims.compulsory_bytes == graph.size_bytes("x") + made
    assert (plan.claims.status, plan.claims.objective_bytes) == ("optimal", cost)


@every_way
def test_several_outputs_leave_at_once(way: dict[str, Any]) -> None:
    graph = graph_of("x:4 a:8 b:8 c:8", "x>a x>b x>c", "a b c")
    plan = solved(graph, 12, {"alignment": 1, **way})
    assert plan.claims.noncompulsory_bytes == 0
    assert plan.claims.compulsory_bytes == 4 + 3 * 8


@every_way
def test_what_nobody_reads_is_made_and_dropped(way: dict[str, Any]) -> None:
    graph = graph_of("x:2 a:2 dead:9 b:2 also:3", "x>a x>dead a>b,also", "b")
    claims = solved(graph, 13, {"alignment": 1, **way}).claims
    assert (claims.noncompulsory_bytes, claims.compulsory_bytes) == (0, 4)


@every_way
def test_an_input_that_is_an_output_stays_at_home(way: dict[str, Any]) -> None:
    graph = graph_of("x:3 y:2", "x>y", "x y")
    claims = solved(graph, 5, {"alignment": 1, **way}).claims
    assert (claims.noncompulsory_bytes, claims.compulsory_bytes) == (0, 5)


@every_way
def test_one_operator(way: dict[str, Any]) -> None:
    graph = graph_of("x:3 y:2", "x>y", "y")
    claims = solved(graph, 5, {"alignment": 1, **way}).claims
    assert (claims.status, claims.objective_bytes, claims.peak_bytes) == ("optimal", 0, 5)


@every_way
def test_a_graph_without_operators(way: dict[str, Any]) -> None:
    graph = sp.Graph("none", {"x": sp.Tensor("x", (3,), "input")}, (), ("x",), ("x",))
    for budget in ("MR", "MP", 10, "1KiB"):
        with pytest.raises(sp.BadInput, match="'none' has no operators: there is nothing to plan"):
            sp.plan(graph, budget=budget, **way)


def test_a_tensor_without_elements_is_no_tensor() -> None:
    with pytest.raises(sp.BadInput, match="tensor 'a' is empty"):
        graph_of("x:3 a:0", "x>a", "a")


def the_best(schedule: str) -> sp.Claims:
    return plan_of(random_graph(5, 40, largest=99), schedule=schedule).claims


@every_way
def test_a_thousandth_of_a_second(way: dict[str, Any]) -> None:
    graph = random_graph(5, 40, largest=99)
    claims = solved(graph, sp.budgets(graph).MR, {**way, "time_limit": 0.001}).claims
    schedule = way.get("schedule", "default")
    best = the_best("joint" if schedule == "dnc" else schedule)
    assert best.status == "optimal"
    if schedule != "mpmf":  # In so little time its order is another.
        assert claims.bound_bytes <= best.objective_bytes <= claims.objective_bytes
