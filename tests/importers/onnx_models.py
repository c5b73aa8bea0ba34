"""Small ONNX models made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import planners as sp

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
OPSET = 20
X = {"x": [2, 4, 7, 9]}
Y = {"y": None}


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node; names with blanks between, `_` for an operand that is left out."""
    names = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), name=f"n_{outputs}", **attributes)


def value(name: str, shape: Sequence[Any] | None, kind: int = FLOAT) -> Any:
    """The type of a value."""
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[Any] | None],
    outputs: Mapping[str, Sequence[Any] | None],
    weights: Mapping[str, Any] | None = None,
    opset: int = OPSET,
    value_info: Sequence[Any] = (),
) -> Any:
    """A model of these nodes; a weight is its numbers, or a shape of random ones."""
    rng = np.random.default_rng(0)
    held = []
    for name, item in (weights or {}).items():
        array = rng.standard_normal(item).astype(np.float32) if isinstance(item, tuple) else item
        held.append(numpy_helper.from_array(np.asarray(array), name))
    graph = helper.make_graph(
        list(nodes),
        "made by hand",
        [value(name, shape) for name, shape in inputs.items()],
        [value(name, shape) for name, shape in outputs.items()],
        held,
        value_info=list(value_info),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def write(made: Any, folder: Path, name: str = "made.onnx") -> Path:
    """The model as a file."""
    path = folder / name
    path.write_bytes(made.SerializeToString())
    return path


def external(made: Any, weight: str, **where: str) -> Any:
    """The model with one weight said to lie in another file."""
    (tensor,) = (t for t in made.graph.initializer if t.name == weight)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in where.items():
        tensor.external_data.add(key=key, value=text)
    return made


def graph_of(nodes: Sequence[Any], folder: Path, weights: Any = None, **more: Any) -> sp.Graph:
    """The graph of a model of these nodes, from x to y unless something else is said."""
    inputs = more.pop("inputs", X)
    outputs = more.pop("outputs", Y)
    shapes = more.pop("input_shape", None)
    return sp.from_onnx(write(model(nodes, inputs, outputs, weights, **more), folder), shapes)


def kinds(graph: sp.Graph) -> list[list[str]]:
    """What each operator runs."""
    return [[part.kind for part in op.parts] for op in graph.operators]
