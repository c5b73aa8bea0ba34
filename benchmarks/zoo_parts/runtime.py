"""What onnxruntime makes of a file: the shapes and types of its values, and products by shapes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx

Shape = tuple[int, ...]

_FIRST_AND_SECOND = {
    "MatMul": (0, 1),
    "Gemm": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearMatMul": (0, 3),
    "DynamicQuantizeMatMul": (0, 1),
    "MatMulIntegerToFloat": (0, 1),
    "QGemm": (0, 3),
    "FusedMatMul": (0, 1),
}
_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3, "FusedConv": 1}
_RECURRENT = {"LSTM": (1, 2), "GRU": (1, 2), "RNN": (1, 2), "DynamicQuantizeLSTM": (1, 2)}
_SILENT = ("Einsum", "Attention", "MultiHeadAttention", "If", "Loop", "Scan", "DeformConv")
"""Operators whose products are not counted here: a file with one is not compared."""


class RuntimeFacts:
    """Shapes and types of all values that a file computes, by name, as onnxruntime has them."""

    def __init__(self, path: Path, shapes: Mapping[str, Shape]) -> None:
        self.model = onnx.load(str(path), load_external_data=False)
        self.values = _run(self.model, path, shapes)
        self.weights = {t.name: tuple(t.dims) for t in self.model.graph.initializer}
        self.live = _live(self.model.graph)

    def shape(self, name: str) -> Shape:
        """The shape of a value or a weight."""
        return self.weights[name] if name in self.weights else self.values[name][0]

    @property
    def silent(self) -> list[str]:
        """Kinds of operators here whose products nobody counts for us."""
        return sorted({node.op_type for node in self.live} & set(_SILENT) | self._functions)

    @property
    def _functions(self) -> set[str]:
        return {node.op_type for node in self.live if node.domain not in ("", "com.microsoft")}

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all products."""
        return sum(self._macs(node) for node in self.live)

    @property
    def of_weights(self) -> int:
        """Those of them that weights alone decide."""
        reached = {value.name for value in self.model.graph.input} - self.weights.keys()
        total = 0
        for node in self.live:
            if reached.isdisjoint(node.input):
                total += self._macs(node)
            else:
                reached |= set(node.output)
        return total

    def _macs(self, node: Any) -> int:
        kind = node.op_type
        if kind in _CONVOLUTIONS:
            weight = self.shape(node.input[_CONVOLUTIONS[kind]])
            return prod(self.shape(node.output[0])) * prod(weight[1:])
        if kind == "ConvTranspose":
            return prod(self.shape(node.input[0])) * prod(self.shape(node.input[1])[1:])
        if kind in _FIRST_AND_SECOND:
            first = self.shape(node.input[_FIRST_AND_SECOND[kind][0]])
            turned = any(a.name == "transA" and a.i for a in node.attribute)
            return prod(self.shape(node.output[0])) * first[-2 if turned else -1]
        if kind in _RECURRENT:
            length, batch = self.shape(node.input[0])[:2]
            return length * batch * sum(prod(self.shape(node.input[i])) for i in _RECURRENT[kind])
        return 0


def _live(graph: Any) -> list[Any]:
    """The nodes that an output needs, in the file's order."""
    wanted, live = {value.name for value in graph.output}, []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            live.append(node)
            wanted |= set(node.input) | {name for sub in _inner(node) for name in sub}
    return live[::-1]


def _inner(node: Any) -> list[list[str]]:
    """What the graphs within a node read by name."""
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    return [[name for n in _all(graph) for name in n.input] for graph in graphs]


def _all(graph: Any) -> list[Any]:
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return [*graph.node, *(node for each in inner for node in _all(each))]


def _run(model: Any, path: Path, shapes: Mapping[str, Shape]) -> dict[str, tuple[Shape, str]]:
    """Run a file with all of its values as outputs, nothing fused."""
    import onnxruntime

    wanted = onnx.ModelProto()
    wanted.CopyFrom(model)
    known = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name]
    wanted.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(wanted.SerializeToString(), options)
    feeds = {i.name: _random(i, shapes[i.name]) for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    found = session.run(outputs, feeds)
    return {
        name: (tuple(value.shape), _type(value.dtype))
        for name, value in zip(outputs, found, strict=True)
        if isinstance(value, np.ndarray)
    } | {name: (value.shape, _type(value.dtype)) for name, value in feeds.items()}


def _random(value: Any, shape: Shape) -> Any:
    """Random numbers; ones where whole numbers are asked for."""
    kinds = {"float": np.float32, "float16": np.float16, "double": np.float64, "bool": np.bool_}
    kind = value.type.removeprefix("tensor(").removesuffix(")")
    if kind in ("float", "float16", "double"):
        return np.random.default_rng(0).standard_normal(shape).astype(kinds[kind])
    return np.ones(shape, dtype=kinds.get(kind, kind))


def _type(kind: Any) -> str:
    return str(kind)
