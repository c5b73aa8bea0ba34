"""Subgraphs that others call, and variables with what they begin as."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import planners as sp
from tests.importers.tflite_models import TfliteWriter


def doubling(rows: int = 2) -> TfliteWriter:
    """x + x, then its ReLU."""
    w = TfliteWriter()
    x = w.tensor((1, rows), name="x")
    total = w.operator("ADD", [x, x], [w.tensor((1, rows), name="sum")], "AddOptions")
    w.inputs, w.outputs = [x], [w.operator("RELU", [total], [w.tensor((1, rows), name="y")])]
    return w


def calling(kind: str = "CALL", options: str = "CallOptions", **given: object) -> TfliteWriter:
    w = TfliteWriter(others=[doubling()])
    x = w.tensor((1, 2), name="x")
    w.inputs = [x]
    more = [w.tensor((1,), "bool", np.array([True]))] if kind == "IF" else []
    given = given or {"Subgraph": 1}
    once = w.operator(kind, [*more, x], [w.tensor((1, 2), name="once")], options, **given)
    w.outputs = [w.operator(kind, [*more, once], [w.tensor((1, 2), name="z")], options, **given)]
    return w


@pytest.mark.parametrize(
    "writer",
    [
        calling(),
        calling("IF", "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=7),
        calling(
            "STABLEHLO_COMPOSITE",
            "StableHLOCompositeOptions",
            Name="drawn.twice",
            DecompositionSubgraphIndex=1,
            CompositeAttributes=b"\0$\1",  # none
        ),
    ],
)
def test_what_is_called_is_read_in_its_place(writer: TfliteWriter, tmp_path: Path) -> None:
    path = writer.save(tmp_path / "calls.tflite")
    graph = sp.load(path, granularity="aten")
    assert [op.kind for op in graph.operators] == ["add", "relu"] * 2
    done = sp.execute(sp.plan(graph, "cosma", "1KiB"), path, [np.array([[3, -1]], np.float32)])
    assert done.outputs[0].tolist() == [[12, 0]]
    assert done.bit_exact


def test_calls_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "calls.tflite"
    for writer, words in (
        (calling(Subgraph=5), "runs subgraph 5, which is not there"),
        (calling(Subgraph=0), "runs subgraph 0, which is not there or runs itself"),
        (calling("WHILE", "WhileOptions", CondSubgraphIndex=1), "is control flow"),
    ):
        writer.save(path)
        with pytest.raises(sp.BadInput, match=words):
            sp.load(path)
    endless = calling()
    inner = endless.others[0]
    inner.operators[0] = ("CALL", [0], [1], "CallOptions", {"Subgraph": 1})
    endless.save(path)
    with pytest.raises(sp.BadInput, match="runs itself"):
        sp.load(path)
    wide = calling()
    wide.others[0].inputs.append(1)
    wide.save(path)
    with pytest.raises(sp.BadInput, match="does not fit subgraph 1: other inputs"):
        sp.load(path)
    through = calling()
    through.others[0].outputs = through.others[0].inputs
    through.save(path)
    with pytest.raises(sp.BadInput, match="hands on what it is given"):
        sp.load(path)


def test_calls_of_calls_are_bounded(tmp_path: Path) -> None:
    """Subgraphs that each call the next a hundred times would be many."""
    w = TfliteWriter()
    x = w.tensor((1, 2), name="x")
    w.inputs, w.outputs = [x], [w.operator("RELU", [x], [w.tensor((1, 2), name="y")])]
    w.operators += [("CALL", [], [], "CallOptions", {"Subgraph": 1})]
    for k in range(2, 12):
        inner = TfliteWriter()
        inner.operators = [("CALL", [], [], "CallOptions", {"Subgraph": k})] * 100
        w.others.append(inner)
    w.others.append(TfliteWriter())
    with pytest.raises(sp.BadInput, match="calls subgraphs more than 65536 times"):
        sp.load(w.save(tmp_path / "many.tflite"))


@pytest.mark.parametrize("begins", [None, [5.0, 7.0]])
def test_a_variable_begins_as_the_file_says(begins: list[float] | None, tmp_path: Path) -> None:
    """A running sum in a resource variable; zero where nothing is said."""
    w = TfliteWriter()
    if begins is not None:
        first = TfliteWriter()
        handle = first.tensor((1,), "resource", name="h")
        first.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName="total")
        value = first.tensor((1, 2), data=np.array([begins], np.float32), name="v")
        first.operators.append(("ASSIGN_VARIABLE", [handle, value], [], "", {}))
        w.others.append(first)
        w.operators.append(("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}))
    x = w.tensor((1, 2), name="x")
    w.inputs = [x]
    handle = w.tensor((1,), "resource", name="h")
    w.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName="total")
    before = w.operator("READ_VARIABLE", [handle], [w.tensor((1, 2), name="before")])
    after = w.operator("ADD", [before, x], [w.tensor((1, 2), name="after")], "AddOptions")
    w.operators.append(("ASSIGN_VARIABLE", [handle, after], [], "", {}))
    w.outputs = [w.operator("RELU", [after], [w.tensor((1, 2), name="y")])]
    path = w.save(tmp_path / "variable.tflite")
    graph = sp.load(path)
    assert graph.state == {"before": "after"}
    done = sp.execute(sp.plan(graph, "cosma", "1KiB"), path, [np.array([[1, 2]], np.float32)])
    expected = np.array([[1, 2]]) + (begins or [0, 0])
    assert np.array_equal(done.outputs[0], expected)
    assert np.array_equal(done.state["before"].numpy(), expected)
    assert done.bit_exact
