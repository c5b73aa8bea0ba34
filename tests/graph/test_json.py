"""Graphs as JSON: whatever is not a graph is `BadInput`, and nothing else is raised."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.errors import BadInput
from planners.graph.model import Graph, Tensor
from planners.graph.passes import Trace, to_graph
from tests.graph.traces import SHAPE, call, traces

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


def small() -> Graph:
    calls = (call("a", "conv2d", "x", "w"), call("b", "relu", "a", unary=True))
    inputs, weights = (Tensor("x", SHAPE, "input"),), (Tensor("w", (4,), "parameter"),)
    return to_graph(Trace("net", inputs, weights, calls, ("b",)), "folded")


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a JSON value."""
    keys = data.keys() if isinstance(data, dict) else range(len(data) if type(data) is list else 0)
    return [path] + [found for key in keys for found in places(data[key], (*path, key))]


@given(data=st.data(), value=_JSON)
def test_damaged_graphs_are_bad_input(data: st.DataObject, value: Any) -> None:
    broken = copy.deepcopy(small().to_json())
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


@given(trace=traces())
def test_equal_graphs_have_equal_digests(trace: Trace) -> None:
    graph = to_graph(trace, "fused")
    assert Graph.from_json(graph.to_json()).digest == graph.digest
    assert graph.with_bytes_per_element(4).digest != graph.digest
