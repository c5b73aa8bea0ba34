"""Graphs that make no sense are refused, with the name of what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import planners as sp
from tests.cell import cell

TENSORS = {
    "x": sp.Tensor("x", (4,), "input"),
    "w": sp.Tensor("w", (4,), "parameter"),
    "y": sp.Tensor("y", (4,)),
    "z": sp.Tensor("z", (4,)),
}
FIRST = sp.Operator("first", "conv1d", ("x",), ("y",), ("w",), 4, (3,), (1,), (1,), (1,))
SECOND = sp.Operator("second", "relu", ("y",), ("z",))


def graph_of(first: sp.Operator, second: sp.Operator = SECOND, **changes: Any) -> sp.Graph:
    fields = {"tensors": TENSORS, "inputs": ("x",), "outputs": ("z",)} | changes
    return sp.Graph("net", operators=(first, second), **fields)


def test_the_graph_itself_is_right() -> None:
    assert sp.Graph.from_json(graph_of(FIRST).to_json()) == graph_of(FIRST)


@pytest.mark.parametrize(
    ("first", "second", "changes", "says"),
    [
        (replace(FIRST, inputs=("x", "w"), parameters=()), SECOND, {}, "lists 'w' wrongly"),
        (FIRST, replace(SECOND, inputs=(), parameters=("y",)), {}, "lists 'y' wrongly"),
        (replace(FIRST, stride=(1, 1)), SECOND, {}, "axes missing"),
        (replace(FIRST, groups=0), SECOND, {}, "groups 0"),
        (replace(FIRST, macs=10**400), SECOND, {}, "MACs"),
        (FIRST, SECOND, {"outputs": ("z", "w")}, "is a parameter"),
        (FIRST, SECOND, {"bytes_per_element": 2**52}, "more than 2\\*\\*53 bytes"),
    ],
)
def test_what_makes_no_sense(
    first: sp.Operator, second: sp.Operator, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(sp.BadInput, match=says):
        graph_of(first, second, **changes)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({}, "state 'hidden' has no new value"),
        ({"hidden": "new", "x": "new"}, "state 'x' has no new value, or is no tensor of kind"),
        ({"hidden": "hidden"}, "new value of state 'hidden' is not an output of an operator"),
        ({"hidden": 3}, "new value of state 'hidden' is not an output of an operator"),
    ],
)
def test_state_has_a_new_value(state: dict[str, Any], says: str) -> None:
    with pytest.raises(sp.BadInput, match=says):
        sp.Graph.from_json(cell().to_json() | {"state": state})
    wider = {**cell().tensors, "new": sp.Tensor("new", (1, 5))}
    with pytest.raises(sp.BadInput, match="has another shape or type"):
        replace(cell(), tensors=wider)


def test_graphs_without_state_are_written_as_before() -> None:
    assert cell().to_json()["version"] == 3
    assert graph_of(FIRST).to_json()["version"] == 2
    assert "state" not in graph_of(FIRST).to_json()
