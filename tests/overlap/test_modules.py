"""The vMCU paper's blocks: the numbers that it prints, as graphs."""

from __future__ import annotations

import pytest

import planners as sp
from planners.catalogue.vmcu import (
    MISPRINTS,
    POINTWISE,
    TABLE_2,
    BottleneckShape,
    bottleneck,
    named,
)
from planners.core.errors import BadInput, UnknownName


def shape(graph: sp.Graph, tensor: str) -> tuple[int, ...]:
    return graph.tensors[tensor].shape


def test_a_block_with_strides_has_no_residual() -> None:
    graph = bottleneck(TABLE_2["B2"])
    assert [op.name for op in graph.operators] == ["expand", "depthwise", "project"]
    assert shape(graph, "B") == (1, 24, 88, 88)
    assert shape(graph, "C") == (1, 24, 44, 44)
    assert shape(graph, "D") == (1, 16, 44, 44)
    assert [op.macs for op in graph.operators] == [
        8 * 24 * 88 * 88,
        24 * 7 * 7 * 44 * 44,
        24 * 16 * 44 * 44,
    ]
    assert graph.outputs == ("D",)


def test_a_residual_block_adds_its_input() -> None:
    graph = bottleneck(TABLE_2["S1"])
    assert graph.operators[-1].inputs == ("D", "A")
    assert graph.outputs == ("E",)
    assert bottleneck(TABLE_2["S1"], residual=False).outputs == ("D",)
    with pytest.raises(BadInput, match="S3 has no residual"):
        bottleneck(TABLE_2["S3"], residual=True)


def test_the_input_of_the_first_block_is_the_image() -> None:
    graph = named("B1")
    assert shape(graph, "A") == (1, 3, 176, 176)
    assert graph.size_bytes("A") == 92_928
    assert shape(graph, "B") == (1, 16, 88, 88)  # the expansion has the stride of 2


@pytest.mark.parametrize("name", TABLE_2)
def test_sizes_said_are_those_of_the_graph(name: str) -> None:
    module, graph = TABLE_2[name], sp.load(f"vmcu:{name}")
    assert module.bytes == tuple(graph.size_bytes(t) for t in "ABCD")
    assert module.residual == (graph.outputs == ("E",))


def test_the_table_has_all_rows() -> None:
    names = [f"S{i}" for i in range(1, 9)] + [f"B{i}" for i in range(1, 18)]
    assert list(TABLE_2) == names
    assert set(MISPRINTS) < set(names)
    assert TABLE_2["B12"] == BottleneckShape("B12", 11, 40, 200, 48, 7, (1, 2, 1))


def test_pointwise_cases_are_as_the_text_says() -> None:
    sizes = {n: (c.size**2 * c.c_in, c.size**2 * c.c_out) for n, c in POINTWISE.items()}
    assert [n for n, c in POINTWISE.items() if c.stated] == ["P1"]
    assert [n for n, (a, b) in sizes.items() if a == b] == ["P1", "P2", "P3"]
    assert [n for n, (a, b) in sizes.items() if a + b > 128 * 1024] == ["P1", "P2", "P4"]
    graph = sp.load("vmcu:P1")
    assert graph.size_bytes("A") == graph.size_bytes("B") == 102_400


def test_blocks_load_and_plan_by_name() -> None:
    plan = sp.plan(sp.load("vmcu:S7"), "cosma", "MP")
    assert sp.check(plan).peak_bytes == sp.budgets(plan.graph).MP
    assert sp.load("vmcu:S1", bytes_per_element=4).size_bytes("A") == 4 * 20 * 20 * 16


def test_names_and_shapes_that_do_not_do() -> None:
    with pytest.raises(UnknownName, match=r"'vmcu:B1'"):
        sp.load("vmcu:b1")
    with pytest.raises(BadInput, match="leave input_shape out"):
        sp.load("vmcu:S1", input_shape=(1, 16, 20, 20))
