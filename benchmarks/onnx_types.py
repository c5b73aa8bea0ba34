"""Random ONNX files with values and weights of every element type: bytes as onnx itself packs them?

    python benchmarks/onnx_types.py [--count 2000] [--first 0]

Chains of casts, quantisers, products and maps. Of each value and weight of the graph, type and
shape are beside onnx's own inference and its bytes beside those that onnx writes for an array of
that type and size; the network's MR beside the sum over one operator. What is wrong or refused is
printed with its seed; exits 1 for what is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import planners as sp

NEWEST = onnx.defs.onnx_opset_version()
TYPES = [n for n in TensorProto.DataType.values() if n not in (0, TensorProto.STRING)]
REAL = [n for n in TYPES if "COMPLEX" not in TensorProto.DataType.Name(n)]
FLOATS = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16]
SCALED = [
    n
    for n in REAL
    if TensorProto.DataType.Name(n).startswith(("FLOAT8E4", "FLOAT8E5", "INT", "UINT", "FLOAT4"))
    and not TensorProto.DataType.Name(n).endswith(("64", "UINT32"))
]


@cache
def packed_bytes(kind: int, count: int) -> int:
    """Bytes that onnx writes for so many elements of a type."""
    array = np.zeros(count, helper.tensor_dtype_to_np_dtype(kind))
    return len(numpy_helper.from_array(array).raw_data)


class TypedOnnx:
    """A chain drawn from a seed: what it holds changes its type on the way."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.held: dict[str, onnx.TensorProto] = {}
        self.count = 0
        shape = [self.draw.randint(1, 3), 4, self.draw.randint(3, 7)]
        first = self.draw.choice(REAL)
        self.input = helper.make_tensor_value_info("x", first, shape)
        at, kind = "x", first
        for _ in range(self.draw.randint(2, 6)):
            at, kind = self._step(at, kind, shape[-1])
        self.output = helper.make_tensor_value_info(at, kind, ["a", "b", "c"])

    def _node(self, kind: str, *inputs: str, **given: Any) -> str:
        name = f"v{self.count}"
        self.count += 1
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"n{name}", **given))
        return name

    def _weight(self, kind: int, *shape: int) -> str:
        name = f"w{len(self.held)}"
        zeros = np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind))
        self.held[name] = numpy_helper.from_array(zeros, name)
        return name

    def _float(self, at: str, kind: int) -> str:
        if kind == TensorProto.FLOAT:
            return at
        return self._node("Cast", at, to=TensorProto.FLOAT)

    def _step(self, at: str, kind: int, size: int) -> tuple[str, int]:
        other = self.draw.choice(REAL)
        step = self.draw.choice(("cast", "cast", "linear", "cast weight", "scaled weight", "map"))
        if step == "cast":
            return self._node("Cast", at, to=other), other
        at = self._float(at, kind)
        if step == "linear":
            weight = self._weight(TensorProto.FLOAT, size, size)
        elif step == "cast weight":
            held = self._weight(other, size, size)
            weight = self._node("Cast", held, to=TensorProto.FLOAT)
        elif step == "scaled weight":
            held = self._weight(self.draw.choice(SCALED), size, size)
            scale = self._weight(TensorProto.FLOAT)
            weight = self._node("DequantizeLinear", held, scale)
        else:
            kinds = ("Relu", "Sigmoid", "Neg")
            return self._node(self.draw.choice(kinds), at), TensorProto.FLOAT
        return self._node("MatMul", at, weight), TensorProto.FLOAT

    @property
    def model(self) -> onnx.ModelProto:
        ends = [self.output]
        graph = helper.make_graph(self.nodes, "typed", [self.input], ends, [*self.held.values()])
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", NEWEST)], ir_version=13
        )


def faults(made: TypedOnnx, graph: sp.Graph) -> list[str]:
    found = onnx.shape_inference.infer_shapes(made.model, strict_mode=True).graph
    told = {v.name: v.type.tensor_type for v in (*found.input, *found.value_info, *found.output)}
    kinds = {n: (t.elem_type, [d.dim_value for d in t.shape.dim]) for n, t in told.items()}
    kinds |= {n: (t.data_type, list(t.dims)) for n, t in made.held.items()}
    wrong = []
    for name, tensor in graph.tensors.items():
        kind, shape = kinds[name]
        right = packed_bytes(kind, int(np.prod(shape)))
        if (list(tensor.shape), graph.size_bytes(name)) != (shape, right):
            text = TensorProto.DataType.Name(kind)
            wrong.append(f"{name} of {text} {shape}: {graph.size_bytes(name)} bytes for {right}")
    sizes = {n: packed_bytes(k, int(np.prod(s))) for n, (k, s) in kinds.items()}
    least = max(sum(sizes[n] for n in (*op.inputs, *op.outputs)) for op in graph.operators)
    if (MR := sp.budgets(graph).MR) != least:
        wrong.append(f"MR {MR} for {least}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    path = Path(tempfile.mkdtemp()) / "net.onnx"
    for seed in range(asked.first, asked.first + asked.count):
        try:
            made = TypedOnnx(seed)
            onnx.checker.check_model(made.model, full_check=True)
        except Exception:  # what onnx itself does not take has no right answer
            counts["not valid"] += 1
            continue
        path.write_bytes(made.model.SerializeToString())
        try:
            wrong = faults(made, sp.load(path, granularity="aten"))
        except sp.SpillwayError as error:
            counts["refused"] += 1
            print(seed, f"refused: {error!s:.200}")
            continue
        counts["wrong" if wrong else "right"] += 1
        if wrong:
            print(seed, "wrong:", len(wrong), wrong[0])
    print(dict(counts))
    return bool(counts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
