"""Layouts of whole networks: run on symbolic bytes, against bounds and all orders and places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

import planners as sp
from planners.allocation.overlapping.circular import keeps
from planners.allocation.overlapping.model import PoolProblem
from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Part, Tensor
from planners.core.progress import Clock
from planners.core.records import plain, read
from planners.cosma.memory import least_memory
from planners.cosma.model.problem import ScheduleProblem
from planners.overlap.order.orders import all_distances
from planners.overlap.place import schedule_parts
from planners.overlap.place.schedule_parts import blocks_of
from planners.overlap.search import dag
from planners.overlap.search.dag import best_layout
from tests.overlap.byte_ring import runs_right
from tests.overlap.random_nets import random_net
from tests.overlap.test_orders import all_orders
from tests.random_graphs import random_graph


@pytest.mark.parametrize("seed", range(60))
def test_random_networks_run_in_their_pools(seed: int) -> None:
    graph, known = random_net(seed, 3 + seed % 8)
    found = best_layout(graph, Clock(600))
    assert runs_right(graph, found.layout, known)
    assert found.bound_bytes <= found.layout.pool_bytes
    assert sorted(found.schedule) == list(range(len(graph.operators)))


def in_the_way(graph: Graph, layout: PoolLayout) -> bool:
    """Whether tensors that are live at once lie on each other, or closer than their distance."""
    part = PoolProblem(blocks_of(graph, order_of(graph, layout)), all_distances(graph))
    at = [layout.offsets[block.name] for block in part.blocks]
    return not all(keeps(pair, at[pair.b] - at[pair.a], layout.pool_bytes) for pair in part.pairs)


def order_of(graph: Graph, layout: PoolLayout) -> list[int]:
    return [graph.index[run.operators[0]] for run in layout.runs]


def sharing(graph: Graph, layout: PoolLayout) -> Iterator[tuple[str, str]]:
    """The outputs that lie on inputs which die as they are written."""
    blocks = {block.name: block for block in blocks_of(graph, order_of(graph, layout))}
    for output, source in all_distances(graph):
        ahead = (layout.offsets[source] - layout.offsets[output]) % layout.pool_bytes
        if blocks[output].first == blocks[source].last and ahead < blocks[output].size:
            yield output, source


def test_a_byte_closer_some_layouts_are_wrong() -> None:
    """The distances used are tight: outputs moved a byte towards their inputs lose something."""
    moved = wrong = 0
    for seed in range(30):
        graph, known = random_net(seed, 5)
        layout = best_layout(graph, Clock(600)).layout
        assert not in_the_way(graph, layout)
        for output, source in sharing(graph, layout):
            ahead = (layout.offsets[source] - layout.offsets[output]) % layout.pool_bytes
            if ahead == all_distances(graph)[output, source] > 0:
                offsets = {**layout.offsets, output: layout.offsets[output] + 1}
                closer = replace(layout, offsets=offsets)
                moved += 1
                wrong += not runs_right(graph, closer, known)
                assert in_the_way(graph, closer)
    assert wrong == moved > 10


def least_of_all(graph: Graph) -> int:
    """The least pool over all orders and all places."""
    distances = all_distances(graph)
    best = None
    for order in all_orders(graph):
        part = PoolProblem(blocks_of(graph, order), distances)
        pool = 1
        while (best is None or pool < best) and not _fits(part, pool):
            pool += 1
        best = pool if best is None else min(best, pool)
    assert best is not None
    return best


def _fits(part: PoolProblem, pool: int) -> bool:
    if pool < max(block.size for block in part.blocks):
        return False
    return any(
        all(keeps(pair, (0, *rest)[pair.b] - (0, *rest)[pair.a], pool) for pair in part.pairs)
        for rest in itertools.product(range(pool), repeat=len(part.blocks) - 1)
    )


@pytest.mark.parametrize("seed", range(30))
def test_tiny_networks_against_all_orders_and_places(seed: int) -> None:
    graph = random_graph(seed, 3, largest=3)
    found = best_layout(graph, Clock(600))
    least = least_of_all(graph)
    assert found.bound_bytes <= least <= found.layout.pool_bytes


@pytest.mark.parametrize("seed", range(20))
def test_never_above_cosma(seed: int) -> None:
    graph = random_graph(seed, 12, largest=9)
    problem = ScheduleProblem(graph, tuple(range(12)), False, 10**6)
    _, cosma = least_memory(problem, Clock(600), any_order=True)
    assert best_layout(graph, Clock(600)).layout.pool_bytes <= cosma.cost_bytes


def chain(*maps: tuple[int, int, int]) -> Graph:
    """3×3 convolutions one after the other, over maps of (channels, height, width)."""
    tensors = {"t0": Tensor("t0", (1, *maps[0]), "input")}
    ops = []
    for i, (a, b) in enumerate(itertools.pairwise(maps)):
        tensors[f"w{i}"] = Tensor(f"w{i}", (b[0], a[0], 3, 3), "parameter")
        tensors[f"t{i + 1}"] = Tensor(f"t{i + 1}", (1, *b))
        stride = (a[1] // b[1],) * 2
        slide = ((3, 3), stride, (1, 1), (1, 1))
        part = (Part(f"t{i + 1}", "conv2d"),)
        ops.append(
            Operator(f"op{i}", "conv2d", (f"t{i}",), (f"t{i + 1}",), (f"w{i}",), 1, *slide, 1, part)
        )
    return Graph("chain", tensors, tuple(ops), ("t0",), (f"t{len(ops)}",))


def test_a_chain_takes_its_largest_layer_and_drifts_round_the_pool() -> None:
    graph = chain((4, 8, 8), (6, 8, 8), (6, 8, 8), (8, 4, 4), (9, 4, 4))
    found = best_layout(graph, Clock(600))
    assert found.layout.pool_bytes == found.bound_bytes
    sizes = [graph.size_bytes(f"t{i}") for i in range(5)]
    distances = all_distances(graph)
    takes = [max(sizes[i] + distances[f"t{i + 1}", f"t{i}"], sizes[i + 1]) for i in range(4)]
    assert found.layout.pool_bytes == max(takes) < max(a + b for a, b in itertools.pairwise(sizes))
    needy = takes.index(max(takes))
    assert (f"t{needy + 1}", f"t{needy}") in set(sharing(graph, found.layout))
    assert read(PoolLayout, plain(found.layout), "layout") == found.layout


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet18", "squeezenet1_1", "vgg11"])
def test_networks_reach_their_bound(name: str) -> None:
    graph = sp.load(name)
    found = best_layout(graph, Clock(600))
    assert found.layout.pool_bytes == found.bound_bytes < sp.budgets(graph).MP


def test_a_wider_element_takes_so_many_bytes_more() -> None:
    graph = chain((2, 6, 6), (3, 6, 6), (2, 6, 6))
    one = best_layout(graph, Clock(600)).layout
    four = best_layout(graph.with_bytes_per_element(4), Clock(600)).layout
    assert four.pool_bytes == 4 * one.pool_bytes
    assert all(offset % 4 == 0 for offset in four.offsets.values())


def test_tensors_apart_where_that_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should no places be found that use what is shared, COSMA's packing is there."""
    graph = random_graph(3, 10, largest=9)

    def clumsy(part: PoolProblem, *_: object) -> tuple[int, tuple[int, ...]]:
        ends = list(itertools.accumulate(block.size for block in part.blocks))
        return ends[-1], (0, *ends[:-1])

    monkeypatch.setattr(schedule_parts, "tightest", clumsy)
    monkeypatch.setattr(
        schedule_parts, "improve", lambda part, _, pool, places, __: (pool, places, 0)
    )
    found = dag.best_layout(graph, Clock(600))
    assert found.layout.pool_bytes == sp.budgets(graph).MP
    assert not list(sharing(graph, found.layout))


def test_no_operators_and_no_time() -> None:
    empty = Graph("empty", {"x": Tensor("x", (1,), "input")}, (), ("x",), ("x",))
    with pytest.raises(BadInput, match="no operators"):
        best_layout(empty, Clock(600))
    graph, known = random_net(1, 10)
    found = best_layout(graph, Clock(0))
    assert runs_right(graph, found.layout, known)
    assert found.layout.pool_bytes >= found.bound_bytes
