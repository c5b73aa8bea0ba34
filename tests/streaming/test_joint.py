"""Weights and activations in one memory, against brute force over when each layer is read."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import planners as sp
from planners.core.errors import BudgetTooSmall
from planners.core.machine import load_machine
from planners.core.progress import Clock
from planners.simulator.check import replay
from planners.simulator.timing import schedule as timed
from planners.streaming.emit.program import emit
from planners.streaming.model.layers import units_of
from planners.streaming.place.joint import LayerLoad, joint_front, load_of, place_jointly
from planners.streaming.schedule.pipelines import Schedule
from planners.streaming.schedule.recurrence import two_stages
from tests.streaming.nets import chain, clock_of, random_layers

XAVIER = "jetson_xavier_980pro"


def peak(load: LayerLoad, before: tuple[int, ...]) -> int:
    """Bytes there while some kernel runs, where layer u is read before kernel `before[u]`."""
    kernels = range(len(load.sizes))
    return max(
        load.activations[k] + sum(s for u, s in enumerate(load.sizes) if before[u] <= k <= u)
        for k in kernels
    )


def test_no_reading_ahead_has_less_delay_in_as_much_memory() -> None:
    random = Random(1)
    for _ in range(60):
        layers = random_layers(random, most=5, largest=6)
        load = LayerLoad(
            tuple(layer.size_bytes for layer in layers), tuple(random.randint(1, 9) for _ in layers)
        )
        best: dict[int, float] = {}
        for before in product(*(range(u + 1) for u in range(len(layers)))):
            if any(a > b for a, b in zip(before, before[1:])):
                continue  # reads come in order
            memory = peak(load, before)
            delay = two_stages(layers, [b - 1 for b in before]).delay_s
            best[memory] = min(delay, best.get(memory, delay))
        front: list[tuple[int, float]] = []
        for memory in sorted(best):
            if not front or best[memory] < front[-1][1]:
                front.append((memory, best[memory]))
        assert joint_front(load, layers) == front


def test_that_time_is_over_is_no_word_on_the_budget() -> None:
    """Without any time addresses are found wherever they are found with plenty of it."""
    random, late = Random(5), 0
    for _ in range(60):
        graph, times = chain(random_layers(random, most=8), random)
        units = units_of(graph)
        layers = times.layers(units, 2)
        budget = load_of(graph, units).least_bytes + random.randint(0, 3)
        _, found = place_jointly(graph, units, layers, budget, Clock(600.0))
        _, hurried = place_jointly(graph, units, layers, budget, Clock(0.0))
        assert (found is None) == (hurried is None)
        if found is not None and hurried is not None:
            assert hurried.size_bytes <= budget
            assert hurried.bound_bytes <= hurried.size_bytes
            late += found.ends.delay_s < hurried.ends.delay_s
    assert late < 30  # mostly the first try does


def test_addresses_give_the_delay_of_the_bound_and_the_scoreboard_agrees() -> None:
    random, machine = Random(2), load_machine(XAVIER)
    tight = 0
    for _ in range(200):
        graph, times = chain(random_layers(random, most=8), random)
        units = units_of(graph)
        layers = times.layers(units, 2)
        load = load_of(graph, units)
        budget = load.least_bytes + random.randint(0, 12)
        clock = Clock(600.0, None)
        front, found = place_jointly(graph, units, layers, budget, clock)
        if found is None:
            continue
        best = [point for point in front if point[0] <= budget][-1]
        tight += (found.size_bytes, found.ends.delay_s) == best
        made = Schedule("joint", layers, (found.weights,), found.ends, 0.0, found.reads_before)
        program = emit(graph, machine, units, made, found.activations)
        report = replay(graph, program)
        assert report.extent_bytes <= found.size_bytes <= budget
        kernels = [
            i.stop_s
            for i in timed(program, machine, graph, seconds=clock_of(graph, times, made, program))
            if i.engine == "compute"
        ]
        # Never later; earlier only where there was more room than the delay needs.
        assert kernels[-1] <= found.ends.delay_s + 1e-9
        assert kernels[-1] >= best[1] - 1e-9
    assert tight > 150


def test_one_memory_is_smaller_and_no_slower() -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 96, 96), bytes_per_element=4)
    apart = sp.plan(graph, "streaming", "64MiB", XAVIER, stages=2)
    joint = sp.plan(graph, "streaming", "64MiB", XAVIER, joint=True)
    report = sp.check(joint)
    assert report.extent_bytes == joint.claims.objective_bytes < apart.claims.objective_bytes
    found = joint.details.streamed
    assert found.delay_s == apart.details.streamed.delay_s
    assert sp.simulate(joint).makespan_s == pytest.approx(found.delay_s)
    assert sp.execute(joint).max_abs_error == 0.0


def test_the_layer_that_needs_most_beside_its_activations_is_named() -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=4)
    load = load_of(graph, units_of(graph))
    with pytest.raises(BudgetTooSmall) as caught:
        sp.plan(graph, "streaming", load.least_bytes - 1, XAVIER, joint=True)
    assert caught.value.need_bytes == load.least_bytes
    at = load.needs.index(load.least_bytes)
    assert caught.value.operator == graph.operators[at].name
    sp.check(sp.plan(graph, "streaming", load.least_bytes + 2**20, XAVIER, joint=True))


def test_a_plan_in_no_time_is_a_point_of_its_front() -> None:
    """Where addresses in the least memory were not found, it is told what the plan takes."""
    options = {"pipeline": "exact", "joint": True, "time_limit": 1e-3}
    plan = sp.plan(sp.load("mobilenet_v2"), "streaming", 2**30, replay=False, **options)
    sp.check(plan)
    assert plan.details.streamed is not None
    assert plan.claims.objective_bytes in [size for size, _ in plan.details.streamed.front]


def test_rings_apart_are_taken_where_one_memory_has_no_addresses_for_its_bound() -> None:
    """What was asked is not what there is: no fault of the plan, and the plan says so."""
    plan = sp.plan(
        sp.load("vit_b_16"), "streaming", "MP", "npu_ideal", joint=True, weights="counted"
    )
    sp.check(plan)
    streamed = plan.details.streamed
    assert streamed is not None
    assert not streamed.joint
    assert "joint" not in plan.claims.solver
