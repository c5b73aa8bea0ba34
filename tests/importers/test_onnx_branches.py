"""`If` nodes whose condition is known: the branch that is taken is part of the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import planners as sp
from tests.importers.onnx_models import X, graph_of, kinds, model, node, value, write

CONSTANT = [node("Constant", "", "c", value=numpy_helper.from_array(np.array(True)))]
FROM_SHAPE = [
    node("Shape", "x", "s"),
    node("Gather", "s three", "n"),
    node("Equal", "n nine", "c"),
]
SIZES = {"three": np.int64(3), "nine": np.int64(9)}


def branch(*nodes: Any, gives: str, weights: Any = None) -> Any:
    """A branch with weights of its own."""
    held = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    return helper.make_graph(list(nodes), "branch", [], [value(gives, None)], held)


def either(then: Any, other: Any, outputs: str = "r", condition: str = "c") -> Any:
    return node("If", condition, outputs, then_branch=then, else_branch=other)


def two_ways(name: str = "t") -> tuple[Any, Any]:
    """A product with a weight of its own, and a ReLU; both read `x` from outside."""
    weight = {"w": np.ones((9, 5), np.float32)}
    then = branch(node("MatMul", "x w", name), gives=name, weights=weight)
    return then, branch(node("Relu", "x", name), gives=name)


@pytest.mark.parametrize("condition", [CONSTANT, FROM_SHAPE])
def test_the_branch_that_is_taken_is_read(condition: list[Any], tmp_path: Path) -> None:
    nodes = [*condition, either(*two_ways()), node("Sigmoid", "r", "y")]
    graph = graph_of(nodes, tmp_path, SIZES)
    assert graph.macs == 2 * 4 * 7 * 9 * 5
    assert kinds(graph) == [["linear", "sigmoid"]]
    assert graph.parameter_count == 45


def test_shapes_decide(tmp_path: Path) -> None:
    nodes = [*FROM_SHAPE, either(*two_ways()), node("Sigmoid", "r", "y")]
    graph = graph_of(nodes, tmp_path, SIZES, inputs={"x": [2, 4, 7, 8]})
    assert (graph.macs, kinds(graph)) == (0, [["relu", "sigmoid"]])


def test_branches_within_branches_and_names_used_twice(tmp_path: Path) -> None:
    inner = branch(either(*two_ways(), outputs="q"), node("Relu", "q", "t"), gives="t")
    nodes = [
        *CONSTANT,
        either(inner, two_ways()[1], outputs="a"),
        either(two_ways()[1], inner, outputs="b"),
        node("Concat", "a b", "y", axis=3),
    ]
    graph = graph_of(nodes, tmp_path)
    assert graph.tensors["y"].shape == (2, 4, 7, 14)
    assert graph.macs == 2 * 4 * 7 * 9 * 5


def test_what_only_a_branch_reads_is_computed_before(tmp_path: Path) -> None:
    """The file has the node that a branch reads after it."""
    then = branch(node("Neg", "late", "t"), gives="t")
    nodes = [*CONSTANT, either(then, then, outputs="y"), node("Relu", "x", "late")]
    assert len(graph_of(nodes, tmp_path).operators) == 1


def refused(made: Any, folder: Path) -> str:
    with pytest.raises(sp.BadInput) as caught:
        sp.from_onnx(write(made, folder))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_condition_that_depends_on_data_is_refused(tmp_path: Path) -> None:
    nodes = [
        node("ReduceMax", "x", "m", keepdims=0),
        node("Cast", "m", "c", to=TensorProto.BOOL),
        either(*two_ways(), outputs="y"),
    ]
    text = refused(model(nodes, X, {"y": None}), tmp_path)
    assert "node 'n_y' (If) is control flow whose condition depends on data" in text


def test_branches_that_are_not_what_they_should_be(tmp_path: Path) -> None:
    unknown = branch(node("Relu", "nowhere", "t"), gives="t")
    made = model([*CONSTANT, either(unknown, unknown, outputs="y")], X, {"y": None})
    assert "reads 'nowhere', which nothing writes" in refused(made, tmp_path)
    nothing = branch(node("Relu", "x", "t"), gives="gone")
    made = model([*CONSTANT, either(nothing, nothing, outputs="y")], X, {"y": None})
    assert "reads 'gone', which nothing writes" in refused(made, tmp_path)
    one = branch(node("Relu", "x", "t"), gives="t")
    made = model([*CONSTANT, either(one, one, outputs="y z")], X, {"y": None, "z": None})
    assert "gives 2 values, and the branch that is taken 1" in refused(made, tmp_path)
    made = model([*CONSTANT, node("If", "c", "y", then_branch=one)], X, {"y": None})
    made.graph.node[-1].attribute[0].name = "else_branch"
    assert "has no then_branch" in refused(made, tmp_path)
