"""`planner="auto"`: every planner is tried, and the best plan for one objective is returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planners.auto.candidates import (
    AUTO,
    SIMULATED,
    UNITS,
    PlannerCandidate,
    candidates,
    floor_of,
    value_of,
)
from planners.auto.options import AutoOptions
from planners.core.details import TriedPlanner
from planners.core.errors import BadInput, BudgetTooSmall, Cancelled, SpillwayError
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.progress import Clock, Progress, ProgressCallback
from planners.core.registry import planner as find_planner
from planners.core.units import format_quantity
from planners.simulator.simulate import simulate

LEAST_S = 0.5  # a planner with no more time than this is not started


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate's result: a value by the objective, or the reason why there is none."""

    candidate: PlannerCandidate
    plan: Plan | None = None
    value: float | None = None
    reason: str = ""
    short: BudgetTooSmall | None = None

    def told(self, objective: str) -> TriedPlanner:
        """The same for `Plan.details`."""
        claims = self.plan.claims if self.plan else None
        return TriedPlanner(
            planner=self.candidate.planner,
            options={n: v for n, v in self.candidate.options.items() if n != "weights"},
            objective=objective,
            value=self.value,
            status=claims.status if claims else "infeasible" if self.short else "none",
            offchip_bytes=claims.offchip_bytes if claims else None,
            extent_bytes=claims.extent_bytes if claims else None,
            reason=self.reason,
        )


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """The best plan within a budget that any planner finds, for one objective.

    Options: `objective` (`latency` and `energy` of the simulated program on the machine,
    `traffic` off chip in bytes, `memory` held on chip in bytes), `time_limit` in seconds for all
    of them together, `weights` (what they do, in all of them: planners that cannot have it so are
    not tried, and named with the reason).

    The plan is its planner's own, with its options and claims: `optimal` is proven of that
    planner's problem. The notes tell what it won against and by how much; `details.tried` has
    each candidate. Raises `BudgetTooSmall` with the least need where nothing fits, and
    `BadInput`.
    """
    chosen = AutoOptions.of(options)
    objective, clock = chosen.objective, Clock(chosen.time_limit, progress)
    queue, tried = _of_the_problem(candidates(objective, chosen.weights), chosen.weights)
    best: Tried | None = None
    for number, candidate in enumerate(queue):
        share_s = clock.left_s / (len(queue) - number)
        if share_s < LEAST_S and (best or clock.stopped):
            tried.append(Tried(candidate, reason="not tried: no time was left"))
            continue
        attempt = _try(candidate, (graph, machine, budget_bytes), objective, clock, share_s, best)
        tried.append(attempt)
        if attempt.value is not None and (best is None or _key(attempt) < _key(best)):
            best = attempt
    if best is None:
        raise _none(tried, budget_bytes, clock)
    return _chosen(best, tried, objective)


def _of_the_problem(
    every: Sequence[PlannerCandidate], weights: str
) -> tuple[list[PlannerCandidate], list[Tried]]:
    """The candidates in whose plans weights do what is asked; and the others, with the reason."""
    why_not = [find_planner(candidate.planner).cannot(weights) for candidate in every]
    both = list(zip(every, why_not, strict=True))
    others = [Tried(candidate, reason=f"not tried: {why}") for candidate, why in both if why]
    return [candidate for candidate, why in both if not why], others


def _try(
    candidate: PlannerCandidate,
    problem: tuple[Graph, Machine, int],
    objective: str,
    clock: Clock,
    share_s: float,
    best: Tried | None,
) -> Tried:
    """Try one planner; its program is timed only where it may still win."""

    def tell(moment: Progress) -> bool:
        clock.report(f"{candidate.label}: {moment.stage}")
        return not clock.stopped

    try:
        made = _least(candidate, problem, objective, max(LEAST_S, share_s), tell)
        clock.report(f"{candidate.label}: timing its program")
        machine = problem[1]
        floor = floor_of(objective, made, machine)
        if best is not None and best.value is not None and floor > best.value:
            told = (
                f"at least {format_quantity(floor, UNITS[objective])}, for the bytes that it moves"
            )
            return Tried(candidate, made, None, told)
        trace = simulate(made) if objective in SIMULATED else None
    except BudgetTooSmall as error:
        return Tried(candidate, reason=str(error), short=error)
    except SpillwayError as error:
        return Tried(candidate, reason=str(error))
    return Tried(candidate, made, value_of(objective, made, trace))


def _least(
    candidate: PlannerCandidate,
    problem: tuple[Graph, Machine, int],
    objective: str,
    limit_s: float,
    tell: ProgressCallback,
) -> Plan:
    """The candidate's plan; where memory is what matters, in the least budget that it names."""
    graph, machine, budget = problem
    function = find_planner(candidate.planner).plan
    settings = {**candidate.options, "time_limit": limit_s}
    if objective == "memory":
        try:
            function(graph, machine, 1, settings, tell)
        except BudgetTooSmall as error:
            if error.need_bytes > budget:
                raise BudgetTooSmall(
                    error.need_bytes, budget, error.operator, error.tensors, error.remedy
                ) from None
            try:
                return function(graph, machine, error.need_bytes, settings, tell)
            except BudgetTooSmall:
                pass  # what it named is a bound; the budget itself may do
    return function(graph, machine, budget, settings, tell)


def _key(tried: Tried) -> tuple[float, int, int]:
    """Better is less: by the objective, then by traffic, then by memory."""
    assert tried.plan is not None
    assert tried.value is not None
    return tried.value, tried.plan.claims.offchip_bytes, tried.plan.claims.extent_bytes


def _none(tried: list[Tried], budget_bytes: int, clock: Clock) -> SpillwayError:
    """Why there is no plan at all: the least that any planner needs."""
    short = [(t.short.need_bytes, t.candidate.label, t.short) for t in tried if t.short]
    if not short:
        if clock.stopped:
            return Cancelled("planning was stopped before any planner had a plan")
        told = "; ".join(f"{t.candidate.label}: {t.reason}" for t in tried)
        return BadInput(f"no planner has a plan: {told}")
    need, label, error = min(short, key=lambda found: found[:2])
    remedy = f"that is the least of all planners, {label}'s"
    return BudgetTooSmall(need, budget_bytes, error.operator, error.tensors, remedy)


def _chosen(best: Tried, tried: list[Tried], objective: str) -> Plan:
    """The winner with the reasons why it is."""
    assert best.plan is not None
    assert best.value is not None
    others = sorted((t for t in tried if t is not best and t.value is not None), key=_key)
    unit = UNITS[objective]
    lines = [
        f"{AUTO}: {best.candidate.label} has the least {objective}, "
        f"{format_quantity(best.value, unit)}, of {len(tried)} ways to plan"
    ]
    lines += [f"{AUTO}: {t.candidate.label} {format_quantity(t.value or 0, unit)}" for t in others]
    lines += [f"{AUTO}: {t.candidate.label}: {t.reason}" for t in tried if t.value is None]
    details = replace(best.plan.details, tried=tuple(t.told(objective) for t in tried))
    return replace(best.plan, notes=(*best.plan.notes, *lines), details=details)
