"""The integer arithmetic against PyTorch's, in float64, where all of it is exact."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from planners.backends.int8.net import QOp, fixed_point, scaled
from planners.backends.int8.random_net import random_net
from planners.backends.int8.reference import random_inputs, run_reference
from planners.core.errors import BadInput
from tests.backends.int8.int8_layers import convolution, layer, linear, pool

F = torch.nn.functional


def chw(value: np.ndarray, zero: int) -> torch.Tensor:
    return torch.tensor(value.astype(np.float64) - zero).permute(0, 3, 1, 2)


def codes(op: QOp, acc: torch.Tensor, multiplier: torch.Tensor) -> torch.Tensor:
    """What becomes of sums: Python's integers, one by one."""
    found = []
    for a, m in zip(acc.flatten().tolist(), multiplier.expand_as(acc).flatten().tolist()):
        code = (int(a) * int(m) + 2 ** (op.shift - 1)) // 2**op.shift + op.zero_out
        code = max(op.low, min(op.high, code))
        found.append(code if op.table is None else int(op.table[code + 128]))
    return torch.tensor(found).reshape(acc.shape)


@pytest.mark.parametrize("kind", ["pointwise", "conv", "grouped", "depthwise", "multiplied"])
def test_convolutions(kind: str) -> None:
    for seed in range(12):
        net = random_net(convolution(random.Random(f"{kind}{seed}"), kind), seed)
        inputs, (op,) = random_inputs(net, seed), net.ops.values()
        assert op.weight is not None
        weight = torch.tensor(op.weight.astype(np.float64)).permute(0, 3, 1, 2)
        bias = torch.tensor(op.bias.astype(np.float64))
        window = (op.stride, op.padding, op.dilation, op.groups)
        acc = F.conv2d(chw(inputs["x"], op.zero_in[0]), weight, bias, *window)
        wanted = codes(op, acc, torch.tensor(op.multiplier)[:, None, None])
        got = run_reference(net, inputs)["y"]
        assert np.array_equal(got, wanted.permute(0, 2, 3, 1).numpy())


def test_linear() -> None:
    for seed in range(12):
        net = random_net(linear(random.Random(seed)), seed)
        inputs, (op,) = random_inputs(net, seed), net.ops.values()
        x = torch.tensor(inputs["x"].astype(np.float64) - op.zero_in[0])
        acc = F.linear(x, *(torch.tensor(p.astype(np.float64)) for p in (op.weight, op.bias)))
        wanted = codes(op, acc, torch.tensor(op.multiplier))
        assert np.array_equal(run_reference(net, inputs)["y"], wanted.numpy())


@pytest.mark.parametrize("kind", ["max_pool2d", "avg_pool2d"])
def test_pools(kind: str) -> None:
    for seed in range(20):
        graph = pool(random.Random(f"{kind}{seed}"), kind)
        net = random_net(graph, seed)
        inputs, (op,) = random_inputs(net, seed), net.ops.values()
        got = run_reference(net, inputs)["y"]
        x, window = chw(inputs["x"], op.zero_in[0]), (op.kernel, op.stride, op.padding)
        for grows in (False, True):
            if kind == "max_pool2d":
                wanted = F.max_pool2d(x, *window, ceil_mode=grows) + op.zero_in[0]
            else:
                wanted = F.avg_pool2d(x, *window, ceil_mode=grows)
            if wanted.shape == graph.tensors["y"].shape:
                break
        wanted = wanted.permute(0, 2, 3, 1).numpy()
        if kind == "max_pool2d":
            assert np.array_equal(got, wanted)
        else:  # A code is the mean, rounded: scales of input and output are equal here.
            spread = net.tensors["x"].scale / net.tensors["y"].scale
            wanted = np.clip(wanted * spread + op.zero_out, -128, 127)
            assert np.abs(got - wanted).max() <= 0.5 + 1e-3


def test_element_wise_operators_are_their_real_values_rounded() -> None:
    for kind in ("add", "mul", "scale", "cat", "global"):
        for seed in range(12):
            net = random_net(layer(random.Random(f"{kind}{seed}"), kind), seed)
            inputs, (op,) = random_inputs(net, seed), net.ops.values()
            if op.table is not None:
                continue
            real = [
                net.tensors[n].scale * (inputs[n] - float(net.tensors[n].zero)) for n in op.inputs
            ]
            wanted = {
                "add": lambda r: r[0] + r[1],
                "cat": lambda r: np.concatenate(r, -1),
                "global": lambda r: r[0].mean((1, 2), keepdims=True),
            }.get(kind, lambda r: r[0] * r[1])(real)
            wanted = np.clip(wanted / net.tensors["y"].scale + op.zero_out, op.low, op.high)
            got = run_reference(net, inputs)["y"]
            assert np.abs(got - wanted).max() <= 0.5 + 1e-3


@given(st.integers(-(2**31) + 1, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(1, 62))
def test_scaling_rounds_to_the_nearest_and_stays_in_64_bits(acc: int, m: int, shift: int) -> None:
    exact = (acc * m * 2 + 2**shift) // 2 ** (shift + 1)
    assert scaled(acc, m, shift) == exact
    array = scaled(np.array([acc], np.int64), np.array([m], np.int64), shift)
    assert array.dtype == np.int64
    assert int(array[0]) == exact


@given(st.lists(st.floats(1e-9, 2**29), min_size=1, max_size=5))
def test_fixed_points_keep_thirty_bits_of_the_largest_factor(factors: list[float]) -> None:
    given_ = np.array(factors)
    multiplier, shift = fixed_point(given_)
    assert 1 <= shift <= 62
    assert multiplier.max() < 2**31
    assert multiplier.min() >= 0
    largest = given_.max()
    assert np.abs(multiplier / 2.0**shift - given_).max() <= max(largest * 2.0**-30, 2.0**-62)


def test_an_input_that_does_not_do_is_named() -> None:
    net = random_net(linear(random.Random(0)), 0)
    with pytest.raises(BadInput, match="input 'x' must be int8 of shape .* got nothing"):
        run_reference(net, {})
