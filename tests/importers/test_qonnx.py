"""QONNX's `Quant` beside the same network with whole numbers and DequantizeLinear, as brevitas
exports both: the same operators, bytes and budgets."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import planners as sp
from planners.core.caveats import caveats

QONNX = "qonnx.custom_op.general"
F = np.float32
SCALE = F(0.1)


class Twice:
    """A chain of quantised convolutions by chance, each node written in both ways."""

    def __init__(self, seed: int, bits: int) -> None:
        self.draw, self.bits = Random(seed), bits
        self.nodes: tuple[list[Any], list[Any]] = ([], [])
        self.weights: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self.shape = (1, self.draw.randint(1, 4), self.draw.randint(6, 9), self.draw.randint(6, 9))
        self.start = self.shape
        value = "x"
        for at in range(self.draw.randint(1, 3)):
            value = self._quantise(value, at)
            value = self._convolve(value, at)
        self.end = value

    def _quantise(self, value: str, at: int) -> str:
        """A map as few bits, and back."""
        name, signed = f"q{at}", self.draw.random() < 0.5
        kind = np.int8 if signed else np.uint8
        self._quant(value, name, signed=signed)
        held = {f"{name}.s": F(0.1), f"{name}.z": kind(0)}
        self.weights[1].update(held)
        operands = [f"{name}.s", f"{name}.z"]
        self._in(1, "QuantizeLinear", [value, *operands], f"{name}.whole")
        self._in(1, "DequantizeLinear", [f"{name}.whole", *operands], name)
        return name

    def _convolve(self, value: str, at: int) -> str:
        """A convolution whose weight is of few bits, with one scale or one a channel, and ReLU."""
        count, channels = self.draw.randint(1, 6), self.shape[1]
        kernel, by_channel = self.draw.randint(1, 3), self.draw.random() < 0.5
        size = (count, channels, kernel, kernel)
        lead = (count, 1, 1, 1) if by_channel else ()
        weight, scale = f"w{at}", np.full(lead, 0.1, F)
        self.weights[0][f"{weight}.float"] = np.zeros(size, F)
        self._quant(f"{weight}.float", weight, scale, signed=True)
        self.weights[1].update({f"{weight}.whole": np.zeros(size, np.int8)})
        self.weights[1].update({f"{weight}.s": scale.reshape(-1) if by_channel else scale})
        parts = [f"{weight}.whole", f"{weight}.s"]
        self._in(1, "DequantizeLinear", parts, weight, **({"axis": 0} if by_channel else {}))
        for way in (0, 1):
            self._in(way, "Conv", [value, weight], f"c{at}")
            self._in(way, "Relu", [f"c{at}"], f"r{at}")
        self.shape = (1, count, *(n - kernel + 1 for n in self.shape[2:]))
        return f"r{at}"

    def _quant(self, value: str, name: str, scale: Any = SCALE, *, signed: bool) -> None:
        held = {f"{name}.scale": scale, f"{name}.zero": F(0), f"{name}.bits": F(self.bits)}
        self.weights[0].update(held)
        operands = [value, *held]
        self._in(0, "Quant", operands, name, domain=QONNX, signed=int(signed), narrow=0)

    def _in(self, way: int, kind: str, operands: list[str], out: str, **given: Any) -> None:
        self.nodes[way].append(helper.make_node(kind, operands, [out], name=out, **given))

    def graph(self, way: int, folder: Path) -> sp.Graph:
        start = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.start)
        end = helper.make_empty_tensor_value_info(self.end)
        held = [numpy_helper.from_array(np.asarray(a), n) for n, a in self.weights[way].items()]
        graph = helper.make_graph(self.nodes[way], "twice", [start], [end], held)
        sets = [helper.make_opsetid("", 20), helper.make_opsetid(QONNX, 2)]
        path = folder / f"{way}.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=sets).SerializeToString())
        return sp.from_onnx(path)


def facts(graph: sp.Graph) -> tuple[Any, ...]:
    budgets = sp.budgets(graph, parameters=True)
    parts = [[part.kind for part in op.parts or (op,)] for op in graph.operators]
    sizes = sorted((t.dtype, t.elements, t.kind) for t in graph.tensors.values())
    return graph.macs, graph.parameter_bytes, (budgets.MR, budgets.MH, budgets.MP), parts, sizes


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("seed", range(8))
def test_both_exports_are_one_network(tmp_path: Path, seed: int, bits: int) -> None:
    made = Twice(seed, bits)
    fake, whole = (made.graph(way, tmp_path) for way in (0, 1))
    assert facts(fake) == facts(whole)
    said = caveats(fake)
    assert (said.opaque, said.uncounted) == ((), ())
    assert len(said.notes) == len(caveats(whole).notes)


def test_more_bits_than_sixteen_are_floats_for_good(tmp_path: Path) -> None:
    made = Twice(1, 24)
    graph = made.graph(0, tmp_path)
    assert {tensor.dtype for tensor in graph.tensors.values()} == {"float32"}
    assert graph.macs == made.graph(1, tmp_path).macs
