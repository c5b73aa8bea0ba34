"""Response-time bounds: for each task the longest that a job may take, and its deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from planners.core.errors import BadInput
from planners.streaming.several.dispatch import (
    TOLERANCE_S,
    JobTimeline,
    dispatch,
    layers_in_order,
    replayed,
)
from planners.streaming.several.rings import SharedRings
from planners.streaming.several.tasks import MOST_JOBS, PeriodicTask, Policy, hyperperiod, jobs_of


@dataclass(frozen=True, slots=True)
class Response:
    """A task's bound on its jobs' times from release to end, in seconds.

    `worst_job` is the job (from 0 in the hyperperiod) that comes nearest its deadline or misses
    it by most; `missed` are those that miss it. `lateness_s` is below zero where all are ahead.
    """

    task: str
    jobs: int
    bound_s: float
    deadline_s: float
    worst_job: int
    missed: tuple[int, ...]

    @property
    def lateness_s(self) -> float:
        return self.bound_s - self.deadline_s


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Shares of the time that engines are busy in a hyperperiod; above 1 nothing can hold."""

    read: float
    copy: float
    kernel: float


@dataclass(frozen=True, slots=True)
class Analysis:
    """Tasks in a layout under a policy: what is guaranteed.

    Bounds hold in every hyperperiod where all deadlines are met (`dispatch`'s docstring);
    otherwise they are of the first one only, as later ones may begin with work left over.
    """

    tasks: tuple[PeriodicTask, ...]
    policy: Policy
    layout: SharedRings
    timeline: JobTimeline
    responses: tuple[Response, ...]
    utilisation: Utilisation

    @property
    def met(self) -> bool:
        """Whether all deadlines are met, always."""
        return not any(response.missed for response in self.responses)

    @property
    def worst(self) -> Response:
        """The task with the job that is latest against its deadline."""
        return max(self.responses, key=lambda response: response.lateness_s)

    @property
    def lateness_s(self) -> float:
        return self.worst.lateness_s


def analyse(
    tasks: Sequence[PeriodicTask], policy: Policy, layout: SharedRings, most_jobs: int = MOST_JOBS
) -> Analysis:
    """Simulate a hyperperiod and bound all responses. Raises `BadInput` where it is too long."""
    timeline = dispatch(tasks, jobs_of(tasks, most_jobs), policy, layout)
    responses = responses_of(tasks, timeline, timeline.ends())
    used = utilisation(tasks, layout)
    return Analysis(tuple(tasks), policy, layout, timeline, responses, used)


def responses_of(
    tasks: Sequence[PeriodicTask], timeline: JobTimeline, ends: Sequence[float]
) -> tuple[Response, ...]:
    """Each task's worst response, where its jobs end then."""
    responses = []
    for i, task in enumerate(tasks):
        took = [
            end - job.release_s
            for job, end in zip(timeline.jobs, ends, strict=True)
            if job.task == i
        ]
        worst = max(range(len(took)), key=took.__getitem__)
        due = float(task.deadline_s)
        missed = tuple(n for n, seconds in enumerate(took) if seconds - due > TOLERANCE_S)
        responses.append(Response(task.name, len(took), took[worst], due, worst, missed))
    return tuple(responses)


def utilisation(tasks: Sequence[PeriodicTask], layout: SharedRings) -> Utilisation:
    """The work of each engine, over the time available."""
    whole = float(hyperperiod(tasks))
    read = copy = kernel = 0.0
    for i, task in enumerate(tasks):
        share = whole / float(task.period_s)
        kernel += share * sum(layer.kernel_s for layer in task.layers)
        if not layout.keeps(i):
            streams = [layer for layer in task.layers if layer.size_bytes]
            read += share * sum(layer.read_s for layer in streams)
            if layout.stages == 3:
                copy += share * sum(layer.copy_s for layer in streams)
    return Utilisation(read / whole, copy / whole, kernel / whole)


def drawn_responses(
    analysis: Analysis, least: float, draws: int, seed: int = 0
) -> tuple[tuple[float, ...], ...]:
    """Worst responses by task, in each draw: all times are uniform shares, `least` to 1, of their
    bounds; the order is kept. Raises `BadInput` for an invalid share."""
    if not 0 <= least <= 1:
        raise BadInput(f"times are drawn from a share of their bounds, 0 to 1, not {least:g}")
    random = Random(seed)
    tasks, timeline = analysis.tasks, analysis.timeline
    layers = layers_in_order(tasks, timeline, analysis.layout)
    responses = []
    for _ in range(draws):
        shorter = [
            replace(
                layer,
                read_s=layer.read_s * random.uniform(least, 1),
                copy_s=layer.copy_s * random.uniform(least, 1),
                kernel_s=layer.kernel_s * random.uniform(least, 1),
            )
            for layer in layers
        ]
        kernels = replayed(timeline, shorter, analysis.layout.stages).kernels
        ends = [0.0] * len(timeline.jobs)
        for step, end in zip(timeline.steps, kernels, strict=True):
            ends[step.job] = end
        responses.append(tuple(r.bound_s for r in responses_of(tasks, timeline, ends)))
    return tuple(responses)
