"""Why nothing fits: a small set of lifetimes that by themselves do not."""

from __future__ import annotations

from collections.abc import Sequence

from planners.allocation import heuristics
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.problem.model import Lifetime
from planners.allocation.skyline import search as skyline
from planners.core.progress import Clock

TRIAL_S = 0.5  # a subset that takes longer to settle than this counts as one that fits


def overload(lifetimes: Sequence[Lifetime], time: int, capacity_bytes: int) -> tuple[str, ...]:
    """Lifetimes live at `time` that together exceed the capacity; without any one they fit."""
    live = sorted(
        (item for item in lifetimes if item.lower <= time < item.upper),
        key=lambda item: -item.size_bytes,
    )
    excess = sum(item.size_bytes for item in live) - capacity_bytes
    needed = []
    for item in reversed(live):  # the smallest go first, as long as an excess remains
        if item.size_bytes < excess:
            excess -= item.size_bytes
        else:
            needed.append(item.id)
    return tuple(reversed(needed))


def shrink(
    lifetimes: Sequence[Lifetime], conflict: Sequence[str], capacity_bytes: int, clock: Clock
) -> tuple[str, ...]:
    """A subset of `conflict` that is proved not to fit either, by leaving out ever smaller runs.

    Minimal (nothing more can be left out) if time allows and no trial takes longer than TRIAL_S.
    Deletion filtering, in runs as in delta debugging (Zeller and Hildebrandt, 2002).
    """
    names = set(conflict)
    kept = sorted((item for item in lifetimes if item.id in names), key=lambda item: item.lower)
    run = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        kept = _leave_out_runs(kept, run, capacity_bytes, clock)
        if clock.expired() or (run == 1 and len(kept) == before):
            return tuple(item.id for item in kept)
        run = max(1, min(run, len(kept)) // 2)


def _leave_out_runs(
    kept: list[Lifetime], run: int, capacity_bytes: int, clock: Clock
) -> list[Lifetime]:
    at = 0
    while at < len(kept) and not clock.expired():
        core = _core(kept[:at] + kept[at + run :], capacity_bytes, clock.part(TRIAL_S))
        if core is None:
            at += run
        else:
            kept = [item for item in kept if item.id in core]
    return kept


def _core(lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock) -> set[str] | None:
    """The lifetimes of a part in time that is proved not to fit, or None."""
    for instance in reduce(lifetimes, capacity_bytes):
        if _proved_infeasible(instance, clock):
            return set(instance.ids)
    return None


def _proved_infeasible(instance: Instance, clock: Clock) -> bool:
    if max(instance.loads()) > instance.capacity:
        return True
    if heuristics.list_placement(instance, clock) is not None:
        return False
    return skyline.solve(instance, clock)[0] is False
