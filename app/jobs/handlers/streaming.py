"""A planning process's answers about streamed parameters: fronts, and delay by resolution.

The fronts are of whole layers, in all of the paper's pipelines and in the exact search; memory is
that of rings and activations together, as in budgets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import planners as sp
from app.jobs.job_context import JobContext, load_graph
from app.jobs.protocol import Request
from app.model.machines import machine_of
from planners.core.progress import Clock
from planners.streaming.model.layers import divided
from planners.streaming.model.times import ParameterRoute, times_of
from planners.streaming.options import STEP_BYTES
from planners.streaming.place.activations import pack_activations
from planners.streaming.schedule.exact import (
    DelayPoint,
    curve_two_stages,
    front_three_stages,
    front_two_stages,
)
from planners.streaming.schedule.pipelines import (
    fixed,
    minimal_delay,
    sweep,
    with_rings,
)
from planners.streaming.search.ways import Slicing, Slicings

PLENTY = 2**50
FRONTS_S = 20.0
Found = tuple[str, Sequence[DelayPoint]]


def run_fronts(context: JobContext, request: Request) -> None:
    """Delay against memory: every breakpoint, the exact fronts, the paper's search and points."""
    problem = request.problem
    for name, rows in front_rows(context.graph(problem), machine_of(problem), problem["options"]):
        if context.stopped:
            return
        context.result("front", name=name, points=rows)


def front_rows(
    graph: sp.Graph, machine: sp.Machine, options: Mapping[str, Any]
) -> Iterator[tuple[str, list[list[float]]]]:
    """The series by name: bytes of rings and activations, and seconds of delay."""
    activation_bytes = pack_activations(graph, Clock(FRONTS_S)).size_bytes
    step = int(options.get("step", STEP_BYTES))
    for name, points in fronts(graph, machine, options.get("times", ""), step):
        yield name, [[point.memory_bytes + activation_bytes, point.delay_s] for point in points]


def fronts(graph: sp.Graph, machine: sp.Machine, times: str, step: int) -> Iterator[Found]:
    """Series by name; those of three stages where the machine can read and copy at once."""
    two = way_of(graph, machine, times, 2)
    yield "2s all", curve_two_stages(two.layers, two.start)
    yield "2s exact", front_two_stages(two.layers, two.start)
    yield "2s search", sweep(two.layers, 2, step, two.start)
    largest = max((layer.size_bytes for layer in two.layers), default=0)
    yield "2s", [_point(with_rings(two.layers, (largest,), two.start))]
    if not ParameterRoute(machine).two_rings:
        return
    three = way_of(graph, machine, times, 3)
    yield "async search", sweep(three.layers, 3, step, three.start)
    yield "async", [_point(with_rings(three.layers, (largest,) * 2, three.start))]
    yield "sync", [_point(fixed("sync", three.layers, three.start))]
    alone = way_of(graph, machine, times, 3, overlapped=False)
    for kind in ("seq", "pre"):
        yield kind, [_point(fixed(kind, alone.layers, alone.start))]
    yield "async exact", front_three_stages(three.layers, three.start)


def way_of(
    graph: sp.Graph, machine: sp.Machine, times: str, stages: int, *, overlapped: bool = True
) -> Slicing:
    """Whole layers with their times in a pipeline."""
    layer_times = times_of(graph, machine, times)
    ways = Slicings(graph, machine, layer_times, stages, PLENTY, False, overlapped)
    return ways.way(divided(graph, 1), 1)


def _point(schedule: Any) -> DelayPoint:
    rings = tuple(ring.size_bytes for ring in schedule.rings)
    return DelayPoint(schedule.memory_bytes, schedule.delay_s, rings)


def run_resolutions(context: JobContext, request: Request) -> None:
    """Delay and memory of pipelines at each of several resolutions of the input, with no budget."""
    problem = request.problem
    if problem.get("graph") or str(problem.get("upload", "")).endswith((".json", ".html", ".pt2")):
        raise sp.BadInput("an uploaded graph has one resolution: choose a model of the catalogue")
    for resolution in request.more["resolutions"]:
        if context.stopped:
            return
        context.progress(f"{resolution} × {resolution}")
        shape = resized(request.more["shape"], resolution)
        graph = load_graph({**problem, "input_shape": shape})
        planned = Planned(graph, machine_of(problem), problem["options"])
        for pipeline in request.more["pipelines"]:
            if context.stopped:
                return
            point = planned.point(pipeline)
            context.result(
                "resolution",
                resolution=resolution,
                pipeline=pipeline,
                delay_s=point.delay_s,
                rings_bytes=point.memory_bytes,
            )


def resized(shape: Sequence[int], resolution: int) -> str:
    """An image's shape with another height and width. Raises `BadInput` for what is not an
    image."""
    if len(shape) != 4:
        raise sp.BadInput("this model's input is not an image, so it has no resolutions")
    return "x".join(map(str, (*shape[:2], resolution, resolution)))


class Planned:
    """Rings and delay of whole layers in any pipeline, with room for all: no activations."""

    def __init__(self, graph: sp.Graph, machine: sp.Machine, options: Mapping[str, Any]) -> None:
        times = options.get("times", "")
        self.step = int(options.get("step", STEP_BYTES))
        self.two = way_of(graph, machine, times, 2)
        self.both = ParameterRoute(machine).two_rings
        if self.both:
            self.three = way_of(graph, machine, times, 3)
            self.alone = way_of(graph, machine, times, 3, overlapped=False)
        self.largest = max((layer.size_bytes for layer in self.two.layers), default=0)

    def point(self, pipeline: str) -> DelayPoint:
        """The least delay of a pipeline, in the fewest bytes. Raises `BadInput` where the machine
        cannot read and copy at once, as its three stages do."""
        two = self.two
        if pipeline == "2s":
            return _point(with_rings(two.layers, (self.largest,), two.start))
        if pipeline == "2s-md":
            return minimal_delay(sweep(two.layers, 2, self.step, two.start))
        if pipeline == "exact":
            candidates = [front_two_stages(two.layers, two.start)[-1]]
            if self.both:
                candidates.append(front_three_stages(self.three.layers, self.three.start)[-1])
            return min(candidates, key=lambda point: (point.delay_s, point.memory_bytes))
        if not self.both:
            raise sp.BadInput(f"this machine cannot read and copy at once, as {pipeline} does")
        three, alone = self.three, self.alone
        if pipeline == "async":
            return _point(with_rings(three.layers, (self.largest,) * 2, three.start))
        if pipeline == "async-md":
            return minimal_delay(sweep(three.layers, 3, self.step, three.start))
        way = three if pipeline == "sync" else alone
        return _point(fixed(pipeline, way.layers, way.start))
