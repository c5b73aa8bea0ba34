"""The paper's pipelines: how large their rings are, and when everything ends in them.

Preloading, sequential, synchronous, asynchronous in three stages, in two stages, and the minimal
delay variants (V-D): rings grow by a step from the least to the model's size, and the smallest
that reaches the least delay is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planners.streaming.model.layers import Layer
from planners.streaming.options import STEP_BYTES
from planners.streaming.schedule.exact import DelayPoint
from planners.streaming.schedule.recurrence import (
    NOW,
    Ends,
    Start,
    preloaded,
    sequential,
    synchronous,
    three_stages,
    two_stages,
)
from planners.streaming.schedule.ring import RingPlaces, places


@dataclass(frozen=True, slots=True)
class Schedule:
    """Layers in a pipeline: where each lies in each ring, and when everything ends.

    `kind` is `pre`, `seq`, `sync`, `async`, `2s` or `joint`; there is one ring in `2s`, and one
    memory for weights and activations in `joint`, else the CPU's ring and the GPU's. Only in
    `joint` do layers not leave in order: `reads_before` says before which kernel each is read.
    `preload_s` comes before the delay, in `pre` only (the paper does not count it).
    """

    kind: str
    layers: tuple[Layer, ...]
    rings: tuple[RingPlaces, ...]
    ends: Ends
    preload_s: float = 0.0
    reads_before: tuple[int, ...] = ()

    @property
    def memory_bytes(self) -> int:
        """Bytes of all rings together."""
        return sum(ring.size_bytes for ring in self.rings)

    @property
    def delay_s(self) -> float:
        """From the start (in `pre`: once all is loaded) to the end of the last kernel."""
        return self.ends.delay_s - self.preload_s


def sizes_of(layers: Sequence[Layer]) -> list[int]:
    return [layer.size_bytes for layer in layers]


def least_bytes(kind: str, layers: Sequence[Layer]) -> int:
    """Bytes of all rings that a pipeline needs at least (paper, eqs. 2, 4, 6, 8 and 9)."""
    sizes = sizes_of(layers)
    largest = max(sizes, default=0)
    counts = {"pre": 2 * sum(sizes), "seq": 2 * largest, "sync": 4 * largest, "2s": largest}
    return counts.get(kind, 2 * largest)


def fixed(kind: str, layers: Sequence[Layer], start: Start = NOW) -> Schedule:
    """`pre`, `seq` or `sync`: the memory follows from the layers."""
    layers, sizes = tuple(layers), sizes_of(layers)
    size = least_bytes(kind, layers) // 2
    none = (-1,) * len(sizes)
    if kind == "pre":
        offsets = _one_after_another(sizes)
        ends = preloaded(layers, start)
        ring = RingPlaces(size, offsets, none)
        return Schedule(kind, layers, (ring, ring), ends, ends.last_barrier_s)
    if kind == "seq":
        ring = RingPlaces(size, (0,) * len(sizes), none)
        return Schedule(kind, layers, (ring, ring), sequential(layers, start))
    halves = tuple(i % 2 * (size // 2) if s else 0 for i, s in enumerate(sizes))
    ring = RingPlaces(size, halves, none)
    return Schedule(kind, layers, (ring, ring), synchronous(layers, start))


def _one_after_another(sizes: Sequence[int]) -> tuple[int, ...]:
    offsets, tail = [], 0
    for size in sizes:
        offsets.append(tail if size else 0)
        tail += size
    return tuple(offsets)


def asynchronous(
    layers: Sequence[Layer], cpu_bytes: int, gpu_bytes: int, start: Start = NOW, twice: bool = False
) -> Schedule:
    """Three stages with rings of these sizes. Raises `BadInput` for a layer larger than one."""
    sizes, names = sizes_of(layers), [layer.name for layer in layers]
    cpu = places(sizes, cpu_bytes, twice=twice, names=names)
    gpu = places(sizes, gpu_bytes, twice=twice, names=names)
    ends = three_stages(layers, cpu.waits, gpu.waits, start)
    return Schedule("async", tuple(layers), (cpu, gpu), ends)


def zero_copy(
    layers: Sequence[Layer], ring_bytes: int, start: Start = NOW, twice: bool = False
) -> Schedule:
    """Two stages with one ring. Raises `BadInput` for a layer larger than it."""
    names = [layer.name for layer in layers]
    ring = places(sizes_of(layers), ring_bytes, twice=twice, names=names)
    return Schedule("2s", tuple(layers), (ring,), two_stages(layers, ring.waits, start))


def with_rings(
    layers: Sequence[Layer], rings: Sequence[int], start: Start = NOW, twice: bool = False
) -> Schedule:
    """The asynchronous pipeline of one ring or of two."""
    if len(rings) == 1:
        return zero_copy(layers, rings[0], start, twice)
    return asynchronous(layers, rings[0], rings[1], start, twice)


def timed(schedule: Schedule, layers: Sequence[Layer], start: Start = NOW) -> Schedule:
    """The schedule with other times of its layers: everything stays at its place."""
    first, last = schedule.rings[0].waits, schedule.rings[-1].waits
    match schedule.kind:
        case "pre":
            ends = preloaded(layers, start)
        case "seq":
            ends = sequential(layers, start)
        case "sync":
            ends = synchronous(layers, start)
        case "2s" | "joint":
            ends = two_stages(layers, first, start)
        case _:
            ends = three_stages(layers, first, last, start)
    preload = ends.last_barrier_s if schedule.kind == "pre" else 0.0
    return replace(schedule, layers=tuple(layers), ends=ends, preload_s=preload)


def sweep(
    layers: Sequence[Layer],
    stages: int,
    step_bytes: int = STEP_BYTES,
    start: Start = NOW,
    most_bytes: int | None = None,
    twice: bool = False,
) -> tuple[DelayPoint, ...]:
    """The paper's first phase: delays while all rings grow by a step up to the model's size.

    `most_bytes` bounds all rings together. The last ring is the model's size itself.
    """
    sizes = sizes_of(layers)
    total, ring = sum(sizes), max(sizes, default=0)
    count = stages - 1
    points: list[DelayPoint] = []
    while True:
        if most_bytes is not None and count * ring > most_bytes and points:
            break
        schedule = with_rings(layers, (ring,) * count, start, twice)
        points.append(DelayPoint(count * ring, schedule.delay_s, (ring,) * count))
        if ring >= total:
            break
        ring = min(ring + step_bytes, total)
    return tuple(points)


def minimal_delay(points: Sequence[DelayPoint]) -> DelayPoint:
    """The paper's second phase: the first point with the least delay."""
    return min(points, key=lambda point: (point.delay_s, point.memory_bytes))
