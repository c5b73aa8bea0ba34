"""When each read, copy and kernel ends: a static max-plus graph, in linear time (constraints 3).

Releases come in order within each type; a layer is copied once it is read, and runs once it is
copied; a read takes the bytes of a layer whose copy has ended, a copy those of one whose kernel
has. Which layer that is follows from sizes alone (`planners.streaming.schedule.ring`). So every end
is a maximum of sums of times: it never falls when a time rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planners.streaming.model.layers import Layer


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends in seconds of each layer's read, copy and kernel.

    A layer without parameters has no read and no copy: it has the ends of the one before. In two
    stages a copy ends when its read does. `last_barrier_s` is the last time at which everything
    waited for everything.
    """

    reads: tuple[float, ...]
    copies: tuple[float, ...]
    kernels: tuple[float, ...]
    last_barrier_s: float = 0.0

    @property
    def delay_s(self) -> float:
        """When the last kernel ends."""
        return self.kernels[-1] if self.kernels else 0.0


@dataclass(frozen=True, slots=True)
class Start:
    """What the network's inputs take first, in seconds from the start.

    Reads and copies begin after `read_s` and `copy_s`, the kernel of layer i after `kernels[i]`
    (from 0 where that is not given), and no barrier passes before `all_s`.
    """

    read_s: float = 0.0
    copy_s: float = 0.0
    kernels: tuple[float, ...] = ()
    all_s: float = 0.0

    def of_kernels(self, count: int) -> Sequence[float]:
        """When each kernel may begin, as far as inputs go."""
        return self.kernels or (0.0,) * count


NOW = Start()


def three_stages(
    layers: Sequence[Layer], cpu: Sequence[int], gpu: Sequence[int], start: Start = NOW
) -> Ends:
    """Ends with a CPU ring and a GPU ring whose layers wait for those given (-1 for none)."""
    read, copy, kernel = start.read_s, start.copy_s, 0.0
    reads: list[float] = []
    copies: list[float] = []
    kernels: list[float] = []
    for i, (layer, begin) in enumerate(zip(layers, start.of_kernels(len(layers)), strict=True)):
        if layer.size_bytes:
            read = max(read, copies[cpu[i]] if cpu[i] >= 0 else 0.0) + layer.read_s
            free = kernels[gpu[i]] if gpu[i] >= 0 else 0.0
            copy = max(copy, read, free) + layer.copy_s
            kernel = max(kernel, copy)
        kernel = max(kernel, begin) + layer.kernel_s
        reads.append(read)
        copies.append(copy)
        kernels.append(kernel)
    return Ends(tuple(reads), tuple(copies), tuple(kernels))


def two_stages(layers: Sequence[Layer], waits: Sequence[int], start: Start = NOW) -> Ends:
    """Ends with one ring that both processors see: nothing is copied (paper, VI)."""
    read, kernel = start.read_s, 0.0
    reads: list[float] = []
    kernels: list[float] = []
    for i, (layer, begin) in enumerate(zip(layers, start.of_kernels(len(layers)), strict=True)):
        if layer.size_bytes:
            read = max(read, kernels[waits[i]] if waits[i] >= 0 else 0.0) + layer.read_s
            kernel = max(kernel, read)
        kernel = max(kernel, begin) + layer.kernel_s
        reads.append(read)
        kernels.append(kernel)
    return Ends(tuple(reads), tuple(reads), tuple(kernels))


def sequential(layers: Sequence[Layer], start: Start = NOW) -> Ends:
    """One operation at a time: Σ (r + c + k) (paper, eq. 5)."""
    now = barrier = 0.0
    reads, copies, kernels = [], [], []
    for layer, begin in zip(layers, start.of_kernels(len(layers)), strict=True):
        barrier = now
        reads.append(max(now, start.read_s) + layer.read_s if layer.size_bytes else now)
        copied = max(reads[-1], start.copy_s) + layer.copy_s
        copies.append(copied if layer.size_bytes else now)
        kernels.append(max(copies[-1], begin) + layer.kernel_s)
        now = max(kernels[-1], start.all_s)
    return Ends(tuple(reads), tuple(copies), tuple(kernels), barrier)


def synchronous(layers: Sequence[Layer], start: Start = NOW) -> Ends:
    """Three stages in step: Σ max(r_t, c_(t−1), k_(t−2)) for t = 1 … n + 2 (paper, eq. 7)."""
    n, now, barrier = len(layers), 0.0, 0.0
    reads, copies, kernels = [0.0] * n, [0.0] * n, [0.0] * n
    begin = start.of_kernels(n)
    for cycle in range(n + 2):
        barrier, ends = now, [now]
        i, j, m = cycle, cycle - 1, cycle - 2
        if i < n:
            reads[i] = max(now, start.read_s) + layers[i].read_s if layers[i].size_bytes else now
            ends.append(reads[i])
        if 0 <= j < n:
            copied = max(now, start.copy_s) + layers[j].copy_s
            copies[j] = copied if layers[j].size_bytes else now
            ends.append(copies[j])
        if m >= 0:
            kernels[m] = max(now, begin[m]) + layers[m].kernel_s
            ends.append(kernels[m])
        now = max(*ends, start.all_s)
    return Ends(tuple(reads), tuple(copies), tuple(kernels), barrier)


def preloaded(layers: Sequence[Layer], start: Start = NOW) -> Ends:
    """All reads and copies, a barrier, then all kernels: from the barrier on Σ k (paper, eq. 1)."""
    alone = Start(start.read_s, start.copy_s)
    free = [-1] * len(layers)
    loads = three_stages([replace(layer, kernel_s=0.0) for layer in layers], free, free, alone)
    copied = loads.copies[-1] if any(layer.size_bytes for layer in layers) else 0.0
    barrier = now = max(copied, start.all_s)
    kernels = []
    for layer in layers:
        now += layer.kernel_s
        kernels.append(now)
    return Ends(loads.reads, loads.copies, tuple(kernels), barrier)
