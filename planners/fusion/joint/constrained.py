"""The best groups and residency that respect wishes, and which of them are in the way."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from planners.core.errors import BudgetTooSmall, NoPlanFound, WishesConflict
from planners.core.progress import Clock
from planners.core.services import PLAN_WHOLE_TENSORS
from planners.fusion.cost.group import GroupModel
from planners.fusion.joint.planner import Asked, JointFusion, best_joint
from planners.fusion.partition.shortest import NEVER
from planners.fusion.search.constrained import QUESTION_WORK, conflict_of
from planners.wishes.language import Wish


def wished_jointly(
    model: GroupModel,
    wishes: Sequence[Wish],
    budget_bytes: int,
    clock: Clock,
    double_buffer: bool,
) -> JointFusion:
    """The best groups and residency of those that respect wishes.

    Raises `WishesConflict` where none does within the budget, or none is found in time.
    """
    if not wishes:
        return best_joint(model, budget_bytes, clock, double_buffer)

    def search(some: Sequence[Wish], within: Clock) -> JointFusion:
        wished = Asked.from_wishes(some, model.graph)
        return best_joint(model, budget_bytes, within, double_buffer, wished)

    best = search(wishes, clock)
    if best.objective_bytes < NEVER:
        return best

    def possible(some: Sequence[Wish]) -> bool:
        return search(some, Clock(inf).work(QUESTION_WORK)).objective_bytes < NEVER

    error = conflict_of(model, wishes, budget_bytes, possible)
    least = [wish for wish in wishes if str(wish) in error.wishes]
    raise _by_whole_tensors(model, least, error)


def _by_whole_tensors(
    model: GroupModel, wishes: Sequence[Wish], error: WishesConflict
) -> WishesConflict:
    """What whole tensors and operators alone (COSMA) need for the wishes, where that is less."""
    wished = Asked.from_wishes(wishes, model.graph).cosma
    if not wished:
        return error
    clock = Clock(inf).work(QUESTION_WORK)
    settings = {
        "parameters": True,
        "schedule": "joint",
        "time_limit": clock.option_s,
        "wishes": wished,
    }
    have = error.have_bytes
    try:
        PLAN_WHOLE_TENSORS.function()(model.graph, model.machine, have, settings, clock.within)
    except WishesConflict as other:
        if error.need_bytes == have or other.need_bytes < error.need_bytes:
            names = (other.operator, other.tensors)
            return WishesConflict(error.wishes, other.need_bytes, have, *names)
    except (BudgetTooSmall, NoPlanFound):
        return error
    return error
