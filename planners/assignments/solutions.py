"""The teacher's answers: planned when they are asked for, and written as a student would."""

from __future__ import annotations

from typing import Any

from planners.assignments.assignment import Exercise
from planners.assignments.ten import assignment as find
from planners.assignments.written import moves_of
from planners.core.machine import load_machine
from planners.core.plan import Plan
from planners.core.program import Compute, Load
from planners.core.progress import ProgressCallback
from planners.core.registry import planner

TIME_LIMIT = 20.0


def solution(
    task: Exercise | str | int, progress: ProgressCallback | None = None
) -> Plan | dict[str, Any]:
    """An answer that passes: a plan, or what is written by hand where that is asked.

    Raises `UnknownName` for a task that does not exist.
    """
    exercise = task if isinstance(task, Exercise) else find(task)
    plan = planned(exercise, progress)
    instructions = tuple(plan.program.instructions)
    if exercise.answer == "plan":
        return plan
    if exercise.answer == "moves":
        return {"moves": moves_of(instructions)}
    computed = [item for item in instructions if isinstance(item, Compute)]
    if exercise.answer == "order":
        return {"order": [item.operator for item in computed]}
    at = {item.piece.tensor: item.target.offset for item in instructions if isinstance(item, Load)}
    at |= {write.piece.tensor: write.region.offset for item in computed for write in item.writes}
    return {"addresses": at}


def planned(exercise: Exercise, progress: ProgressCallback | None = None) -> Plan:
    """The plan of the teacher's planner and options for a task."""
    graph, machine = exercise.graph(), load_machine(exercise.machine)
    budget = exercise.budget_bytes or sum(map(graph.size_bytes, graph.tensors))
    options = {"weights": exercise.weights, "time_limit": TIME_LIMIT, **exercise.options}
    return planner(exercise.planner).plan(graph, machine, budget, options, progress)
