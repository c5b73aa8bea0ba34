"""Which wishes are in the way, where COSMA finds no plan that respects them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from planners.allocation.min_capacity import pack_tightest
from planners.core.errors import BudgetTooSmall, WishesConflict
from planners.core.progress import Clock
from planners.cosma.memory import least_memory
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.peak import least_for_kept, minimum_peak
from planners.cosma.place.placement import lifetimes
from planners.cosma.replace.immediate import loose
from planners.wishes.conflicts import minimal_conflict
from planners.wishes.language import Wish

# Looks at the clock for one question: which order needs least, how tight stays can be packed.
QUESTION_WORK = 2048


class LeastMemoryNeed(NamedTuple):
    """The least memory known to be enough for some wishes, and the operator that needs it."""

    size_bytes: int
    operator: str = ""
    tensors: tuple[str, ...] = ()


def conflict_of(
    wishes: Sequence[Wish],
    problem_of: Callable[[Sequence[Wish]], ScheduleProblem],
    schedule: str,
    objective: str,
    error: BudgetTooSmall,
) -> BudgetTooSmall:
    """A minimal set of conflicting wishes; the error itself where even without them no plan exists.

    `problem_of` makes the problem with some wishes only. Spills need no room of their own, so
    each set is tested by what must be kept beside each operator, in the best order.
    """
    have = error.have_bytes

    def need_of(some: Sequence[Wish]) -> LeastMemoryNeed:
        return _need(problem_of(some), schedule, objective)

    if need_of(()).size_bytes > have:
        return error
    least = minimal_conflict(wishes, lambda some: need_of(some).size_bytes <= have)
    need = need_of(least)
    if need.size_bytes <= have:  # A plan exists, but was not found.
        need = LeastMemoryNeed(max(error.need_bytes, have + 1), error.operator, error.tensors)
    texts = tuple(str(wish) for wish in least)
    return WishesConflict(texts, need.size_bytes, have, need.operator, need.tensors)


def _need(problem: ScheduleProblem, schedule: str, objective: str) -> LeastMemoryNeed:
    if objective == "peak":
        return _without_spills(problem, schedule)
    ordered = replace(
        problem, schedule=_best_order(problem, schedule, Clock(inf).work(QUESTION_WORK))
    )
    most = max(ordered.needed, default=0)
    step = ordered.needed.index(most)
    if most <= problem.budget_bytes and ordered.kept:
        part = Clock(inf).work(QUESTION_WORK)
        tight = pack_tightest(lifetimes(ordered, loose(ordered)), clock=part)
        most = max(most, tight.extent_bytes)
    operator = problem.graph.operators[ordered.schedule[step]].name
    return LeastMemoryNeed(most, operator, ordered.held_at(step))


def _without_spills(problem: ScheduleProblem, schedule: str) -> LeastMemoryNeed:
    enough = replace(problem, budget_bytes=1 << 62)
    any_order = schedule != "default"
    try:
        least = least_memory(enough, Clock(inf).work(QUESTION_WORK), any_order=any_order)
    except BudgetTooSmall as error:
        return LeastMemoryNeed(error.need_bytes, error.operator, error.tensors)
    return LeastMemoryNeed(least[1].cost_bytes)


def _best_order(problem: ScheduleProblem, schedule: str, clock: Clock) -> tuple[int, ...]:
    """The order that a schedule stands for: where it is free, the one that fits what must be kept.

    That is the order of least peak, where all else is resident for its operators only.
    """
    graph, parameters, wished = problem.graph, problem.parameters, problem.wished
    if schedule == "mpmf":
        return minimum_peak(graph, parameters, clock=clock, before=wished.before).schedule
    if schedule == "default" or not wished.keep:
        return problem.schedule
    return least_for_kept(graph, parameters, wished, clock).schedule
