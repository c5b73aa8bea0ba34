"""Stretches of a joined plan: their names, operators and the steps that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import planners as sp
from planners.core.colours import WAYS
from planners.core.details.joined import FUSED, POOL, SPILLED, JoinedStretch

NAMES: Mapping[str, str] = {POOL: "pool", FUSED: "fused", SPILLED: "whole"}


@dataclass(frozen=True, slots=True)
class RunStretch:
    """A stretch with its name on the page, its operators, and the steps that run them."""

    stretch: JoinedStretch
    name: str
    operators: tuple[str, ...]
    start_step: int
    stop_step: int

    @property
    def colour(self) -> str:
        """The colour of its way."""
        return WAYS[_way(self.stretch)]


def stretches_of(plan: sp.Plan, ran: Sequence[tuple[str, ...]]) -> tuple[RunStretch, ...]:
    """The stretches of a plan in the order in which they run; most planners have none.

    What the details of a file name and the graph does not have is left out.
    """
    index, steps, stretches = plan.graph.index, _steps(ran), []
    for number, stretch in enumerate(plan.details.stretches, 1):
        first, last = index.get(stretch.first, 0), index.get(stretch.last, -1)
        names = tuple(op.name for op in plan.graph.operators[first : last + 1])
        if runs := [steps[name] for name in names if name in steps]:
            start, stop = min(a for a, _ in runs), max(b for _, b in runs) + 1
            stretches.append(RunStretch(stretch, f"{_way(stretch)} {number}", names, start, stop))
    return tuple(stretches)


def _steps(ran: Sequence[tuple[str, ...]]) -> dict[str, tuple[int, int]]:
    """The first and the last step of each operator."""
    steps_of: dict[str, tuple[int, int]] = {}
    for step, names in enumerate(ran):
        for name in names:
            steps_of[name] = (steps_of[name][0] if name in steps_of else step, step)
    return steps_of


def _way(stretch: JoinedStretch) -> str:
    return NAMES.get(stretch.how, "fused")
