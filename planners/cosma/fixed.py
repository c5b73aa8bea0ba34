"""Optimal replacement and addresses for a fixed schedule (III-E2), with a proof or a true gap.

First the capacity relaxation: where its runs can be packed, they are optimal. Where they cannot,
each conflict becomes a cut, and the bound rises; a repaired placement is at hand all the time.
Last, replacement and addresses are searched in one model from that bound and placement.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.cosma.baselines import replace_online
from planners.cosma.joint_addresses import solve_jointly
from planners.cosma.placement import cut_of, place
from planners.cosma.problem import Problem, Run, runs
from planners.cosma.relaxation import Cut, Relaxed, relax
from planners.cosma.repair import repair
from planners.progress import Clock

CUT_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Solution:
    """Offsets of all stays, their non-compulsory bytes, and a proven bound for the schedule."""

    offsets: dict[Run, int]
    cost_bytes: int
    bound_bytes: int
    solver: str


def solve_fixed(problem: Problem, clock: Clock) -> Solution:
    """The cheapest stays for the problem's schedule; the best found where the time runs out.

    Raises `BudgetTooSmall` below the largest need of a step.
    """
    problem.assert_feasible()
    clock.report("capacity relaxation")
    relaxed = relax(problem, time_limit_s=clock.left_s)
    if relaxed is None:
        return _online(problem)
    clock.report("addresses", bound_bytes=relaxed.bound_bytes)
    solution = _cut_and_place(problem, relaxed, clock)
    if solution.cost_bytes == solution.bound_bytes or clock.expired():
        return solution
    joint = solve_jointly(problem, solution.bound_bytes, solution.offsets, clock)
    bound = max(solution.bound_bytes, joint.bound_bytes)
    if joint.offsets is None or joint.objective_bytes >= solution.cost_bytes:
        return Solution(solution.offsets, solution.cost_bytes, bound, solution.solver)
    return Solution(joint.offsets, joint.objective_bytes, bound, "gap ILP (HiGHS), CP-SAT")


def _online(problem: Problem) -> Solution:
    """What Belady's rule makes of it at once, for when there is no time for anything else."""
    stays = replace_online(problem, "belady", 1)
    return Solution(stays, cost_of(problem, stays), 0, "belady, linear arena")


def _cut_and_place(problem: Problem, relaxed: Relaxed, clock: Clock) -> Solution:
    cuts: list[Cut] = []
    best: Solution | None = None
    for _ in range(CUT_ROUNDS):
        placed = place(problem, runs(problem, relaxed.dropped), clock, 5.0)
        if placed.offsets is not None:
            solver = f"gap ILP (HiGHS), packing ({placed.solver})"
            cost = relaxed.objective_bytes
            return Solution(dict(placed.offsets), cost, relaxed.bound_bytes, solver)
        if best is None:
            best = _online(problem)
        stays = repair(problem, relaxed.dropped, clock)
        cost = cost_of(problem, stays)
        if cost < best.cost_bytes:
            best = Solution(stays, cost, 0, "gap ILP (HiGHS), repaired packing")
        clock.report("addresses", best.cost_bytes, relaxed.bound_bytes)
        cut = cut_of(problem, placed.conflict)
        if best.cost_bytes == relaxed.bound_bytes or not cut or clock.expired():
            break
        cuts.append(cut)
        tighter = relax(problem, cuts, clock.left_s)
        if tighter is None:
            break
        bound = max(relaxed.bound_bytes, tighter.bound_bytes)
        relaxed = Relaxed(tighter.dropped, tighter.objective_bytes, bound)
    assert best is not None
    return Solution(best.offsets, best.cost_bytes, relaxed.bound_bytes, best.solver)


def cost_of(problem: Problem, stays: dict[Run, int]) -> int:
    """Non-compulsory bytes of stays: each but the first is a load; one store where needed."""
    count: dict[int, int] = {}
    for run in stays:
        count[run.line] = count.get(run.line, 0) + 1
    total = 0
    for i, n in count.items():
        line = problem.lines[i]
        total += (n - 1) * line.size_bytes
        if n > 1 and not line.host_copy:
            total += line.size_bytes
    return total
