"""Models exported to ONNX are the graphs that the torch importer makes of them."""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import planners as sp
from planners.catalogue import torch_models
from planners.core.access import detailed, needs
from planners.core.graph import Graph
from planners.importers.torch.reader import from_torch
from tests.importers.few_blocks import few_blocks

WHOLE = "resnet18 mobilenet_v2 googlenet efficientnet_b0 densenet121".split()
SMALL = "resnet mobilenet inception efficientnet densenet vit".split()


def export(module: nn.Module, shape: tuple[int, ...], path: Path, **options: Any) -> Path:
    """A module as an ONNX file, without torch's dynamo: that needs onnxscript."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), (torch.zeros(shape),), str(path), dynamo=False, **options)
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Graph]]:
    """A model by name as a file, and as the torch importer's graph; each made once."""
    folder = tmp_path_factory.mktemp("onnx")

    @functools.cache
    def made(name: str) -> tuple[Path, Graph]:
        shape = (1, 3, 64, 64)
        torch.manual_seed(0)
        module = few(name) if name in SMALL else empty(name)
        path = export(module, shape, folder / f"{name}.onnx")
        return path, from_torch(module, (torch.zeros(shape),))

    return made


def empty(name: str) -> nn.Module:
    """A catalogue model with weights that differ: an exporter keeps one of those that do not."""
    return varied(torch_models.empty_module(name).to_empty(device="cpu"))


def varied(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.fill_(1)
            tensor.view(-1)[:1] = random.random()
    return module


def transformer() -> nn.Module:
    """Torchvision's vision transformer, with one small layer."""
    kind = type(torch_models.empty_module("vit_b_16"))
    return varied(kind(64, 16, num_layers=1, num_heads=4, hidden_dim=32, mlp_dim=64))


def few(name: str) -> nn.Module:
    return transformer() if name == "vit" else varied(few_blocks(name))


def facts(graph: Graph) -> list[Any]:
    """All that planners see of operators, without names and parameters, in order."""
    place = {name: i for i, name in enumerate(n for n, t in graph.tensors.items() if own(t))}
    return [
        (
            op.kind,
            [place[name] for name in (*op.inputs, *op.outputs)],
            [graph.tensors[name].shape for name in (*op.inputs, *op.outputs)],
            [graph.tensors[name].dtype for name in (*op.inputs, *op.outputs)],
            (op.macs, op.kernel, op.stride, op.padding, op.dilation, op.groups),
            op.block,
        )
        for op in graph.operators
    ]


def own(tensor: sp.Tensor) -> bool:
    return tensor.kind != "parameter"


def reads(graph: Graph) -> list[Any]:
    """What each operator reads of its inputs for the first and for a middle row of its output."""
    found = []
    for op in graph.operators:
        shape = graph.tensors[op.outputs[0]].shape
        axis = min(2, len(shape) - 1)
        for row in (0, shape[axis] // 2):
            box = tuple((row, row + 1) if i == axis else (0, n) for i, n in enumerate(shape))
            boxes = dict(needs(graph, op, op.outputs[0], box))
            found.append([boxes.get(name) for name in op.inputs])
    return found


def budgets(graph: Graph, **options: bool) -> Any:
    """The budgets, without names."""
    return replace(sp.budgets(graph, **options), binding_operator="")


@pytest.mark.parametrize(
    "name",
    [*SMALL, "squeezenet1_1", *(pytest.param(n, marks=pytest.mark.long) for n in WHOLE)],
)
def test_an_exported_model_is_the_same_graph(name: str, exported: Any) -> None:
    path, theirs = exported(name)
    graph = sp.from_onnx(path, bytes_per_element=1)
    assert facts(graph) == facts(theirs)
    assert graph.macs == theirs.macs
    assert reads(graph) == reads(theirs)
    if len(graph.operators) < 100:  # they follow from the facts
        assert budgets(graph) == budgets(theirs)
    assert graph.source.get("opaque") is None
    assert sp.Graph.from_json(graph.to_json()) == graph


@pytest.mark.parametrize("name", ["squeezenet1_1", "vit"])
def test_without_batch_norm_the_weights_are_the_same(name: str, exported: Any) -> None:
    path, theirs = exported(name)
    graph = sp.from_onnx(path, bytes_per_element=1)
    shapes = [
        [g.tensors[p].shape for op in g.operators for p in op.parameters] for g in (graph, theirs)
    ]
    assert shapes[0] == shapes[1]
    assert budgets(graph, parameters=True) == budgets(theirs, parameters=True)


@pytest.mark.parametrize("granularity", ["folded", "aten"])
def test_granularities(granularity: str, exported: Any) -> None:
    path, _ = exported("squeezenet1_1")
    theirs = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64), granularity=granularity)
    graph = sp.from_onnx(path, granularity=granularity, bytes_per_element=1)
    views = {"view", "flatten", "transpose"}
    kinds = [[op.kind for op in g.operators if op.kind not in views] for g in (graph, theirs)]
    assert [kind for kind in kinds[0] if kind != "reshape"] == kinds[1]
    assert len(graph.operators) == len(theirs.operators)
    assert budgets(graph) == budgets(theirs)
    with pytest.raises(sp.BadInput, match="granularity 'fine' is not one of"):
        sp.from_onnx(path, granularity="fine")


