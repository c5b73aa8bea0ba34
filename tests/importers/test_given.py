"""Forms of modules and inputs that are taken, and one exact line for those that are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.importers.torch.source_model import calibrate

X = torch.ones(2, 3, 8, 8)
NET = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(
        self, image: torch.Tensor, mask: torch.Tensor | None = None, bias: Any = None
    ) -> Any:
        y = self.conv(image)
        return y if bias is None else y + bias


@pytest.mark.parametrize("given", [X, (X,), [X], {"input": X}])
def test_a_tensor_a_sequence_and_keywords_keep_the_batch(given: Any) -> None:
    graph = sp.from_torch(NET, given)
    assert graph == sp.from_torch(NET, (X,))
    assert graph.tensors["input"].shape == (2, 3, 8, 8)
    assert sp.execute(sp.plan(graph, budget="MP"), NET, given).bit_exact
    assert calibrate(graph, NET, [given]).ranges["input"] == (1, 1)


def test_keywords_are_bound_by_name() -> None:
    given = {"bias": torch.ones(4, 1, 1), "image": X}
    graph = sp.from_torch(Two(), given)
    assert [graph.tensors[name].shape for name in graph.inputs] == [(2, 3, 8, 8), (4, 1, 1)]
    module = Two()
    assert sp.execute(sp.plan(graph, budget="MP"), module, given).bit_exact


def test_an_exported_program_is_a_module() -> None:
    module = Two().eval()
    program = torch.export.export(module, (X,), {"bias": torch.ones(4, 1, 1)})
    graph = sp.from_torch(program)
    assert graph == sp.from_torch(module, {"image": X, "bias": torch.ones(4, 1, 1)})
    program = torch.export.export(module, (X,))
    plan = sp.plan(sp.from_torch(program), budget="MP")
    assert sp.execute(plan, program, X).bit_exact


def test_a_module_of_one_operator() -> None:
    graph = sp.from_torch(nn.ReLU(), X)
    for planner in ("cosma", "fusion", "overlap", "streaming"):
        assert sp.execute(sp.plan(graph, planner, "64KiB"), nn.ReLU(), X).bit_exact


def test_inputs_stay_as_they_are() -> None:
    class Halves(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.mul_(0.5) + 1

    x = torch.ones(4)
    assert sp.execute(sp.plan(sp.from_torch(Halves(), x), budget="MP"), Halves(), x).bit_exact
    assert x.tolist() == [1] * 4


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "path": (
        lambda: Path("net.pt"),
        "not a path: sp.load('net.pt') reads .pt2, .onnx, .tflite and .cfg",
    ),
    "weights": (lambda: NET.state_dict(), "not a state_dict, which has weights and no network"),
    "class": (lambda: nn.ReLU, "not the class ReLU: make one"),
    "function": (lambda: torch.relu, "not a function: call it in a module's forward"),
    "number": (lambda: 3, "not int"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_module(case: str) -> None:
    make, line = REFUSED[case]
    with pytest.raises(sp.BadInput) as caught:
        sp.from_torch(make(), X)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [None, (), (1, 3, 8, 8), X.numpy()])
def test_what_is_no_input(given: Any) -> None:
    with pytest.raises(sp.BadInput, match="inputs are a tensor, a tuple of them or a dict"):
        sp.from_torch(NET, given)
    with pytest.raises(sp.BadInput, match=r"Two takes other arguments: missing a required"):
        sp.from_torch(Two(), {"picture": X})


class Body(nn.Module):
    def __init__(self, body: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor) -> Any:
        y = self.body(x)
        return y


def branch(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


LINES: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "mask": (lambda x: x[x > 0], "the shape of index depends on the values of the input"),
    "nonzero": (torch.nonzero, "the shape of nonzero depends on the values of the input"),
    "branch": (branch, "a size or a branch in 'y = self.body(x)' depends on the values of"),
    "size": (lambda x: x[: int(x.max())], "a size or a branch in 'y = self.body(x)' depends on"),
    "item": (lambda x: x * x.max().item(), "item depends on the values of the input"),
    "noise": (lambda x: x + torch.rand_like(x), "rand_like draws random numbers"),
    "drop": (lambda x: nn.functional.dropout(x), "dropout draws random numbers"),
    "constant": (lambda x: torch.ones(3), "its inputs reach no operator whose value is returned"),
}


@pytest.mark.parametrize("case", LINES)
def test_what_cannot_be_planned(case: str, capfd: pytest.CaptureFixture[str]) -> None:
    body, line = LINES[case]
    with pytest.raises(sp.SpillwayError) as caught:
        sp.from_torch(Body(body), X)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
