"""How fast this machine computes operators of each kind: an array map for each, and rates.

A few shapes of a kind are timed in torch on one thread. Of maps with so many output and input
lanes, each with the cycles that suit it best, that is taken which is off the least; a cycle is a
nanosecond. A model of this machine's kernels, not its peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product
from math import ceil, exp, log, prod
from statistics import mean, median
from typing import TypeAlias

import torch
from torch.nn import functional

from planners.core.backends import CYCLES_PER_S, ArrayRates
from planners.core.compute_maps import ComputeMap
from planners.core.compute_seconds import map_cycles
from planners.core.loop_nest import Extents
from planners.core.median_time import median_seconds
from planners.executor.execute import torch_threads

OUTPUT_LANES, INPUT_LANES = (1, 8, 16, 32, 64), (1, 8, 16, 32)
RUNS = 9
BEYOND_CACHES_BYTES = 64 * 2**20
ELEMENTS = (1, 64, 112, 112)


@dataclass(frozen=True, slots=True)
class TimedShape:
    """An operator of a kind: its loops, and the seconds it took, its setup left out."""

    extents: Extents
    seconds: float


Shape: TypeAlias = tuple[int, ...]
"""Of a convolution its inputs, outputs, output's side, kernel, stride and groups; of a product its
rows, inputs and outputs."""
DENSE: tuple[Shape, ...] = (
    (64, 64, 56, 3, 1, 1),
    (3, 32, 112, 3, 2, 1),
    (128, 128, 14, 3, 1, 1),
    (256, 64, 14, 3, 1, 1),
)
POINTWISE = (
    (64, 128, 28, 1, 1, 1),
    (24, 144, 56, 1, 1, 1),
    (384, 64, 14, 1, 1, 1),
    (512, 512, 7, 1, 1, 1),
)
DEPTHWISE = (
    (64, 64, 56, 3, 1, 64),
    (192, 192, 28, 3, 1, 192),
    (576, 576, 14, 3, 1, 576),
    (96, 96, 56, 3, 2, 96),
)
LINEAR = ((197, 768, 768), (49, 384, 1536), (16, 512, 512), (64, 256, 1024))


def measure_array() -> ArrayRates:
    """Time the shapes of each kind; takes a few seconds."""
    with torch_threads(1), torch.no_grad():
        one = torch.ones(1, 1, 1, 1)
        setup_s = median_seconds(lambda: functional.conv2d(one, one), 200)
        kinds = {"dense": DENSE, "pointwise": POINTWISE, "depthwise": DEPTHWISE}
        timed = {kind: [_conv(s, setup_s) for s in shapes] for kind, shapes in kinds.items()}
        timed["linear"] = [_linear(shape, setup_s) for shape in LINEAR]
        maps = tuple(fitted(kind, some) for kind, some in timed.items())
        return ArrayRates(setup_s, (*maps, *_windows(setup_s)), _rates(setup_s))


def _data(*shape: int) -> Iterator[torch.Tensor]:
    """Tensors in turn, together so large that one has left the caches when it comes again."""
    return cycle([torch.rand(shape) for _ in range(ceil(BEYOND_CACHES_BYTES / 4 / prod(shape)))])


def _seconds(call: Callable[[], object], setup_s: float) -> float:
    """Of a call, without what any call takes; a tenth of it at the least."""
    took = median_seconds(call, RUNS)
    return max(took - setup_s, took / 10)


def _conv(shape: Sequence[int], setup_s: float) -> TimedShape:
    inputs, outputs, side, kernel, stride, groups = shape
    data = _data(1, inputs, side * stride, side * stride)
    weight = torch.rand(outputs, inputs // groups, kernel, kernel)
    pad = kernel // 2
    seconds = _seconds(
        lambda: functional.conv2d(next(data), weight, None, stride, pad, 1, groups), setup_s
    )
    alone = groups == inputs
    runs = ((1, outputs),) if alone else ((groups, outputs // groups),)
    return TimedShape(
        Extents(1, (side, side), runs, 1 if alone else inputs // groups, kernel * kernel), seconds
    )


def _linear(shape: Sequence[int], setup_s: float) -> TimedShape:
    rows, inputs, outputs = shape
    data, weight = _data(rows, inputs), torch.rand(outputs, inputs)
    seconds = _seconds(lambda: functional.linear(next(data), weight), setup_s)
    return TimedShape(Extents(1, (1, rows), ((1, outputs),), inputs, 1), seconds)


def _windows(setup_s: float) -> tuple[ComputeMap, ComputeMap]:
    """Of pools, and of means over whole maps."""
    data = _data(*ELEMENTS)
    _, channels, rows, columns = ELEMENTS
    halved = (rows // 2, columns // 2)
    pool = _seconds(lambda: functional.max_pool2d(next(data), 3, 2, 1), setup_s)
    mean = _seconds(lambda: functional.adaptive_avg_pool2d(next(data), 1), setup_s)
    return (
        fitted("pool", [TimedShape(Extents(1, halved, ((1, channels),), 1, 9), pool)]),
        fitted("mean", [TimedShape(Extents(1, (1, 1), ((1, channels),), 1, rows * columns), mean)]),
    )


def _rates(setup_s: float) -> dict[str, float]:
    """Output elements a cycle of element-wise work, of functions, and of normalisations."""
    data, channel, count = _data(*ELEMENTS), torch.ones(ELEMENTS[1]), prod(ELEMENTS)
    calls: dict[str, Callable[[], object]] = {
        "default": lambda: functional.relu(next(data)),
        "add": lambda: torch.add(next(data), next(data)),
        "lut": lambda: torch.sigmoid(next(data)),
        "batch_norm": lambda: functional.batch_norm(next(data), channel, channel, channel, channel),
        "softmax": lambda: torch.softmax(next(data), -1),
    }
    return {kind: count / _seconds(call, setup_s) / CYCLES_PER_S for kind, call in calls.items()}


def fitted(kind: str, shapes: Sequence[TimedShape]) -> ComputeMap:
    """The map of the lanes that are off the least, by the mean of the logarithms' distances from
    their median, with that median as its cycles."""
    lanes = product(
        OUTPUT_LANES, INPUT_LANES if kind not in ("depthwise", "pool", "mean") else (1,)
    )
    tried = [_with_cycles(ComputeMap((kind,), outputs=o, inputs=i), shapes) for o, i in lanes]
    return min(tried, key=lambda each: each[1])[0]


def _with_cycles(used: ComputeMap, shapes: Sequence[TimedShape]) -> tuple[ComputeMap, float]:
    logs = [log(s.seconds * CYCLES_PER_S / map_cycles(used, s.extents)) for s in shapes]
    middle = median(logs)
    return replace(used, cycles=exp(middle)), mean(abs(each - middle) for each in logs)
