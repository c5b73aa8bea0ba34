"""Plans in a folder, by names that say of which problem they are.

A name is the graph's digest, the budget in bytes, the planner's name and the key of the request, so
that those of a graph in a budget are found without reading any.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.plan import Plan

DIGITS = 16
"""Of a digest: enough for no two graphs of a folder to have the same."""


def make_folder(folder: Path) -> None:
    """Make the folder where there is none. Raises `BadInput`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot keep plans in {folder}: {error.strerror}") from error


def keep_in(folder: Path, plan: Plan, budget_bytes: int, key: str) -> None:
    """Write a plan to a folder, which is made where there is none. Raises `BadInput`."""
    make_folder(folder)
    start = _start(plan.graph, budget_bytes)
    plan.save(folder / f"{start}{plan.planner}-{key[:DIGITS]}.json")


def kept_in(folder: Path, graph: Graph, budget_bytes: int) -> Iterator[Path]:
    """The plans of a graph in a budget, sorted by name. Raises `BadInput`."""
    start = _start(graph, budget_bytes)
    try:
        names = sorted(path for path in folder.iterdir() if path.name.startswith(start))
    except OSError as error:
        raise BadInput(f"cannot read plans in {folder}: {error.strerror}") from error
    yield from names


def _start(graph: Graph, budget_bytes: int) -> str:
    return f"{graph.digest[:DIGITS]}-{budget_bytes}-"
