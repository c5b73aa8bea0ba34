"""The least memory in which every deadline holds: exact breakpoints, one ring or several.

A ring for all: places and so the whole timeline stay as they are until the ring is large enough
for some lap to take the layer behind it too (`Filling.next_bytes`). Going from one such size to
the next tries every possible timeline. More memory may be worse, so none may be left out.

A ring for each task: of several rings each has such a next size, and from rings that are too small
one grows at a time, the least memory first. A task that is late in a ring alone is late with
others too: such sizes are left out (`SharingRules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations

from planners.core.progress import Clock
from planners.streaming.several.analysis import Analysis, analyse, utilisation
from planners.streaming.several.dispatch import TOLERANCE_S, dispatch
from planners.streaming.several.rings import KEPT, SharedRings, partitioned, shared
from planners.streaming.several.tasks import MOST_JOBS, PeriodicTask, Policy, TaskJob, jobs_of, ms


@dataclass(frozen=True, slots=True)
class SharingRules:
    """Of the search for the least rings together."""

    each_alone: bool = True
    """A ring is at least as large as its task alone needs: with others it is no earlier."""


SHARING_RULES = SharingRules()


@dataclass(frozen=True, slots=True)
class LeastMemory:
    """The least memory of its kind, or why there is none.

    `bound_bytes`: no layout of this kind with less memory meets all deadlines; it equals the
    layout's memory where that is proven least. With no layout, `proven` means that none exists,
    else the time was over. `why` is a message for the user.
    """

    kind: str
    layout: SharedRings | None
    bound_bytes: int
    proven: bool
    tried: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class SharedSearch:
    """Tasks, their jobs in a hyperperiod, the policy, 2 or 3 stages, and a clock."""

    tasks: tuple[PeriodicTask, ...]
    jobs: tuple[TaskJob, ...]
    policy: Policy
    stages: int
    clock: Clock
    rules: SharingRules = SHARING_RULES

    def meets(self, layout: SharedRings) -> tuple[bool, int | None]:
        """Whether all deadlines hold, and the next larger ring for which that may differ."""
        dispatched = dispatch(self.tasks, self.jobs, self.policy, layout, stop_when_late=True)
        return dispatched.meets_all(), dispatched.next_bytes[0] if dispatched.next_bytes else None

    def analysed(self, layout: SharedRings) -> Analysis:
        return analyse(self.tasks, self.policy, layout, len(self.jobs))


def search(
    tasks: Sequence[PeriodicTask],
    policy: Policy,
    stages: int = 2,
    clock: Clock | None = None,
    most_jobs: int = MOST_JOBS,
) -> SharedSearch:
    """Raises `BadInput` where a hyperperiod has more than `most_jobs`."""
    jobs = jobs_of(tasks, most_jobs)
    return SharedSearch(tuple(tasks), jobs, policy, stages, clock or Clock(60.0))


def impossible(tasks: Sequence[PeriodicTask], layout: SharedRings) -> str:
    """Why no rings help, whatever their sizes: an engine is overloaded, or a task alone takes
    too long. Empty where neither holds."""
    used = utilisation(tasks, layout)
    for name in ("read", "copy", "kernel"):
        if (share := getattr(used, name)) > 1 + TOLERANCE_S:
            return f"{name}s take {share:.1%} of the time"
    for task in tasks:
        kernels = sum(layer.kernel_s for layer in task.layers)
        if kernels > float(task.deadline_s) + TOLERANCE_S:
            return f"{task.name}: kernels alone take {ms(kernels)} of {ms(task.deadline_s)}"
    return ""


def least_shared(
    given: SharedSearch, kept: tuple[int, ...] = (), above: int | None = None
) -> LeastMemory:
    """The least ring for all tasks but those kept, by breakpoints rising from the largest layer.

    Up to the bytes of all that streams: from there on everything could be kept instead. With
    `above`, only layouts of less memory than that count.
    """
    tasks = given.tasks
    streams = [task for i, task in enumerate(tasks) if i not in kept]
    kind = "shared" if not kept else "shared, " + ", ".join(tasks[i].name for i in kept) + " kept"
    most = sum(task.size_bytes for task in streams)
    ring: int | None = max((x.size_bytes for task in streams for x in task.layers), default=0)
    tried = 0
    while ring is not None and ring <= most:
        layout = shared(tasks, ring, given.stages, kept)
        memory = layout.memory_bytes
        if not tried and (why := impossible(tasks, layout)):
            return LeastMemory(kind, None, memory, True, tried, why)
        if above is not None and memory >= above:
            return LeastMemory(kind, None, memory, True, tried, f"needs at least {memory} bytes")
        if tried and given.clock.expired():
            return LeastMemory(kind, None, memory, False, tried, "no more time")
        given.clock.report(f"{kind} ring {tried + 1}", None, memory)
        tried += 1
        met, larger = given.meets(layout)
        if met:
            return LeastMemory(kind, layout, memory, True, tried)
        ring = larger
    why = f"late in every ring up to {most} bytes, which is all that streams"
    return LeastMemory(kind, None, most, True, tried, why)


def least_partitioned(given: SharedSearch) -> LeastMemory:
    """The least rings together, one for each task; a task may also be kept as a whole."""
    alone = [_Alone(given, i) for i in range(len(given.tasks))]
    for task, sizes in zip(given.tasks, alone, strict=True):
        if sizes.least_size(0) is None:
            return LeastMemory("partitioned", None, 0, True, 0, f"{task.name} is late even alone")
    return _Growing(given, alone).least()


def least_of_all(given: SharedSearch, *, without: Sequence[LeastMemory] = ()) -> LeastMemory:
    """The least ring for all but some that are kept, over all choices of what is kept.

    `without` are answers that are known, so that only better ones are looked for.
    """
    memories = [answer.layout.memory_bytes for answer in without if answer.layout]
    best: LeastMemory | None = None
    proven, tried, bounds = True, 0, []
    for count in range(1, len(given.tasks) + 1):
        for kept in combinations(range(len(given.tasks)), count):
            answer = least_shared(given, kept, min(memories, default=None))
            tried, proven = tried + answer.tried, proven and answer.proven
            if answer.layout:
                memories.append(answer.layout.memory_bytes)
                best = answer
            elif not answer.proven:
                bounds.append(answer.bound_bytes)
    if best is None:
        why = "keeping networks does not make it less" if memories else "late even if all are kept"
        return LeastMemory(
            "some kept", None, min([*bounds, *memories], default=0), proven, tried, why
        )
    bound = min([*bounds, best.bound_bytes])
    return LeastMemory(best.kind, best.layout, bound, bound == best.bound_bytes, tried)


class _Alone:
    """In which rings a task alone meets its deadlines.

    Others only add to what is waited for: its own order, places and releases stay. So a task that
    is late alone is late.
    """

    def __init__(self, given: SharedSearch, i: int) -> None:
        self.given, self.task = given, given.tasks[i]
        self.jobs = [
            TaskJob(0, job.number, job.release_s, job.due_s) for job in given.jobs if job.task == i
        ]
        self.largest = max(layer.size_bytes for layer in self.task.layers)
        self.known: dict[int, int | None] = {}

    def least_size(self, least: int) -> int | None:
        """The least size from that on that meets its deadlines, or None; its own size keeps it.

        Rings that take more than the task itself (in three stages there are two) do not count.
        """
        if not self.given.rules.each_alone:
            size, whole = max(least, self.largest), self.task.size_bytes
            return whole if (self.given.stages - 1) * size >= whole else size
        if least not in self.known:
            self.known[least] = self._search(max(least, self.largest))
        return self.known[least]

    def _search(self, size: int | None) -> int | None:
        whole = self.task.size_bytes
        while True:
            if size is None or (self.given.stages - 1) * size >= whole:
                size = whole
            layout = partitioned([self.task], [size], self.given.stages)
            dispatched = dispatch(
                [self.task], self.jobs, self.given.policy, layout, stop_when_late=True
            )
            if dispatched.meets_all():
                return size
            if size == whole:
                return None
            size = dispatched.next_bytes[0]


class _Growing:
    """Rings that grow, one at a time, as far as it takes to change anything; the least first.

    Where rings of some sizes are late, so are all between them and the next sizes that give a
    layer of the timeline, up to the late job, another place. So of whatever is larger, some ring
    has at least its next size: following each of them misses nothing.
    """

    def __init__(self, given: SharedSearch, alone: Sequence[_Alone]) -> None:
        self.given, self.alone = given, alone
        self.heap: list[tuple[int, tuple[int, ...]]] = []
        self.seen: set[tuple[int, ...]] = set()
        self.tried = 0

    def least(self) -> LeastMemory:
        self._add(tuple(0 for _ in self.alone))
        memory = 0
        while self.heap:
            memory, sizes = heappop(self.heap)
            if self.tried and self.given.clock.expired():
                return self._descent(memory)
            layout = partitioned(self.given.tasks, sizes, self.given.stages)
            self.given.clock.report(f"rings {self.tried + 1}", None, memory)
            if not impossible(self.given.tasks, layout):
                self.tried += 1
                dispatched = dispatch(
                    self.given.tasks,
                    self.given.jobs,
                    self.given.policy,
                    layout,
                    stop_when_late=True,
                )
                if dispatched.meets_all():
                    return LeastMemory("partitioned", layout, memory, True, self.tried)
                larger: tuple[int | None, ...] = dispatched.next_bytes
            else:
                larger = (None,) * len(layout.sizes)  # Some other task must be kept.
            for i, ring in enumerate(layout.ring_of):
                if ring != KEPT:
                    grown = larger[ring]
                    whole = self.given.tasks[i].size_bytes
                    self._add((*sizes[:i], whole if grown is None else grown, *sizes[i + 1 :]))
        why = "late even if all tasks are kept"
        return LeastMemory("partitioned", None, memory, True, self.tried, why)

    def _add(self, least: tuple[int, ...]) -> None:
        """Rings of at least these sizes, each as large as its task alone needs."""
        sizes = [alone.least_size(size) for alone, size in zip(self.alone, least, strict=True)]
        least_sizes = tuple(size for size in sizes if size is not None)
        if len(least_sizes) == len(sizes) and least_sizes not in self.seen:
            self.seen.add(least_sizes)
            layout = partitioned(self.given.tasks, least_sizes, self.given.stages)
            heappush(self.heap, (layout.memory_bytes, least_sizes))

    def _descent(self, bound: int) -> LeastMemory:
        """When the time is over: the best of the descents that begin with each task."""
        descents = [self._smaller(first) for first in range(len(self.alone))]
        layouts = [
            partitioned(self.given.tasks, sizes, self.given.stages) for sizes in descents if sizes
        ]
        layout = min(layouts, key=lambda layout: layout.memory_bytes, default=None)
        why = "no more time" + (" to prove it least" if layout else "")
        return LeastMemory("partitioned", layout, bound, False, self.tried, why)

    def _smaller(self, first: int) -> list[int]:
        """From all kept, each ring as small as the others let it be, beginning with one task's."""
        sizes = [task.size_bytes for task in self.given.tasks]
        if not self._meets(sizes):
            return []
        count = len(sizes)
        for i in (*range(first, count), *range(first)):
            copies, whole = self.given.stages - 1, sizes[i]
            low, high = self.alone[i].largest, -(-whole // copies)
            while low < high:  # By bisection: more memory is mostly, not always, better.
                sizes[i] = (low + high) // 2
                if self._meets(sizes):
                    high = sizes[i]
                else:
                    low = sizes[i] + 1
            sizes[i] = high if copies * high < whole else whole
        return sizes

    def _meets(self, sizes: Sequence[int]) -> bool:
        self.tried += 1
        return self.given.meets(partitioned(self.given.tasks, sizes, self.given.stages))[0]
