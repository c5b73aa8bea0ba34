"""Delay against memory, exactly: every ring size at which anything changes, and no other.

Waits follow from sizes and the ring's size (`ring.breakpoints`), so delay is a step function of
the ring's bytes. It need not fall as the ring grows: a layer that fits at the end may wait longer
there than at the start. With two rings, pairs are evaluated by rising total; which of them are left
out, rules say (`FrontRules`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planners.streaming.model.layers import Layer
from planners.streaming.schedule.recurrence import NOW, Start, three_stages, two_stages
from planners.streaming.schedule.ring import breakpoints, places

CHUNK = 2048  # pairs of rings that are evaluated together


@dataclass(frozen=True, slots=True)
class FrontRules:
    """Of the search for the front of delay against memory: what is not evaluated."""

    each_alone: bool = True
    """A pair of rings has no less delay than either of them beside a ring without end."""
    monotone: bool = True
    """Where delay never rises with memory, it is the same between two sizes of the same delay."""


FRONT_RULES = FrontRules()


@dataclass(frozen=True, slots=True)
class DelayPoint:
    """Bytes of all rings together, the delay that they give, and each ring's bytes.

    `rings` is the one that both processors see, or the CPU's and the GPU's.
    """

    memory_bytes: int
    delay_s: float
    rings: tuple[int, ...]


def pareto(points: Sequence[DelayPoint]) -> tuple[DelayPoint, ...]:
    """The points that no other beats in memory and delay, by rising memory."""
    front: list[DelayPoint] = []
    for point in sorted(points, key=lambda p: (p.memory_bytes, p.delay_s, p.rings)):
        if not front or point.delay_s < front[-1].delay_s:
            front.append(point)
    return tuple(front)


def curve_two_stages(layers: Sequence[Layer], start: Start = NOW) -> tuple[DelayPoint, ...]:
    """Delay at every breakpoint of one ring; between two of them it is that of the lower."""
    sizes = [layer.size_bytes for layer in layers]
    points = []
    for ring in breakpoints(sizes):
        delay = two_stages(layers, places(sizes, ring).waits, start).delay_s
        points.append(DelayPoint(ring, delay, (ring,)))
    return tuple(points) or (
        DelayPoint(0, two_stages(layers, [-1] * len(sizes), start).delay_s, (0,)),
    )


def curve_three_stages(layers: Sequence[Layer], start: Start = NOW) -> tuple[DelayPoint, ...]:
    """Delay at every breakpoint of two rings of one size, as the paper has them."""
    sizes = [layer.size_bytes for layer in layers]
    points = []
    for ring in breakpoints(sizes):
        waits = places(sizes, ring).waits
        delay = three_stages(layers, waits, waits, start).delay_s
        points.append(DelayPoint(2 * ring, delay, (ring, ring)))
    return tuple(points) or (_nothing_streams(layers, start),)


def front_two_stages(
    layers: Sequence[Layer], start: Start = NOW, *, twice: bool = False
) -> tuple[DelayPoint, ...]:
    """The whole front of one ring; with `twice`, of a ring without end."""
    if not twice:
        return pareto(curve_two_stages(layers, start))
    sizes = [layer.size_bytes for layer in layers]

    def delay(ring: int) -> float:
        return two_stages(layers, places(sizes, ring, twice=True).waits, start).delay_s

    pairs = steps(list(breakpoints(sizes, twice=True)), delay)
    return pareto([DelayPoint(m, d, (m,)) for m, d in pairs]) or front_two_stages(layers, start)


def front_three_stages(
    layers: Sequence[Layer],
    start: Start = NOW,
    *,
    twice: bool = False,
    quick: bool = False,
    rules: FrontRules = FRONT_RULES,
) -> tuple[DelayPoint, ...]:
    """The whole front of a CPU ring and a GPU ring, each of any size.

    With `twice`, of two rings of one size without end. With `quick`, only of sizes near each
    other: a front that may be behind, for hundreds of slices.
    """
    sizes = [layer.size_bytes for layer in layers]
    rings = list(breakpoints(sizes, twice=twice))
    if not rings:
        return (_nothing_streams(layers, start),)
    if not twice:
        return pareto(_pairs(layers, rings, start, quick, rules))

    def delay(ring: int) -> float:
        waits = places(sizes, ring, twice=True).waits
        return three_stages(layers, waits, waits, start).delay_s

    return pareto([DelayPoint(2 * m, d, (m, m)) for m, d in steps(rings, delay, rules)])


def _nothing_streams(layers: Sequence[Layer], start: Start) -> DelayPoint:
    none = [-1] * len(layers)
    return DelayPoint(0, three_stages(layers, none, none, start).delay_s, (0, 0))


def steps(
    rings: Sequence[int], delay: Callable[[int], float], rules: FrontRules = FRONT_RULES
) -> list[tuple[int, float]]:
    """Delays that never rise with the ring, where they change, by bisection of unequal ends."""
    if not rings:
        return []
    delays = {0: delay(rings[0]), len(rings) - 1: delay(rings[-1])}
    open_ = [(0, len(rings) - 1)]
    while open_:
        low, high = open_.pop()
        if high - low < 2 or (rules.monotone and delays[low] == delays[high]):
            continue
        middle = (low + high) // 2
        delays[middle] = delay(rings[middle])
        open_ += [(low, middle), (middle, high)]
    return [(rings[i], delays[i]) for i in sorted(delays)]


def _pairs(
    layers: Sequence[Layer], rings: Sequence[int], start: Start, quick: bool, rules: FrontRules
) -> list[DelayPoint]:
    """Pairs of rings by rising total, where they may be faster than all with no more memory.

    Pairs of equal or similar sizes are evaluated first.
    """
    sizes = [layer.size_bytes for layer in layers]
    waits = np.array([places(sizes, ring).waits for ring in rings], dtype=np.int64).T
    free = np.full_like(waits, -1)
    total = np.add.outer(np.array(rings), np.array(rings)).ravel()
    bound = np.full(len(total), -np.inf)
    if rules.each_alone:
        alone = _delays(layers, waits, free, start), _delays(layers, free, waits, start)
        bound = np.maximum.outer(*alone).ravel()
    delay = np.full(len(total), np.inf)

    def evaluate(pairs: npt.NDArray[np.int64]) -> None:
        for at in range(0, len(pairs), CHUNK):
            chunk = pairs[at : at + CHUNK]
            cpu, gpu = np.divmod(chunk, len(rings))
            delay[chunk] = _delays(layers, waits[:, cpu], waits[:, gpu], start)

    evaluate(_near_one_size(len(rings)))
    order = np.argsort(total, kind="stable")
    while True:
        # The least delay known with no more memory than each pair has, itself aside.
        best = np.minimum.accumulate(delay[order])
        open_ = order[(bound[order] < best) & np.isinf(delay[order])]
        if quick or not len(open_):
            break
        evaluate(open_[: 4 * CHUNK])
    pairs = order[delay[order] <= best].tolist()
    return [
        DelayPoint(int(total[p]), float(delay[p]), (rings[p // len(rings)], rings[p % len(rings)]))
        for p in pairs
        if np.isfinite(delay[p])
    ]


def _near_one_size(count: int) -> npt.NDArray[np.int64]:
    """Pairs of rings of one size, and with a few more breakpoints on either side."""
    steps_ = (0, 1, 2, 4, 8, 16, 32, 64, 128)
    pairs = {(i, i + step) for step in steps_ for i in range(count - step)}
    pairs |= {(b, a) for a, b in pairs}
    return np.array(sorted(a * count + b for a, b in pairs), dtype=np.int64)


def _delays(
    layers: Sequence[Layer],
    cpu: npt.NDArray[np.int64],
    gpu: npt.NDArray[np.int64],
    start: Start,
) -> npt.NDArray[np.float64]:
    """`three_stages` for many rings at once: waits are (layers, rings)."""
    count, width = cpu.shape
    columns = np.arange(width)
    copies = np.zeros((count + 1, width))  # The first row is for what waits for none.
    kernels = np.zeros((count + 1, width))
    read = np.full(width, start.read_s)
    copy = np.full(width, start.copy_s)
    kernel = np.zeros(width)
    for i, (layer, begin) in enumerate(zip(layers, start.of_kernels(count), strict=True)):
        if layer.size_bytes:
            read = np.maximum(read, copies[cpu[i] + 1, columns]) + layer.read_s
            free = kernels[gpu[i] + 1, columns]
            copy = np.maximum(np.maximum(copy, read), free) + layer.copy_s
            kernel = np.maximum(kernel, copy)
        kernel = np.maximum(kernel, begin) + layer.kernel_s
        copies[i + 1], kernels[i + 1] = copy, kernel
    return kernel
