"""What earlier searches of the same problem found: a longer one goes on from there."""

from __future__ import annotations

from dataclasses import dataclass

from planners.core.recent import Recent
from planners.core.writing import EACH_S
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.latency.timed import TimedGroups
from planners.fusion.latency.ways import TimedWays
from planners.fusion.partition.cost_model import Partition


@dataclass
class KnownGroups:
    """Of what was asked: timed ways of groups, the seconds that each instruction of a plan takes to
    be written and timed, the partition of least traffic found in `least_s` seconds, and the
    quickest plan."""

    asked: tuple[GroupModel, int, bool]
    ways: TimedWays
    each_s: float
    least: Partition | None = None
    least_s: float = 0.0
    best: TimedGroups | None = None


_recent = Recent[KnownGroups](6)


def known_groups(model: GroupModel, budget_bytes: int, double_buffer: bool) -> KnownGroups:
    """What is known of this very model in a budget; of the last few problems only."""
    asked = (model, budget_bytes, double_buffer)
    return _recent.get(
        lambda known: known.asked == asked, lambda: KnownGroups(asked, TimedWays(*asked), EACH_S)
    )


def known_in_less(known: KnownGroups) -> list[tuple[LaidGroup, ...]]:
    """The quickest plans found for smaller budgets, otherwise the same: these fit too."""
    model, budget_bytes, double_buffer = known.asked
    found = []
    for other in _recent:
        its_model, its_bytes, its_buffer = other.asked
        same = its_model is model and its_buffer == double_buffer
        if same and other.best is not None and its_bytes < budget_bytes:
            found.append(other.best.laid)
    return found
