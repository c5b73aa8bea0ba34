"""The least memory for all deadlines, against all ring sizes there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from random import Random

import pytest

from planners.core.progress import Clock
from planners.streaming.model.layers import Layer
from planners.streaming.several import (
    POLICIES,
    PeriodicTask,
    Policy,
    SharedRings,
    analyse,
    least_of_all,
    least_partitioned,
    least_shared,
    partitioned,
    search,
    shared,
    task,
)
from tests.streaming.events import random_tasks


def least(
    tasks: Sequence[PeriodicTask], policy: Policy, layouts: Iterator[SharedRings]
) -> int | None:
    """The least memory of those that meet all deadlines."""
    met = (layout.memory_bytes for layout in layouts if analyse(tasks, policy, layout).met)
    return min(met, default=None)


def every_shared(
    tasks: Sequence[PeriodicTask], stages: int, kept: tuple[int, ...] = ()
) -> Iterator[SharedRings]:
    streams = [task for i, task in enumerate(tasks) if i not in kept]
    most = sum(task.size_bytes for task in streams)
    largest = max((layer.size_bytes for task in streams for layer in task.layers), default=0)
    return (shared(tasks, ring, stages, kept) for ring in range(largest, most + 1))


def every_partitioned(tasks: Sequence[PeriodicTask], stages: int) -> Iterator[SharedRings]:
    sizes = []
    for one in tasks:
        largest, whole = max(layer.size_bytes for layer in one.layers), one.size_bytes
        sizes.append([*(m for m in range(largest, whole) if m * (stages - 1) < whole), whole])
    return (partitioned(tasks, each, stages) for each in product(*sizes))


@pytest.mark.parametrize("stages", [2, 3])
def test_the_least_ring_is_that_of_all_sizes(stages: int) -> None:
    random, beyond = Random(1), 0
    for _ in range(150):
        tasks, policy = random_tasks(random, largest=5), random.choice(POLICIES)
        found = least_shared(search(tasks, policy, stages))
        best = least(tasks, policy, every_shared(tasks, stages))
        assert (found.layout.memory_bytes if found.layout else None) == best
        assert found.proven
        layers = [layer.size_bytes for task in tasks for layer in task.layers]
        beyond += found.layout is not None and found.layout.sizes[0] > max(layers)
    assert beyond > 5


@pytest.mark.parametrize("stages", [2, 3])
def test_the_least_rings_of_their_own_are_those_of_all_sizes(stages: int) -> None:
    random, none, tried = Random(2), 0, 0
    for _ in range(250):
        tasks, policy = random_tasks(random, 2, largest=5), random.choice(POLICIES)
        found = least_partitioned(search(tasks, policy, stages))
        best = least(tasks, policy, every_partitioned(tasks, stages))
        assert (found.layout.memory_bytes if found.layout else None) == best
        assert found.proven
        none, tried = none + (best is None), tried + (found.tried > 1)
    assert none > 5
    assert tried > 5


def test_whole_networks_are_kept_where_that_takes_less() -> None:
    random, kept = Random(3), 0
    for _ in range(60):
        tasks, policy = random_tasks(random, largest=5), random.choice(POLICIES)
        given = search(tasks, policy)
        ring = least_shared(given)
        found = least_of_all(given, without=[ring])
        choices = [c for n in range(1, len(tasks) + 1) for c in combinations(range(len(tasks)), n)]
        every = [least(tasks, policy, every_shared(tasks, 2, choice)) for choice in choices]
        best = min([m for m in every if m is not None], default=None)
        if found.layout:
            assert found.layout.memory_bytes == best
            assert ring.layout is None or best < ring.layout.memory_bytes
            kept += 1
        else:
            assert best is None or (ring.layout and ring.layout.memory_bytes <= best)
    assert kept


def test_why_nothing_helps_is_said() -> None:
    layers = [Layer("x", 4, 3.0, 0.0, 1.0)]
    slow = [task("a", layers, 4), task("b", layers, 4)]
    found = least_shared(search(slow, "edf"))
    assert (found.layout, found.proven, found.why) == (None, True, "reads take 150.0% of the time")
    both = least_partitioned(search(slow, "edf"))
    assert both.layout is not None  # b is kept: it has no reads
    late = [task("a", [Layer("x", 4, 3.0, 0.0, 2.0)], 8, 1)]
    assert least_shared(search(late, "edf")).why == "a: kernels alone take 2000 ms of 1000 ms"
    assert least_partitioned(search(late, "edf")).why == "a is late even alone"


def test_where_time_is_over_what_is_known_is_said() -> None:
    random, found = Random(4), []
    for _ in range(60):
        tasks = random_tasks(random, 2, largest=9)
        given = search(tasks, "edf", clock=Clock(0.0))
        known = least_partitioned(search(tasks, "edf"))
        quick = least_partitioned(given)
        assert quick.bound_bytes <= known.bound_bytes
        if quick.layout:
            assert analyse(tasks, "edf", quick.layout).met
            assert known.layout is not None
            assert quick.layout.memory_bytes >= known.layout.memory_bytes
        if not quick.proven:
            found.append(quick)
            assert quick.why.startswith("no more time")
    assert found
