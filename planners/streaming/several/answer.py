"""One answer to how networks run together: in a ring that is given, or in the least memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planners.core.progress import Clock
from planners.streaming.several.analysis import Analysis
from planners.streaming.several.rings import KEPT, SharedRings, shared
from planners.streaming.several.search import (
    LeastMemory,
    SharedSearch,
    least_of_all,
    least_partitioned,
    least_shared,
    search,
)
from planners.streaming.several.tasks import MOST_JOBS, PeriodicTask, Policy, ms


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """What holds in the layout chosen, and what was found of each kind of layout."""

    kind: str
    analysis: Analysis
    compared: tuple[LeastMemory, ...]


def answer(
    tasks: Sequence[PeriodicTask],
    policy: Policy,
    ring_bytes: int | None = None,
    stages: int = 2,
    clock: Clock | None = None,
    most_jobs: int = MOST_JOBS,
) -> SharedMemory:
    """In one ring of those bytes, or else in the least memory that meets all deadlines.

    That is one ring for all, a ring for each, or one ring beside networks that are kept. Where
    nothing does, the analysis is that of all networks kept. Raises `BudgetTooSmall` where a
    layer is larger than the ring, `BadInput` where the hyperperiod has too many jobs.
    """
    clock = clock or Clock(60.0)
    given = search(tasks, policy, stages, clock, most_jobs)
    if ring_bytes is not None:
        analysis = given.analysed(shared(tasks, ring_bytes, stages))
        compared = () if analysis.met else (least_shared(given),)
        return SharedMemory("shared", analysis, compared)
    one = least_shared(_among(given, 3))
    some = least_of_all(_among(given, 2), without=[one])
    each = least_partitioned(given)
    answers = (one, some, each)
    best: tuple[str, SharedRings] | None = None
    for item in answers:
        if item.layout and (not best or item.layout.memory_bytes < best[1].memory_bytes):
            best = item.kind, item.layout
    if best is None:
        best = "all kept", shared(tasks, 0, stages, range(len(tasks)))
    return SharedMemory(best[0], given.analysed(best[1]), answers)


def _among(given: SharedSearch, count: int) -> SharedSearch:
    """The search with an equal share of the time, as one of so many that are left."""
    clock = given.clock.among(count)
    return SharedSearch(given.tasks, given.jobs, given.policy, given.stages, clock)


def facts(found: SharedMemory) -> dict[str, Any]:
    """An answer as JSON data; job numbers are from 1."""
    analysis = found.analysis
    layout, used = analysis.layout, analysis.utilisation
    timeline = analysis.timeline
    return {
        "status": "met" if analysis.met else "missed",
        "policy": analysis.policy,
        "layout": found.kind,
        "stages": layout.stages,
        "memory_bytes": layout.memory_bytes,
        "ring_bytes": list(layout.sizes),
        "kept_bytes": layout.kept_bytes,
        "hyperperiod_s": _hyperperiod_s(analysis),
        "jobs": len(timeline.jobs),
        "layers": len(timeline.steps),
        "utilisation": {"read": used.read, "copy": used.copy, "kernel": used.kernel},
        "tasks": [_task(analysis, i) for i in range(len(analysis.tasks))],
        "compared": [_compared(item) for item in found.compared],
        **_missed(analysis),
    }


def _hyperperiod_s(analysis: Analysis) -> float:
    first = analysis.tasks[0]
    return float(first.period_s * analysis.responses[0].jobs)


def _task(analysis: Analysis, i: int) -> dict[str, Any]:
    task, response = analysis.tasks[i], analysis.responses[i]
    ring = analysis.layout.ring_of[i]
    return {
        "task": task.name,
        "period_s": float(task.period_s),
        "deadline_s": float(task.deadline_s),
        "priority": task.priority,
        "layers": len(task.layers),
        "size_bytes": task.size_bytes,
        "ring": None if ring == KEPT else ring,
        "kept": ring == KEPT,
        "bound_s": response.bound_s,
        "lateness_s": response.lateness_s,
        "met": not response.missed,
        "worst_job": response.worst_job + 1,
        "missed_jobs": [number + 1 for number in response.missed],
    }


def _compared(found: LeastMemory) -> dict[str, Any]:
    layout = found.layout
    return {
        "kind": found.kind,
        "memory_bytes": layout.memory_bytes if layout else None,
        "ring_bytes": list(layout.sizes) if layout else None,
        "kept_bytes": layout.kept_bytes if layout else None,
        "bound_bytes": found.bound_bytes,
        "proven": found.proven,
        "tried": found.tried,
        "why": found.why,
    }


def _missed(analysis: Analysis) -> dict[str, Any]:
    """The job that is latest: what it needs, what it has."""
    worst = analysis.worst
    if analysis.met:
        return {}
    return {
        "job": f"{worst.task} job {worst.worst_job + 1}",
        "need_s": worst.bound_s,
        "have_s": worst.deadline_s,
        "short_by_s": worst.lateness_s,
    }


def verdict(found: SharedMemory) -> str:
    """Why the answer is no, in one line: the job, its need, what it has, and what would do."""
    worst = found.analysis.worst
    text = (
        f"infeasible: {worst.task} job {worst.worst_job + 1} needs {ms(worst.bound_s)}, its "
        f"deadline is {ms(worst.deadline_s)}, short by {ms(worst.lateness_s)}; "
    )
    if found.kind == "all kept":
        return text + "even with all networks kept in memory: give it a longer period or deadline"
    for item in found.compared:
        if item.layout:
            return text + f"the least ring that meets all deadlines is {item.layout.sizes[0]} bytes"
        if item.proven:
            return text + f"no ring for all meets all deadlines: {item.why}"
    return text + "try another ring, or auto"
