"""Beyond the paper: layers in slices, and rings and activations in one memory."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence

from planners.core.graph import Graph
from planners.core.machine import load_machine
from planners.core.plan import streamed_of
from planners.core.progress import Clock
from planners.papers.demand_layering.fronts import preloaded_s
from planners.papers.demand_layering.sections import section_graph
from planners.papers.report import Row
from planners.simulator.claims import check
from planners.streaming import plan
from planners.streaming.model.layers import Layer, Unit, divided, units_of
from planners.streaming.model.times import NAME, Xavier
from planners.streaming.place.activations import pack_activations
from planners.streaming.place.joint import joint_front, load_of, place_jointly
from planners.streaming.schedule.exact import DelayPoint, front_two_stages
from planners.streaming.search.ways import SLICES

WITHIN = 5.0
"""Percent of delay: the target of slices, and where memories are compared."""
GROWTH = (1.0, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2)
"""Times the bound at which addresses in one memory are sought."""


def slices_row(name: str, fractions: Sequence[int] = SLICES) -> Row:
    """In the memory of 2S, one largest layer: delays with layers in slices; and the least memory
    within five percent. `fractions` of the largest layer are what no slice is larger than."""
    graph = section_graph(name)
    pre, memory = preloaded_s(graph), max(unit.size_bytes for unit in units_of(graph))
    rows: list[Row] = []
    seen: set[tuple[Unit, ...]] = set()
    for slices in fractions:
        units = divided(graph, slices)
        if units in seen:
            continue
        seen.add(units)
        layers = Xavier(graph).layers(units, 2)
        front = front_two_stages(layers)
        point = _at(front, memory)
        endless = _at(front_two_stages(layers, twice=True), memory)
        rows.append(
            {
                "slices": slices,
                "layers": len(units),
                "largest_bytes": max(layer.size_bytes for layer in layers),
                "ring_bytes": point.memory_bytes,
                "added": 100 * (point.delay_s / pre - 1),
                "twice": 100 * (endless.delay_s / pre - 1),
                "within": _within(front, pre),
            }
        )
    return {
        "network": name,
        "memory_bytes": memory,
        "ways": rows,
        "planned": _sliced_plan(graph, memory, pre),
        "bound": 100 * (least_delay(Xavier(graph).layers(units_of(graph), 2), memory) / pre - 1),
    }


def least_delay(layers: Sequence[Layer], ring_bytes: int, parts: int = 32) -> float:
    """Seconds that no slices at all go below, in two stages with a ring of that size.

    Each byte of parameters takes its share of its layer's read and kernel, at least, wherever it
    is cut. A byte is there no sooner than the one that is a ring before it has been used. Looked at
    after every layer's each 1/`parts`.
    """
    read = kernel = 0.0
    passed: list[int] = []  # in 1/parts of a byte
    used: list[float] = []
    for layer in layers:
        if not layer.size_bytes:
            kernel += layer.kernel_s
            continue
        for _ in range(parts):
            end = (passed[-1] if passed else 0) + layer.size_bytes
            before = bisect_right(passed, end - parts * ring_bytes)
            read = max(read + layer.read_s / parts, used[before - 1] if before else 0.0)
            kernel = max(kernel + layer.kernel_s / parts, read)
            passed.append(end)
            used.append(kernel)
    return kernel


def _sliced_plan(graph: Graph, ring_bytes: int, pre: float) -> Row:
    """The planner's own slices within that ring, operator by operator; its program replayed.

    Raises `InvalidPlan` where it is wrong.
    """
    machine = load_machine(NAME)
    activations = pack_activations(graph, Clock(10.0)).size_bytes
    sliced = plan(graph, machine, activations + ring_bytes, {"stages": 2, "slices": 0})
    check(sliced)
    streamed = streamed_of(sliced)
    return {
        "layers": len(streamed.layers),
        "ring_bytes": sum(streamed.rings.values()),
        "added": 100 * (streamed.delay_s / pre - 1),
    }


def _at(front: Sequence[DelayPoint], memory_bytes: int) -> DelayPoint:
    return [point for point in front if point.memory_bytes <= memory_bytes][-1]


def _within(front: Sequence[DelayPoint], pre: float) -> int | None:
    least = (p.memory_bytes for p in front if p.delay_s <= pre * (1 + WITHIN / 100))
    return min(least, default=None)


def joint_row(name: str, time_limit_s: float = 30.0) -> Row:
    """All memory, weights and activations, in two stages: apart, and in one memory, at the delays
    of 2S, of five percent and of 2S-MD."""
    graph = section_graph(name)
    units = units_of(graph)
    layers, pre = Xavier(graph).layers(units, 2), preloaded_s(graph)
    clock = Clock(time_limit_s)
    activations = pack_activations(graph, clock)
    front = front_two_stages(layers)
    levels = {"2S": front[0].delay_s, "5 %": 1.05 * pre, "2S-MD": front[-1].delay_s}
    load = load_of(graph, units)
    return {
        "network": name,
        "weights_bytes": sum(layer.size_bytes for layer in layers),
        "activation_bytes": activations.size_bytes,
        "activation_bound": activations.bound_bytes,
        "least_bytes": load.least_bytes,
        "levels": {
            key: _joint(graph, units, layers, front, delay, activations.size_bytes, clock)
            for key, delay in levels.items()
        },
        "pre_s": pre,
    }


def _joint(
    graph: Graph,
    units: Sequence[Unit],
    layers: Sequence[Layer],
    front: Sequence[DelayPoint],
    delay_s: float,
    activation_bytes: int,
    clock: Clock,
) -> Row:
    """The least memory at a delay: of rings, of rings beside activations, and of both in one.

    What is found in one memory is planned in just that, and the program replayed.
    """
    most = delay_s * (1 + 1e-12)
    ring = min(point.memory_bytes for point in front if point.delay_s <= most)
    load = load_of(graph, units)
    bound = min(memory for memory, delay in joint_front(load, layers) if delay <= most)
    began = time.perf_counter()
    least = _least_addresses(graph, units, layers, bound, most, clock)
    seconds = time.perf_counter() - began
    replayed = False
    if least is not None:
        joint = plan(graph, load_machine(NAME), least, {"joint": True})
        check(joint)
        replayed = streamed_of(joint).delay_s <= most
    return {
        "delay_s": delay_s,
        "ring_bytes": ring,
        "apart_bytes": ring + activation_bytes,
        "joint_bytes": least,
        "joint_bound": bound,
        "replayed": replayed,
        "seconds": seconds,
    }


def _least_addresses(
    graph: Graph,
    units: Sequence[Unit],
    layers: Sequence[Layer],
    bound_bytes: int,
    most_s: float,
    clock: Clock,
) -> int | None:
    """Bytes of the first addresses that are found for a delay, from the bound on."""
    for growth in GROWTH:
        _, place = place_jointly(graph, units, layers, int(bound_bytes * growth), clock)
        if place is not None and place.ends.delay_s <= most_s:
            return place.size_bytes
    return None
