"""Plans of the comparison, each made once: the same problem under two labels, or in two runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from planners.errors import BadInput
from planners.graph.model import Graph
from planners.machine import load_machine
from planners.plan import Plan
from planners.registry import planner
from planners.simulator.check import check

MACHINE = "npu_small"


class Case(NamedTuple):
    """A problem and a scheme: everything that a result depends on, but for the code."""

    model: str
    granularity: str
    parameters: bool
    budget_bytes: int
    schedule: str
    replacement: str
    time_limit_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a plan that passed `check` moves beyond need, its proven bound, and seconds.

    `max_error`: the largest difference from PyTorch's outputs, where the plan was executed.
    """

    moved_bytes: int
    bound_bytes: int
    seconds: float
    max_error: float | None = None
    execute_s: float | None = None

    @property
    def gap(self) -> float:
        open_bytes = self.moved_bytes - self.bound_bytes
        return open_bytes / self.moved_bytes if open_bytes else 0.0


class Results:
    """Outcomes by case, kept in memory and, where a path is given, in a file of JSON lines."""

    def __init__(
        self, path: str | Path | None = None, on_plan: Callable[[str], object] | None = None
    ) -> None:
        self.path = None if path is None else Path(path)
        self.on_plan = on_plan
        self.found: dict[Case, Outcome] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def of(self, case: Case, graph: Graph, execute: bool = False) -> Outcome:
        """The outcome of a case, from before or now. Raises what the planner and `check` raise."""
        known = self.found.get(case)
        if known is not None and (known.max_error is not None or not execute):
            return known
        plan = _plan(case, graph)
        claims = plan.claims
        outcome = Outcome(claims.noncompulsory_bytes, claims.bound_bytes, claims.plan_s)
        if execute:
            outcome = _executed(plan, outcome)
        self._keep(case, outcome)
        return outcome

    def _keep(self, case: Case, outcome: Outcome) -> None:
        self.found[case] = outcome
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([case, astuple(outcome)]) + "\n")
        if self.on_plan is not None:
            what = "proven" if not outcome.gap else f"gap {outcome.gap:.1%}"
            self.on_plan(
                f"{case.model} {case.schedule} {case.replacement} in {case.budget_bytes:,}: "
                f"{outcome.moved_bytes:,} bytes, {what}, {outcome.seconds:.2f} s"
            )

    def _read(self, path: Path) -> None:
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                case, outcome = json.loads(line)
                self.found[Case(*case)] = Outcome(*outcome)
        except (OSError, ValueError, TypeError) as error:
            raise BadInput(f"{path} does not hold results of a comparison: {error}") from error


def _plan(case: Case, graph: Graph) -> Plan:
    options = {
        "schedule": case.schedule,
        "replacement": case.replacement,
        "parameters": case.parameters,
        "time_limit": case.time_limit_s,
    }
    make = planner("cosma").function()
    plan = make(graph, load_machine(MACHINE), case.budget_bytes, options, None)
    check(plan)
    return plan


def _executed(plan: Plan, outcome: Outcome) -> Outcome:
    """Run the plan in an arena of its bytes, with random weights, beside PyTorch."""
    from planners.api import execute

    began = time.perf_counter()
    error = execute(plan).max_abs_error
    return replace(outcome, max_error=error, execute_s=time.perf_counter() - began)
