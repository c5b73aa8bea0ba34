"""A program's order: reads, copies, kernels and barriers, each behind what it must wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from planners.streaming.model.layers import Layer
from planners.streaming.schedule.pipelines import Schedule

Action = Literal["read", "copy", "kernel", "leave cpu", "leave gpu", "barrier"]


class LayerEvent(NamedTuple):
    """Something that happens to a layer. `leave` ends its bytes' stay in a ring."""

    action: Action
    layer: int


def events(schedule: Schedule, held: Sequence[int] = ()) -> Iterator[LayerEvent]:
    """The order of a schedule's program.

    `held[i]` is an earlier layer that has some of layer i's parameters, or -1: it leaves first.
    """
    match schedule.kind:
        case "seq":
            yield from _sequential(schedule.layers)
        case "sync":
            yield from _synchronous(schedule.layers)
        case "pre":
            yield from _preloaded(schedule.layers)
        case "joint":
            yield from _just_in_time(schedule.layers, schedule.reads_before)
        case _:
            yield from _Merge(schedule, held or (-1,) * len(schedule.layers)).run()


def _sequential(layers: Sequence[Layer]) -> Iterator[LayerEvent]:
    for i, layer in enumerate(layers):
        if i:
            yield LayerEvent("barrier", i)
        if layer.size_bytes:
            yield LayerEvent("read", i)
            yield LayerEvent("copy", i)
            yield LayerEvent("leave cpu", i)
        yield LayerEvent("kernel", i)
        if layer.size_bytes:
            yield LayerEvent("leave gpu", i)


def _synchronous(layers: Sequence[Layer]) -> Iterator[LayerEvent]:
    """Cycle by cycle; what a cycle has used leaves at its end."""
    n = len(layers)
    for cycle in range(n + 2):
        if cycle:
            yield LayerEvent("barrier", min(cycle, n - 1))
        stages: tuple[tuple[Action, int], ...]
        stages = (("read", cycle), ("copy", cycle - 1), ("kernel", cycle - 2))
        for action, i in stages:
            if 0 <= i < n and (action == "kernel" or layers[i].size_bytes):
                yield LayerEvent(action, i)
        if 0 <= cycle - 1 < n and layers[cycle - 1].size_bytes:
            yield LayerEvent("leave cpu", cycle - 1)
        if 0 <= cycle - 2 and layers[cycle - 2].size_bytes:
            yield LayerEvent("leave gpu", cycle - 2)


def _preloaded(layers: Sequence[Layer]) -> Iterator[LayerEvent]:
    for action in ("read", "copy"):
        for i, layer in enumerate(layers):
            if layer.size_bytes:
                yield LayerEvent("read" if action == "read" else "copy", i)
    yield LayerEvent("barrier", 0)
    for i in range(len(layers)):
        yield LayerEvent("kernel", i)


def _just_in_time(layers: Sequence[Layer], reads_before: Sequence[int]) -> Iterator[LayerEvent]:
    """Kernels, before each what is read during it; a layer's bytes are free once it has run."""
    read = 0
    for kernel, layer in enumerate(layers):
        while read < len(layers) and reads_before[read] <= kernel:
            if layers[read].size_bytes:
                yield LayerEvent("read", read)
            read += 1
        yield LayerEvent("kernel", kernel)
        if layer.size_bytes:
            yield LayerEvent("leave gpu", kernel)


class _Merge:
    """Reads, copies and kernels by the times at which they start.

    A layer leaves a ring where its use there has ended, at the latest before its bytes are taken.
    """

    def __init__(self, schedule: Schedule, held: Sequence[int]) -> None:
        self.layers, self.ends, self.held = schedule.layers, schedule.ends, held
        self.two = len(schedule.rings) == 1
        self.cpu, self.gpu = schedule.rings[0].waits, schedule.rings[-1].waits
        # The next layer to be read, to be copied and to run; and to leave each ring.
        self.read = self.copy = self.leave_cpu = self.leave_gpu = self._skip(0)
        self.kernel = 0

    def run(self) -> Iterator[LayerEvent]:
        """All events but the last leaves: what is there at the end may stay."""
        while self.kernel < len(self.layers):
            start, _, action, i = min(self._choices())
            taken = max(self.gpu[i], self.held[i])
            if action == "read":
                yield from self._leave_cpu(max(self.cpu[i], self.held[i]), start)
                yield from self._leave_gpu(taken if self.two else self.held[i], start)
                self.read = self._skip(i + 1)
            elif action == "copy":
                yield from self._leave_gpu(taken, start)
                self.copy = self._skip(i + 1)
            else:
                yield from self._leave_gpu(-1, start)
                self.kernel += 1
            yield LayerEvent(action, i)

    def _choices(self) -> Iterator[tuple[float, int, Action, int]]:
        """What may come next: when it starts, kernels first where times are equal."""
        layers, ends, i = self.layers, self.ends, self.read
        freed = self.kernel if self.two else self.copy
        if i < len(layers) and self.cpu[i] < freed and self.held[i] < self.kernel:
            yield ends.reads[i] - layers[i].read_s, 2, "read", i
        i = self.copy
        if not self.two and i < self.read and self.gpu[i] < self.kernel:
            yield ends.copies[i] - layers[i].copy_s, 1, "copy", i
        i = self.kernel
        if not layers[i].size_bytes or i < (self.read if self.two else self.copy):
            yield ends.kernels[i] - layers[i].kernel_s, 0, "kernel", i

    def _leave_cpu(self, upto: int, now: float) -> Iterator[LayerEvent]:
        while not self.two and (i := self.leave_cpu) < self.copy:
            if i > upto and self.ends.copies[i] > now:
                return
            yield LayerEvent("leave cpu", i)
            self.leave_cpu = self._skip(i + 1)

    def _leave_gpu(self, upto: int, now: float) -> Iterator[LayerEvent]:
        while (i := self.leave_gpu) < self.kernel:
            if i > upto and self.ends.kernels[i] > now:
                return
            yield LayerEvent("leave gpu", i)
            self.leave_gpu = self._skip(i + 1)

    def _skip(self, i: int) -> int:
        """The first layer from i on that streams."""
        while i < len(self.layers) and not self.layers[i].size_bytes:
            i += 1
        return i
