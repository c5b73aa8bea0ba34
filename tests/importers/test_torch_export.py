"""Small modules whose traces are awkward: each is imported, then run call by call against eager."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import nn

from planners.core.errors import BadInput, ImportFailed
from planners.importers.passes import GRANULARITIES
from planners.importers.torch.reader import from_torch
from planners.importers.torch.source_model import SourceModel
from tests.importers.once import ExportedOnce
from tests.importers.replay import replay

F = nn.functional


class InPlaceSeenByOthers(nn.Module):
    """The convolution's value is read after the activation wrote over it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        F.relu_(y)
        return y.add_(x) * 2


class WritesIntoAPart(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 3
        y[:, 1:, :2] += x[:, 1:, :2]
        y[:, 0] = 7
        return y.relu()


class ConstantMask(nn.Module):
    """A mask is written through views, made like an activation; a table is looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(9, 3))
        self.register_buffer("index", torch.arange(8).remainder(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = x.new_zeros((8, 8))
        mask[:4, 2:] = 1
        mask[2:] += 2
        bias = self.table[self.index].t().contiguous().unsqueeze(-1)
        return x + bias * mask, mask  # type: ignore[return-value]


class ManyOutputs(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
        a, b = x.chunk(2, dim=-1)
        values, places = torch.topk(y, 2, dim=-1)
        return {
            "sum": a + b,
            "top": (values, places),
            "view": y.flatten(1),
            "same": x,
            "none": None,
        }


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(2).transpose(1, 2)
        return self.drop(self.attention(x, x, x, need_weights=False)[0]) + x


CASES = {
    "in place": (InPlaceSeenByOthers(), [(1, 3, 8, 8)]),
    "into a part": (WritesIntoAPart(), [(1, 3, 8, 8)]),
    "mask": (ConstantMask(), [(1, 3, 8, 8)]),
    "outputs": (ManyOutputs(), [(1, 3, 8, 8), (1, 3, 8, 8)]),
    "attention": (Attention(), [(1, 8, 4, 4)]),
}


@pytest.fixture(autouse=True)
def _no_fast_path() -> Any:
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


@cache
def exported(case: str) -> ExportedOnce:
    module, shapes = CASES[case]
    return ExportedOnce(module, tuple(torch.randn(shape) for shape in shapes))


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("case", CASES)
def test_operators_compute_what_eager_does(case: str, granularity: Any) -> None:
    inputs = tuple(torch.randn(shape) for shape in CASES[case][1])
    made = exported(case)
    found = replay(made.graph(granularity), made.model, inputs)
    with torch.no_grad():
        expected = made.module(*(value.clone() for value in inputs))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("case", CASES)
def test_meta_and_real_modules_give_one_graph(case: str) -> None:
    module, shapes = CASES[case]
    real = from_torch(module, [torch.randn(shape) for shape in shapes])
    with torch.device("meta"):
        empty = type(module)()
        inputs = [torch.empty(shape) for shape in shapes]
    assert from_torch(empty, inputs) == real


def test_windows_macs_and_names() -> None:
    module = nn.Sequential(
        nn.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 2), dilation=1, groups=2),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.AvgPool2d(2),
        nn.ConvTranspose2d(8, 2, 2, stride=2, bias=False),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2, 5),
    )
    graph = from_torch(module, [torch.randn(1, 4, 8, 8)], name="stack", bytes_per_element=2)
    conv, pool, up, mean, linear = graph.operators
    assert (conv.kind, conv.block, graph.name) == ("conv2d", "0", "stack")
    assert conv.macs == 8 * 4 * 4 * (2 * 3 * 5)
    assert (conv.kernel, conv.stride, conv.padding) == ((3, 5), (2, 2), (1, 2))
    assert (conv.dilation, conv.groups) == ((1, 1), 2)
    assert conv.parameters == (
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
    )  # fmt: skip
    assert (pool.kernel, pool.stride, pool.padding) == ((2, 2), (2, 2), (0, 0))
    assert (up.kind, up.macs) == ("conv_transpose2d", 8 * 2 * 2 * (2 * 2 * 2))
    assert mean.kernel == ()
    assert (linear.macs, graph.size_bytes(linear.outputs[0])) == (10, 10)
    assert [part.kind for part in linear.parts] == ["flatten", "linear"]


def test_macs_of_products() -> None:
    class Products(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
            attended = F.scaled_dot_product_attention(a, b, b)
            return attended, a @ b.mT, torch.einsum("...ij,...kj->...ik", a, b)

    graph = from_torch(Products(), [torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)])
    assert [op.macs for op in graph.operators] == [6 * 5 * 7 * 8, 6 * 5 * 7 * 4, 6 * 5 * 7 * 4]


def test_what_cannot_be_traced_says_why() -> None:
    class Decides(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(ImportFailed, match=r"torch\.export cannot trace Decides") as caught:
        from_torch(Decides(), [torch.randn(3)])
    assert "\n" not in str(caught.value)


def test_training_mode_is_given_back() -> None:
    module = nn.Sequential(nn.Conv2d(1, 1, 1), nn.Dropout()).train()
    module[0].eval()
    assert len(from_torch(module, [torch.randn(1, 1, 2, 2)]).operators) == 1
    assert [module.training, module[0].training, module[1].training] == [True, False, True]


def test_unknown_names_and_shapes_are_bad_input() -> None:
    source = SourceModel(nn.Conv2d(1, 1, 1), [torch.randn(1, 1, 2, 2)])
    for wrong in (
        lambda: source.evaluate(["nothing"], {}),
        lambda: source.evaluate(["conv2d"], {}),
        lambda: source.parameter("nothing"),
        lambda: source.input_values([torch.randn(1, 1, 3, 3)]),
    ):
        with pytest.raises(BadInput):
            wrong()
