"""Graphs as JSON: whatever is not a graph is `BadInput`, and nothing else is raised."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.core.errors import BadInput
from planners.core.graph import Graph, Tensor
from planners.importers.passes import Call, CallTrace, to_graph
from tests.importers.traces import SHAPE, call, traces

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def small() -> Graph:
    calls = (call("a", "conv2d", "x", "w"), call("b", "relu", "a", unary=True))
    inputs, weights = (Tensor("x", SHAPE, "input"),), (Tensor("w", (4,), "parameter"),)
    return to_graph(CallTrace("net", inputs, weights, calls, ("b",)), "folded")


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a JSON value."""
    keys = data.keys() if isinstance(data, dict) else range(len(data) if type(data) is list else 0)
    return [path] + [found for key in keys for found in places(data[key], (*path, key))]


def moved() -> Graph:
    """Calls that say how they read: a cut and padded map, through a product of its halves."""

    def then(name: str, kind: str, reads: str, shape: tuple[int, ...], *relation: Any) -> Call:
        view = kind in ("slice", "view", "transpose")
        tensor = Tensor(name, shape)
        return call(name, kind, *reads.split(), tensor=tensor, view=view, relation=relation)

    calls = (
        then("half", "slice", "x", (1, 2, 6, 6), "slice", 1, 2, 1),
        then("flat", "view", "half", (1, 2, 36), "reshape"),
        then("last", "transpose", "flat", (1, 36, 2), "permute", 0, 2, 1),
        then("product", "matmul", "last flat", (1, 36, 36), "matmul"),
        then("wide", "pad", "product", (1, 38, 34), "pad", 0, 1, -1),
        then("both", "cat", "wide product", (3,)),
        then("near", "upsample_nearest2d", "x", (1, 4, 9, 12), "nearest"),
        then("mean", "adaptive_avg_pool2d", "near", (1, 4, 2, 2), "adaptive", 2),
    )
    trace = CallTrace("net", (Tensor("x", SHAPE, "input"),), (), calls, ("both", "mean"))
    return to_graph(trace, "fused")


@pytest.mark.parametrize("make", [small, moved])
@given(data=st.data(), value=_JSON)
def test_damaged_graphs_are_bad_input(
    make: Callable[[], Graph], data: st.DataObject, value: Any
) -> None:
    broken = copy.deepcopy(make().to_json())
    *path, last = data.draw(st.sampled_from(places(broken)[1:]))
    place = broken
    for key in path:
        place = place[key]
    if data.draw(st.booleans()):
        place[last] = value
    else:
        del place[last]
    try:
        found = Graph.from_json(broken)
    except BadInput:
        return
    assert Graph.from_json(json.loads(json.dumps(found.to_json()))) == found


@given(value=_JSON)
def test_anything_else_is_bad_input(value: Any) -> None:
    with pytest.raises(BadInput, match="not a graph"):
        Graph.from_json(value)


@pytest.mark.parametrize(
    ("relation", "reason"),
    [
        (["slice", 1], "does not suit"),
        (["slice", 9, 0, 1], "does not suit"),
        (["slide"], "unknown relation"),
        (["permute", 0, 2.0, 1, 3], "expected a relation"),
        (["permute", 0, "2", 1, 3], "unknown relation"),
        (["permute", 0, True, 1, 3], "expected a relation"),
        (["pad", 1], "does not suit"),
        (["cat", 1], "does not suit"),
        ([["same"]], "expected a relation"),
        (7, "not iterable"),
    ],
)
def test_relations_that_make_no_sense_are_refused(relation: Any, reason: str) -> None:
    data = moved().to_json()
    part = next(row for op in data["operators"] for row in op["parts"] if row[1] == "pad")
    part[4] = relation
    with pytest.raises(BadInput, match=reason):
        Graph.from_json(data)


def test_parts_that_read_what_is_not_there_are_refused() -> None:
    data = moved().to_json()
    part = next(row for op in data["operators"] for row in op["parts"] if row[1] == "pad")
    part[3] = ["nobody"]
    with pytest.raises(BadInput, match="out of place"):
        Graph.from_json(data)


def test_graphs_of_version_1_load() -> None:
    data = moved().to_json() | {"version": 1}
    for op in data["operators"]:
        op["parts"] = [row[:2] for row in op["parts"]]
    found = Graph.from_json(data)
    assert not any(part.detailed for op in found.operators for part in op.parts)
    assert Graph.from_json(found.to_json()) == found


@pytest.mark.parametrize("version", [0, 4, "2", True, None, [1]])
def test_other_versions_are_refused(version: Any) -> None:
    with pytest.raises(BadInput, match="graph version"):
        Graph.from_json(moved().to_json() | {"version": version})


@given(trace=traces())
def test_equal_graphs_have_equal_digests(trace: CallTrace) -> None:
    graph = to_graph(trace, "fused")
    assert Graph.from_json(graph.to_json()).digest == graph.digest
    assert graph.with_bytes_per_element(4).digest != graph.digest
