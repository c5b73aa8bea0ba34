"""The paper's Algorithm 1 as a simulation of events, with rings that really fill and empty.

It shares nothing with `planners.streaming.schedule.recurrence`, which must agree with it: a queue
of what is in each ring, engines that take requests in order, and a clock that goes from end to end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from planners.streaming.model.layers import Layer


@dataclass(slots=True)
class Ring:
    """Bytes in use, first in first out; contiguous, so that a gap at the end may be lost."""

    size_bytes: int
    twice: bool = False
    tail: int = 0
    held: deque[tuple[int, int]] = field(default_factory=deque)  # start and size, oldest first

    def take(self, size: int) -> bool:
        """Take that many contiguous bytes at the tail, or behind the gap; whether they fit."""
        start = self.tail
        if start + size > self.size_bytes and not self.twice:
            start = 0
        if any(self._meets(start, size, *other) for other in self.held):
            return False
        self.held.append((start, size))
        self.tail = (start + size) % self.size_bytes if self.twice else start + size
        return True

    def free(self) -> None:
        """Free the oldest."""
        self.held.popleft()

    def _meets(self, a: int, size_a: int, b: int, size_b: int) -> bool:
        return (b - a) % self.size_bytes < size_a or (a - b) % self.size_bytes < size_b


@dataclass(slots=True)
class Engine:
    """Runs the requests released to it in order; knows which have ended."""

    ends: list[float] = field(default_factory=list)

    def release(self, now: float, seconds: float) -> None:
        self.ends.append(max(now, self.ends[-1] if self.ends else 0.0) + seconds)

    def ended(self, i: int, now: float) -> bool:
        return i < len(self.ends) and self.ends[i] <= now


def simulate_algorithm1(
    layers: Sequence[Layer],
    cpu_bytes: int,
    gpu_bytes: int | None,
    *,
    twice: bool = False,
) -> list[float]:
    """Ends in seconds of all kernels; with `gpu_bytes` None in two stages and one ring.

    Layers without parameters only wait for their predecessor.
    """
    n = len(layers)
    cpu, gpu = Ring(cpu_bytes, twice), Ring(gpu_bytes or 0, twice)
    read, copy, kernel = Engine(), Engine(), Engine()
    freed_cpu = freed_gpu = 0  # the next layer whose bytes are to be freed in each ring
    now, two = 0.0, gpu_bytes is None
    while not kernel.ended(n - 1, now) and n:
        while freed_gpu < n and kernel.ended(freed_gpu, now):  # lines 3-6
            if layers[freed_gpu].size_bytes:
                (cpu if two else gpu).free()
            freed_gpu += 1
        while not two and freed_cpu < n and copy.ended(freed_cpu, now):
            if layers[freed_cpu].size_bytes:
                cpu.free()
            freed_cpu += 1
        released = False
        i = len(read.ends)
        if i < n and (not layers[i].size_bytes or cpu.take(layers[i].size_bytes)):  # 7-12
            read.release(now, layers[i].read_s if layers[i].size_bytes else 0.0)
            released = True
        j = len(copy.ends)
        if j < n and (read.ended(j, now) or (j < len(read.ends) and not layers[j].size_bytes)):
            size = layers[j].size_bytes  # 13-18
            if two or not size or gpu.take(size):
                copy.release(now, layers[j].copy_s if size and not two else 0.0)
                released = True
        m = len(kernel.ends)
        if m < len(copy.ends) and (copy.ended(m, now) or not layers[m].size_bytes):  # 19-24
            kernel.release(now, layers[m].kernel_s)
            released = True
        if not released:
            later = [t for engine in (read, copy, kernel) for t in engine.ends if t > now]
            now = min(later)
    return kernel.ends
