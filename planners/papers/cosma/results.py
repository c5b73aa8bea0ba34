"""Plans of the comparison, each made once: the same problem under two labels, or in two runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.plan import Plan
from planners.core.registry import planner
from planners.papers.memo import Memo
from planners.simulator.claimed import check

MACHINE = "npu_ideal"


class SchemeCase(NamedTuple):
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


class CaseResults:
    """Outcomes by case, found once or read from a file."""

    def __init__(
        self, path: str | Path | None = None, on_plan: Callable[[str], object] | None = None
    ) -> None:
        self._memo = Memo(path, on_plan, lambda case, found: (SchemeCase(*case), Outcome(*found)))

    def of(self, case: SchemeCase, graph: Graph, execute: bool = False) -> Outcome:
        """The outcome of a case, from before or now. Raises what the planner and `check` raise."""
        known = self._memo.get(case)
        if known is not None and (not execute or Outcome(*known).max_error is not None):
            return Outcome(*known)
        plan = _plan(case, graph)
        claims = plan.claims
        outcome = Outcome(claims.noncompulsory_bytes, claims.bound_bytes, claims.plan_s)
        if execute:
            outcome = _executed(plan, outcome)
        what = "proven" if not outcome.gap else f"gap {outcome.gap:.1%}"
        self._memo.keep(
            case,
            astuple(outcome),
            f"{case.model} {case.schedule} {case.replacement} in {case.budget_bytes:,}: "
            f"{outcome.moved_bytes:,} bytes, {what}, {outcome.seconds:.2f} s",
        )
        return outcome


def _plan(case: SchemeCase, graph: Graph) -> Plan:
    options = {
        "schedule": case.schedule,
        "replacement": case.replacement,
        "parameters": case.parameters,
        "time_limit": case.time_limit_s,
    }
    make = planner("cosma").plan
    plan = make(graph, load_machine(MACHINE), case.budget_bytes, options, None)
    check(plan)
    return plan


def _executed(plan: Plan, outcome: Outcome) -> Outcome:
    """Run the plan in an arena of its bytes, with random weights, beside PyTorch."""
    from planners.api import execute

    began = time.perf_counter()
    error = execute(plan).max_abs_error
    return replace(outcome, max_error=error, execute_s=time.perf_counter() - began)
