"""Assignments: solutions pass, starters and wrong answers do not, goals are what is best."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.assignments import assignment, assignments, judge, judge_folder, solution
from planners.assignments.judge import as_csv
from planners.assignments.solutions import planned
from planners.assignments.written import moves_of, program_of_moves
from planners.core.files import write_json

BY_HAND = [task for task in assignments() if task.answer != "plan"]
PLANNED = [task for task in assignments() if task.answer == "plan"]


def named(task: Any) -> str:
    return str(task.name)


LONG = ("fused", "over-the-input", "quickest")
"""Of whole networks, planned for many seconds."""
EVERY = [
    pytest.param(task, marks=pytest.mark.long if task.name in LONG else ())
    for task in assignments()
]


@pytest.mark.parametrize("task", EVERY, ids=named)
def test_the_teachers_answer_passes(task: Any) -> None:
    verdict = judge(task, solution(task))
    assert verdict.passed, verdict.says


@pytest.mark.parametrize("task", BY_HAND, ids=named)
def test_what_to_begin_with_does_not_pass_and_a_plan_does(task: Any) -> None:
    assert not judge(task, task.starter).passed
    assert judge(task, planned(task)).passed


@pytest.mark.parametrize("task", [task for task in BY_HAND if task.budget_bytes], ids=named)
def test_goals_by_hand_are_the_best_there_is(task: Any) -> None:
    plan = planned(task)
    assert plan.claims.status == "optimal"
    goals = {goal.measure: goal.most for goal in task.goals}
    if "noncompulsory_bytes" in goals:
        assert plan.claims.objective_bytes == goals["noncompulsory_bytes"]
    else:  # Nothing that is on chip at once fits less.
        assert sp.check(plan).peak_bytes == goals["extent_bytes"]


def test_figures_that_texts_state() -> None:
    def moved(name: str, **options: Any) -> int:
        task = assignment(name)
        asked = replace(task, options={**task.options, **options})
        return planned(asked).claims.noncompulsory_bytes

    assert moved("spill", replacement="belady") == 168 * 1024
    assert moved("all-at-once", schedule="default") == 80 * 1024
    assert moved("googlenet", replacement="belady") == 1_605_632
    order = assignment("order")
    assert planned(replace(order, options={})).claims.peak_bytes == 340 * 1024
    assert sp.budgets(assignment("googlenet").graph()).MR == assignment("googlenet").budget_bytes


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("chain", {"addresses": {"x": 0}}, "tensor a has no address"),
        ("chain", {"addresses": {"x": 0, "z": 1}}, "there is no tensor 'z'"),
        ("chain", {"addresses": dict.fromkeys("xabcy", 0)}, "overwrites"),
        ("chain", {"addresses": {"x": 0, "a": 8192, "b": 0, "c": 16384, "y": 0}}, "out of range"),
        ("chain", {"addresses": {**dict.fromkeys("xabcy", 0), "x": -4}}, "is not an address"),
        ("chain", {"addresses": {**dict.fromkeys("xabcy", 0), "x": [1]}}, "is not an address"),
        ("chain", {"addresses": [0, 1]}, "'addresses' is an object"),
        ("chain", {"order": []}, "answered with 'addresses' or a plan, not with order"),
        ("chain", {}, "answered with 'addresses' or a plan"),
        ("order", {"order": ["make_a"]}, "operator make_b is missing"),
        ("order", {"order": ["make_a", "make_a"]}, "operator make_a comes twice"),
        ("order", {"order": ["run"]}, "there is no operator 'run'"),
        ("order", {"order": [f"make_{m}" for m in "bacdefghy"]}, "make_b reads a"),
        ("spill", {"moves": ["load x 0", "load x 0"]}, "move 2 ('load x 0'): x is on chip already"),
        ("spill", {"moves": ["jump"]}, "write load TENSOR ADDRESS"),
        ("spill", {"moves": ["load x 0", "run make_a"]}, "write 1 address after it"),
        ("spill", {"moves": ["run make_a 0"]}, "reads x, which is not on chip"),
        ("spill", {"moves": ["drop x"]}, "x is not on chip"),
        ("spill", {"moves": []}, "operator make_a never computed"),
        ("spill", {"moves": ["load x 0", "run make_a 16KiB"]}, "operator make_b never computed"),
        ("spill", {"moves": ["drop x"] * 10_001}, "write 10,000 at most"),
        ("googlenet", {"addresses": {}}, "answered with a plan, not with addresses"),
    ],
)
def test_what_is_wrong_is_said(name: str, answer: dict[str, Any], says: str) -> None:
    verdict = judge(name, answer)
    assert not verdict.passed
    assert says in verdict.says


def test_valid_but_not_good_enough() -> None:
    task = assignment("order")
    verdict = judge(task, task.starter)
    assert verdict.says == "Valid, but it peaks at 340 KiB; at most 300 KiB is asked."
    assert verdict.measured["peak_bytes"] == 340 * 1024


def test_plans_of_another_problem_are_refused() -> None:
    task = assignment("eight")
    graph = task.graph()
    large = sp.plan(graph, budget="1MiB", machine=task.machine)
    assert "budget is 1,048,576 bytes, the task's 65,536" in judge(task, large).says
    other = sp.plan(assignment("chain").graph(), budget="64KiB", machine=task.machine)
    assert "another network" in judge(task, other).says
    slow = sp.plan(graph, budget="64KiB", machine="stm32h743")
    assert "another machine" in judge(task, slow).says
    counted = sp.plan(graph, budget="64KiB", machine=task.machine, weights="counted")
    assert "weights are left-out" in judge(task, counted).says
    forged = replace(planned(task), claims=replace(planned(task).claims, peak_bytes=1))
    assert "the plan claims 1" in judge(task, forged).says


def test_moves_are_a_program_and_back() -> None:
    task = assignment("all-at-once")
    plan = planned(task)
    lines = moves_of(plan.program.instructions)
    program = program_of_moves(task.graph(), plan.machine, lines, plan.budget_bytes)
    assert moves_of(program.instructions) == lines


def test_a_class_in_one_table(tmp_path: Path) -> None:
    task = assignment("chain")
    write_json(tmp_path / "ada.json", solution(task))
    write_json(tmp_path / "=bob.json", task.starter)
    (tmp_path / "eve.json").write_text("{")
    rows = judge_folder(task, tmp_path)
    assert [(row["student"], row["passed"]) for row in rows] == [
        ("=bob", False),
        ("ada", True),
        ("eve", False),
    ]
    header, bob, *_ = as_csv(rows).splitlines()
    assert header.startswith("student,assignment,passed,noncompulsory_bytes")
    assert bob.startswith("'=bob,chain,False,")
    with pytest.raises(sp.BadInput, match="no answers in"):
        judge_folder(task, tmp_path / "none")


def test_names_and_numbers() -> None:
    assert [assignment(number) for number in range(1, 11)] == list(assignments())
    with pytest.raises(sp.UnknownName, match="did you mean 'chain'"):
        assignment("chian")
