"""MACs of single calls, against PyTorch's own count of floating-point operations or by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import planners as sp

F = nn.functional


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def sizes(*shapes: tuple[int, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(torch.ones(shape) for shape in shapes)


def einsum(equation: str) -> Callable[..., torch.Tensor]:
    return lambda *args: torch.einsum(equation, *args)


COUNTED: dict[str, tuple[Any, tuple[torch.Tensor, ...]]] = {
    "lstm with a projection": (nn.LSTM(10, 20, 2, proj_size=5), sizes((7, 2, 10))),
    "gru": (nn.GRU(10, 20, 2, batch_first=True, bidirectional=True), sizes((3, 7, 10))),
    "rnn": (nn.RNN(10, 20, 2), sizes((7, 2, 10))),
    "relu rnn": (nn.RNN(10, 20, nonlinearity="relu", bias=False), sizes((7, 10))),
    "lstm cell": (nn.LSTMCell(10, 20), sizes((2, 10))),
    "gru cell": (nn.GRUCell(10, 20), sizes((2, 10))),
    "rnn cell": (nn.RNNCell(10, 20), sizes((2, 10))),
    "convolution": (nn.Conv2d(4, 6, 3, padding="same", groups=2), sizes((1, 4, 9, 9))),
    "one image": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), sizes((4, 9, 9))),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), sizes((1, 4, 9, 9))),
    "weights computed": (F.conv2d, sizes((1, 4, 9, 9), (6, 4, 3, 3))),
    "broadcast": (torch.matmul, sizes((2, 1, 4, 5), (3, 5, 6))),
    "a vector first": (torch.matmul, sizes((4,), (3, 4, 5))),
    "inner": (torch.inner, sizes((3, 4), (5, 4))),
    "linalg": (torch.linalg.matmul, sizes((3, 5), (5, 4))),
    "tensordot": (lambda a, b: torch.tensordot(a, b, ([1], [0])), sizes((3, 4, 2), (4, 5))),
    "chain": (lambda *m: torch.linalg.multi_dot(m), sizes((3, 5), (5, 4), (4, 2))),
    "power": (lambda a: torch.matrix_power(a, 3), sizes((4, 4))),
    "batches": (torch.baddbmm, sizes((2, 3, 5), (2, 3, 4), (2, 4, 5))),
    "einsum": (einsum("...ij,kj->...ik"), sizes((2, 3, 5), (4, 5))),
    "three": (einsum("bi,ij,bj->b"), sizes((2, 3), (3, 5), (2, 5))),
    "diagonal": (einsum("ii,ij->j"), sizes((3, 3), (3, 5))),
    "nothing summed": (einsum("bi,bj->bij"), sizes((3, 4), (3, 4))),
    "attention": (F.scaled_dot_product_attention, sizes((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6))),
    "attention layer": (nn.MultiheadAttention(8, 2), sizes((5, 2, 8), (5, 2, 8), (5, 2, 8))),
}


@pytest.mark.parametrize("case", COUNTED)
@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_macs_are_half_of_pytorchs_operations(case: str) -> None:
    what, inputs = COUNTED[case]
    module = what if isinstance(what, nn.Module) else Function(what)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module.eval()(*inputs)
    assert sp.from_torch(module, inputs).macs == counter.get_total_flops() // 2


BY_HAND: dict[str, tuple[Any, tuple[torch.Tensor, ...], int]] = {
    "lstm": (nn.LSTM(10, 20), sizes((7, 2, 10)), 14 * 80 * (10 + 20)),
    "bidirectional": (
        nn.LSTM(10, 20, 2, bidirectional=True),
        sizes((7, 2, 10)),
        14 * 2 * 80 * (10 + 20 + 40 + 20),
    ),
    "bilinear": (nn.Bilinear(5, 6, 7), sizes((3, 5), (3, 6)), 3 * 7 * 5 * 6),
    "dot": (torch.dot, sizes((4,), (4,)), 4),
    "vector": (torch.addmv, sizes((3,), (3, 4), (4,)), 12),
    "summed batches": (torch.addbmm, sizes((3, 5), (2, 3, 4), (2, 4, 5)), 120),
    "time first": (
        lambda *a: torch.conv_tbc(*a, 1),
        sizes((9, 2, 4), (3, 4, 6), (6,)),
        9 * 2 * 6 * 3 * 4,
    ),
    "into a part": (
        lambda a, b: torch.zeros(2, 3, 4)[1].addmm_(a, b) + a.sum(),
        sizes((3, 5), (5, 4)),
        60,
    ),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_macs_that_pytorch_does_not_count(case: str) -> None:
    what, inputs, macs = BY_HAND[case]
    module = what if isinstance(what, nn.Module) else Function(what)
    assert sp.from_torch(module, inputs).macs == macs
