"""Assignments as data for `app/assets/judge.js`, which judges what is written by hand."""

from __future__ import annotations

from typing import Any

import planners as sp
from planners.assignments import Exercise
from planners.core.machine import load_machine
from planners.core.program import whole
from planners.simulator.state import name_of


def task_data(task: Exercise) -> dict[str, Any]:
    """A task with its network: all that a verdict depends on, and what is read of it."""
    machine = load_machine(task.machine)
    by_hand = task.answer != "plan"
    return {
        "name": task.name,
        "title": task.title,
        "text": task.text,
        "answer": task.answer,
        "budget_bytes": task.budget_bytes,
        "machine": task.machine,
        "memory": {"onchip": machine.onchip, "offchip": machine.offchip},
        "weights": task.weights,
        "starter": dict(task.starter),
        "goals": [
            {"measure": goal.measure, "most": goal.most, "words": goal.words(goal.most)}
            for goal in task.goals
        ],
        "graph": graph_data(task.graph()) if by_hand else None,
    }


def graph_data(graph: sp.Graph) -> dict[str, Any]:
    """A graph of whole tensors without parameters, sizes in bytes."""
    return {
        "tensors": [
            {
                "name": name,
                "size_bytes": graph.size_bytes(name),
                "kind": tensor.kind,
                "piece": name_of(whole(tensor)),
            }
            for name, tensor in graph.tensors.items()
        ],
        "operators": [
            {"name": op.name, "inputs": list(op.inputs), "outputs": list(op.outputs)}
            for op in graph.operators
        ],
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
    }
