"""The best partition that respects wishes, and which of them are in the way where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from planners.core.errors import WishesConflict
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.partition.constraints import WishedGroups
from planners.fusion.partition.cost_model import Partition, Status, executable, least_traffic
from planners.fusion.partition.lattice import Dag
from planners.fusion.search.exact import best_partition
from planners.wishes.conflicts import minimal_conflict
from planners.wishes.language import Wish

# Looks at the clock for whether some wishes can be met, where their smallest groups do not fit.
QUESTION_WORK = 4096


def wished_partition(
    model: GroupModel, wishes: Sequence[Wish], budget_bytes: int, clock: Clock
) -> Partition:
    """The partition of least traffic of those that respect wishes, which do not contradict.

    Raises `WishesConflict` where none does within the budget, or none is found in time.
    """
    graph = model.graph
    partition = _best(model, WishedGroups.from_wishes(wishes, graph), budget_bytes, clock)
    if partition is not None:
        return partition

    def possible(some: Sequence[Wish]) -> bool:
        return (
            _best(
                model,
                WishedGroups.from_wishes(some, graph),
                budget_bytes,
                Clock(inf).work(QUESTION_WORK),
            )
            is not None
        )

    raise conflict_of(model, wishes, budget_bytes, possible)


def _best(
    model: GroupModel, wished: WishedGroups, budget_bytes: int, clock: Clock
) -> Partition | None:
    partition = best_partition(model, model.graph, budget_bytes, clock, wished=wished)
    if all(wished.allows(mask) for mask in partition.groups):
        return partition
    groups = least_groups(model, wished)
    costs = [least_traffic(_points(model, mask), budget_bytes) for mask in groups]
    if None in costs:
        return None
    total = sum(cost for cost in costs if cost is not None)
    bound = min(partition.bound_bytes, total)
    status: Status = "optimal" if bound == total else "feasible"
    return replace(
        partition, groups=groups, objective_bytes=total, bound_bytes=bound, status=status, cap=None
    )


def least_groups(model: GroupModel, wished: WishedGroups) -> tuple[int, ...]:
    """The smallest groups that fuse what wishes want together, in an order that can run."""
    dag = Dag.from_graph(model.graph)
    order = executable(dag, wished.least(dag))
    assert order is not None, "what lies on a cycle is in one group"
    return order


def _points(model: GroupModel, mask: int) -> list[tuple[int, int]]:
    return [(point.buffer_bytes, point.traffic_bytes) for point in model.staircase(mask)]


class _Need(NamedTuple):
    """The least memory known to be enough for wishes, the group that needs it; or why none is."""

    size_bytes: int
    group: int = 0
    reason: str = ""


def conflict_of(
    model: GroupModel,
    wishes: Sequence[Wish],
    budget_bytes: int,
    possible: Callable[[Sequence[Wish]], bool],
) -> WishesConflict:
    """A minimal set of conflicting wishes, with what the group that they require needs.

    `possible` is called where it is not clear that the smallest groups fit.
    """
    graph = model.graph

    def fits(some: Sequence[Wish]) -> bool:
        need = _need(model, WishedGroups.from_wishes(some, graph))
        return (not need.reason and need.size_bytes <= budget_bytes) or possible(some)

    least = minimal_conflict(wishes, fits)
    texts = tuple(str(wish) for wish in least)
    need = _need(model, WishedGroups.from_wishes(least, graph))
    names = [graph.operators[i].name for i in bits(need.group)]
    if need.reason:
        reason = f"{names[0]} to {names[-1]} cannot be one group: {need.reason}"
        return WishesConflict(texts, budget_bytes, budget_bytes, reason=reason)
    size = max(need.size_bytes, budget_bytes + 1)
    reason = f"the group from {names[0]!r} to {names[-1]!r} ({len(names)} operators)"
    return WishesConflict(texts, size, budget_bytes, names[0], reason=reason)


def _need(model: GroupModel, wished: WishedGroups) -> _Need:
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
