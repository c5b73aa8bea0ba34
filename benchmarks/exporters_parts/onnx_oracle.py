"""What onnxruntime has for each value of a file that it runs as it stands, and MACs of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

Shape = tuple[int, ...]
TYPES = onnx.TensorProto.DataType
_PRODUCTS = {
    "MatMul": (0, 1),
    "MatMulInteger": (0, 1),
    "QLinearMatMul": (0, 3),
    "DynamicQuantizeMatMul": (0, 1),
    "MatMulIntegerToFloat": (0, 1),
}
_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3, "FusedConv": 1}
_ATTENDING = {
    *("Attention", "QAttention", "MultiHeadAttention", "GroupQueryAttention", "LinearAttention")
}
_RECURRENT = ("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")


def oracle(path: Path, given: Sequence[np.ndarray]) -> dict[str, Any]:
    """Shapes and types of all values of the main graph, for these inputs."""
    onnxruntime.set_default_logger_severity(4)
    model = onnx.load(str(path))
    held = {t.name for t in model.graph.initializer}
    inputs = [v for v in model.graph.input if v.name not in held]
    feeds = {v.name: array for v, array in zip(inputs, given, strict=True)}
    returned = {v.name for v in model.graph.output}
    every = dict.fromkeys(name for node in model.graph.node for name in node.output if name)
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in every if n not in returned)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    asked = [o.name for o in session.get_outputs()]
    values = {
        name: _ort_value(array, feeds_type(v))
        for v, (name, array) in zip(inputs, feeds.items(), strict=True)
    }
    found = session.run_with_ort_values(asked, values)
    tensors = {
        name: (tuple(value.shape()), value.element_type())
        for name, value in [*values.items(), *zip(asked, found, strict=True)]
        if value.is_tensor()
    }
    return _told(path, model, tensors)


def reference_oracle(path: Path, given: Sequence[np.ndarray]) -> dict[str, Any]:
    """The same by onnx's reference, for operators that the runtime does not have yet."""
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(str(path))
    held = {t.name for t in model.graph.initializer}
    inputs = [v for v in model.graph.input if v.name not in held]
    feeds = {v.name: array for v, array in zip(inputs, given, strict=True)}
    every = dict.fromkeys(name for node in model.graph.node for name in node.output if name)
    returned = {v.name for v in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in every if n not in returned)
    asked = [v.name for v in model.graph.output]
    found = ReferenceEvaluator(model).run(asked, feeds)
    tensors = {
        name: (np.shape(value), onnx.helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype))
        for name, value in [*feeds.items(), *zip(asked, found, strict=True)]
    }
    return _told(path, model, tensors)


def _told(path: Path, model: Any, tensors: dict[str, tuple[Shape, int]]) -> dict[str, Any]:
    held = {t.name for t in model.graph.initializer}
    inputs = [v for v in model.graph.input if v.name not in held]
    tensors |= {t.name: (tuple(t.dims), t.data_type) for t in model.graph.initializer}
    outputs = [v.name for v in onnx.load(str(path)).graph.output]
    macs, of_weights, silent = counted(model, tensors, outputs)
    open_axes = any(not d.dim_value for v in inputs for d in v.type.tensor_type.shape.dim)
    return {
        "file": path.name,
        "input_shape": [list(tensors[v.name][0]) for v in inputs] if open_axes else None,
        "inputs": [v.name for v in inputs],
        "outputs": outputs,
        "tensors": [[n, list(s), TYPES.Name(t), n in held] for n, (s, t) in tensors.items()],
        "macs": macs,
        "of_weights": of_weights,
        "silent": silent,
        "kinds": sorted({".".join(filter(None, (n.domain, n.op_type))) for n in model.graph.node}),
    }


def feeds_type(value: Any) -> int:
    return int(value.type.tensor_type.elem_type)


def _ort_value(array: np.ndarray, code: int) -> Any:
    if code == onnx.TensorProto.BFLOAT16:
        raw = (np.asarray(array, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, code)
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(array, order="C"))


def counted(
    model: Any, tensors: Mapping[str, tuple[Shape, int]], outputs: Sequence[str]
) -> tuple[int, int, list[str]]:
    """MACs, those that weights alone decide, and the kinds of nodes that are not counted here."""
    shapes = {name: shape for name, (shape, _) in tensors.items()}
    total, of_weights, silent = 0, 0, set()
    reached = {v.name for v in model.graph.input} - {t.name for t in model.graph.initializer}
    live = _live(model.graph, outputs)
    for place, node in enumerate(model.graph.node):
        from_input = node.op_type not in ("Shape", "Size") and not reached.isdisjoint(node.input)
        if from_input:
            reached |= set(node.output)
        if place not in live:
            continue
        macs = _macs(node, shapes)
        if macs is None:
            silent.add(node.op_type)
        total += macs or 0
        of_weights += 0 if from_input else macs or 0
    return total, of_weights, sorted(silent)


