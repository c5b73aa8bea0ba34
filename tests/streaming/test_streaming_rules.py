"""Searches over rings without their rules: the same, with more rings evaluated."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from planners.core.rules import names, without, without_any
from planners.streaming.schedule.exact import FRONT_RULES, front_three_stages
from planners.streaming.schedule.pipelines import asynchronous, sizes_of
from planners.streaming.several import POLICIES, least_partitioned, search
from planners.streaming.several.search import SHARING_RULES
from tests.streaming.events import random_tasks
from tests.streaming.nets import random_layers
from tests.streaming.test_several_search import every_partitioned, least


@pytest.mark.parametrize("twice", [False, True])
def test_no_rule_of_fronts_decides_what_is_on_them(twice: bool) -> None:
    random = Random(17)
    for _ in range(40):
        layers = random_layers(random, most=7, largest=7)
        sizes = sizes_of(layers)
        if not any(sizes):
            continue
        rings = range(max(sizes), sum(sizes) + 2)
        pairs = [(a, b) for a in rings for b in rings if a == b or not twice]
        best = least_delays(
            [(a + b, asynchronous(layers, a, b, twice=twice).delay_s) for a, b in pairs]
        )
        one_less = [without(FRONT_RULES, name) for name in names(FRONT_RULES)]
        for rules in (FRONT_RULES, without_any(FRONT_RULES), *one_less):
            found = front_three_stages(layers, twice=twice, rules=rules)
            assert [(p.memory_bytes, p.delay_s) for p in found] == best, rules


def least_delays(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The points of memory and delay that no other beats."""
    front: list[tuple[int, float]] = []
    for memory, delay in sorted(points):
        if not front or delay < front[-1][1]:
            front.append((memory, delay))
    return front


@pytest.mark.parametrize("stages", [2, 3])
def test_no_rule_of_several_rings_decides_which_are_least(stages: int) -> None:
    random, saved = Random(18), 0
    for _ in range(80):
        tasks, policy = random_tasks(random, 2, largest=5), random.choice(POLICIES)
        best = least(tasks, policy, every_partitioned(tasks, stages))
        given, tried = search(tasks, policy, stages), []
        for rules in (SHARING_RULES, without_any(SHARING_RULES)):
            found = least_partitioned(replace(given, rules=rules))
            assert (found.layout.memory_bytes if found.layout else None) == best, rules
            assert found.proven
            tried.append(found.tried)
        saved += tried[0] < tried[1]
    assert saved > 5
