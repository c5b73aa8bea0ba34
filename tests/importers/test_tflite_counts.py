"""MACs and element types of `.tflite` files, beside a reader that shares nothing with ours."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

import planners as sp
from tests.audits.cure.networks import NETWORKS, drawn
from tests.importers.tflite_counts import counted, differing


@pytest.mark.parametrize("granularity", ["aten", "fused"])
@pytest.mark.parametrize("name", [*NETWORKS, *range(10)])
def test_networks_of_ours(name: str | int, granularity: str, tmp_path: Path) -> None:
    writer = drawn(name, 12) if isinstance(name, int) else NETWORKS[name]()
    path = writer.save(tmp_path / "net.tflite")
    agree(path, granularity)


@pytest.mark.parametrize("package", ["tflite_micro", "mediapipe"])
def test_models_of_packages(package: str) -> None:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"needs {package}")
    paths = sorted(Path(found.submodule_search_locations[0]).rglob("*.tflite"))
    assert paths
    for path in paths:
        agree(path, "aten")


def agree(path: Path, granularity: str) -> None:
    own, graph = counted(path), sp.load(path, granularity=granularity)
    assert own.macs > 0
    assert sum(op.macs for op in graph.operators) == own.macs
    assert differing(graph, own) == []
    if granularity == "aten":  # every value is there
        known = {*graph.tensors, *(name.rpartition(":")[0] for name in graph.tensors)}
        assert {own.tensors[n][0] for n in own.made} <= known


def test_differences_are_seen(tmp_path: Path) -> None:
    path = NETWORKS["residual"]().save(tmp_path / "net.tflite")
    own, graph = counted(path), sp.load(path)
    name, tensor = next((n, t) for n, t in graph.tensors.items() if t.kind == "activation")
    wrong = {**graph.tensors, name: replace(tensor, dtype="int16")}
    assert differing(replace(graph, tensors=wrong), own) == [name]
