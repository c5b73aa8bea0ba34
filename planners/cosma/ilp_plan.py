"""A plan by the paper's ILP: its schedule, and its stays with addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planners.cosma.baselines import replace_online
from planners.cosma.fixed import Solution, cost_of
from planners.cosma.ilp import Ilp, Kind, build
from planners.cosma.ilp_solve import Solved, solve, usable
from planners.cosma.problem import Problem, Run
from planners.errors import Cancelled, SpillwayError
from planners.progress import Clock


def plan_by_ilp(
    problem: Problem, schedule: str, clock: Clock, solver: str | None = None
) -> tuple[Problem, Solution]:
    """The ILP's plan: `joint` (1)–(12); or (16)–(17) for the `default` or the `mpmf` schedule.

    With capacity rows on top, which change no answer and save much time.
    The bound holds over all schedules for `joint`, else for the one. Where the solver finds
    nothing in time, the plan is Belady's. Raises `BudgetTooSmall`, and `SpillwayError` for a
    solver that is missing or fails.
    """
    problem.assert_feasible()
    usable(solver)
    try:
        if schedule == "mpmf":
            problem = replace(problem, schedule=schedule_of_least_peak(problem, clock, solver))
        ilp = _build(problem, "full" if schedule == "joint" else "fixed", clock)
    except Cancelled:
        return _online(problem, 0)
    solved = solve(ilp, solver, clock.left_s, lambda: _stop(clock))
    if solved.status == "infeasible":
        raise SpillwayError(f"the solver {solved.solver} calls a feasible model infeasible")
    if solved.values is None:
        return _online(problem, solved.bound_bytes)
    ordered, stays = decode(ilp, solved)
    cost = cost_of(ordered, stays)
    return ordered, Solution(stays, cost, min(solved.bound_bytes, cost), f"ILP ({solved.solver})")


def schedule_of_least_peak(
    problem: Problem, clock: Clock, solver: str | None = None
) -> tuple[int, ...]:
    """The schedule of (13)–(15) after half of the time at most; else the problem's own."""
    ilp = _build(problem, "mpmf", clock)
    solved = solve(ilp, solver, 0.5 * clock.left_s, lambda: _stop(clock))
    return problem.schedule if solved.values is None else order_of(ilp, solved)


def _build(problem: Problem, kind: Kind, clock: Clock) -> Ilp:
    stage = f"writing the {kind} ILP"
    return build(problem, kind, tighten=True, should_stop=lambda: _stop(clock, stage))


def _stop(clock: Clock, stage: str = "solving the ILP") -> bool:
    clock.report(stage)
    return clock.expired()


def _online(problem: Problem, bound_bytes: int) -> tuple[Problem, Solution]:
    stays = replace_online(problem, "belady", 1)
    name = "belady, linear arena: nothing from the ILP in time"
    cost = cost_of(problem, stays)
    return problem, Solution(stays, cost, min(bound_bytes, cost), name)


def order_of(ilp: Ilp, solved: Solved) -> tuple[int, ...]:
    """Operators by position, in the order of their C."""
    step = dict(solved.ones(ilp.C))
    ops = ilp.problem.graph.operators
    return tuple(sorted(range(len(ops)), key=lambda i: step[ops[i].outputs[0]]))


def decode(ilp: Ilp, solved: Solved) -> tuple[Problem, dict[Run, int]]:
    """The problem in the solution's order, and the address of each of its stays in bytes.

    A stay is cut to its first and last use. Raises `SpillwayError` where values break the model.
    """
    problem = replace(ilp.problem, schedule=order_of(ilp, solved))
    held = solved.ones(ilp.P)
    fresh = solved.ones(ilp.C) | solved.ones(ilp.R)
    wanted: dict[Run, float] = {}
    for i, line in enumerate(problem.lines):
        stay: list[int] = []
        began = at = -1
        for step in range(line.uses[0], line.uses[-1] + 1):
            if (line.tensor, step) in fresh:
                if stay:
                    wanted[Run(i, stay[0], stay[-1])] = _address(ilp, solved, line.tensor, began)
                stay, began, at = [], step, step
            elif (line.tensor, step) in held:
                at = step
            if step in line.uses:
                if at != step:
                    raise SpillwayError(f"{solved.solver}: {line.tensor!r} is missing at {step}")
                stay.append(step)
        wanted[Run(i, stay[0], stay[-1])] = _address(ilp, solved, line.tensor, began)
    return problem, _settle(problem, wanted)


def _address(ilp: Ilp, solved: Solved, tensor: str, step: int) -> float:
    assert solved.values is not None
    return solved.values.get(ilp.L[tensor, step].name, 0.0)


def _settle(problem: Problem, wanted: Mapping[Run, float]) -> dict[Run, int]:
    """Let all stays sink in the order of their L: exact bytes, whatever the solver's tolerance."""
    placed: dict[Run, int] = {}
    for run in sorted(wanted, key=lambda run: wanted[run]):
        placed[run] = max(
            (
                at + problem.lines[below.line].size_bytes
                for below, at in placed.items()
                if below.first <= run.last and run.first <= below.last
            ),
            default=0,
        )
        if placed[run] + problem.lines[run.line].size_bytes > problem.budget_bytes:
            name = problem.lines[run.line].tensor
            raise SpillwayError(f"the ILP's address of {name!r} at step {run.first} does not fit")
    return placed
