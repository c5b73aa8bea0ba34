"""Quantised exports: whole numbers lie in memory as their types say, in files as in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators
from torch import nn

import planners as sp

Q = torch.ops.quantized_decomposed
SCALE = (0.05, 3, -128, 127, torch.int8)


class Quantised(nn.Module):
    """As torchao's pt2e converts: weights and maps of whole numbers, read as floats."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-9, 9, (8, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("rows", torch.randint(-9, 9, (5, 8), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(5))
        self.register_buffer("zeros", torch.zeros(5, dtype=torch.long))

    def forward(self, x: torch.Tensor) -> Any:
        x = Q.dequantize_per_tensor(Q.quantize_per_tensor(x, *SCALE), *SCALE)
        weight = Q.dequantize_per_tensor(self.weight, 0.1, 0, -127, 127, torch.int8)
        y = torch.relu(nn.functional.conv2d(x, weight, padding=1))
        y = Q.dequantize_per_tensor(Q.quantize_per_tensor(y, *SCALE), *SCALE).mean((2, 3))
        rows = Q.dequantize_per_channel(
            self.rows, self.scales, self.zeros, 0, -127, 127, torch.int8
        )
        return nn.functional.linear(y, rows)


def test_what_was_quantised_lies_in_whole_numbers(tmp_path: Path) -> None:
    module, x = Quantised().eval(), torch.randn(1, 3, 6, 6)
    graph = sp.from_torch(module, x)
    assert [(op.kind, op.macs) for op in graph.operators] == [
        ("conv2d", 8 * 27 * 36),
        ("mean", 0),
        ("linear", 40),
    ]
    outputs = [graph.tensors[name] for op in graph.operators for name in op.outputs]
    assert [tensor.dtype for tensor in outputs] == ["int8", "float32", "float32"]
    assert [graph.size_bytes(t.name) for t in outputs] == [8 * 36, 4 * 8, 4 * 5]
    assert sp.execute(sp.plan(graph, budget="MP"), module, x).bit_exact
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "net.pt2")
    again = sp.from_pt2(tmp_path / "net.pt2").to_json()
    assert {**again, "source": {}, "name": ""} == {**graph.to_json(), "source": {}, "name": ""}


@pytest.mark.parametrize("granularity", ["aten", "folded"])
def test_each_step_is_an_operator_where_nothing_is_fused(granularity: str) -> None:
    graph = sp.from_torch(Quantised().eval(), torch.randn(1, 3, 6, 6), granularity=granularity)
    kinds = [op.kind for op in graph.operators]
    assert kinds[:3] == ["quantize", "dequantize", "conv2d"]
    assert not graph.source.get("opaque")
