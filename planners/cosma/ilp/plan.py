"""A plan by the paper's ILP: its schedule, and its stays with addresses."""

from __future__ import annotations

from dataclasses import replace

from planners.core.errors import Cancelled, NoPlanFound, SpillwayError
from planners.core.progress import Clock
from planners.cosma.ilp.model import build
from planners.cosma.ilp.solve import Solved, solve, usable
from planners.cosma.ilp.variables import Ilp, Kind
from planners.cosma.model.constraints import NO_WISHES
from planners.cosma.model.problem import ScheduleProblem, TensorStay, cost_of
from planners.cosma.order.joint import no_plan
from planners.cosma.place.placement import settle
from planners.cosma.replace.immediate import plan_at_once, with_last_means
from planners.cosma.replace.optimal import Solution


def plan_by_ilp(
    problem: ScheduleProblem, schedule: str, clock: Clock, solver: str | None = None
) -> tuple[ScheduleProblem, Solution]:
    """The ILP's plan: `joint` (1)–(12); or (16)–(17) for the `default` or the `mpmf` schedule.

    With capacity rows on top, which change no answer and save much time. The bound holds over all
    schedules for `joint`, else for the one. Where the solver finds nothing in time, or nothing
    better, the plan is Belady's; but where the paper is taken literally (`problem.paper_strict`),
    whose rules Belady's does not keep, that is an error. Raises `BudgetTooSmall`, `BadInput` for
    a solver that is missing, and `SpillwayError` for one that fails.
    """
    replace(problem, wished=NO_WISHES).assert_feasible()
    usable(solver)
    how = ""
    try:
        if schedule == "mpmf":
            order, proven = schedule_of_least_peak(problem, clock, solver)
            problem = replace(problem, schedule=order)
            how = "" if proven else ", the schedule's peak not proven least"
        ilp = _build(problem, "full" if schedule == "joint" else "fixed", clock)
    except Cancelled:
        return _without(problem, 0, how, clock)
    solved = solve(ilp, solver, clock.solver_s, lambda: _stop(clock))
    if solved.status == "infeasible":
        raise _infeasible(problem, solved.solver)
    if solved.values is None:
        return _without(problem, solved.bound_bytes, how, clock)
    ordered, stays = decode(ilp, solved)
    cost = cost_of(ordered, stays)
    bound = min(solved.bound_bytes, cost)
    ilp_plan = ordered, Solution(stays, cost, bound, f"ILP ({solved.solver}){how}")
    if cost == bound or problem.paper_strict or problem.wished.keep:
        return ilp_plan
    return min(ilp_plan, _online(problem, bound, how, clock), key=lambda item: item[1].cost_bytes)


def schedule_of_least_peak(
    problem: ScheduleProblem, clock: Clock, solver: str | None = None
) -> tuple[tuple[int, ...], bool]:
    """The best schedule for (13)–(15) in half of the time, and whether it is proven so.

    The problem's own schedule where none is found.
    """
    ilp = _build(problem, "mpmf", clock)
    solved = solve(ilp, solver, clock.solver_s, lambda: _stop(clock))
    if solved.values is None:
        return problem.schedule, False
    return order_of(ilp, solved), solved.status == "optimal"


def _build(problem: ScheduleProblem, kind: Kind, clock: Clock) -> Ilp:
    stage = f"writing the {kind} ILP"
    return build(
        problem,
        kind,
        paper_strict=problem.paper_strict,
        tighten=True,
        should_stop=lambda: _stop(clock, stage),
    )


def _stop(clock: Clock, stage: str = "solving the ILP") -> bool:
    clock.report(stage)
    return clock.expired()


def _infeasible(problem: ScheduleProblem, solver: str) -> SpillwayError:
    if problem.wished.keep:
        return no_plan(problem)
    if not problem.paper_strict:
        return SpillwayError(f"the solver {solver} calls a feasible model infeasible")
    return SpillwayError(
        f"by the paper's equations nothing fits in {problem.budget_bytes} bytes, where a tensor "
        "cannot move between two steps: allow a larger budget, or paper_strict=False"
    )


def _without(
    problem: ScheduleProblem, bound_bytes: int, how: str, clock: Clock
) -> tuple[ScheduleProblem, Solution]:
    """What there is without a solution: a scheme's plan, or an error where it breaks the rules."""
    if problem.paper_strict:
        raise NoPlanFound(
            "none found: the ILP has no plan in the time given, and no other keeps the paper's "
            "equations: allow more time, another solver, or paper_strict=False"
        )
    return _online(problem, bound_bytes, how, clock)


def _online(
    problem: ScheduleProblem, bound_bytes: int, how: str, clock: Clock
) -> tuple[ScheduleProblem, Solution]:
    problem.assert_feasible()
    stays, solver = plan_at_once(problem, clock)
    stays = with_last_means(problem, clock) if stays is None else stays
    name = f"{solver}: nothing better from the ILP in time{how}"
    cost = cost_of(problem, stays)
    return problem, Solution(stays, cost, min(bound_bytes, cost), name)


def order_of(ilp: Ilp, solved: Solved) -> tuple[int, ...]:
    """Operators by position, in the order of their C."""
    step = dict(solved.ones(ilp.C))
    ops = ilp.problem.graph.operators
    return tuple(sorted(range(len(ops)), key=lambda i: step[ops[i].outputs[0]]))


def decode(ilp: Ilp, solved: Solved) -> tuple[ScheduleProblem, dict[TensorStay, int]]:
    """The problem in the solution's order, and the address of each of its stays in bytes.

    A stay is cut to its first and last use. Raises `SpillwayError` where values break the model.
    """
    problem = replace(ilp.problem, schedule=order_of(ilp, solved))
    preserved = solved.ones(ilp.P)
    fresh = solved.ones(ilp.C) | solved.ones(ilp.R)
    wanted: dict[TensorStay, float] = {}
    for i, line in enumerate(problem.lines):
        stay: list[int] = []
        began = at = -1
        for step in range(line.uses[0], line.uses[-1] + 1):
            if (line.tensor, step) in fresh:
                if stay:
                    wanted[TensorStay(i, stay[0], stay[-1])] = _address(
                        ilp, solved, line.tensor, began
                    )
                stay, began, at = [], step, step
            elif (line.tensor, step) in preserved:
                at = step
            if step in line.uses:
                if at != step:
                    raise SpillwayError(f"{solved.solver}: {line.tensor!r} is missing at {step}")
                stay.append(step)
        wanted[TensorStay(i, stay[0], stay[-1])] = _address(ilp, solved, line.tensor, began)
    sunk = settle(problem, wanted)
    if sunk is None:
        raise SpillwayError(f"{solved.solver}: the addresses of the solution overlap")
    return problem, sunk


def _address(ilp: Ilp, solved: Solved, tensor: str, step: int) -> float:
    assert solved.values is not None
    return solved.values.get(ilp.L[tensor, step].name, 0.0)
