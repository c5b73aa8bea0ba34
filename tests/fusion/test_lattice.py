"""Downsets and convex sets: counted without being listed, and listed."""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.errors import BadInput
from planners.core.masks import bits
from planners.fusion.partition.lattice import Dag, count_downsets, count_groups
from planners.papers.optimus.workloads import workload
from tests.fusion.models import random_dag, subsets


def is_downset(dag: Dag, mask: int) -> bool:
    return all(not dag.predecessors[i] & ~mask for i in bits(mask))


def convex(dag: Dag, mask: int) -> bool:
    """By the definition: no operator outside is after one inside and before one inside."""
    outside = [i for i in range(dag.count) if not mask >> i & 1]
    return not any(dag.ancestors[i] & mask and dag.descendants[i] & mask for i in outside)


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_lists(seed: int) -> None:
    dag = random_dag(seed, 3 + seed % 7)
    downsets = [0, *(m for m in subsets(dag.everything) if is_downset(dag, m))]
    assert sorted(dag.downsets()) == sorted(downsets)
    assert count_downsets(dag) == len(downsets)
    groups = [m for m in subsets(dag.everything) if convex(dag, m)]
    assert count_groups(dag) == len(groups)
    assert all(dag.is_convex(m) == (m in set(groups)) for m in subsets(dag.everything))
    # Each convex set is the difference of two downsets, and each such difference is convex.
    assert set(groups) == {e & ~d for d in downsets for e in downsets if not d & ~e} - {0}


@pytest.mark.parametrize(
    ("name", "operators", "groups"),
    [
        ("vgg16", 18, 171),
        ("resnet50", 72, 3510),
        ("resnet152", 208, 24250),
        ("squeezenet1_0", 38, 1057),
    ],
)
def test_the_groups_of_table_5(name: str, operators: int, groups: int) -> None:
    dag = Dag.from_graph(workload(name))
    assert (dag.count, count_groups(dag)) == (operators, groups)


def test_counts_need_no_lists() -> None:
    # Twelve branches of four operators, between one before and one after them.
    chains = [[0, *range(1 + 4 * branch, 5 + 4 * branch), 49] for branch in range(12)]
    dag = Dag.from_edges(50, [pair for chain in chains for pair in zip(chain, chain[1:])])
    assert count_downsets(dag) == 5**12 + 2


def test_relatives_share_a_tensor() -> None:
    tensors = {n: sp.Tensor(n, (4,), "input" if n == "x" else "activation") for n in "xabcd"}
    ops = [
        sp.Operator("a", "conv2d", ("x",), ("a",)),
        sp.Operator("b", "conv2d", ("x",), ("b",)),
        sp.Operator("c", "conv2d", ("a",), ("c",)),
        sp.Operator("d", "conv2d", ("c",), ("d",)),
    ]
    dag = Dag.from_graph(sp.Graph("g", tensors, tuple(ops), ("x",), ("b", "d")))
    assert dag.relatives == (0b0110, 0b0001, 0b1001, 0b0100)
    assert list(dag.pieces(0b1111)) == [0b1111]
    assert list(dag.pieces(0b1010)) == [0b0010, 0b1000]
    assert not dag.is_convex(0b1001)
    assert dag.between(0b1001) == 0b0100


def test_an_edge_back_is_refused() -> None:
    with pytest.raises(BadInput, match="from operator 2 to 1"):
        Dag.from_edges(3, [(2, 1)])
