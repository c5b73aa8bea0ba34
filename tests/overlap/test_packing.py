"""The front of a network's blocks against all paths."""

from __future__ import annotations

from itertools import pairwise

import pytest

from planners.catalogue.vmcu import TABLE_2, BottleneckShape, bottleneck
from planners.core.progress import Clock
from planners.core.rules import without_any
from planners.overlap.search.chain import WAY_RULES, cuts, ways_of_block
from planners.overlap.search.front import all_ways, front
from tests.overlap.test_tight import random_module


@pytest.mark.parametrize("seed", range(12))
def test_the_front_is_that_of_all_paths(seed: int) -> None:
    graph = random_module(seed)
    ways = all_ways(graph, Clock(600))
    points = set()

    def walk(at: int, ram: int, macs: int) -> None:
        if at == len(graph.operators):
            points.add((ram, macs))
        for way in ways:
            if way.first == at:
                walk(way.stop, max(ram, way.size_bytes), macs + way.extra_macs)

    walk(0, 0, 0)
    best = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    found = front(graph, ways)
    assert {(point.ram_bytes, point.extra_macs) for point in found} == best
    assert [point.ram_bytes for point in found] == sorted({ram for ram, _ in best}, reverse=True)


@pytest.mark.parametrize("seed", range(12))
def test_no_rule_of_ways_decides_what_is_on_the_front(seed: int) -> None:
    graph = random_module(seed)
    fronts, ways_packed = set(), []
    for rules in (WAY_RULES, without_any(WAY_RULES)):
        ways = [
            way
            for first, stop in pairwise(cuts(graph))
            for way in ways_of_block(graph, first, stop, rules=rules)
        ]
        fronts.add(tuple((point.ram_bytes, point.extra_macs) for point in front(graph, ways)))
        ways_packed.append(len(ways))
    assert len(fronts) == 1
    assert ways_packed[0] <= ways_packed[1]


def test_a_residual_is_lifted_off_its_input() -> None:
    """With a line buffer E lies exactly on A: A, the window's rows, and two pixels."""
    module = BottleneckShape("m", 20, 16, 48, 16, 3)
    graph = bottleneck(module)
    assert cuts(graph) == [0, 4]
    least = front(graph, all_ways(graph, Clock(600)))[0]
    line = ((3 - 1) * 20 + 3 + 1) * 48 + 16
    assert (least.ram_bytes, least.extra_macs) == (20 * 20 * 16 + line, 0)


def test_the_papers_blocks_need_less_than_their_tensors() -> None:
    for name in ("S1", "S4", "B2", "B12"):
        graph = bottleneck(TABLE_2[name])
        least = front(graph, all_ways(graph, Clock(600)))[-1]
        inputs = graph.size_bytes("A")
        assert inputs <= least.ram_bytes < inputs + graph.size_bytes("B")
