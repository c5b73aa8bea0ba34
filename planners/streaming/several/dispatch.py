"""The order of all layers in a hyperperiod, as a policy decides it, and when each one ends.

Whenever a kernel ends, the most urgent released job runs its next layer: a layer is never
interrupted, a network may be between two. Reads (and copies) go in that order too, ahead as far as
the rings allow, a job's even before its release: the order is known in advance, because it is
made here once, with upper bounds of all times, and kept.

**The bound.** With the order, places in rings are fixed, and so is the layer whose bytes each one
waits for. Then a read ends at max(read before, kernel of the layer waited for) + r, a kernel at
max(kernel before, own read, release) + k (in three stages with copies between): maxima of sums of
times and of constant releases, which never fall when a time rises. With all times at most the
upper bounds, no job ends later than here. An order decided anew while it runs has no such bound:
a shorter time can let a less urgent layer in first (Graham's anomalies).

**It repeats.** Each hyperperiod has the same order and starts its rings anew at offset 0. If all
jobs of one end by its end, then at that time all engines are idle and all bytes are free, so that
the next one's reads begin no later than those of the first did: by the same argument every end in
it is no later, relative to its start. So the bound holds in all hyperperiods if it meets all
deadlines in the first, since no deadline is behind its period.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from planners.streaming.model.layers import Layer
from planners.streaming.schedule.recurrence import Ends, Start, three_stages, two_stages
from planners.streaming.several.rings import KEPT, Filling, SharedRings
from planners.streaming.several.tasks import PeriodicTask, Policy, TaskJob

TOLERANCE_S = 1e-9
"""How late a job may be for its deadline to count as met: floats are not exact."""


@dataclass(frozen=True, slots=True)
class LayerStep:
    """A layer of a job at its place: `waits` is the step whose bytes it takes, or -1."""

    job: int
    layer: int
    offset: int
    waits: int


@dataclass(frozen=True, slots=True)
class JobTimeline:
    """Steps in order, and the end of each one's kernel in seconds.

    `next_bytes`, by ring, is the least larger ring in which any step would have another place.
    A timeline may stop at its first late job: `complete` says whether it has all.
    """

    jobs: tuple[TaskJob, ...]
    steps: tuple[LayerStep, ...]
    kernels: tuple[float, ...]
    next_bytes: tuple[int | None, ...]
    complete: bool = True

    def ends(self) -> list[float]:
        """When each job ends."""
        ends = [0.0] * len(self.jobs)
        for step, end in zip(self.steps, self.kernels, strict=True):
            ends[step.job] = end
        return ends

    def lateness_s(self) -> list[float]:
        """By how much each job is behind its deadline; below zero where it is ahead."""
        return [end - job.due_s for end, job in zip(self.ends(), self.jobs, strict=True)]

    def meets_all(self) -> bool:
        return self.complete and all(late <= TOLERANCE_S for late in self.lateness_s())


def urgency(
    policy: Policy, tasks: Sequence[PeriodicTask], jobs: Sequence[TaskJob]
) -> Callable[[int], tuple[float, int, int]]:
    """What jobs are compared by, the least first: the deadline (EDF) or the task's priority.

    Where that is equal, the task named first goes first; a task's jobs go in their order.
    """

    def order_of(job: int) -> tuple[float, int, int]:
        i = jobs[job].task
        return jobs[job].due_s if policy == "edf" else tasks[i].priority, i, jobs[job].number

    return order_of


def dispatch(
    tasks: Sequence[PeriodicTask],
    jobs: Sequence[TaskJob],
    policy: Policy,
    layout: SharedRings,
    *,
    stop_when_late: bool = False,
) -> JobTimeline:
    """Simulate a hyperperiod. `jobs` are by release; linear in the layers of all jobs.

    With `stop_when_late` it ends at the first job that misses its deadline.
    """
    machine = _Machine(tasks, jobs, layout)
    urgent = urgency(policy, tasks, jobs)
    ready: list[tuple[tuple[float, int, int], int]] = []
    done = [0] * len(jobs)
    coming = 0
    while ready or coming < len(jobs):
        now = machine.kernel if ready else max(machine.kernel, jobs[coming].release_s)
        while coming < len(jobs) and jobs[coming].release_s <= now:
            heappush(ready, (urgent(coming), coming))
            coming += 1
        job = ready[0][1]
        machine.run(job, done[job])
        done[job] += 1
        if done[job] == len(tasks[jobs[job].task].layers):
            heappop(ready)
            if stop_when_late and machine.kernel > jobs[job].due_s + TOLERANCE_S:
                return machine.timeline(complete=False)
    return machine.timeline(complete=True)


class _Machine:
    """Engines and rings: appends one layer after another (constraints 3 of the paper)."""

    def __init__(
        self, tasks: Sequence[PeriodicTask], jobs: Sequence[TaskJob], layout: SharedRings
    ) -> None:
        self.tasks, self.jobs, self.layout = tasks, tuple(jobs), layout
        self.rings = [Filling(size) for size in layout.sizes]
        self.two = layout.stages == 2
        self.read = self.copy = self.kernel = 0.0
        self.steps: list[LayerStep] = []
        self.copies: list[float] = []
        self.kernels: list[float] = []

    def run(self, job: int, number: int) -> None:
        """Dispatch a layer: its read, its copy and its kernel."""
        task = self.jobs[job].task
        layer, ring = self.tasks[task].layers[number], self.layout.ring_of[task]
        offset, waits = 0, -1
        if layer.size_bytes and ring != KEPT:
            offset, waits = self.rings[ring].place(layer.size_bytes, len(self.steps))
            self._stream(layer, waits)
        begin = max(self.kernel, self.jobs[job].release_s)
        self.kernel = begin + layer.kernel_s
        self.steps.append(LayerStep(job, number, offset, waits))
        self.copies.append(self.copy)
        self.kernels.append(self.kernel)

    def _stream(self, layer: Layer, waits: int) -> None:
        free = self.kernels[waits] if waits >= 0 else 0.0
        if self.two:
            self.read = self.copy = max(self.read, free) + layer.read_s
        else:
            free_cpu = self.copies[waits] if waits >= 0 else 0.0
            self.read = max(self.read, free_cpu) + layer.read_s
            self.copy = max(self.copy, self.read, free) + layer.copy_s
        self.kernel = max(self.kernel, self.copy)

    def timeline(self, complete: bool) -> JobTimeline:
        larger = tuple(ring.next_bytes for ring in self.rings)
        return JobTimeline(self.jobs, tuple(self.steps), tuple(self.kernels), larger, complete)


def layers_in_order(
    tasks: Sequence[PeriodicTask], timeline: JobTimeline, layout: SharedRings
) -> list[Layer]:
    """The layers of all steps; those of kept tasks have nothing to read."""
    layers = []
    for step in timeline.steps:
        task = timeline.jobs[step.job].task
        layer = tasks[task].layers[step.layer]
        if layout.keeps(task):
            layer = Layer(layer.name, 0, 0.0, 0.0, layer.kernel_s)
        layers.append(layer)
    return layers


def replayed(timeline: JobTimeline, layers: Sequence[Layer], stages: int = 2) -> Ends:
    """Ends with other times of the steps' layers, order and places kept, as at run time."""
    waits = [step.waits for step in timeline.steps]
    start = Start(kernels=tuple(timeline.jobs[step.job].release_s for step in timeline.steps))
    if stages == 2:
        return two_stages(layers, waits, start)
    return three_stages(layers, waits, waits, start)
