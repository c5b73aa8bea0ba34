"""Addresses for the runs of a relaxation, and cuts where they cannot all be placed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planners.allocation import Lifetime, Packing, pack
from planners.cosma.problem import Gap, Problem, Run
from planners.progress import Clock


def lifetimes(problem: Problem, stays: Iterable[Run]) -> list[Lifetime]:
    """A lifetime for each run, named by its position."""
    return [
        Lifetime(str(i), run.first, run.last + 1, problem.lines[run.line].size_bytes)
        for i, run in enumerate(stays)
    ]


@dataclass(frozen=True, slots=True)
class Placed:
    """Offsets in bytes of all runs; or the runs that were proved not to fit together."""

    offsets: Mapping[Run, int] | None
    conflict: tuple[Run, ...]
    solver: str


def place(problem: Problem, stays: tuple[Run, ...], clock: Clock, limit_s: float) -> Placed:
    """Pack all runs into the budget, or find a conflict; neither where the time is over."""
    packing: Packing = pack(
        lifetimes(problem, stays),
        problem.budget_bytes,
        time_limit_s=min(limit_s, clock.left_s),
        should_stop=clock.expired,
    )
    if packing.status == "packed":
        offsets = {run: packing.offsets[str(i)] for i, run in enumerate(stays)}
        return Placed(offsets, (), packing.solver)
    return Placed(None, tuple(stays[int(name)] for name in packing.conflict), packing.solver)


def cut_of(problem: Problem, conflict: Iterable[Run]) -> frozenset[Gap]:
    """Gaps of which at least one must be dropped, since these runs do not fit together.

    Valid for every solution: one that keeps all of these gaps holds these runs, or longer ones.
    """
    return frozenset(gap for run in conflict for gap in gaps_within(problem, run))


def gaps_within(problem: Problem, run: Run) -> list[Gap]:
    """The gaps that a run keeps."""
    uses = [step for step in problem.lines[run.line].uses if run.first <= step <= run.last]
    return [Gap(run.line, a, b) for a, b in zip(uses, uses[1:], strict=False)]
