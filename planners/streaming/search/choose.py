"""Which layers, rings and times a plan has: the pipeline requested, within the budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from planners.core.errors import BadInput, BudgetTooSmall
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.problem import Problem
from planners.core.units import format_bytes
from planners.streaming.emit.program import held_by, stored_s
from planners.streaming.model.times import ParameterRoute, Times
from planners.streaming.options import StreamingOptions
from planners.streaming.place.activations import Activations, pack_activations
from planners.streaming.place.joint import load_of, place_jointly
from planners.streaming.schedule.exact import (
    DelayPoint,
    front_three_stages,
    front_two_stages,
    pareto,
)
from planners.streaming.schedule.pipelines import (
    Schedule,
    fixed,
    least_bytes,
    minimal_delay,
    sizes_of,
    sweep,
    with_rings,
)
from planners.streaming.search.ways import Slicing, Slicings, held


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """A schedule, what it is made of, when its last output is stored, and its pipeline's front.

    The front is of rings alone, without activations; `delay_s` is from the program's start, in
    `pre` from when all is loaded.
    """

    way: Slicing
    schedule: Schedule
    activations: Activations
    front: tuple[DelayPoint, ...]
    delay_s: float
    bound_bytes: int

    @property
    def memory_bytes(self) -> int:
        """Bytes of rings and activations together."""
        apart = 0 if self.schedule.kind == "joint" else self.activations.size_bytes
        return self.schedule.memory_bytes + apart

    @property
    def memory_front(self) -> tuple[tuple[int, float], ...]:
        """Memory, activations included, and delay of each point of the front."""
        apart = 0 if self.schedule.kind == "joint" else self.activations.size_bytes
        return tuple((point.memory_bytes + apart, point.delay_s) for point in self.front)


def choose(request: Problem[StreamingOptions], times: Times) -> ScheduleChoice:
    """The pipeline requested; where there is a choice, the least delay, then memory.

    Raises `BudgetTooSmall` with the largest layer where no rings fit beside the activations.
    """
    graph, machine, chosen = request.graph, request.machine, request.options
    if chosen.joint:
        return jointly(request, times)
    budget_bytes, clock = request.budget_bytes, request.clock
    clock.report("activations")
    activations = pack_activations(graph, clock)
    clock.report("rings")
    room = budget_bytes - activations.size_bytes
    fitting: list[ScheduleChoice] = []
    needs: list[tuple[int, Slicing]] = []
    for stages in _stages(machine, chosen):
        every = Slicings(graph, machine, times, stages, room, False, _overlapped(chosen))
        for way in every.offered(chosen, clock):
            kind = {2: "2s", 3: "async"}[stages] if _has_rings(chosen) else chosen.pipeline
            _require_apart(graph, way, chosen.pipeline)
            need = max(least_bytes(kind, way.layers), _asked(chosen, stages))
            needs.append((need, way))
            if need <= room:
                fitting.append(_of_way(graph, times, activations, way, stages, room, chosen))
    if not fitting:
        raise _too_small(graph, activations, budget_bytes, *min(needs, key=lambda item: item[0]))
    return min(fitting, key=_rank)


def jointly(request: Problem[StreamingOptions], times: Times) -> ScheduleChoice:
    """Weights and activations in one memory, in two stages: the least delay within the budget.

    Raises `BudgetTooSmall` with the layer that needs most beside its activations.
    """
    graph, budget_bytes, clock = request.graph, request.budget_bytes, request.clock
    best: ScheduleChoice | None = None
    least_s = inf
    needs: list[tuple[int, str, tuple[str, ...]]] = []
    every = Slicings(graph, request.machine, times, 2, budget_bytes, True, True)
    for way in every.offered(request.options, clock):
        clock.report(f"one memory, {len(way.units)} layers")
        front, choice = _placed(request, times, way)
        needs.append(_most(graph, way))
        least_s = min([least_s, *(delay for memory, delay in front if memory <= budget_bytes)])
        if choice is not None and (best is None or _rank(choice) < _rank(best)):
            best = choice
    need, name, tensors = min(needs)
    if need > budget_bytes:
        remedy = "a layer and the activations beside it; more slices make layers smaller"
        raise BudgetTooSmall(need, budget_bytes, name, tensors, remedy)
    if best is None or best.schedule.delay_s > least_s:
        # No addresses were found for the bound: rings apart from activations may be as good.
        apart = replace(request.options, joint=False, stages=2)
        try:
            other = choose(replace(request, options=apart), times)
        except BudgetTooSmall as error:
            if best is None:
                remedy = (
                    f"one memory may do with {format_bytes(need)}, but no addresses were found "
                    "for it; more time or slices may find some"
                )
                least = error.need_bytes, budget_bytes, error.operator, error.tensors
                raise BudgetTooSmall(*least, remedy) from None
        else:
            best = other if best is None else min(best, other, key=_rank)
    return best


def _placed(
    request: Problem[StreamingOptions], times: Times, way: Slicing
) -> tuple[list[tuple[int, float]], ScheduleChoice | None]:
    """The front of a way in one memory, and its best choice within the budget."""
    graph, budget_bytes = request.graph, request.budget_bytes
    front, placed = place_jointly(
        graph, way.units, way.layers, budget_bytes, request.clock, way.start, held(way.units)
    )
    if placed is None:
        return front, None
    schedule = Schedule(
        "joint", way.layers, (placed.weights,), placed.ends, 0.0, placed.reads_before
    )
    end = stored_s(graph, way.units, schedule, times)
    points = [DelayPoint(memory, delay, (memory,)) for memory, delay in front]
    taken = schedule.memory_bytes
    if taken not in [point.memory_bytes for point in points]:  # Addresses in less were not found.
        points.append(DelayPoint(taken, schedule.delay_s, (taken,)))
        points.sort(key=lambda point: point.memory_bytes)
    choice = ScheduleChoice(
        way, schedule, placed.activations, tuple(points), end, placed.bound_bytes
    )
    return front, choice


def _rank(choice: ScheduleChoice) -> tuple[float, int]:
    return choice.delay_s, choice.memory_bytes


def _most(graph: Graph, way: Slicing) -> tuple[int, str, tuple[str, ...]]:
    """The most bytes that a layer and the activations beside it have, and whose they are."""
    needs = load_of(graph, way.units).needs
    i = max(range(len(needs)), key=lambda i: needs[i])
    unit = way.units[i]
    return needs[i], unit.name, graph.operators[unit.operator].parameters


def _stages(machine: Machine, chosen: StreamingOptions) -> tuple[int, ...]:
    pipeline = chosen.pipeline
    if pipeline == "exact":
        both = (2, 3) if ParameterRoute(machine).two_rings else (2,)
        stages = (chosen.stages,) if chosen.stages else both
    else:
        stages = (2,) if pipeline.startswith("2s") else (3,)
    for count in stages:
        ParameterRoute(machine).require(count)
    return stages


def _has_rings(chosen: StreamingOptions) -> bool:
    return chosen.pipeline not in ("pre", "seq", "sync")


def _overlapped(chosen: StreamingOptions) -> bool:
    """Whether reads and copies run beside kernels while the delay is counted."""
    return chosen.pipeline not in ("pre", "seq")


def _require_apart(graph: Graph, way: Slicing, pipeline: str) -> None:
    """Raise `BadInput` where a pipeline would hold shared parameters at two places at once."""
    reach = {"pre": len(way.units), "sync": 1}.get(pipeline, 0)
    for i, before in enumerate(held_by(way.units)):
        if before >= 0 and i - before <= reach:
            names = f"{way.units[before].name!r} and {way.units[i].name!r}"
            raise BadInput(
                f"operators {names} of {graph.name} share parameters, which pipeline {pipeline} "
                "would hold twice: choose another"
            )


def _asked(chosen: StreamingOptions, stages: int) -> int:
    """Bytes of the rings requested."""
    return int(chosen.ring) * (stages - 1)


def _of_way(
    graph: Graph,
    times: Times,
    activations: Activations,
    way: Slicing,
    stages: int,
    room: int,
    chosen: StreamingOptions,
) -> ScheduleChoice:
    """The best schedule of a way within the room for rings."""
    pipeline, layers, twice = chosen.pipeline, way.layers, chosen.twice
    if pipeline in ("exact", "async-md", "2s-md"):
        points = _points(way, stages, room, chosen)
        within = [point for point in points if point.memory_bytes <= room]
        schedule = with_rings(layers, minimal_delay(within).rings, way.start, twice)
    else:
        if _has_rings(chosen):
            ring = chosen.ring or max(sizes_of(layers), default=0)
            schedule = with_rings(layers, (ring,) * (stages - 1), way.start, twice)
        else:
            schedule = fixed(pipeline, layers, way.start)
        points = (DelayPoint(schedule.memory_bytes, schedule.delay_s, _rings(schedule)),)
    end = stored_s(graph, way.units, schedule, times) - schedule.preload_s
    # Of the exact front, no smaller rings have this delay; any ring holds the largest layer.
    every_size = not (twice and stages == 3)
    exactly = pipeline == "exact" and chosen.slices == 1 and every_size
    least = schedule.memory_bytes if exactly else max(sizes_of(layers), default=0)
    bound = least + activations.bound_bytes
    return ScheduleChoice(way, schedule, activations, pareto(points), end, bound)


def _points(
    way: Slicing, stages: int, room: int, chosen: StreamingOptions
) -> tuple[DelayPoint, ...]:
    """Ring sizes to choose from: the exact front, or the paper's sweep."""
    layers, start, twice = way.layers, way.start, chosen.twice
    if chosen.pipeline != "exact":
        return sweep(layers, stages, chosen.step, start, room, twice)
    if stages == 2:
        return front_two_stages(layers, start, twice=twice)
    return front_three_stages(layers, start, twice=twice, quick=chosen.slices != 1)


def _rings(schedule: Schedule) -> tuple[int, ...]:
    return tuple(ring.size_bytes for ring in schedule.rings)


def _too_small(
    graph: Graph, activations: Activations, budget_bytes: int, need: int, way: Slicing
) -> BudgetTooSmall:
    layer, unit = max(zip(way.layers, way.units, strict=True), key=lambda pair: pair[0].size_bytes)
    total = need + activations.size_bytes
    remedy = (
        f"rings take at least {format_bytes(need)} (the largest layer has "
        f"{format_bytes(layer.size_bytes)}), activations {format_bytes(activations.size_bytes)}; "
        "more slices make rings smaller"
    )
    tensors = graph.operators[unit.operator].parameters
    return BudgetTooSmall(total, budget_bytes, layer.name, tensors, remedy)
