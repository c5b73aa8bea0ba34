"""Pads in front of windows are their padding, where that is the same to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import planners as sp
from planners.core.access import needs
from planners.core.boxes import Box
from planners.core.caveats import caveats
from planners.core.graph import Graph, Operator
from planners.importers.padding import graph_of, suits
from planners.importers.torch.trace import trace_module

INF = float("inf")


class Net(nn.Module):
    """A module of one function; layers are its own."""

    def __init__(self, run: Callable[[Net, Tensor], Any], *layers: nn.Module) -> None:
        super().__init__()
        self.run, self.layers = run, nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Any:
        return self.run(self, x)


def padded(pad: tuple[int, ...], value: float, *layers: nn.Module) -> Net:
    """What a pad gives, through each of these layers."""

    def run(net: Net, x: Tensor) -> Any:
        x = F.pad(x, pad, value=value)
        return tuple(layer(x) for layer in net.layers)

    return Net(run, *layers)


def read(module: nn.Module, shape: tuple[int, ...], **more: Any) -> Graph:
    return sp.from_torch(module.eval(), torch.zeros(shape), **more)


def windows(graph: Graph) -> list[tuple[str, tuple[int, ...]]]:
    return [(op.kind, op.padding) for op in graph.operators]


IMAGE = (1, 4, 9, 9)
FOLDED: dict[str, tuple[nn.Module, tuple[int, ...], list[tuple[str, tuple[int, ...]]]]] = {
    "behind alone": (
        padded((0, 1, 0, 1), 0.0, nn.Conv2d(4, 2, 3, 2)),
        IMAGE,
        [("conv2d", (0, 0))],
    ),
    "beside its own": (
        padded((1, 0, 0, 1), 0.0, nn.Conv2d(4, 2, 3, padding=1)),
        IMAGE,
        [("conv2d", (1, 2))],
    ),
    "groups and dilation": (
        padded((2, 2, 1, 1), 0.0, nn.Conv2d(4, 4, 3, dilation=2, groups=4)),
        IMAGE,
        [("conv2d", (1, 2))],
    ),
    "one axis": (padded((2, 0), 0.0, nn.Conv1d(4, 2, 3)), (1, 4, 9), [("conv1d", (2,))]),
    "three axes": (
        padded((1, 1, 0, 1, 1, 0), 0.0, nn.Conv3d(2, 2, 2)),
        (1, 2, 4, 4, 4),
        [("conv3d", (1, 0, 1))],
    ),
    "the greatest": (
        padded((1, 0, 1, 0), -INF, nn.MaxPool2d(3, 2)),
        IMAGE,
        [("max_pool2d", (1, 1))],
    ),
    "a mean of all": (
        padded((1, 1, 1, 1), 0.0, nn.AvgPool2d(3, 1)),
        IMAGE,
        [("avg_pool2d", (1, 1))],
    ),
    "several readers": (
        padded((1, 1, 1, 1), 0.0, nn.Conv2d(4, 2, 3), nn.Conv2d(4, 3, 2, 2)),
        IMAGE,
        [("conv2d", (1, 1)), ("conv2d", (1, 1))],
    ),
    "one behind the other": (
        Net(
            lambda net, x: net.layers[0](F.pad(F.pad(x, (1, 0)), (0, 1, 2, 2))), nn.Conv2d(4, 2, 4)
        ),
        IMAGE,
        [("conv2d", (2, 1))],
    ),
    "read without it too": (
        Net(
            lambda net, x: net.layers[0](F.pad(x, (1, 1, 1, 1))) + net.layers[1](x),
            *(nn.Conv2d(4, 2, 3), nn.Conv2d(4, 2, 1)),
        ),
        IMAGE,
        [("conv2d", (1, 1)), ("conv2d", (0, 0)), ("add", ())],
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_what_folds(name: str) -> None:
    module, shape, expected = FOLDED[name]
    graph, kept = read(module, shape), read(module, shape, fold_padding=False)
    assert windows(graph) == expected
    pads = len(kept.operators) - len(graph.operators)
    assert graph.source["folded_pads"] == pads >= 1
    assert graph.macs == kept.macs
    assert kept.source == {"fold_padding": False}
    for op in graph.operators:
        assert "pad" not in {part.kind for part in op.parts}


def twice(net: Net, x: Tensor) -> Any:
    y = F.pad(x, (1, 1, 1, 1))
    return net.layers[0](y), y.sum()


def by_itself(net: Net, x: Tensor) -> Any:
    return F.conv2d(F.pad(x, (1, 1, 1, 1)), x)


STAY: dict[str, nn.Module] = {
    "another value": padded((1, 1, 1, 1), 1.0, nn.Conv2d(4, 2, 3)),
    "a mirror": Net(
        lambda net, x: net.layers[0](F.pad(x, (1, 1, 1, 1), "reflect")), nn.Conv2d(4, 2, 3)
    ),
    "zero is not the least": padded((1, 1, 1, 1), 0.0, nn.MaxPool2d(3)),
    "nor after a relu": Net(lambda net, x: F.max_pool2d(F.pad(F.relu(x), (1, 1, 1, 1)), 3)),
    "means of what is there": padded(
        (1, 1, 1, 1), 0.0, nn.AvgPool2d(3, 1, count_include_pad=False)
    ),
    "means that end behind": padded((0, 1, 0, 1), 0.0, nn.AvgPool2d(2, 2)),
    "means rounded up": padded((1, 1, 1, 1), 0.0, nn.AvgPool2d(3, 3, ceil_mode=True)),
    "a convolution the other way": padded((1, 1, 1, 1), 0.0, nn.ConvTranspose2d(4, 2, 3)),
    "channels": padded((0, 0, 0, 0, 1, 1), 0.0, nn.Conv2d(6, 2, 3)),
    "less": padded((-1, 1, 1, 1), 0.0, nn.Conv2d(4, 2, 3)),
    "a window of zeros alone": padded((1, 1, 1, 1), 0.0, nn.Conv2d(4, 2, 1)),
    "somebody else": Net(twice, nn.Conv2d(4, 2, 3)),
    "an output": Net(
        lambda net, x: (y := F.pad(x, (1, 1, 1, 1)), net.layers[0](y)), nn.Conv2d(4, 2, 3)
    ),
    "one of two readers": padded((1, 1, 1, 1), 0.0, nn.Conv2d(4, 2, 3), nn.MaxPool2d(3)),
    "its data is the weight too": Net(by_itself),
    "something between": Net(
        lambda net, x: net.layers[0](F.pad(x, (1, 1, 1, 1)).cos()), nn.Conv2d(4, 2, 3)
    ),
}


@pytest.mark.parametrize("name", STAY)
def test_what_stays(name: str) -> None:
    shape = (4, 4, 3, 3) if "weight" in name else IMAGE
    graph = read(STAY[name], shape)
    assert "pad" in {part.kind for op in graph.operators for part in op.parts}
    assert not {"folded_pads", "fold_padding"} & graph.source.keys()
    assert graph == read(STAY[name], shape, fold_padding=False)


def test_calls_as_they_are() -> None:
    """At granularity `aten` a call is an operator."""
    module, shape, _ = FOLDED["behind alone"]
    graph = read(module, shape, granularity="aten")
    assert [op.kind for op in graph.operators] == ["pad", "conv2d"]
    assert not graph.source


def test_it_is_said() -> None:
    module, shape, _ = FOLDED["one behind the other"]
    (line,) = caveats(read(module, shape)).lines()
    assert line.startswith("2 pads in front of convolutions or pools are their padding")
    assert not caveats(read(module, shape, fold_padding=False)).lines()


def drawn(seed: int) -> tuple[nn.Module, tuple[int, ...]]:
    """A pad in front of a window, and the shape of what it pads."""
    rng = Random(seed)
    kernel, stride, dilation = (
        [rng.randint(a, b) for _ in range(2)] for a, b in ((1, 4), (1, 3), (1, 2))
    )
    reach = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    pads = [rng.randint(0, n) for n in reversed(reach) for _ in range(2)]
    size = [rng.randint(n + 1, n + 6) for n in reach]
    kind = rng.choice(("conv", "conv", "max", "avg"))
    own: Any = [rng.randint(0, k // 2) for k in kernel]
    if kind == "conv":
        groups = rng.choice((1, 2, 4))
        layer: nn.Module = nn.Conv2d(4, 4, kernel, stride, own, dilation, groups)
    elif kind == "max":
        layer = nn.MaxPool2d(kernel, stride, own, dilation, ceil_mode=rng.random() < 0.3)
    else:
        layer = nn.AvgPool2d(kernel, stride, own)
    return padded(tuple(pads), -INF if kind == "max" else 0.0, layer), (1, 4, *size)


def through(graph: Graph, op: Operator, box: Box, data: str) -> Box | None:
    """What of `data` an operator reads to write a box, itself or by what it reads."""
    for name, part in needs(graph, op, op.outputs[0], box):
        if name == data:
            return part
        if name in graph.producer:
            return through(graph, graph.operators[graph.producer[name]], part, data)
    return None


@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.long)])
def test_what_is_read_is_what_pads_and_windows_read(count: int) -> None:
    """Each element of each window: as the pad and the window say, one after the other."""
    folded = 0
    for seed in range(count):
        module, shape = drawn(seed)
        trace = trace_module(module.eval(), torch.zeros(shape)).trace
        graph, kept = (graph_of(trace, "fused", fold_padding=fold) for fold in (True, False))
        (op,), last = graph.operators[-1:], kept.operators[-1]
        sizes = graph.tensors[op.outputs[0]].shape
        assert sizes == kept.tensors[last.outputs[0]].shape
        for at in product(*map(range, sizes)):
            box = tuple((n, n + 1) for n in at)
            assert through(graph, op, box, "x") == through(kept, last, box, "x")
        folded += graph.source.get("folded_pads", 0)
    assert folded > count // 3


class Several(nn.Module):
    """Pads of three kinds, and what has none."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2)
        self.each = nn.Conv2d(8, 8, 3, groups=8)
        self.mix = nn.Conv2d(8, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = F.silu(self.first(F.pad(x, (0, 1, 0, 1))))
        y = F.hardswish(self.each(F.pad(x, (2, 1, 1, 2))))
        y = F.max_pool2d(F.pad(y, (1, 0, 0, 1), value=-INF), 2, 1)
        y = F.pad(F.avg_pool2d(F.pad(y, (1, 1, 1, 1)), 3, 1), (0, 0))
        return self.mix(y[:, :, : x.shape[2], : x.shape[3]] + x)


@pytest.mark.parametrize(
    ("planner", "budget"),
    [
        *(("cosma", "MR"), ("fusion", "3000B"), ("overlap", "3000B"), ("joined", "8KiB")),
        ("streaming", "4KiB"),
    ],
)
def test_plans_run(planner: str, budget: str) -> None:
    """Whole operators to the last bit; tiles as PyTorch rounds them."""
    torch.manual_seed(0)
    module, x = Several().eval(), torch.randn(1, 3, 16, 16)
    graph = sp.from_torch(module, x)
    assert graph.source["folded_pads"] == 4
    plan = sp.plan(graph, planner, budget, time_limit=0.5 if planner == "joined" else 600)
    done = sp.execute(plan, module, x)
    assert done.max_abs_error < 1e-6
    assert done.bit_exact or planner != "cosma"


def test_a_window_meets_its_data_whatever_the_sizes() -> None:
    """As where each is looked at, and at once where there are a thousand million."""
    few = product(range(1, 5), range(1, 5), range(1, 4), range(1, 4), range(6), range(1, 4))
    for size, outputs, k, s, p, d in few:
        starts = range(-p, outputs * s - p, s)
        met = all(any(0 <= at + j * d < size for j in range(k)) for at in starts)
        assert suits(size, outputs, k, s, p, d, False) == met
    many = 2**30
    assert suits(many, many, 3, 1, 1, 1, False)
    assert not suits(1, many, many, 1, many // 2, many // 2, False)
