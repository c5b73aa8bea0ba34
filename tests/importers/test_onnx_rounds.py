"""Loops and scans of known rounds: as many operators as they run, and what they stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import planners as sp
from planners.importers.onnx import loop_rounds, values
from tests.importers.onnx_models import X, model, node, value, write
from tests.importers.onnx_rounds import examined


@pytest.mark.parametrize("seed", range(24))
def test_each_round_is_operators_of_its_own(tmp_path: Path, seed: int) -> None:
    """`python -m tests.importers.onnx_rounds` draws more, and asks onnxruntime."""
    assert examined(seed, tmp_path / "rounds.onnx") == "right"


def doubling(most: str = "n", gives: str = "y", body: Any = None) -> list[Any]:
    """What is carried is doubled; where `gives` has two names, each round's is stacked too."""
    ends = [value("on", [], TensorProto.BOOL), value("d", None), value("d", None)]
    starts = [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL)]
    inside = [node("Add", "s s", "d"), node("Identity", "go", "on")]
    graph = helper.make_graph(
        inside, "body", [*starts, value("s", None)], ends[: 1 + len(gives.split())]
    )
    return [node("Loop", f"{most} _ x", gives, body=body or graph)]


def read(nodes: list[Any], folder: Path, count: int, gives: str = "y") -> sp.Graph:
    made = model(nodes, X, dict.fromkeys(gives.split()), {"n": np.array(count)})
    return sp.from_onnx(write(made, folder))


def test_rounds_follow_each_other(tmp_path: Path) -> None:
    graph = read(doubling(gives="y all"), tmp_path, 3, "y all")
    assert graph.tensors["all"].shape == (3, *X["x"])
    assert [part.kind for op in graph.operators for part in op.parts].count("add") == 3


def test_rounds_that_cannot_be_read_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MOST_IN_ROUNDS", 20)
    with pytest.raises(sp.BadInput, match="its loops run more than 20 nodes"):
        read(doubling(), tmp_path, 9)
    monkeypatch.setattr(loop_rounds, "MOST_ROUNDS", 4)
    with pytest.raises(sp.BadInput, match="runs more than 4 rounds"):
        read(doubling(), tmp_path, 5)
    with pytest.raises(sp.BadInput, match="runs no round, and stacks what they give"):
        read(doubling(gives="y all"), tmp_path, 0, "y all")
    with pytest.raises(sp.BadInput, match="does not fit its body: other values"):
        read(doubling(gives="y all", body=doubling()[0].attribute[0].g), tmp_path, 2, "y all")
