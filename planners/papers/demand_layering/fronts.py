"""Figures 13 to 15: delay against memory, exactly, beside the paper's sweep; and resolutions.

Times are the fitted model's (`planners.streaming.model.times`); delays are in percent beyond the
sum of kernels alone, which is the preloaded network's delay.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planners.core.graph import Graph
from planners.papers.demand_layering.sections import section_graph
from planners.papers.report import Row
from planners.streaming.model.layers import Layer, units_of
from planners.streaming.model.times import Xavier
from planners.streaming.options import STEP_BYTES
from planners.streaming.schedule.exact import (
    DelayPoint,
    curve_three_stages,
    curve_two_stages,
    front_three_stages,
    front_two_stages,
    pareto,
)
from planners.streaming.schedule.pipelines import minimal_delay, sweep

NEAR = 0.01
"""Of the preloaded delay: how near the least delay a resolution's memory is sought."""
LEVELS = (10.0, 5.0, 2.0)
"""Percent of delay at which memories are compared."""


def xavier_layers(graph: Graph, stages: int) -> tuple[Layer, ...]:
    """The network's layers in a pipeline of 2 or 3 stages."""
    return Xavier(graph).layers(units_of(graph), stages)


def preloaded_s(graph: Graph) -> float:
    """The delay of the preloaded network: kernels with nothing beside them (paper, eq. 1)."""
    return sum(layer.kernel_s for layer in Xavier(graph).layers(units_of(graph), 3, False))


@dataclass(frozen=True, slots=True)
class Gain:
    """Some points beside others: whether one is as good as each of them in memory and delay, the
    most seconds that are saved in no more memory, and the most bytes that are at no more delay."""

    no_worse: bool
    seconds: float
    bytes: int


def gain(points: Sequence[DelayPoint], others: Sequence[DelayPoint]) -> Gain:
    """What points gain over others, one of these at a time."""
    front, seconds, saved, whole = pareto(points), 0.0, 0, True
    for other in pareto(others):
        fit = [p for p in front if p.memory_bytes <= other.memory_bytes]
        fast = [p for p in front if p.delay_s <= other.delay_s]
        whole = whole and bool(fit and fast) and fit[-1].delay_s <= other.delay_s
        if fit and fast:
            seconds = max(seconds, other.delay_s - fit[-1].delay_s)
            saved = max(saved, other.memory_bytes - fast[0].memory_bytes)
    return Gain(whole, seconds, saved)


def fronts_row(name: str, step_bytes: int = STEP_BYTES) -> Row:
    """Both asynchronous pipelines: the exact front beside the sweep; two rings of any sizes."""
    graph = section_graph(name)
    two, three = xavier_layers(graph, 2), xavier_layers(graph, 3)
    pre = preloaded_s(graph)
    exact, one = _compared(pre, lambda: curve_two_stages(two), lambda: sweep(two, 2, step_bytes))
    equal, both = _compared(
        pre, lambda: curve_three_stages(three), lambda: sweep(three, 3, step_bytes)
    )
    began = time.perf_counter()
    pairs = front_three_stages(three)
    seconds = time.perf_counter() - began
    endless = front_two_stages(two, twice=True)
    rings = {"2s": exact, "twice": endless, "async": equal, "separate": pairs}
    return {
        "network": name,
        "pre_s": pre,
        "2s": one,
        "async": both,
        "separate": _gained(pairs, equal, pre)
        | {"seconds": seconds, "pairs": both["breakpoints"] ** 2},
        "twice": _gained(endless, exact, pre),
        "levels": {key: _levels(points, pre) for key, points in rings.items()},
    }


def _compared(
    pre: float,
    exactly: Callable[[], Sequence[DelayPoint]],
    swept: Callable[[], Sequence[DelayPoint]],
) -> tuple[Sequence[DelayPoint], Row]:
    began = time.perf_counter()
    exact = exactly()
    between = time.perf_counter()
    steps = swept()
    ended = time.perf_counter()
    return exact, _gained(exact, steps, pre) | {
        "breakpoints": len(exact),
        "rises": sum(b.delay_s > a.delay_s for a, b in pairwise(exact)),
        "seconds": between - began,
        "steps": len(steps),
        "step_seconds": ended - between,
        "step_front": _told(pareto(steps), pre),
        "step_least": _least(steps, pre),
    }


def _gained(points: Sequence[DelayPoint], others: Sequence[DelayPoint], pre: float) -> Row:
    gained = gain(points, others)
    return {
        "front": _told(pareto(points), pre),
        "least": _least(points, pre),
        "no_worse": gained.no_worse,
        "less_added": 100 * gained.seconds / pre,
        "less_bytes": gained.bytes,
    }


def _told(points: Sequence[DelayPoint], pre: float) -> list[list[float]]:
    """Memory in bytes and percent of delay beyond the preloaded network's."""
    return [[point.memory_bytes, 100 * (point.delay_s / pre - 1)] for point in points]


def _least(points: Sequence[DelayPoint], pre: float) -> list[float]:
    """The smallest memory with the least delay (V-D)."""
    return _told([minimal_delay(points)], pre)[0]


def _levels(points: Sequence[DelayPoint], pre: float) -> dict[str, int | None]:
    """The least memory at which the delay is within so many percent; None where none is."""
    texts = _told(points, pre)
    return {
        f"{level:g}": min((int(m) for m, added in texts if added <= level), default=None)
        for level in LEVELS
    }


def resolution_row(name: str, resolution: int) -> Row:
    """One size of image: sums of times, 2S and 2S-MD (Figures 6, 14 and 15)."""
    graph = section_graph(name, resolution)
    layers, pre = xavier_layers(graph, 2), preloaded_s(graph)
    points = curve_two_stages(layers)
    swept = minimal_delay(sweep(layers, 2))
    exact = minimal_delay(points)
    near = min(p.memory_bytes for p in points if p.delay_s <= exact.delay_s + NEAR * pre)
    three = xavier_layers(graph, 3)
    return {
        "network": name,
        "resolution": resolution,
        "read_s": sum(layer.read_s for layer in layers),
        "copy_s": sum(layer.copy_s for layer in three),
        "pre_s": pre,
        "2s": {"memory_bytes": points[0].memory_bytes, "delay_s": points[0].delay_s},
        "2s-md": {"memory_bytes": swept.memory_bytes, "delay_s": swept.delay_s},
        "exact": {"memory_bytes": exact.memory_bytes, "delay_s": exact.delay_s},
        "near_bytes": near,
    }
