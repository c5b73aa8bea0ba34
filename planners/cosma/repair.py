"""A placement that always exists: drop what crosses a few steps, so that the rest can be packed.

At any boundary between two steps everything may be stored and loaded again elsewhere. So the
schedule is cut into windows that can be packed one by one, each as long as possible, and then as
many of the extra drops as possible are taken back. Any budget of at least MR is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planners.allocation import pack
from planners.cosma.placement import gaps_within, lifetimes
from planners.cosma.problem import Gap, Problem, Run, runs
from planners.progress import Clock

# Many small questions are asked: a slow answer counts as no.
QUESTION_S = 0.2
# How far before the longest window's end a cheaper boundary is looked for, in steps.
LOOK_BACK = 8


def repair(problem: Problem, dropped: frozenset[Gap], clock: Clock) -> dict[Run, int]:
    """Offsets of stays that drop `dropped` and little more."""
    stays = runs(problem, dropped)
    extra: set[Gap] = set()
    start, total = 0, len(problem.schedule)
    while (stop := _longest_window(problem, stays, start)) < total:
        first = max(start + 1, stop - LOOK_BACK)
        stop = min(range(stop, first - 1, -1), key=lambda b: _cost(problem, _crossing(stays, b)))
        extra |= {_gap_at(problem, run, stop) for run in _crossing(stays, stop)}
        start = stop
    for gap in sorted(extra, key=lambda g: -problem.lines[g.line].size_bytes):
        if clock.expired():
            break
        if _pack(problem, runs(problem, dropped | (extra - {gap})), QUESTION_S) is not None:
            extra.remove(gap)
    offsets = _pack(problem, runs(problem, dropped | extra), 60.0)
    assert offsets is not None, "windows that were packed one by one"
    return offsets


def _pack(problem: Problem, stays: Sequence[Run], limit_s: float) -> dict[Run, int] | None:
    packing = pack(
        lifetimes(problem, stays), problem.budget_bytes, time_limit_s=limit_s, explain=False
    )
    if packing.status != "packed":
        return None
    return {run: packing.offsets[str(i)] for i, run in enumerate(stays)}


def _longest_window(problem: Problem, stays: Sequence[Run], start: int) -> int:
    """The last boundary up to which steps `[start, stop)` can be packed, by galloping."""
    total = len(problem.schedule)

    def fits(stop: int) -> bool:
        parts = [
            Run(run.line, max(run.first, start), min(run.last, stop - 1))
            for run in stays
            if run.first < stop and run.last >= start
        ]
        return _pack(problem, parts, QUESTION_S) is not None

    low, width = start + 1, 1
    while low < total and fits(min(total, low + width)):
        low, width = min(total, low + width), 2 * width
    high = min(total, low + width)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _crossing(stays: Iterable[Run], boundary: int) -> list[Run]:
    """The stays on both sides of the boundary in front of a step."""
    return [run for run in stays if run.first < boundary <= run.last]


def _gap_at(problem: Problem, run: Run, boundary: int) -> Gap:
    return next(gap for gap in gaps_within(problem, run) if gap.before < boundary <= gap.after)


def _cost(problem: Problem, crossing: Iterable[Run]) -> int:
    lines = [problem.lines[run.line] for run in crossing]
    return sum(line.size_bytes * (1 if line.host_copy else 2) for line in lines)