def _live(graph: Any, outputs: Sequence[str]) -> set[int]:
    """The places of nodes that an output of the file needs; more are added to these to be seen."""
    names = set(outputs)
    live = set()
    for place in reversed(range(len(graph.node))):
        node = graph.node[place]
        inner = [a.g for a in node.attribute if a.HasField("g")]
        if names.intersection(node.output):
            live.add(place)
            names |= set(node.input)
            names |= {n for g in inner for each in g.node for n in each.input}
    return live


def _of_experts(kind: str, read: Sequence[Any], given: Mapping[str, Any]) -> int:
    """Each row of the first operand is multiplied by the matrices of `k` experts."""
    places = (2, 4, 6) if kind == "MoE" else (2, 5, 8)
    matrices = [read[i] for i in places if i < len(read) and read[i] is not None]
    a_byte = 1 if kind == "MoE" else 8 // given.get("expert_weight_bits", 4)
    of_one = sum(rows * columns * a_byte for _, rows, columns in matrices)
    return prod(read[0][:-1]) * given.get("k", 1) * of_one


def _macs(node: Any, shapes: Mapping[str, Shape]) -> int | None:
    kind = node.op_type
    read = [shapes.get(name) for name in node.input]
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    out = shapes.get(node.output[0]) if node.output[0] else None
    if kind in _CONVOLUTIONS:
        weight = read[_CONVOLUTIONS[kind]]
        return prod(out) * prod(weight[1:])
    if kind == "ConvTranspose":
        return prod(read[0]) * prod(read[1][1:])
    if kind in _PRODUCTS:
        first = read[_PRODUCTS[kind][0]]
        return prod(out) * first[-1]
    if kind in ("FusedMatMul", "TransposeMatMul"):
        summed = (0 if given.get("transBatchA") else -2) if given.get("transA") else -1
        return prod(out) * read[0][summed]
    if kind in ("Gemm", "QGemm", "FusedGemm"):
        return prod(out) * (read[0][0] if given.get("transA") else read[0][1])
    if kind in ("MoE", "QMoE"):
        return _of_experts(kind, read, given)
    if kind == "MatMulNBits":
        return prod(out) * given["K"]
    if kind in _RECURRENT:
        steps = prod(read[0][:2])
        return steps * (prod(read[1]) + prod(read[2]))
    if kind == "Einsum":
        return _einsum(given["equation"].decode(), read)
    if kind in _ATTENDING:
        gives = [shapes.get(name) for name in node.output]
        return _attended(kind, node.domain, read, gives, given)
    if kind == "CausalConvWithState":
        return sum(prod(out) for _ in range(read[1][-1]))
    if kind in ("If", "Loop", "Scan", "DeformConv"):
        return None
    if node.domain not in ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"):
        return None
    return 0


def _attended(
    kind: str, domain: str, read: Sequence[Any], gives: Sequence[Any], given: Mapping[str, Any]
) -> int:
    """The products of attention, each as rows times depth times columns of its two factors."""
    past = {"QAttention": 8, "MultiHeadAttention": 6, "GroupQueryAttention": 3}.get(kind, 4)
    kept = read[past][-2] if len(read) > past and read[past] else 0
    batch, out = gives[0][0], gives[0]
    if kind == "LinearAttention":
        steps, state = read[0][1], gives[1]
        written = 2 if given.get("update_rule", b"gated_delta").endswith(b"delta") else 1
        reads = given["q_num_heads"]
        return steps * batch * state[2] * state[3] * (written * state[1] + reads)
    if kind in ("QAttention", "Attention") and domain:
        rows = batch * read[0][1]
        made = rows * read[0][2] * read[1][1]
        keys = given.get("qkv_hidden_sizes", [read[1][1] // 3] * 3)[0]
        return made + rows * (read[0][1] + kept) * (keys + out[2])
    if kind == "GroupQueryAttention":
        heads, length = given["num_heads"], read[0][1]
        reach = max(gives[1][2], length) if len(gives) > 1 and gives[1] else length + kept
        return 2 * batch * length * reach * heads * (out[2] // heads)
    query, key, value = read[:3]
    rows = prod(query[:-1])
    reach = key[-2] + kept
    scores = rows * reach * query[-1]  # heads lie within the last axis, or before it
    per_key = value[-1] if len(value) == len(query) else value[-1] * value[1]
    if len(query) == 3 and len(value) == 3:
        per_key = out[-1]
    return scores + rows * reach * per_key


def _einsum(equation: str, shapes: Sequence[Shape]) -> int | None:
    """Of two operands, the product of all axes' sizes, where an axis of both is summed.

    An axis of one operand alone is summed before.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != 2 or "." in equation:
        return None
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    both = [letter for letter in sizes if letter in terms[0] and letter in terms[1]]
    if all(sizes[letter] == 1 or letter in right for letter in both):
        return 0
    return prod(size for letter, size in sizes.items() if letter in both or letter in right)
