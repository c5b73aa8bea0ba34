"""A plan at once for a schedule: the best of the schemes that are quick, or where tensors must be
kept, one without the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from planners.allocation.min_capacity import pack_tightest
from planners.allocation.portfolio import LONG_WORK
from planners.core.errors import refusal
from planners.core.progress import Clock
from planners.cosma.baselines.offline import replace_offline
from planners.cosma.baselines.schemes import replace_online
from planners.cosma.model.problem import ScheduleProblem, TensorStay, cost_of, runs
from planners.cosma.place.placement import gaps_within, lifetimes, place

CLIMBING_WORK = 60_000  # stays arranged in hill climbing


def plan_at_once(
    problem: ScheduleProblem, clock: Clock
) -> tuple[dict[TensorStay, int] | None, str]:
    """Addresses of all stays of some plan, and what made them.

    None where the tensors that must be kept do not fit this way; another search may place them.
    """
    if not problem.kept:
        return _by_schemes(problem, clock)
    placed = place(problem, loose(problem), clock, LONG_WORK)
    return None if placed.stuck else placed.offsets, "nothing kept but what must be, packing"


def _by_schemes(problem: ScheduleProblem, clock: Clock) -> tuple[dict[TensorStay, int], str]:
    """The better of Belady's rule and of hill climbing, which mostly moves half as much."""
    placed = dict(_apart(problem, replace_online(problem, "belady", 1)))
    if (cost := cost_of(problem, placed)) > 0:
        offsets = replace_offline(problem, "hill_climb", 1, clock, CLIMBING_WORK)
        climbed = dict(_apart(problem, offsets))
        if cost_of(problem, climbed) < cost:
            return climbed, "hill climbing, offline arena"
    return placed, "belady, linear arena"


def loose(problem: ScheduleProblem) -> tuple[TensorStay, ...]:
    """The stays that remain where nothing is kept but what must be: the shortest possible."""
    return runs(problem, frozenset(problem.gaps) - problem.kept)


def _apart(
    problem: ScheduleProblem, stays: Mapping[TensorStay, int]
) -> Iterator[tuple[TensorStay, int]]:
    """Stays without the gaps that must be dropped."""
    for run, offset in stays.items():
        first = run.first
        for gap in gaps_within(problem, run) if problem.spilled else ():
            if gap in problem.spilled:
                yield TensorStay(run.line, first, gap.before), offset
                first = gap.after
        yield TensorStay(run.line, first, run.last), offset


def with_last_means(problem: ScheduleProblem, clock: Clock) -> dict[TensorStay, int]:
    """The loose stays as tight as they can be packed.

    A few are looked for even once the time is over. Raises `BudgetTooSmall` where that is proven to
    be too much, and `NoPlanFound` where it is not:
    what must be kept leaves no place for the rest.
    """
    stays = loose(problem)
    enough = Clock(inf).work(LONG_WORK) if clock.expired() else clock
    tight = pack_tightest(lifetimes(problem, stays), clock=enough)
    if tight.extent_bytes <= problem.budget_bytes:
        return {run: tight.offsets[str(i)] for i, run in enumerate(stays)}
    step = problem.needed.index(max(problem.needed))
    raise refusal(
        tight.extent_bytes,
        tight.bound_bytes,
        problem.budget_bytes,
        problem.graph.operators[problem.schedule[step]].name,
        problem.held_at(step),
        "what must be kept leaves no place for the rest",
    )
