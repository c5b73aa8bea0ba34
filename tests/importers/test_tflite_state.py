"""What a resource variable is assigned: views, inputs, constants and what others hold, too."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planners as sp
from planners.importers.tflite.source_model import TfliteModel
from tests.importers.tflite_models import TfliteWriter

Step = Callable[[TfliteWriter, int, list[np.ndarray]], int]
"""Assigns something of a joined map and says what: its tensor; the list takes NumPy's answer."""


def variable(w: TfliteWriter, name: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """The handle of a variable and what is read from it."""
    handle = w.tensor((1,), "resource", name=f"{name} handle")
    w.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName=name)
    return handle, w.operator("READ_VARIABLE", [handle], [w.tensor(shape, name=name)])


def assign(w: TfliteWriter, handle: int, value: int) -> None:
    w.operators.append(("ASSIGN_VARIABLE", [handle, value], [], "", {}))


def last_rows(w: TfliteWriter, kind: str, joined: int, rows: int, shape: tuple[int, ...]) -> int:
    """The rows of a joined map behind its first ones, by one of the operators that are views."""
    whole, rank, first = w.tensors[joined]["shape"], len(shape), [0] * len(shape)
    first[1] = whole[1] - rows
    kept = w.tensor(shape, name="kept")
    if kind == "STRIDED_SLICE":
        more = [w.numbers(first), w.numbers(whole), w.numbers([1] * rank)]
        return w.operator(kind, [joined, *more], [kept], "StridedSliceOptions")
    if kind == "SLICE":
        return w.operator(kind, [joined, w.numbers(first), w.numbers([-1] * rank)], [kept])
    left = (whole[0], whole[1] - rows, *whole[2:])
    if kind == "SPLIT":
        parts = [w.tensor(left), kept]
        w.operator(kind, [w.numbers([1]), joined], parts, "SplitOptions", NumSplits=2)
        return kept
    if kind == "SPLIT_V":
        sizes = w.numbers([left[1], rows])
        parts = [w.tensor(left), kept]
        w.operator(kind, [joined, sizes, w.numbers([1])], parts, "SplitVOptions", NumSplits=2)
        return kept
    flat = w.tensor((1, prod(shape)))  # a view of a view
    w.operator("RESHAPE", [last_rows(w, "SLICE", joined, rows, shape), w.numbers([1, -1])], [flat])
    return w.operator("RESHAPE", [flat, w.numbers(shape)], [kept])


SHAPES = [((1, 2, 1, 4), (1, 1, 1, 4)), ((1, 3, 5), (1, 3, 5)), ((1, 2, 3, 2), (1, 2, 3, 2))]
VIEWS = ["STRIDED_SLICE", "SLICE", "SPLIT", "SPLIT_V", "RESHAPE"]
ALSO = ["alone", "read", "returned", "read and returned"]


CASES = [
    (view, kept, given)
    for view in VIEWS
    for kept, given in SHAPES
    if view != "SPLIT" or kept == given  # it cuts into equal parts
]


@pytest.mark.parametrize(
    ("view", "kept", "given", "also"),
    [
        pytest.param(*case, also, marks=pytest.mark.long if at != number % len(ALSO) else ())
        for number, case in enumerate(CASES)
        for at, also in enumerate(ALSO)
    ],
)
def test_rows_that_stay_are_state(
    view: str, kept: tuple[int, ...], given: tuple[int, ...], also: str, tmp_path: Path
) -> None:
    """The last rows of what a variable held and what comes; NumPy's three runs beside it."""
    w = TfliteWriter()
    w.inputs = [w.tensor(given, name="x")]
    handle, before = variable(w, "ring", kept)
    whole = (kept[0], kept[1] + given[1], *kept[2:])
    joined = w.tensor(whole, name="joined")
    w.operator("CONCATENATION", [before, w.inputs[0]], [joined], "ConcatenationOptions", Axis=1)
    after = last_rows(w, view, joined, kept[1], kept)
    assign(w, handle, after)
    w.outputs = [w.operator("RELU", [joined], [w.tensor(whole, name="y")])]
    if "read" in also.split():
        w.outputs += [w.operator("TANH", [after], [w.tensor(kept, name="z")])]
    w.outputs += [after] if "returned" in also else []
    path = w.save(tmp_path / "ring.tflite")
    for granularity in ("fused", "aten"):
        graph = sp.load(path, granularity=granularity)
        (old, new), *none = graph.state.items()
        assert (old, none) == ("ring", [])
        assert graph.size_bytes(new) == graph.size_bytes(old) == 4 * prod(kept)
        assert graph.operators[graph.producer[new]].kind == "copy"
        for planner in ("cosma", "fusion"):
            plan = sp.plan(graph, planner, "4KiB", time_limit=60)
            sp.check(plan)
        _assert_runs(plan, path, kept, given, also)