def test_plans_are_the_same(tmp_path: Path) -> None:
    halves = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU6(), nn.Conv2d(8, 4, 1))
    module = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), halves, nn.MaxPool2d(2))
    path = export(varied(module), (1, 3, 32, 32), tmp_path / "m.onnx")
    graph, theirs = (
        sp.from_onnx(path, bytes_per_element=1),
        from_torch(module, (torch.zeros(1, 3, 32, 32),)),
    )
    for planner, budget in (("fusion", "2KiB"), ("overlap", "8KiB"), ("cosma", "MR")):
        plans = [sp.plan(g, planner, budget, time_limit=600) for g in (graph, theirs)]
        assert plans[0].claims.objective_bytes == plans[1].claims.objective_bytes, planner
        assert sp.check(plans[0]).compulsory_bytes == sp.check(plans[1]).compulsory_bytes


def test_batch_norm_that_was_not_folded(tmp_path: Path) -> None:
    layers = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4))
    module = varied(nn.Sequential(*layers))
    mode = torch.onnx.TrainingMode.PRESERVE
    path = export(module, (1, 3, 8, 8), tmp_path / "m.onnx", training=mode)
    graph, theirs = (
        sp.from_onnx(path, bytes_per_element=1),
        from_torch(module, (torch.zeros(1, 3, 8, 8),)),
    )
    assert facts(graph) == facts(theirs)
    parts = [[part.kind for part in op.parts] for op in graph.operators]
    assert parts == [["conv2d", "batch_norm", "relu"], ["batch_norm"]]
    assert graph.parameter_count == theirs.parameter_count


class Mixed(nn.Module):
    """What exporters write out in many ways: activations, arithmetic, moves."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(12, 12)
        self.norm = nn.LayerNorm(12)
        self.free = nn.Linear(12, 12, bias=False)
        self.conv = nn.Conv2d(12, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, x: torch.Tensor) -> Any:
        x = functional.silu(self.linear(x)) + functional.gelu(self.free(x))
        x = functional.mish(self.norm(x)) * 0.5
        x = functional.hardswish(x[:, 1:5, ::2]).permute(0, 3, 1, 2)
        a, b = functional.pad(self.conv(x), (1, 1, 1, 1)).chunk(2, 1)
        up = functional.interpolate(a, scale_factor=2, mode="nearest")
        smooth = functional.interpolate(b, size=(12, 12), mode="bilinear", align_corners=False)
        x = torch.cat([up, smooth], 1)
        mean = x.mean((2, 3), keepdim=True)
        return self.up(torch.softmax(x - mean, -1)).flatten(2), x.amax(1)


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
def test_the_forms_of_old_and_new_operator_sets(opset: int, tmp_path: Path) -> None:
    module, shape = varied(Mixed()), (2, 6, 7, 12)
    graph = sp.from_onnx(
        export(module, shape, tmp_path / "m.onnx", opset_version=opset), bytes_per_element=1
    )
    theirs = from_torch(module, (torch.zeros(shape),))
    assert facts(graph) == facts(theirs)
    assert graph.parameter_count == theirs.parameter_count
    assert reads(graph) == reads(theirs)
    assert any(detailed(op) for op in graph.operators)


def test_sizes_left_open_are_followed(tmp_path: Path) -> None:
    module = transformer()
    axes = {"x": {0: "batch"}}
    path = tmp_path / "m.onnx"
    export(module, (1, 3, 64, 64), path, input_names=["x"], dynamic_axes=axes)
    with pytest.raises(sp.BadInput, match=r"'x' leaves 'batch' \(axis 0\) open"):
        sp.from_onnx(path)
    graph = sp.from_onnx(path, (3, 3, 64, 64), bytes_per_element=1)
    theirs = from_torch(module, (torch.zeros(3, 3, 64, 64),))
    assert [fact[0] for fact in facts(graph)] == [fact[0] for fact in facts(theirs)]
    assert (graph.macs, budgets(graph)) == (theirs.macs, budgets(theirs))


def plain() -> nn.Module:
    layers = (nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 8, 3, groups=8), nn.MaxPool2d(3))
    return varied(nn.Sequential(*layers, nn.Flatten(), nn.Linear(800, 4)))


@pytest.fixture(scope="module")
def dynamo(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its first export finds out all that it can export, whatever it is given."""
    pytest.importorskip("onnxscript")
    by_dynamo(nn.ReLU(), tmp_path_factory.mktemp("dynamo") / "m.onnx")


def by_dynamo(module: nn.Module, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), (torch.zeros(1, 3, 64, 64),), str(path), dynamo=True)


@pytest.mark.usefixtures("dynamo")
@pytest.mark.parametrize("make", [plain, pytest.param(transformer, marks=pytest.mark.long)])
def test_what_dynamo_exports(make: Callable[[], nn.Module], tmp_path: Path) -> None:
    module, path = make(), tmp_path / "m.onnx"
    by_dynamo(module, path)
    graph, theirs = (
        sp.from_onnx(path, bytes_per_element=1),
        from_torch(module, (torch.zeros(1, 3, 64, 64),)),
    )
    assert [fact[:-1] for fact in facts(graph)] == [fact[:-1] for fact in facts(theirs)]
    assert budgets(graph) == budgets(theirs)
