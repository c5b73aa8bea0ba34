"""The five networks of the Demand Layering paper: our builders beside the public files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from torch.utils._pytree import tree_leaves

import planners as sp
from planners.catalogue import torch_models
from planners.catalogue.loading import trace
from planners.catalogue.names import default_inputs
from planners.catalogue.networks.darknet import NETWORKS
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.importers.darknet.cfg import parse, read_cfg
from planners.importers.darknet.layers import Network
from planners.importers.darknet.reader import module_of
from planners.papers.demand_layering.paper import TABLE_1
from planners.papers.demand_layering.sections import darknet_table
from tests.importers.darknet_sections import section_of

FILES = Path(__file__).parents[3] / "shared" / "data" / "darknet"
FIRST = 14
"""Layers of a network's beginning: convolutions, a residual or dense block, routes or joins."""


@cache
def imported(name: str) -> Graph:
    return trace(name, default_inputs(name), "fused")


def beginning(name: str, layers: int = FIRST) -> Network:
    network = NETWORKS[name]()
    return replace(network, layers=network.layers[:layers])


def assert_it_begins(whole: Graph, first: Graph) -> None:
    """The operators of one graph are the first of another, and so are their tensors."""
    count = len(first.operators)
    assert count > FIRST // 2
    assert first.operators == whole.operators[:count]
    ends = set(first.outputs)
    assert all(tensor == whole.tensors[n] for n, tensor in first.tensors.items() if n not in ends)
    assert all(first.tensors[n].shape == whole.tensors[n].shape for n in ends)
    assert first.inputs == whole.inputs


def file_of(name: str) -> Path:
    path = FILES / f"{name.removeprefix('darknet_').replace('_', '-')}.cfg"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    return path


@pytest.mark.parametrize("name", NETWORKS)
def test_table_1_of_the_paper(name: str) -> None:
    row = darknet_table(name)
    assert row.name == name
    assert row.printed() == TABLE_1[name]
    assert darknet_table(sp.load(name)) == row


@pytest.mark.parametrize("name", NETWORKS)
def test_builders_equal_the_public_files_layer_for_layer(name: str) -> None:
    path = file_of(name)
    network = parse(read_cfg(path), str(path), name)
    assert network == NETWORKS[name]()
    assert replace(darknet_table(path), name=name) == darknet_table(name)


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        pytest.param(name, whole, marks=pytest.mark.long if whole else ())
        for name in NETWORKS
        for whole in (False, True)
    ],
)
def test_shipped_graphs_are_what_is_imported_and_have_the_tables_size(
    name: str, whole: bool
) -> None:
    graph = sp.load(name)
    if whole:
        assert graph == imported(name)
    else:
        image = torch_models.empty_inputs(default_inputs(name))
        first = sp.from_torch(module_of(beginning(name)), image, bytes_per_element=1)
        assert_it_begins(graph, first)
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


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        *((name, FIRST) for name in NETWORKS),
        pytest.param("yolov3", None, marks=pytest.mark.long),
        pytest.param("darknet_resnet152", None, marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("own_cache")
def test_an_imported_file_is_the_same_graph(name: str, layers: int | None, tmp_path: Path) -> None:
    ours, path = sp.load(name), file_of(name)
    if layers is not None:
        sections = read_cfg(path).split("\n[")
        path = tmp_path / "first.cfg"
        path.write_text("\n[".join(sections[: 1 + layers]))
        theirs = sp.from_darknet(path)
        assert_it_begins(ours, theirs)
        assert darknet_table(theirs).size_bytes == darknet_table(path).size_bytes
        return
    theirs = sp.from_darknet(path)
    assert (theirs.operators, theirs.tensors) == (ours.operators, ours.tensors)
    assert (theirs.inputs, theirs.outputs) == (ours.inputs, ours.outputs)
    assert darknet_table(theirs).printed() == TABLE_1[name]


@pytest.mark.parametrize(
    ("name", "layers", "side"),
    [
        ("yolov4", FIRST, 32),
        ("darknet_resnet152", FIRST, 32),
        pytest.param("yolov4", None, 64, marks=pytest.mark.long),
        pytest.param("darknet_resnet152", None, 64, marks=pytest.mark.long),
    ],
)
def test_they_run_bit_for_bit(name: str, layers: int | None, side: int) -> None:
    shape = (1, 3, side, side)
    if layers is None:
        graph, model = sp.load(name, input_shape=shape), ()
    else:
        image = torch_models.random_inputs((shape,), seed=0)
        module = torch_models.random_module(beginning(name, layers), 0, image)
        graph, model = sp.from_torch(module, image), (module, image)
    done = sp.execute(sp.plan(graph, budget="MH", schedule="default", time_limit=600), *model)
    assert done.bit_exact
    assert all(value.isfinite().all() for value in tree_leaves(done.outputs))


DOWN = "[convolutional]\nfilters=4\nsize=3\nstride=2\npad=1\nactivation=leaky\n"
LADDER = (
    "[net]\nwidth=608\nheight=608\nchannels=3\n"
    f"{DOWN * 3}[upsample]\nstride=2\n[route]\nlayers=-1,-3\n"
)
"""A network that goes down and up as YOLOv3 does, so that it takes multiples of eight."""


def test_notes_and_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "identities" in sp.load("yolov4").source["note"]
    assert "note" not in sp.load("darknet_resnet152").source
    monkeypatch.setitem(NETWORKS, "yolov3", lambda: parse(LADDER, "ladder.cfg", "yolov3"))
    with pytest.raises(BadInput, match="yolov3 cannot take the input 1x3x100x100"):
        sp.load("yolov3", input_shape=(1, 3, 100, 100))
    with pytest.raises(BadInput, match="'alexnet' is no Darknet network: yolov3, "):
        darknet_table(sp.load("alexnet"))
