"""Quantised exports: whole numbers lie in memory as their types say, in files as in memory.

Many more beside eager PyTorch: `benchmarks/exporters.py`, *torchao*.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators
from torch import nn

import planners as sp
from planners.core.access import needs
from planners.core.caveats import caveats

TORCHAO = Path(__file__).with_name("data") / "torchao_dynamic.pt2"
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


class AsTheyCome(nn.Module):
    """Maps quantised by scales that are looked for while it runs, of the whole or a row each."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way, self.layer = way, nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        number = (-128, 127, torch.int8)
        if self.way == "whole":
            scale, zero = Q.choose_qparams(x, -128, 127, 1e-5, torch.int8)
            back = Q.quantize_per_tensor(x, scale, zero, *number), scale, zero
            return self.layer(Q.dequantize_per_tensor(*back, *number))
        scale, zero = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
        back = Q.quantize_per_token(x, scale, zero, *number), scale, zero
        return self.layer(Q.dequantize_per_token(*back, *number, torch.float32))


@pytest.mark.parametrize("way", ["whole", "rows"])
def test_scales_that_are_looked_for_are_known(tmp_path: Path, way: str) -> None:
    module, x = AsTheyCome(way).eval(), torch.randn(6, 8)
    graph = sp.from_torch(module, x)
    kinds = ["choose_qparams", "quantize", "dequantize", "linear"]
    assert [op.kind for op in graph.operators] == kinds
    assert not caveats(graph).lines()
    written = graph.operators[1].outputs[0]
    assert (graph.tensors[written].dtype, graph.size_bytes(written)) == ("int8", 48)
    # What is quantised row by row is needed row by row, its scales with it.
    read = dict(needs(graph, graph.operators[1], written, ((2, 3), (0, 8))))
    assert read["x"] == ((2, 3), (0, 8))
    assert sp.execute(sp.plan(graph, budget="MP"), module, x).bit_exact
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "net.pt2")
    again = sp.from_pt2(tmp_path / "net.pt2").to_json()
    assert {**again, "source": {}, "name": ""} == {**graph.to_json(), "source": {}, "name": ""}


def test_a_file_of_torchao_is_read_without_it() -> None:
    """As torchao 0.18 writes a layer whose maps are quantised as they come, its weights before."""
    graph = sp.load(TORCHAO)
    assert [op.kind for op in graph.operators] == [
        "choose_qparams",
        "quantize",
        "dequantize",
        "linear",
    ]
    assert (graph.macs, caveats(graph).lines()) == (6 * 8 * 4, [])
    sizes = [graph.size_bytes(name) for op in graph.operators for name in op.outputs]
    assert sizes == [6 * 4, 6, 6 * 8, 6 * 8 * 4, 6 * 4 * 4]


def _of_another_kind(folder: Path, kind: str) -> Path:
    """The file, its look for scales another operator."""
    path = folder / "other.pt2"
    with zipfile.ZipFile(TORCHAO) as file, zipfile.ZipFile(path, "w") as written:
        for name in file.namelist():
            said = file.read(name).replace(b"choose_qparams_affine.default", kind.encode())
            written.writestr(name, said)
    return path


def test_what_is_not_known_of_torchao_is_said(tmp_path: Path) -> None:
    path = _of_another_kind(tmp_path, "looked_for.default")
    with pytest.raises(sp.ImportFailed, match="is known where torchao was imported before"):
        sp.load(path)
    library = torch.library.Library("torchao", "FRAGMENT")
    library.define(
        "looked_for(Tensor x, str a, int[] b, int c, Scalar? d, Scalar? e, float? f, int? g, "
        "int? h, bool keepdim=False) -> (Tensor, Tensor)"
    )
    try:
        (line,) = caveats(sp.load(path)).lines()
    finally:
        library._destroy()
    assert line.startswith("1 operator is opaque")
    assert line.endswith("(torchao.looked_for)")
