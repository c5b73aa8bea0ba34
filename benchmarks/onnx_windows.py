"""What each output element of a window reads: onnxruntime's answer to one-hot inputs beside ours?

    python benchmarks/onnx_windows.py [--count 2000] [--first 0]

Convolutions, transposed ones and pools over one to three axes, by every way in which ONNX says a
padding (`pads`, `auto_pad`, `output_shape`, `output_padding`, `ceil_mode`), with strides, dilations
and odd sizes; some behind a `Pad`, which is then their padding or stays. Each input element alone
is not zero once; the outputs that then are not zero read it, and the box that `needs` names for
them must hold it. What is wrong is printed with its seed; exits 1 for any. Needs onnxruntime
(`pip install onnxruntime==1.32.0`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import planners as sp
from planners.core.access import needs

KINDS = ("Conv", "ConvTranspose", "ConvTranspose", "MaxPool", "AveragePool", "LpPool")
MOST = 400
"""Elements of space of an input or output."""


def node_and_weight(draw: Random) -> tuple[onnx.NodeProto, list[int], np.ndarray | None]:
    """A node, the shape of its input, and its weight."""
    kind = draw.choice(KINDS)
    axes = draw.choice((1, 2, 2, 3))
    some: dict[str, Any] = {}
    kernel = [draw.randint(1, 4) for _ in range(axes)]
    sizes = [draw.randint(1, 9) for _ in range(axes)]
    if draw.random() < 0.7:
        some["strides"] = [draw.randint(1, 3) for _ in range(axes)]
    if draw.random() < 0.4:
        some["dilations"] = [draw.randint(1, 3) for _ in range(axes)]
    how = draw.choice(("pads", "auto", "auto", "none"))
    if how == "pads":
        some["pads"] = [draw.randint(0, max(0, k - 1)) for k in (*kernel, *kernel)]
    if how == "auto":
        some["auto_pad"] = draw.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    if kind == "ConvTranspose":
        strides = some.get("strides", [1] * axes)
        if draw.random() < 0.4:
            some["output_padding"] = [draw.randint(0, s - 1) for s in strides]
        if draw.random() < 0.4:
            some["output_shape"] = [
                draw.randint(max(1, n * s - 2), n * s + 2)
                for n, s in zip(sizes, strides, strict=True)
            ]
        weight = np.ones((1, 1, *kernel), np.float32)
    elif kind == "Conv":
        weight = np.ones((1, 1, *kernel), np.float32)
    else:
        weight = None
        some["kernel_shape"] = kernel
        if draw.random() < 0.3:
            some["ceil_mode"] = 1
    names = ["x"] if weight is None else ["x", "w"]
    return helper.make_node(kind, names, ["y"], **some), [1, 1, *sizes], weight


def with_pad(draw: Random, node: onnx.NodeProto, shape: list[int]) -> list[onnx.NodeProto]:
    """The node, or a pad and the node behind it; a pool then begins with what the pad writes."""
    axes = len(shape) - 2
    if node.op_type not in ("Conv", "MaxPool") or draw.random() < 0.5:
        return [node]
    amounts = [draw.randint(0, 2) for _ in range(2 * axes)]
    pads = helper.make_node(
        "Constant", [], ["a"], value_ints=[0, 0, *amounts[:axes], 0, 0, *amounts[axes:]]
    )
    value = 0.0 if node.op_type == "Conv" else -np.inf
    number = helper.make_node("Constant", [], ["v"], value_float=value)
    node.input[0] = "p"
    return [pads, number, helper.make_node("Pad", ["x", "a", "v"], ["p"]), node]


def model_of(
    nodes: list[onnx.NodeProto], shape: list[int], weight: np.ndarray | None, batch: int
) -> onnx.ModelProto:
    data = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *shape[1:]])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    constants = [] if weight is None else [numpy_helper.from_array(weight, "w")]
    graph = helper.make_graph(nodes, "g", [data], [out], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def read_by_each(
    nodes: list[onnx.NodeProto], shape: list[int], weight: np.ndarray | None
) -> np.ndarray:
    """Whether an output (last axes) reads an input (first axis): the runtime's answer."""
    import onnxruntime

    count = prod(shape[2:])
    session = onnxruntime.InferenceSession(
        model_of(nodes, shape, weight, count).SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    single = np.eye(count, dtype=np.float32).reshape(count, 1, *shape[2:])
    (found,) = session.run(None, {"x": single})
    return found[:, 0] > 0


def faults(
    nodes: list[onnx.NodeProto], shape: list[int], read: np.ndarray, path: Path
) -> list[str]:
    """Outputs that read what `needs` does not name."""
    node, graph = nodes[-1], sp.from_onnx(path, granularity="folded")
    if len(nodes) > 1 and "folded_pads" not in graph.source:
        return ["stays"]
    op = graph.operators[-1]
    out = op.outputs[0]
    standard = onnx.shape_inference.infer_shapes(model_of(nodes, shape, None, 1)).graph.output[0]
    sizes = tuple(axis.dim_value for axis in standard.type.tensor_type.shape.dim[2:])
    if "Pool" in node.op_type and graph.tensors[out].shape[2:] == sizes != read.shape[1:]:
        return ["apart"]
    if graph.tensors[out].shape[2:] != read.shape[1:]:
        return [f"shape {graph.tensors[out].shape[2:]} for {read.shape[1:]}"]
    wrong = []
    for at in product(*map(range, read.shape[1:])):
        boxes = dict(needs(graph, op, out, tuple((n, n + 1) for n in (0, 0, *at))))
        box = boxes["x"]
        inside = np.zeros(shape[2:], bool)
        inside[tuple(slice(lo, hi) for lo, hi in box[2:])] = True
        outside = read[(slice(None), *at)].reshape(shape[2:]) & ~inside
        if outside.any():
            wrong.append(f"output {at} reads {np.argwhere(outside)[0].tolist()}, not in {box[2:]}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    try:
        import onnxruntime
    except ImportError:
        print("needs onnxruntime: pip install onnxruntime==1.32.0")
        return 0
    onnxruntime.set_default_logger_severity(4)
    counts: Counter[str] = Counter()
    path = Path(tempfile.mkdtemp()) / "net.onnx"
    for seed in range(asked.first, asked.first + asked.count):
        draw = Random(seed)
        node, shape, weight = node_and_weight(draw)
        nodes = with_pad(draw, node, shape)
        try:
            read = read_by_each(nodes, shape, weight)
        except Exception:  # onnxruntime's own errors have no class in common
            counts["refused by the runtime"] += 1
            continue
        path.write_bytes(model_of(nodes, shape, weight, 1).SerializeToString())
        try:
            wrong = faults(nodes, shape, read, path)
        except sp.BadInput as error:
            wrong, counts["refused"] = [], counts["refused"] + 1
            print(seed, "refused", node.op_type, f"{error!s:.160}")
        else:
            known = {"apart": "runtime leaves the standard", "stays": "pad stays"}
            said = known.get(wrong[0]) if wrong else "pad folded, right" if nodes[1:] else "right"
            counts[said or "wrong"] += 1
            wrong = [] if said else wrong
        if wrong:
            given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            print(seed, "wrong", node.op_type, shape, given, len(wrong), wrong[0])
    print(dict(counts))
    return bool(counts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
