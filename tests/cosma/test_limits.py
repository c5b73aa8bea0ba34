"""Little time, a wish to stop, wrong options, crowded steps: there is a plan or a clear error."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

import planners as sp
from planners.core.progress import Clock, Progress, now
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.place.joint_addresses import solve_jointly
from planners.cosma.replace import optimal as fixed
from planners.cosma.replace.optimal import solve_fixed
from planners.cosma.replace.relaxation import relax
from planners.cosma.replace.repair import repair
from tests.random_graphs import random_graph


def wide_graph(seed: int, operators: int, largest: int) -> sp.Graph:
    """Operators that read up to four of the forty tensors before them: much waits for long."""
    rng = random.Random(seed)
    tensors = {"x": sp.Tensor("x", (rng.randint(1, largest),), "input")}
    ops = []
    for i in range(operators):
        inputs = tuple(dict.fromkeys(rng.choices(list(tensors)[-40:], k=rng.randint(1, 4))))
        tensors[f"t{i}"] = sp.Tensor(f"t{i}", (rng.randint(1, largest),))
        ops.append(sp.Operator(f"op{i}", "any", inputs, (f"t{i}",)))
    return sp.Graph("wide", tensors, tuple(ops), ("x",), (f"t{operators - 1}",))


@pytest.mark.parametrize("time_limit", [1e-6, 0.05, 0.3])
def test_a_plan_within_the_time_whatever_it_is(time_limit: float) -> None:
    graph = wide_graph(1, 200, 10**6)
    began = now()
    plan = sp.plan(graph, budget="MR", time_limit=time_limit)
    assert now() - began < time_limit + 4  # in looks, with which a clock three times too quick ends
    assert sp.check(plan).noncompulsory_bytes == plan.claims.noncompulsory_bytes
    assert plan.claims.bound_bytes <= plan.claims.objective_bytes


def test_a_repair_without_time_still_places_everything() -> None:
    problem = ScheduleProblem(graph := wide_graph(2, 80, 999), tuple(range(80)), False, _mr(graph))
    relaxed = relax(problem)
    assert relaxed is not None
    stays = repair(problem, relaxed.dropped, Clock(1e-9))
    live = dict.fromkeys(problem.schedule, 0)
    for run, offset in stays.items():
        assert offset + problem.lines[run.line].size_bytes <= problem.budget_bytes
        for step in range(run.first, run.last + 1):
            live[step] += problem.lines[run.line].size_bytes
    assert max(live.values()) <= problem.budget_bytes


def test_the_joint_model_stops_before_its_first_solution() -> None:
    problem = ScheduleProblem(graph := wide_graph(1, 40, 50), tuple(range(40)), False, _mr(graph))
    joint = solve_jointly(problem, 0, None, Clock(20, lambda moment: False))
    assert joint.bound_bytes <= solve_fixed(problem, Clock(0.5)).cost_bytes


def test_what_a_callback_raises_comes_out() -> None:
    def complain(moment: Progress) -> bool:
        raise LookupError(moment.stage)

    with pytest.raises(LookupError, match="capacity relaxation"):
        sp.plan(random_graph(1, 9), progress=complain)


@pytest.mark.parametrize("replacement", ["belady", "greedy"])
def test_a_crowded_step_takes_no_time_to_arrange(replacement: str) -> None:
    names = [f"x{i}" for i in range(30)]
    tensors = {name: sp.Tensor(name, (65,), "input") for name in names} | {
        "y": sp.Tensor("y", (3,))
    }
    op = sp.Operator("concat", "cat", tuple(names), ("y",))
    graph = sp.Graph("crowd", tensors, (op,), tuple(names), ("y",))
    plan = sp.plan(graph, budget="MR", replacement=replacement)
    assert sp.check(plan).peak_bytes == plan.budget_bytes == 30 * 65 + 3


@pytest.mark.parametrize(
    "options",
    [
        {"alignment": 0},
        {"alignment": "64"},
        {"parameters": "no"},
        {"time_limit": "long"},
        {"time_limit": float("nan")},
    ],
)
def test_options_of_no_meaning_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(sp.BadInput, match=next(iter(options))):
        sp.plan(random_graph(1, 9), budget=100, **options)


def _mr(graph: sp.Graph) -> int:
    return max(sum(map(graph.size_bytes, (*op.inputs, *op.outputs))) for op in graph.operators)


def test_a_stop_while_the_relaxation_is_solved_keeps_the_best_of_the_schemes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()

    def slow(*_: object) -> None:
        over.wait(20)

    monkeypatch.setattr(fixed, "relax", slow)
    heard: list[Progress] = []

    def stop(moment: Progress) -> bool:
        heard.append(moment)
        return len(heard) < 4

    graph = random_graph(5, 30, largest=99)
    plan = sp.plan(graph, budget="MR", progress=stop)
    over.set()
    assert len(heard) == 5
    assert sp.check(plan).noncompulsory_bytes == heard[0].incumbent_bytes
    for scheme in ("belady", "hill_climb"):
        other = sp.plan(graph, budget="MR", replacement=scheme)
        assert plan.claims.noncompulsory_bytes <= other.claims.noncompulsory_bytes


def test_what_the_relaxation_raises_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("broken")

    monkeypatch.setattr(fixed, "relax", broken)
    with pytest.raises(LookupError, match="broken"):
        sp.plan(random_graph(5, 30, largest=99), budget="MR")
