"""The guaranteed bound: no draw within the upper bounds of times is ever above it."""

from __future__ import annotations

from random import Random

import pytest

from planners.core.machine import load_machine
from planners.core.problem import Problem
from planners.streaming.options import StreamingOptions
from planners.streaming.search.bound import band, delay_with, drawn, guaranteed_bound, upper
from planners.streaming.search.choose import choose
from tests.cases import cases
from tests.streaming.nets import chain, random_layers


@pytest.mark.parametrize("pipeline", ["exact", "async", "2s", "sync", "seq", "pre", "joint"])
def test_draws_are_within_the_bound(pipeline: str) -> None:
    random = Random(5)
    joint = pipeline == "joint"
    options = StreamingOptions.from_values(
        {"pipeline": "exact" if joint else pipeline, "joint": joint}
    )
    machine, closest = load_machine("jetson_xavier_980pro"), 0.0
    for _ in range(10):
        graph, times = chain(random_layers(random, most=7), random)
        choice = choose(Problem.start(graph, machine, 10_000, options), times)
        bound = guaranteed_bound(graph, times, choice, spread=0.5)
        assert bound is not None
        assert bound >= choice.delay_s
        for _ in range(cases(300, 1000)):
            delay = delay_with(graph, times, choice, drawn(times, choice, 0.5, random))
            assert delay <= bound
            closest = max(closest, delay / bound if bound else 0.0)
        assert delay_with(graph, times, choice, upper(times, choice, 0.5)) == bound
    assert closest > 0.9


def test_without_samples_or_spread_nothing_bounds_the_times() -> None:
    graph, times = chain(random_layers(Random(6)), Random(6))
    machine = load_machine("jetson_xavier_980pro")
    choice = choose(Problem.start(graph, machine, 10_000, StreamingOptions.from_values({})), times)
    assert guaranteed_bound(graph, times, choice) is None
    found = band(graph, times, choice, 50)
    assert found.least_s == pytest.approx(found.largest_s) == pytest.approx(choice.delay_s)
    wide = band(graph, times, choice, 200, seed=3, spread=0.5)
    assert wide == band(graph, times, choice, 200, seed=3, spread=0.5)
    assert wide.least_s < wide.p5_s < wide.median_s < wide.p95_s < wide.largest_s
