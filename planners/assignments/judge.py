"""An answer, replayed: does every byte come out right, and do the goals hold?"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planners.assignments.assignment import Exercise, Judgement, Measure
from planners.assignments.ten import assignment as find
from planners.assignments.written import moves_of_order, program_of_moves
from planners.core.errors import BadInput, InvalidPlan
from planners.core.files import read_plan_json
from planners.core.graph import Graph
from planners.core.machine import Machine, load_machine
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.weights import COUNTED
from planners.simulator.check import replay
from planners.simulator.claims import check
from planners.simulator.simulate import simulate

BY_HAND = ("addresses", "order", "moves")


def judge(task: Exercise | str | int, answer: Plan | Mapping[str, Any] | str | Path) -> Judgement:
    """Replay an answer and say whether it passes, and why not.

    `answer`: a plan; a dict with `addresses` (bytes by tensor), `order` (operators) or `moves`
    (`planners.assignments.written`); or a file with either. Raises `UnknownName` for a task that
    does not exist; whatever is wrong with the answer is the verdict.
    """
    exercise = task if isinstance(task, Exercise) else find(task)
    try:
        measured = _measured(exercise, _read(answer))
    except (BadInput, InvalidPlan) as error:
        return Judgement(exercise.name, False, f"Not valid: {error}")
    over = [goal for goal in exercise.goals if measured[goal.measure] > goal.most]
    shown = [goal.words(measured[goal.measure]) for goal in over or exercise.goals]
    if over:
        says = f"Valid, but it {' and '.join(shown)}; at most {over[0].limit} is asked."
    else:
        says = f"Passed: it {' and '.join(shown)}."
    return Judgement(exercise.name, not over, says, measured)


def _read(answer: Plan | Mapping[str, Any] | str | Path) -> Plan | Mapping[str, Any]:
    if isinstance(answer, Plan):
        return answer
    data = read_plan_json(answer) if isinstance(answer, str | Path) else answer
    if not isinstance(data, Mapping):
        raise BadInput("an answer is a JSON object with addresses, order or moves, or a plan")
    return Plan.from_json(data) if data.get("format") == "spillway-plan" else data


def _measured(exercise: Exercise, answer: Plan | Mapping[str, Any]) -> dict[str, float]:
    graph, machine = exercise.graph(), load_machine(exercise.machine)
    if isinstance(answer, Plan):
        _same_problem(exercise, graph, machine, answer)
        report, latency_s = check(answer), simulate(answer).makespan_s
    else:
        program = _program(exercise, graph, machine, answer)
        report = replay(graph, program, machine=machine)
        latency_s = 0.0
    return {
        "noncompulsory_bytes": report.noncompulsory_bytes,
        "traffic_bytes": report.traffic_bytes,
        "peak_bytes": report.peak_bytes,
        "extent_bytes": report.extent_bytes,
    } | ({"latency_s": latency_s} if latency_s else {})


def _same_problem(exercise: Exercise, graph: Graph, machine: Machine, plan: Plan) -> None:
    """Raises `BadInput` where a plan is of another network, machine, memory or weights."""
    if replace(plan.graph, source={}).digest != replace(graph, source={}).digest:
        raise BadInput(f"the plan is of another network than this task's {graph.name}")
    if _speeds(plan.machine) != _speeds(machine) or plan.times is not None:
        raise BadInput(f"the plan is of another machine than {exercise.machine}")
    if exercise.budget_bytes is not None and plan.budget_bytes > exercise.budget_bytes:
        raise BadInput(
            f"the plan's budget is {plan.budget_bytes:,} bytes, the task's"
            f" {exercise.budget_bytes:,}"
        )
    if plan.program.counts_parameters != (exercise.weights == COUNTED):
        raise BadInput(f"weights are {exercise.weights} in this task: plan with that")


def _speeds(machine: Machine) -> dict[str, float]:
    """All numbers of a machine but the size that a budget replaces."""
    size = f"{machine.onchip}.size_bytes"
    return {name: value for name, value in machine.numbers().items() if name != size}


def _program(
    exercise: Exercise, graph: Graph, machine: Machine, answer: Mapping[str, Any]
) -> Program:
    given = [key for key in BY_HAND if key in answer]
    if given != [exercise.answer]:
        wanted = "a plan" if exercise.answer == "plan" else f"{exercise.answer!r} or a plan"
        raise BadInput(f"this task is answered with {wanted}, not with {', '.join(given) or '{}'}")
    written = answer[exercise.answer]
    is_object = isinstance(written, Mapping)
    if (not is_object and not isinstance(written, list)) or is_object != (given == ["addresses"]):
        wanted = "an object" if exercise.answer == "addresses" else "a list"
        raise BadInput(f"{exercise.answer!r} is {wanted}")
    lines: Any = written
    if exercise.answer == "order":
        lines = moves_of_order(graph, written)
    elif exercise.answer == "addresses":
        lines = moves_of_order(graph, [op.name for op in graph.operators], written)
    all_bytes = sum(map(graph.size_bytes, graph.tensors))
    size = all_bytes if exercise.budget_bytes is None else exercise.budget_bytes
    return program_of_moves(graph, machine, lines, size)


# ---- The answers of a class in one table ---------------------------------------------------------

MEASURES: tuple[Measure, ...] = (
    "noncompulsory_bytes",
    "traffic_bytes",
    "peak_bytes",
    "extent_bytes",
    "latency_s",
)
COLUMNS = ("student", "assignment", "passed", *MEASURES, "says")
STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def judge_folder(task: Exercise | str | int, folder: str | Path) -> list[dict[str, Any]]:
    """Judge every `.json` of a folder: a row each, of the file's name without ending.

    Measures in bytes and seconds, None where an answer is not valid. Raises `BadInput` where there
    is no answer, `UnknownName` for a task that does not exist.
    """
    exercise = task if isinstance(task, Exercise) else find(task)
    paths = sorted(path for path in Path(folder).glob("*.json") if path.is_file())
    if not paths:
        raise BadInput(f"no answers in {folder}: it holds no .json file")
    rows = []
    for path in paths:
        verdict = judge(exercise, path)
        row: dict[str, Any] = {"student": path.stem, "assignment": verdict.assignment}
        row |= {"passed": verdict.passed}
        row |= {name: verdict.measured.get(name) for name in MEASURES}
        rows.append({**row, "says": verdict.says})
    return rows


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table that a spreadsheet opens; no cell begins a formula."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    formula = isinstance(value, str) and value.startswith(STARTS_A_FORMULA)
    return f"'{value}" if formula else value
