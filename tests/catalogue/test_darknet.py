"""The five networks of the Demand Layering paper: our builders beside the public files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import planners as sp
from planners.catalogue.loading import trace
from planners.catalogue.names import default_inputs
from planners.catalogue.networks.darknet import NETWORKS
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.importers.darknet.cfg import parse, read_cfg
from planners.importers.darknet.layers import Network
from planners.importers.darknet.reader import section_of
from planners.papers.demand_layering.darknet_table import PRINTED, darknet_table

FILES = Path(__file__).parents[3] / "shared" / "data" / "darknet"


@cache
def imported(name: str) -> Graph:
    return trace(name, default_inputs(name), "fused")


def file_of(name: str) -> Path:
    path = FILES / f"{name.removeprefix('darknet_').replace('_', '-')}.cfg"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    return path


@pytest.mark.parametrize("name", NETWORKS)
def test_table_1_of_the_paper(name: str) -> None:
    row = darknet_table(name)
    assert row.name == name
    assert row.printed() == PRINTED[name]
    assert darknet_table(sp.load(name)) == row


@pytest.mark.parametrize("name", NETWORKS)
def test_builders_equal_the_public_files_layer_for_layer(name: str) -> None:
    path = file_of(name)
    network = parse(read_cfg(path), str(path), name)
    assert network == NETWORKS[name]()
    assert replace(darknet_table(path), name=name) == darknet_table(name)


@pytest.mark.parametrize("name", NETWORKS)
def test_shipped_graphs_are_what_is_imported_and_have_the_tables_size(name: str) -> None:
    graph = sp.load(name)
    assert graph == imported(name)
    parameters = [t for t in graph.tensors.values() if t.kind == "parameter"]
    assert 4 * sum(t.elements for t in parameters) == darknet_table(graph).size_bytes


@pytest.mark.parametrize("name", NETWORKS)
def test_operators_are_the_sections_of_the_network(name: str) -> None:
    """Shapes and MACs of the traced graph are those of the layers, section for section."""
    network, graph = NETWORKS[name](), sp.load(name)
    seen: dict[int, str] = {}
    macs: dict[int, int] = {}
    for op in graph.operators:
        number, kind = section_of(op) or (-1, "")
        assert network.layers[number].kind == kind
        seen[number] = op.outputs[0]
        macs[number] = macs.get(number, 0) + op.macs
    for number, value in seen.items():
        shape, layer = graph.tensors[value].shape, network.layers[number]
        assert shape == (1, *layer.shape[: 1 if layer.kind == "softmax" else 3])
        assert macs[number] == layer_macs(network, number)
    rest = [layer for i, layer in enumerate(network.layers) if i not in seen]
    assert {layer.kind for layer in rest} <= {"yolo", "cost", "route"}
    assert all(len(layer.reads) == 1 for layer in rest)
    widening = name == "darknet_resnet152"  # four shortcuts, each a sum and a join
    assert len(graph.operators) == len(seen) + 4 * widening
    assert len(graph.outputs) == len(network.ends())


def layer_macs(network: Network, number: int) -> int:
    layer = network.layers[number]
    return layer.weights * layer.shape[1] * layer.shape[2]


@pytest.mark.parametrize("name", ["yolov3", "darknet_resnet152"])
def test_an_imported_file_is_the_same_graph(name: str, tmp_path: Path, monkeypatch) -> None:
    path = file_of(name)
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path))
    ours, theirs = sp.load(name), sp.from_darknet(path)
    assert (theirs.operators, theirs.tensors) == (ours.operators, ours.tensors)
    assert (theirs.inputs, theirs.outputs) == (ours.inputs, ours.outputs)
    assert darknet_table(theirs).printed() == PRINTED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yolov4", "darknet_resnet152"])
def test_they_run_bit_for_bit(name: str) -> None:
    graph = sp.load(name, input_shape=(1, 3, 64, 64))
    done = sp.execute(sp.plan(graph, budget="MH", schedule="default", time_limit=5))
    assert done.bit_exact
    assert all(value.isfinite().all() for value in done.outputs)


def test_notes_and_refusals() -> None:
    assert "identities" in sp.load("yolov4").source["note"]
    assert "note" not in sp.load("darknet_resnet152").source
    with pytest.raises(BadInput, match="yolov3 cannot take the input 1x3x100x100"):
        sp.load("yolov3", input_shape=(1, 3, 100, 100))
    with pytest.raises(BadInput, match="'alexnet' is no Darknet network: yolov3, "):
        darknet_table(sp.load("alexnet"))
