"""Loads as early as bytes allow: how long before its use each can have its place.

Loads go in the order in which they are needed. Each takes its bytes from the first step on, not
before the load in front of it, from which they are free until it is used: for given stays nothing
can come earlier. Stores keep theirs for as long after as bytes are left.
"""

from __future__ import annotations

from collections.abc import Sequence

from planners.allocation import Lifetime
from planners.cosma.latency.seconds import ScheduleSeconds
from planners.cosma.latency.shifted import is_loaded
from planners.cosma.model.problem import ScheduleProblem, TensorStay


def early(
    seconds: ScheduleSeconds, stays: Sequence[TensorStay], capacity_bytes: int
) -> list[Lifetime]:
    """Lifetimes of stays, by position, with room for loads ahead of them and for stores behind.

    Together they hold no more than the capacity at any step where the stays themselves do not.
    """
    problem = seconds.problem
    lines, steps = problem.lines, len(problem.schedule)
    held = [0] * steps
    for run in stays:
        for step in range(run.first, run.last + 1):
            held[step] += lines[run.line].size_bytes
    first = [run.first for run in stays]
    last = [run.last for run in stays]
    loads = [k for k, run in enumerate(stays) if is_loaded(seconds, run)]
    not_before = 0
    for k in sorted(loads, key=lambda k: (stays[k].first, -lines[stays[k].line].size_bytes)):
        size = lines[stays[k].line].size_bytes
        while first[k] > not_before and held[first[k] - 1] + size <= capacity_bytes:
            first[k] -= 1
            held[first[k]] += size
        not_before = first[k]
    for k, run in sorted(enumerate(stays), key=lambda item: item[1].last):
        line = lines[run.line]
        stored = run.last < line.uses[-1] or seconds.leaves(run.line)
        made = not is_loaded(seconds, run)
        fits = last[k] + 1 < steps and held[last[k] + 1] + line.size_bytes <= capacity_bytes
        if made and stored and fits:
            last[k] += 1
            held[last[k]] += line.size_bytes
    return [
        Lifetime(str(k), first[k], last[k] + 1, lines[run.line].size_bytes)
        for k, run in enumerate(stays)
    ]


def roomy(problem: ScheduleProblem, stays: Sequence[TensorStay], ahead: int) -> list[Lifetime]:
    """Lifetimes that begin up to `ahead` steps before loads and end up to as many after stores.

    As far as the memory holds them all; large ones first.
    """
    steps = len(problem.schedule)
    load = [0] * steps
    for run in stays:
        for step in range(run.first, run.last + 1):
            load[step] += problem.lines[run.line].size_bytes
    extended: dict[int, Lifetime] = {}
    order = sorted(range(len(stays)), key=lambda i: -problem.lines[stays[i].line].size_bytes)
    for i in order:
        run, line = stays[i], problem.lines[stays[i].line]
        first, last = run.first, run.last
        room = problem.budget_bytes - line.size_bytes
        loaded = not line.produced or run.first > line.uses[0]
        stored = run.last < line.uses[-1] or line.tensor in problem.graph.outputs
        while loaded and first > max(0, run.first - ahead) and load[first - 1] <= room:
            first -= 1
            load[first] += line.size_bytes
        while stored and last < min(steps - 1, run.last + ahead) and load[last + 1] <= room:
            last += 1
            load[last] += line.size_bytes
        extended[i] = Lifetime(str(i), first, last + 1, line.size_bytes)
    return [extended[i] for i in range(len(stays))]
