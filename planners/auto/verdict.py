"""What the best plan won against, and of what the proof is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planners.auto.forms import AUTO, Form
from planners.auto.runs import FormOutcome
from planners.auto.scheduler import Race, Runner
from planners.core.details import BestOfForms, TriedPlanner
from planners.core.errors import Cancelled, NoPlanFound, SpillwayError, refusal
from planners.core.plan import Plan
from planners.core.units import format_quantity


@dataclass(frozen=True, slots=True)
class Apart:
    """A form that was not asked, and why."""

    form: Form
    reason: str


def with_verdict(plan: Plan, race: Race, apart: Sequence[Apart], stopped: bool) -> Plan:
    """The best plan with the reasons why it is: notes, a row for each form, and what is proven."""
    aim, best = race.aim, race.best
    assert best is not None
    verdict = BestOfForms(
        objective=aim.name,
        value=best.key[0],
        floor=aim.floor,
        proven=race.proven,
        forms=len(race.runners),
        by_clock=race.by_clock or stopped,
    )
    rows = [_row_apart(one, aim.name) for one in apart]
    rows += [_row(runner, race) for runner in race.runners]
    labels = [one.form.label for one in apart] + [one.form.label for one in race.runners]
    notes = (*plan.notes, *_notes(plan, race, rows, labels, verdict))
    details = replace(plan.details, tried=tuple(rows), best=verdict)
    return replace(_weighed(plan, verdict), notes=notes, details=details)


def _weighed(plan: Plan, verdict: BestOfForms) -> Plan:
    """Its claims without a word on what was not asked: they prove the planner's own aim only."""
    claims = plan.claims
    if claims.status == "optimal" and not verdict.proven:
        claims = replace(claims, status="feasible")
    elif verdict.proven and claims.bound_bytes == claims.objective_bytes:
        claims = replace(claims, status="optimal")
    return replace(plan, claims=claims)


def _row(runner: Runner, race: Race) -> TriedPlanner:
    """A form's result: the best of its outcomes, or the last of them."""
    outcome = runner.best or next(reversed(runner.outcomes), None)
    why = race.why(runner)
    return TriedPlanner(
        planner=runner.form.planner,
        options=runner.form.told_options,
        objective=race.aim.name,
        value=outcome.value if outcome else None,
        status=outcome.status if outcome else "none",
        offchip_bytes=outcome.offchip_bytes if outcome else None,
        extent_bytes=outcome.extent_bytes if outcome else None,
        reason=outcome.reason if outcome else f"not tried: {why}",
        bound=runner.bound or None,
        seconds=round(runner.seconds, 3),
        limit_s=round(runner.limit_s, 3),
        ended=why,
    )


def _row_apart(one: Apart, objective: str) -> TriedPlanner:
    return TriedPlanner(
        one.form.planner, one.form.told_options, objective, None, "none", None, None, one.reason
    )


def _notes(
    plan: Plan,
    race: Race,
    rows: Sequence[TriedPlanner],
    labels: Sequence[str],
    verdict: BestOfForms,
) -> list[str]:
    """What the best won by, of what the proof is, and a line for each of the others, best first."""
    aim, best = race.aim, race.best
    assert best is not None
    won = (
        f"{AUTO}: {best.task.form.label} has the least {aim.name}, "
        f"{format_quantity(verdict.value, aim.unit)}, of {len(rows)} ways to plan"
    )
    lines = [
        won,
        f"{AUTO}: {_proof(plan, race, verdict)}",
        f"{AUTO}: {_clock(verdict)}",
    ]
    both = [(row, label) for row, label in zip(rows, labels, strict=True)]
    others = [(row.value, label) for row, label in both if row.value is not None]
    others.remove((best.key[0], best.task.form.label))
    others.sort(key=lambda other: other[0])
    lines += [f"{AUTO}: {label} {format_quantity(value, aim.unit)}" for value, label in others]
    return lines + [f"{AUTO}: {label}: {row.reason}" for row, label in both if row.value is None]


def _proof(plan: Plan, race: Race, verdict: BestOfForms) -> str:
    """Of what the proof is: the problem, or the planner's own aim."""
    if verdict.proven:
        return verdict.words
    claims, unit = plan.claims, race.aim.unit
    floor = format_quantity(verdict.floor, unit) if verdict.floor else ""
    words = (
        f"{verdict.words}; no plan of the problem has less than {floor}" if floor else verdict.words
    )
    if claims.bound_bytes == claims.objective_bytes:
        return f"{words}; what {plan.planner} proves is about its own objective"
    return f"{words}; {plan.planner}'s own objective is not proven"


def _clock(verdict: BestOfForms) -> str:
    if verdict.by_clock:
        return "the time decided: some of these might have found better with more"
    return "no clock decided: more time would change nothing"


def _sure(outcome: FormOutcome) -> bool:
    """Whether no more time would give the form a plan."""
    refused = bool(outcome.reason) and not outcome.by_time and outcome.status != "failed"
    return outcome.short is not None or refused


def none_of(race: Race, apart: Sequence[Apart], budget_bytes: int, stopped: bool) -> SpillwayError:
    """Why there is no plan at all: the least that any planner needs."""
    outcomes = [outcome for runner in race.runners for outcome in runner.outcomes]
    short = [(o.short.need_bytes, o.task.form.label, o.short) for o in outcomes if o.short]
    if stopped:
        return Cancelled("planning was stopped before any planner had a plan")
    if not short:
        reasons = [(one.form.label, one.reason) for one in apart]
        reasons += [(outcome.task.form.label, outcome.reason) for outcome in outcomes]
        text = "; ".join(f"{label}: {reason}" for label, reason in reasons)
        return NoPlanFound(f"none found: no planner has a plan: {text}", have_bytes=budget_bytes)
    need, label, error = min(short, key=lambda pair: pair[:2])
    remedy = f"that is the least of all planners, {label}'s"
    unsure = [r.form.label for r in race.runners if not any(map(_sure, r.outcomes))]
    if unsure:
        remedy += f"; {', '.join(unsure)} had no plan in the time, and may need less"
    bound = 0 if unsure else need
    return refusal(need, bound, budget_bytes, error.operator, error.tensors, remedy)