def _assert_runs(
    plan: sp.Plan, path: Path, kept: tuple[int, ...], given: tuple[int, ...], also: str
) -> None:
    """Three runs, each from the rows that the one before kept, give what NumPy gives."""
    model, rng = TfliteModel(path), np.random.default_rng(7)
    held = np.zeros(kept, np.float32)
    for run in range(3):
        data = rng.standard_normal(given).astype(np.float32)
        both = np.concatenate([held, data], axis=1)
        before, held = held, both[:, -kept[1] :]
        expected = [np.maximum(both, 0)]
        expected += [np.tanh(held)] if "read" in also.split() else []
        expected += [held] if "returned" in also else []
        state = np.moveaxis(before, -1, 1) if len(kept) == 4 else before
        known = {**model.input_values([data]), "ring": _tensor(state)}
        values = {**known, **model.run(known, [*model.found.outputs, plan.graph.state["ring"]])}
        new = values[plan.graph.state["ring"]].numpy()
        assert np.array_equal(np.moveaxis(new, 1, -1) if new.ndim == 4 else new, held)
        for found, wanted in zip(model.outputs(values), expected, strict=True):
            assert np.allclose(found, wanted, atol=1e-6)
        if run == 0:  # a plan begins with what the file says
            done = sp.execute(plan, path, [data])
            assert done.bit_exact
            assert np.array_equal(done.state["ring"].numpy(), new)
            for found, wanted in zip(done.outputs, expected, strict=True):
                assert np.allclose(found, wanted, atol=1e-6)


def _tensor(array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))


@pytest.mark.parametrize("what", ["input", "constant", "other", "itself", "twice", "nothing"])
def test_a_variable_takes_what_no_operator_makes(what: str, tmp_path: Path) -> None:
    """The runtime copies it; a run begins with zeros."""
    w = TfliteWriter()
    x = w.tensor((1, 4), name="x")
    w.inputs = [x]
    (one, held), (other, more) = variable(w, "one", (1, 4)), variable(w, "other", (1, 4))
    total = w.operator("ADD", [held, x], [w.tensor((1, 4), name="sum")], "AddOptions")
    w.outputs = [w.operator("ADD", [total, more], [w.tensor((1, 4), name="y")], "AddOptions")]
    constant = w.tensor((1, 4), data=np.array([[1, 2, 3, 4]], np.float32), name="c")
    values = {"input": x, "constant": constant, "other": more, "itself": held, "twice": total}
    if what != "nothing":
        assign(w, one, values[what])
    assign(w, other, total)
    path = w.save(tmp_path / "takes.tflite")
    graph = sp.load(path)
    data = np.array([[5, 6, 7, 8]], np.float32)
    done = sp.execute(sp.plan(graph, "cosma", "1KiB"), path, [data])
    expected = {"input": data, "constant": np.array([[1, 2, 3, 4]]), "twice": data}
    assert done.bit_exact
    assert np.array_equal(done.state["one"].numpy(), expected.get(what, np.zeros((1, 4))))
    assert np.array_equal(done.state["other"].numpy(), data)
    assert np.array_equal(done.outputs[0], data)
    assert len(set(graph.state.values())) == 2


def test_a_new_value_of_another_shape_is_refused(tmp_path: Path) -> None:
    w = TfliteWriter()
    w.inputs = [w.tensor((1, 4), name="x")]
    handle, before = variable(w, "ring", (1, 4))
    w.outputs = [w.operator("ADD", [before, w.inputs[0]], [w.tensor((1, 4))], "AddOptions")]
    assign(w, handle, w.operator("RESHAPE", [w.inputs[0]], [w.tensor((2, 2))], "ReshapeOptions"))
    with pytest.raises(sp.BadInput, match="new value of state 'ring' has another shape or type"):
        sp.load(w.save(tmp_path / "other.tflite"))
