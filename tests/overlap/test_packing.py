"""Offsets with overlap against all offsets tried, and the front against all paths."""

from __future__ import annotations

import itertools
import random
from math import inf

import pytest

from planners.graph.model import Graph, Operator, Tensor
from planners.overlap.candidates import Candidate, Need
from planners.overlap.chain import cuts
from planners.overlap.front import all_ways, front
from planners.overlap.modules import TABLE_2, Bottleneck, bottleneck
from planners.overlap.packing import Held, Question, pack
from planners.progress import Clock
from tests.overlap.test_tight import random_module


def random_question(seed: int) -> Question:
    """Three runs over a few small tensors, some of which die where an output may lie on them."""
    rng = random.Random(seed)
    most = 3
    names = [f"t{i}" for i in range(4)]
    tensors = {n: Tensor(n, (rng.randint(1, most),), "input") for n in names}
    reader = Operator("op", "random", tuple(names), ("o",))
    tensors["o"] = Tensor("o", (1,))
    graph = Graph("sizes", tensors, (reader,), tuple(names), ("o",))
    runs = []
    for at in range(3):
        reads = tuple(dict.fromkeys([names[at], rng.choice(names[: at + 1])]))
        distances = {name: rng.randint(0, 3) for name in reads if rng.random() < 0.8}
        needs = (Need("b", 1, rng.randint(1, 2)),) if at == 1 and rng.random() < 0.7 else ()
        runs.append(Candidate("alone", (at,), reads, (names[at + 1],), needs, distances))
    return Question(graph, runs, [names[-1]])


def least_by_force(question: Question) -> int:
    """The least extent over all offsets."""
    held, best = question.held, inf
    most = sum(item.size_bytes for item in held)
    for offsets in itertools.product(*(range(most - i.size_bytes + 1) for i in held)):
        extent = max(at + i.size_bytes for at, i in zip(offsets, held, strict=True))
        if extent < best and all(
            _apart(question, a, x, b, y)
            for (a, x), (b, y) in itertools.combinations(zip(held, offsets, strict=True), 2)
        ):
            best = extent
    return int(best)


def _apart(question: Question, a: Held, x: int, b: Held, y: int) -> bool:
    if a.last < b.first or b.last < a.first:
        return True
    if x + a.size_bytes <= y or y + b.size_bytes <= x:
        return True
    over = question.distance.get((a.name, b.name))
    under = question.distance.get((b.name, a.name))
    return (over is not None and x + over <= y) or (under is not None and y + under <= x)


@pytest.mark.parametrize("seed", range(40))
def test_packing_equals_all_offsets(seed: int) -> None:
    question = random_question(seed)
    packed = pack(question)
    assert packed is not None
    assert packed.size_bytes == packed.bound_bytes == least_by_force(question)


@pytest.mark.parametrize("seed", range(12))
def test_the_front_is_that_of_all_paths(seed: int) -> None:
    graph = random_module(seed)
    ways = all_ways(graph, Clock(60))
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


def test_a_residual_is_lifted_off_its_input() -> None:
    """With a line buffer E lies exactly on A: A, the window's rows, and two pixels."""
    module = Bottleneck("m", 20, 16, 48, 16, 3)
    graph = bottleneck(module)
    assert cuts(graph) == [0, 4]
    least = front(graph, all_ways(graph, Clock(60)))[0]
    line = ((3 - 1) * 20 + 3 + 1) * 48 + 16
    assert (least.ram_bytes, least.extra_macs) == (20 * 20 * 16 + line, 0)


def test_the_papers_blocks_need_less_than_their_tensors() -> None:
    for name in ("S1", "S4", "B2", "B12"):
        graph = bottleneck(TABLE_2[name])
        least = front(graph, all_ways(graph, Clock(60)))[-1]
        inputs = graph.size_bytes("A")
        assert inputs <= least.ram_bytes < inputs + graph.size_bytes("B")
