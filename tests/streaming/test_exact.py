"""Rings, schedules and fronts against simulations and brute force that know nothing of them."""

from __future__ import annotations

from random import Random

import pytest

from planners.core.errors import BadInput
from planners.streaming.model.layers import Layer
from planners.streaming.schedule.exact import (
    DelayPoint,
    curve_three_stages,
    curve_two_stages,
    front_three_stages,
    front_two_stages,
    pareto,
)
from planners.streaming.schedule.pipelines import (
    asynchronous,
    minimal_delay,
    sizes_of,
    sweep,
    zero_copy,
)
from planners.streaming.schedule.ring import breakpoints, places
from tests.streaming.algorithm1 import simulate_algorithm1
from tests.streaming.nets import random_layers


def same(a: list[float], b: tuple[float, ...]) -> bool:
    return len(a) == len(b) and all(abs(x - y) < 1e-9 for x, y in zip(a, b))


@pytest.mark.parametrize("twice", [False, True])
def test_the_static_graph_is_algorithm_1(twice: bool) -> None:
    random = Random(6)
    for _ in range(1000):
        layers = random_layers(random)
        least = max(max(sizes_of(layers)), 1)
        cpu, gpu = (least + random.randint(0, 2 * least) for _ in range(2))
        three = asynchronous(layers, cpu, gpu, twice=twice)
        assert same(simulate_algorithm1(layers, cpu, gpu, twice=twice), three.ends.kernels)
        two = zero_copy(layers, cpu, twice=twice)
        assert same(simulate_algorithm1(layers, cpu, None, twice=twice), two.ends.kernels)


@pytest.mark.parametrize("twice", [False, True])
def test_no_two_layers_are_at_one_byte_at_once(twice: bool) -> None:
    random = Random(7)
    for _ in range(300):
        sizes = sizes_of(random_layers(random, most=20))
        ring = max(max(sizes), 1) + random.randint(0, 12)
        found = places(sizes, ring, twice=twice)
        holds: dict[int, int] = {}
        for i, size in enumerate(sizes):
            taken = range(found.offsets[i], found.offsets[i] + size)
            assert twice or not size or taken[-1] < ring
            assert found.waits[i] < i
            for byte in taken:
                # Whatever was there is gone once the layer that is waited for has left.
                assert holds.get(byte % ring, -1) <= max(found.waits[: i + 1])
                holds[byte % ring] = i


def test_a_gap_at_the_end_is_lost_and_a_ring_mapped_twice_has_none() -> None:
    assert places([4, 3, 4], 10).offsets == (0, 4, 0)
    assert places([4, 3, 4], 10).waits == (-1, -1, 0)
    assert places([4, 3, 4], 10, twice=True).offsets == (0, 4, 7)
    assert places([4, 3, 4], 10, twice=True).waits == (-1, -1, 0)
    assert places([4, 0, 3, 3], 10).offsets == (0, 0, 4, 7)  # nothing is at a place of no bytes


def test_a_layer_larger_than_the_ring_is_named() -> None:
    with pytest.raises(BadInput, match=r"layer 'b' has 12 bytes of parameters, the ring 10"):
        places([4, 12], 10, names=["a", "b"])


def test_between_breakpoints_nothing_changes() -> None:
    random = Random(8)
    for _ in range(100):
        sizes = sizes_of(random_layers(random, most=9, largest=9))
        for twice in (False, True):
            points = list(breakpoints(sizes, twice=twice))
            if not any(sizes):
                assert points == []
                continue
            assert [points[0], points[-1]] == [max(sizes), sum(sizes)]
            now = None
            for ring in range(max(sizes), sum(sizes) + 3):
                waits = places(sizes, ring, twice=twice).waits
                assert ring in points or waits == now
                now = waits


@pytest.mark.parametrize("twice", [False, True])
def test_fronts_are_those_of_all_ring_sizes(twice: bool) -> None:
    random = Random(9)
    for _ in range(60):
        layers = random_layers(random, most=8, largest=8)
        sizes = sizes_of(layers)
        if not any(sizes):
            continue
        rings = range(max(sizes), sum(sizes) + 2)
        every = [zero_copy(layers, ring, twice=twice) for ring in rings]
        points = [DelayPoint(s.memory_bytes, s.delay_s, (s.memory_bytes,)) for s in every]
        assert front_two_stages(layers, twice=twice) == pareto(points)
        pairs = [(a, b) for a in rings for b in rings if a == b or not twice]
        delays = [asynchronous(layers, a, b, twice=twice).delay_s for a, b in pairs]
        points = [DelayPoint(sum(p), delay, p) for p, delay in zip(pairs, delays)]
        best = [(p.memory_bytes, p.delay_s) for p in pareto(points)]
        found = front_three_stages(layers, twice=twice)
        assert [(p.memory_bytes, p.delay_s) for p in found] == best
        for point in found:
            made = asynchronous(layers, *point.rings, twice=twice)
            assert (made.memory_bytes, made.delay_s) == (point.memory_bytes, point.delay_s)


def test_more_memory_may_be_slower_and_the_sweep_takes_the_first_least() -> None:
    random = Random(10)
    slower = 0
    for _ in range(300):
        layers = random_layers(random)
        curve = curve_two_stages(layers)
        slower += any(a.delay_s < b.delay_s for a, b in zip(curve, curve[1:]))
        points = sweep(layers, 2, step_bytes=3)
        assert points[-1].memory_bytes == sum(sizes_of(layers))
        best = minimal_delay(points)
        assert best.delay_s == min(p.delay_s for p in points)
        # The exact front is never behind the sweep, at any memory.
        for point in points:
            front = [p for p in front_two_stages(layers) if p.memory_bytes <= point.memory_bytes]
            assert front[-1].delay_s <= point.delay_s
    assert slower


def test_two_rings_of_their_own_sizes_are_never_behind_two_of_one_size() -> None:
    random = Random(11)
    ahead = 0
    for _ in range(100):
        layers = random_layers(random)
        front = front_three_stages(layers)
        for point in pareto(curve_three_stages(layers)):
            within = [p for p in front if p.memory_bytes <= point.memory_bytes]
            assert within[-1].delay_s <= point.delay_s
            ahead += within[-1].delay_s < point.delay_s
    assert ahead


def test_a_network_without_parameters_has_one_point() -> None:
    layers = [Layer("a", 0, 0.0, 0.0, 1.0), Layer("b", 0, 0.0, 0.0, 2.0)]
    assert front_two_stages(layers) == (DelayPoint(0, 3.0, (0,)),)
    assert front_two_stages(layers, twice=True) == (DelayPoint(0, 3.0, (0,)),)
    assert front_three_stages(layers) == (DelayPoint(0, 3.0, (0, 0)),)
