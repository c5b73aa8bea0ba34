"""One form asked once: its plan within a limit, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from planners.auto.forms import Form
from planners.core.errors import BudgetTooSmall, NoPlanFound, SpillwayError
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.objective import Objective
from planners.core.plan import Plan
from planners.core.progress import ProgressCallback, now
from planners.core.registry import planner as find_planner
from planners.core.units import format_quantity
from planners.simulator.check import require_valid
from planners.simulator.engine_assignment import with_engines
from planners.simulator.simulate import simulate

# ---- What the plans of a form are worth at best --------------------------------------------------


def bound_of(aim: Objective, form: Form, plan: Plan) -> float:
    """What no plan of the form is better than, as far as its plan proves it."""
    claims, latency = plan.claims, plan.details.latency
    if latency is not None and aim.name == "latency":
        return max(aim.floor, latency.bound_s)
    if form.proves == "traffic":
        saved = claims.objective_bytes - claims.bound_bytes
        return aim.of_traffic(claims.offchip_bytes - saved)
    if form.proves == aim.name:
        return claims.bound_bytes
    return aim.floor


# --------------------------------------------------------------------------------------------------

Key: TypeAlias = tuple[float, int]
"""Better is less: by the objective, then by the form's number, so that it matters nothing which of
two equal ones is there first."""
ToBeat: TypeAlias = Callable[[], Key | None]
"""The best that is known at the moment; None where nothing is."""


class FormProblem(NamedTuple):
    """What all forms are asked."""

    graph: Graph
    machine: Machine
    budget_bytes: int
    aim: Objective


@dataclass(frozen=True, slots=True)
class Task:
    """A form to be asked, by its number, within a limit in seconds."""

    number: int
    form: Form
    limit_s: float


@dataclass(frozen=True, slots=True)
class FormOutcome:
    """What a task gave, but for the plan: a value by the objective, or the reason why none.

    `bound` is what no plan of the form is better than, as far as is known. `took_s` are the seconds
    of all of it, `timed_s` those of checking and timing its program. `status` is that of the
    plan's claims; without a plan it is `infeasible` or `none`; `by_time`: with more there may be
    one.
    """

    task: Task
    bound: float = 0.0
    value: float | None = None
    status: str = "none"
    offchip_bytes: int | None = None
    extent_bytes: int | None = None
    reason: str = ""
    short: BudgetTooSmall | None = None
    by_time: bool = False
    took_s: float = 0.0
    timed_s: float = 0.0

    @property
    def key(self) -> Key:
        """Of one that has a value."""
        assert self.value is not None
        return self.value, self.task.number

    @property
    def has_plan(self) -> bool:
        """Whether the form made a plan, whether it was worth timing or not."""
        return self.offchip_bytes is not None


def attempt(
    task: Task, problem: FormProblem, tell: ProgressCallback | None, to_beat: ToBeat
) -> tuple[FormOutcome, Plan | None]:
    """Ask a form; its program is timed only where it may still win.

    The plan comes with its outcome only where that is better than the best known. What goes wrong
    in a planner costs its form alone.
    """
    began = now()
    outcome, plan = _attempt(task, problem, tell, to_beat)
    if outcome.value is not None and (best := to_beat()) is not None and best <= outcome.key:
        plan = None
    return replace(outcome, took_s=now() - began), plan


def _attempt(
    task: Task, problem: FormProblem, tell: ProgressCallback | None, to_beat: ToBeat
) -> tuple[FormOutcome, Plan | None]:
    aim = problem.aim
    none = FormOutcome(task, aim.floor)
    try:
        plan = with_engines(_planned(task, problem, tell))
        outcome = replace(
            none,
            bound=bound_of(aim, task.form, plan),
            status=plan.claims.status,
            offchip_bytes=plan.claims.offchip_bytes,
            extent_bytes=plan.claims.extent_bytes,
        )
        floor, best = aim.of_traffic(plan.claims.offchip_bytes), to_beat()
        if best is not None and floor > best[0]:
            at_least = format_quantity(floor, aim.unit)
            return replace(
                outcome, reason=f"at least {at_least}, for the bytes that it moves"
            ), None
        began = now()
        trace = simulate(plan) if aim.simulated else None
        value = aim.value(plan, trace)
        if trace is None and (best is None or value < best[0]):
            require_valid(plan)
        timed_s = now() - began
        return replace(outcome, value=value, timed_s=timed_s), plan
    except BudgetTooSmall as error:
        return replace(none, status="infeasible", reason=str(error), short=error), None
    except SpillwayError as error:
        by_time = isinstance(error, NoPlanFound)
        return replace(none, reason=str(error), by_time=by_time), None
    except Exception as error:
        return replace(
            none, status="failed", reason=f"failed: {type(error).__name__}: {error}"
        ), None


def _planned(task: Task, problem: FormProblem, tell: ProgressCallback | None) -> Plan:
    """The form's plan, in the budget or in the least that it names."""
    graph, machine, budget, _ = problem
    function = find_planner(task.form.planner).plan
    settings = {**task.form.options, "time_limit": task.limit_s}
    if task.form.least:
        try:
            return function(graph, machine, 1, settings, tell)
        except (BudgetTooSmall, NoPlanFound) as error:
            if error.need_bytes is not None and error.need_bytes <= budget:
                budget = error.need_bytes
    return function(graph, machine, budget, settings, tell)
