"""The best partition that respects wishes, and which of them are in the way where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from planners.conflicts import smallest
from planners.errors import BudgetTooSmall, WishesConflict
from planners.fusion.group import GroupModel
from planners.fusion.joint import Asked, Joint, best_joint
from planners.fusion.lattice import Dag
from planners.fusion.partition import Partition, Status, executable, least_traffic
from planners.fusion.search import best_partition
from planners.fusion.shortest import NEVER
from planners.fusion.wished import Wished
from planners.masks import bits
from planners.progress import Clock
from planners.wishes import Wish

# Seconds for the search whether some of the wishes can be had, where the least groups do not fit.
QUESTION_S = 5.0


def wished_partition(
    model: GroupModel, wishes: Sequence[Wish], budget_bytes: int, clock: Clock
) -> Partition:
    """The partition of least traffic of those that respect wishes, which do not contradict.

    Raises `WishesConflict` where none does within the budget, or none is found in time.
    """
    graph = model.graph
    found = _best(model, Wished.of(wishes, graph), budget_bytes, clock)
    if found is not None:
        return found

    def possible(some: Sequence[Wish]) -> bool:
        return _best(model, Wished.of(some, graph), budget_bytes, Clock(QUESTION_S)) is not None

    raise _conflict(model, wishes, budget_bytes, possible)


def wished_jointly(
    model: GroupModel,
    wishes: Sequence[Wish],
    budget_bytes: int,
    clock: Clock,
    double_buffer: bool,
) -> Joint:
    """The best groups and residency of those that respect wishes. Raises as above."""
    if not wishes:
        return best_joint(model, budget_bytes, clock, double_buffer)

    def search(some: Sequence[Wish], within: Clock) -> Joint:
        asked = Asked.of(some, model.graph)
        return best_joint(model, budget_bytes, within, double_buffer, asked)

    found = search(wishes, clock)
    if found.objective_bytes < NEVER:
        return found

    def possible(some: Sequence[Wish]) -> bool:
        return search(some, Clock(QUESTION_S)).objective_bytes < NEVER

    error = _conflict(model, wishes, budget_bytes, possible)
    least = [wish for wish in wishes if str(wish) in error.wishes]
    raise _by_cosma(model, least, error)


def _by_cosma(model: GroupModel, wishes: Sequence[Wish], error: WishesConflict) -> WishesConflict:
    """What COSMA needs for the wishes, where that is less: whole tensors and operators alone."""
    from planners.cosma import plan as cosma_plan

    asked = Asked.of(wishes, model.graph).cosma
    if not asked:
        return error
    settings = {"parameters": True, "schedule": "joint", "time_limit": QUESTION_S, "wishes": asked}
    have = error.have_bytes
    try:
        cosma_plan(model.graph, model.machine, have, settings)
    except WishesConflict as other:
        if error.need_bytes == have or other.need_bytes < error.need_bytes:
            names = (other.operator, other.tensors)
            return WishesConflict(error.wishes, other.need_bytes, have, *names)
    except BudgetTooSmall:
        return error
    return error


def _best(model: GroupModel, wished: Wished, budget_bytes: int, clock: Clock) -> Partition | None:
    found = best_partition(model, model.graph, budget_bytes, clock, wished=wished)
    if all(wished.allows(mask) for mask in found.groups):
        return found
    groups = least_groups(model, wished)
    costs = [least_traffic(_points(model, mask), budget_bytes) for mask in groups]
    if None in costs:
        return None
    total = sum(cost for cost in costs if cost is not None)
    bound = min(found.bound_bytes, total)
    status: Status = "optimal" if bound == total else "feasible"
    return replace(
        found, groups=groups, objective_bytes=total, bound_bytes=bound, status=status, cap=None
    )


def least_groups(model: GroupModel, wished: Wished) -> tuple[int, ...]:
    """The smallest groups that have together what is wished so, in an order that can run."""
    dag = Dag.of(model.graph)
    order = executable(dag, wished.least(dag))
    assert order is not None, "what lies on a cycle is in one group"
    return order


def _points(model: GroupModel, mask: int) -> list[tuple[int, int]]:
    return [(point.buffer_bytes, point.traffic_bytes) for point in model.staircase(mask)]


class _Need(NamedTuple):
    """The least memory known to do for wishes, which group wants it; or why none does."""

    size_bytes: int
    group: int = 0
    reason: str = ""


def _conflict(
    model: GroupModel,
    wishes: Sequence[Wish],
    budget_bytes: int,
    possible: Callable[[Sequence[Wish]], bool],
) -> WishesConflict:
    """A minimal set of wishes in the way, with what the group that they ask for needs.

    `possible` is asked where it is not plain that the smallest groups do.
    """
    graph = model.graph

    def fits(some: Sequence[Wish]) -> bool:
        need = _need(model, Wished.of(some, graph))
        return (not need.reason and need.size_bytes <= budget_bytes) or possible(some)

    least = smallest(wishes, fits)
    texts = tuple(str(wish) for wish in least)
    need = _need(model, Wished.of(least, graph))
    names = [graph.operators[i].name for i in bits(need.group)]
    if need.reason:
        reason = f"{names[0]} to {names[-1]} cannot be one group: {need.reason}"
        return WishesConflict(texts, budget_bytes, budget_bytes, reason=reason)
    size = max(need.size_bytes, budget_bytes + 1)
    reason = f"the group from {names[0]!r} to {names[-1]!r} ({len(names)} operators)"
    return WishesConflict(texts, size, budget_bytes, names[0], reason=reason)


def _need(model: GroupModel, wished: Wished) -> _Need:
    worst = _Need(0)
    for mask in wished.classes:
        if reason := model.why_not(mask):
            return _Need(0, mask, reason)
        buffers = [buffer for buffer, _ in _points(model, mask)]
        if not buffers:
            return _Need(0, mask, "no tile of it runs")
        if min(buffers) > worst.size_bytes:
            worst = _Need(min(buffers), mask)
    return worst
