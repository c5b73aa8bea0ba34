"""How much larger a network may be within a RAM: its image, or a module's channels.

The largest size that fits is found by bisection on what a method really needs, which need not
grow with the size everywhere: the sizes around the answer are all tried.
Source: the vMCU paper's section 7.4 and Figures 11 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, Literal

from planners.catalogue.vmcu import BottleneckShape, bottleneck
from planners.core.errors import BadInput, BudgetTooSmall
from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.progress import Clock
from planners.overlap.baselines.frameworks import hmcos, tflite_micro, tinyengine
from planners.overlap.cost.work import work
from planners.overlap.emit.saved_layout import layout_of
from planners.overlap.options import OverlapOptions
from planners.overlap.planner import plan
from planners.overlap.search.front import all_ways, front, is_chain

Axis = Literal["image", "channels", "width"]
AXES: tuple[Axis, ...] = ("image", "channels", "width")
AROUND = 3
"""Sizes on each side of the answer that are tried besides."""
MACHINE = "stm32f411"
"""Any would do: what a plan needs of RAM does not depend on it."""
WIDTH_STEP = 8
"""Channels are multiples of it."""


@dataclass(frozen=True, slots=True)
class Size:
    """A network at one size: `size` is the image's side in pixels, or a module's input channels.

    `ram_bytes`: what the method needs; where it does not fit, the least that it needs.
    """

    size: int
    ram_bytes: int
    macs: int
    repeated_macs: int
    fits: bool


@dataclass(frozen=True, slots=True)
class Headroom:
    """The largest size within `limit_bytes`; None where none fits. `tried` is ascending.

    `monotone`: of the sizes tried, all up to the answer fit and none beyond does. That holds for
    `AROUND` neighbours on both sides; further away only what the bisection met was tried.
    """

    limit_bytes: int
    best: Size | None
    tried: tuple[Size, ...]
    monotone: bool


Measure = Callable[[int], Size]
Need = Callable[[Graph, int], tuple[int, int]]
"""RAM that a graph needs within a limit, or the least where it does not fit, and MACs repeated."""
Ends = list[tuple[int, int]]
"""RAM and repeated MACs of the points of a front, RAM falling."""


def largest(measure: Measure, sizes: Sequence[int], limit_bytes: int) -> Headroom:
    """The largest of ascending sizes that fits, by bisection; its neighbours are tried as well.

    A larger one that fits among the neighbours becomes the answer, and its neighbours are tried.
    """
    sizes_tried: dict[int, Size] = {}

    def fits(index: int) -> bool:
        if index not in sizes_tried:
            sizes_tried[index] = measure(sizes[index])
        return sizes_tried[index].fits

    low, high = -1, len(sizes)  # low fits, high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    while True:
        around = range(max(0, low - AROUND), min(len(sizes), low + AROUND + 1))
        answer = max([low, *(i for i in around if fits(i))])
        if answer == low:
            break
        low = answer
    tried = tuple(sizes_tried[i] for i in sorted(sizes_tried))
    monotone = all(attempt.fits == (i <= low) for i, attempt in sizes_tried.items())
    return Headroom(limit_bytes, sizes_tried.get(low), tried, monotone)


def measured(build: Callable[[int], Graph], need: Need, limit_bytes: int) -> Measure:
    """A measure that builds the graph of each size and computes what it needs."""

    def measure(size: int) -> Size:
        graph = build(size)
        ram_bytes, repeated = need(graph, limit_bytes)
        return Size(size, ram_bytes, graph.macs, repeated, ram_bytes <= limit_bytes)

    return measure


def overlapped(
    *,
    repeat: bool = True,
    time_limit: float = 60.0,
    known: dict[tuple[str, bool], Ends] | None = None,
    **options: Any,
) -> Need:
    """What the overlap planner needs with these options: its plan's RAM, without the program.

    Within the limit its objective decides, `macs` (least repeated work) unless it is given.
    Without `repeat` nothing may be computed twice. `known` keeps fronts for others to use.
    """
    chosen = OverlapOptions.from_values({**options, "time_limit": time_limit})
    fronts = {} if known is None else known

    def need(graph: Graph, limit_bytes: int) -> tuple[int, int]:
        if not is_chain(graph):
            return _planned(graph, limit_bytes, chosen.values())
        key = graph.digest, chosen.fuse
        if key not in fronts:
            points = front(graph, all_ways(graph, Clock(time_limit), fuse=chosen.fuse))
            fronts[key] = [(point.ram_bytes, point.extra_macs) for point in points]
        ends = [end for end in fronts[key] if repeat or not end[1]]
        fitting = [end for end in ends if end[0] <= limit_bytes]
        return fitting[0] if fitting and chosen.objective == "macs" else ends[-1]

    return need


def _planned(graph: Graph, limit_bytes: int, options: Mapping[str, Any]) -> tuple[int, int]:
    """As `overlapped`, from the plan: not every network has a front."""
    try:
        planned = plan(graph, load_machine(MACHINE), limit_bytes, options)
    except BudgetTooSmall as error:
        return error.need_bytes, 0
    return planned.claims.objective_bytes, work(graph, layout_of(planned)).repeated_macs


BASELINES: Mapping[str, Need] = {
    "tinyengine": lambda graph, _: (tinyengine(graph).total_bytes, 0),
    "whole_tensors": lambda graph, _: (hmcos(graph).total_bytes, 0),
    "tflite_micro": lambda graph, _: (tflite_micro(graph).total_bytes, 0),
}
"""Other frameworks (`planners.overlap.baselines.frameworks`): nothing is computed twice."""


def methods() -> dict[str, Need]:
    """Overlap, with and without repeated work, and the baselines, by name."""
    fronts: dict[tuple[str, bool], Ends] = {}
    return {
        "overlap": overlapped(known=fronts),
        "overlap, nothing repeated": overlapped(repeat=False, known=fronts),
        **BASELINES,
    }


def image_sizes(graph: Graph, limit_bytes: int, step: int, smallest: int) -> range:
    """Sides of a square image, to the first at which the input alone is larger than the RAM.

    Raises `BadInput` where the network does not read one image.
    """
    shapes = [graph.tensors[name].shape for name in graph.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4:
        raise BadInput(f"{graph.name} does not read one image: its size cannot be varied")
    batch, channels = shapes[0][:2]
    pixels = limit_bytes // graph.bytes_of(graph.inputs[0], batch * channels)
    return range(smallest, max(smallest, isqrt(pixels) + step) + 1, step)


def resized(module: BottleneckShape, axis: Axis, size: int) -> BottleneckShape:
    """A module with another image, or with other channels.

    `channels` (the paper's Figure 12): those of input and output grow by the same factor, the
    expanded ones stay; `width`: all three grow. What is scaled is rounded to multiples of 8.
    """
    if axis == "image":
        return replace(module, size=size)

    def scaled(channels: int) -> int:
        nearest = (2 * channels * size + module.c_in * WIDTH_STEP) // (2 * module.c_in * WIDTH_STEP)
        return max(1, nearest) * WIDTH_STEP

    mid = scaled(module.mid) if axis == "width" else module.mid
    return replace(module, c_in=size, mid=mid, c_out=scaled(module.c_out))


def module_headroom(
    module: BottleneckShape, axis: Axis, need: Need, limit_bytes: int | None = None
) -> Headroom:
    """The largest image (by the pixel) or channels (multiples of 8) of a module within a RAM.

    The RAM is TinyEngine's for the module as it is, unless another is given: the paper's question.
    """
    limit = limit_bytes or tinyengine(bottleneck(module)).total_bytes
    if axis == "image":  # Beyond `most` the input alone is too large.
        now, step, most = module.size, 1, isqrt(limit // module.c_in)
    else:
        now, step, most = module.c_in, WIDTH_STEP, limit // module.size**2

    def build(size: int) -> Graph:
        return bottleneck(resized(module, axis, size), module.residual)

    sizes = sorted({now, *range(step, most + step + 1, step)})
    return largest(measured(build, need, limit), sizes, limit)
