"""What a site has a plan of: each network, planner and budget, and what came of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import planners as sp
from planners.core.version import installed_version
from planners.core.weights import COUNTED, asked_weights
from planners.study.budgets import plain_budget, resolve_budgets
from planners.study.sweep import variant

FORMAT = 2
"""Pages of another number are made anew."""
OF_NETWORK, OF_CELL = 28, 72
"""Most letters of their names in files."""


@dataclass(frozen=True)
class SiteAsked:
    """A site: networks × planners (with options, as in a sweep) × budgets on a machine.

    `tour` and `tasks`: whether it has the guided tour and the assignments.
    """

    graphs: Sequence[sp.Graph]
    planners: Sequence[str]
    budgets: Sequence[int | str]
    machine: sp.Machine
    time_limit: float = 10.0
    options: Mapping[str, Any] = field(default_factory=dict)
    tour: bool = True
    tasks: bool = True
    title: str = "Spillway"


@dataclass(frozen=True)
class SiteCell:
    """One plan to be made. `id` is its name in files and addresses, `network` its network's."""

    id: str
    network: str
    graph: sp.Graph
    planner: str
    budget: str
    budget_bytes: int
    machine: sp.Machine
    time_limit: float
    options: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Equal where a plan made before is this one."""
        name, planner_options = variant(self.planner)
        facts = [FORMAT, installed_version(), self.graph.digest, self.graph.name, name]
        facts += [self.budget_bytes, self.budget, self.machine.to_json(), self.time_limit]
        text = json.dumps(
            [*facts, {**self.options, **planner_options}], sort_keys=True, default=str
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def plan(self, progress: Callable[[Any], object] | None = None) -> sp.Plan:
        """Make it; it is checked where it is shown. Raises as `sp.plan`."""
        name, planner_options = variant(self.planner)
        return sp.plan(
            self.graph,
            planner=name,
            budget=self.budget_bytes,
            machine=self.machine,
            time_limit=self.time_limit,
            progress=progress,  # type: ignore[arg-type]
            replay=False,
            **{**self.options, **planner_options},
        )


def cells_of(request: SiteAsked) -> list[SiteCell]:
    """The plans of a site, network by network. Raises `UnknownName` and `BadInput`."""
    for planner in request.planners:
        variant(planner)
    labels = [plain_budget(label) for label in request.budgets]
    networks, ids = Ids(OF_NETWORK, {"tour"}), Ids(OF_CELL)
    counted = asked_weights(request.options) == COUNTED
    cells = []
    for graph in request.graphs:
        network = networks.unique(graph.name)
        sizes = resolve_budgets(graph, labels, parameters=counted)
        for planner in request.planners:
            for label, size in zip(request.budgets, sizes, strict=True):
                name = ids.unique(f"{network}-{planner}-{label}")
                cells.append(
                    SiteCell(
                        name, network, graph, planner, str(label),
                        size, request.machine, request.time_limit, request.options,
                    )
                )  # fmt: skip
    return cells


class Ids:
    """Short names that are safe in files and addresses, each given once."""

    def __init__(self, most: int, taken: Iterable[str] = ()) -> None:
        self._most, self._taken = most, set(taken)

    def unique(self, text: str) -> str:
        """A name like the text."""
        word = re.sub(r"[^a-z0-9_]+", "-", text.lower())[: self._most].strip("-") or "x"
        name, number = word, 2
        while name in self._taken:
            name, number = f"{word}-{number}", number + 1
        self._taken.add(name)
        return name
