"""A placement that always exists: drop what crosses a few steps, so that the rest can be packed.

At any boundary between two steps everything may be stored and loaded again elsewhere. So the
schedule is cut into windows that can be packed one by one, each as long as possible, and then as
many of the extra drops as possible are taken back. Any budget of at least MR is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from planners.allocation.portfolio import LONG_WORK, QUICK_WORK, pack
from planners.core.progress import Clock
from planners.cosma.model.problem import ScheduleProblem, TensorStay, UseGap, runs
from planners.cosma.place.placement import gaps_within, lifetimes
from planners.cosma.replace.immediate import loose

# How far before the longest window's end a cheaper boundary is looked for, in steps.
LOOK_BACK = 8


def repair(
    problem: ScheduleProblem, dropped: frozenset[UseGap], clock: Clock
) -> dict[TensorStay, int] | None:
    """Offsets of stays that drop `dropped` and little more.

    None where some gaps must be kept, and no place for them is found at once.
    """
    if problem.kept:
        return _from_loose(problem, dropped, clock)
    stays = runs(problem, dropped)
    extra: set[UseGap] = set()
    address: dict[tuple[int, int], int] = {}  # of a line at one of its uses
    start, total = 0, len(problem.schedule)
    while start < total:
        stop, packed = _longest_window(problem, stays, start, clock)
        if stop < total:
            earliest = max(start + 1, stop - LOOK_BACK)
            choice = range(stop, earliest - 1, -1)
            stop = min(choice, key=lambda b: _cost(problem, _crossing(stays, b)))
            extra |= {_gap_at(problem, run, stop) for run in _crossing(stays, stop)}
        # Past `stop` the next window overwrites it.
        for part, offset in packed.items():
            uses = problem.lines[part.line].uses
            address |= {(part.line, use): offset for use in uses if part.first <= use <= part.last}
        start = stop
    offsets = {run: address[run.line, run.first] for run in runs(problem, dropped | extra)}
    return _taken_back(problem, dropped, extra, offsets, clock)


def _from_loose(
    problem: ScheduleProblem, dropped: frozenset[UseGap], clock: Clock
) -> dict[TensorStay, int] | None:
    """From stays that drop all that may be dropped: where gaps must be kept, nothing can be cut."""
    stays = loose(problem)
    offsets = _pack(problem, stays, clock)
    if offsets is None:
        return None
    extra = set(problem.gaps) - problem.kept - dropped
    return _taken_back(problem, dropped, extra, offsets, clock.work(LONG_WORK))


def _taken_back(
    problem: ScheduleProblem,
    dropped: frozenset[UseGap],
    extra: set[UseGap],
    offsets: dict[TensorStay, int],
    clock: Clock,
) -> dict[TensorStay, int]:
    """Keep as many of the extra gaps as can be, those of large tensors first."""
    for gap in sorted(extra, key=lambda g: -problem.lines[g.line].size_bytes):
        if clock.expired():
            break
        if found_all := _pack(problem, runs(problem, dropped | (extra - {gap})), clock):
            extra.remove(gap)
            offsets = found_all
    return offsets


def _pack(
    problem: ScheduleProblem, stays: Sequence[TensorStay], clock: Clock
) -> dict[TensorStay, int] | None:
    """Many small packings are tried: one that takes much work counts as failed."""
    part = clock.work(QUICK_WORK)
    packing = pack(lifetimes(problem, stays), problem.budget_bytes, explain=False, clock=part)
    if packing.status != "packed":
        return None
    return {run: packing.offsets[str(i)] for i, run in enumerate(stays)}


def _longest_window(
    problem: ScheduleProblem, stays: Sequence[TensorStay], start: int, clock: Clock
) -> tuple[int, dict[TensorStay, int]]:
    """The last boundary up to which steps `[start, stop)` can be packed, by galloping; and how."""
    total = len(problem.schedule)
    found = _stacked(problem, _parts(stays, start, start + 1))

    def fits(stop: int) -> bool:
        nonlocal found
        packed = _pack(problem, _parts(stays, start, stop), clock)
        found = found if packed is None else packed
        return packed is not None

    low, width = start + 1, 1
    while low < total and fits(min(total, low + width)):
        low, width = min(total, low + width), 2 * width
    high = min(total, low + width)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low, found


def _parts(stays: Sequence[TensorStay], start: int, stop: int) -> list[TensorStay]:
    """The parts of the stays within steps `[start, stop)`."""
    return [
        TensorStay(run.line, max(run.first, start), min(run.last, stop - 1))
        for run in stays
        if run.first < stop and run.last >= start
    ]


def _stacked(problem: ScheduleProblem, stays: Sequence[TensorStay]) -> dict[TensorStay, int]:
    """One above the other: what a single step needs fits that way."""
    sizes = [problem.lines[run.line].size_bytes for run in stays]
    return dict(zip(stays, accumulate(sizes, initial=0), strict=False))


def _crossing(stays: Iterable[TensorStay], boundary: int) -> list[TensorStay]:
    """The stays on both sides of the boundary in front of a step."""
    return [run for run in stays if run.first < boundary <= run.last]


def _gap_at(problem: ScheduleProblem, run: TensorStay, boundary: int) -> UseGap:
    return next(gap for gap in gaps_within(problem, run) if gap.before < boundary <= gap.after)


def _cost(problem: ScheduleProblem, crossing: Iterable[TensorStay]) -> int:
    lines = [problem.lines[run.line] for run in crossing]
    return sum(line.size_bytes * (1 if line.host_copy else 2) for line in lines)
