"""Which weights of an ONNX file onnxruntime makes floats of, whole, before they are read."""

from __future__ import annotations

from collections import Counter
from math import prod

from planners.core.graph import Graph, Operator, Part

DEQ, PRODUCTS = "dequantize", frozenset({"matmul", "linear"})
WINDOWS = frozenset({"conv1d", "conv2d", "conv3d"})
FLOAT16, FLOAT32 = 2, 4


def dequantized_whole(graph: Graph) -> dict[str, int]:
    """Bytes of the floats that onnxruntime makes of weights before they are read, by the weight."""
    readers = Counter(
        part.reads[0] for op in graph.operators for part in op.parts if _is_stored(part, op)
    )
    float_bytes: dict[str, int] = {}
    for op in graph.operators:
        for part in op.parts:
            if not _is_stored(part, op) or (readers[part.reads[0]] == 1 and _as_stored(part, op)):
                continue
            wide = FLOAT16 if graph.tensors[op.outputs[0]].dtype == "float16" else FLOAT32
            float_bytes[part.reads[0]] = prod(part.shape) * wide
    return float_bytes


def _as_stored(weight: Part, op: Operator) -> bool:
    """Whether onnxruntime (1.32, on a CPU) has a kernel for a weight that nothing else reads, so
    that it makes no floats of it: as the second factor of a product whose first is a quantised map,
    or is of floats where the weight is a matrix, and as a convolution's between quantised maps.

    Biases go with their weights.
    """
    reader = next((part for part in op.parts if weight.name in part.reads), None)
    if reader is None or reader.kind not in PRODUCTS | WINDOWS:
        return False
    place, maps = reader.reads.index(weight.name), [p.name for p in op.parts if p.kind == DEQ]
    if place == 0:
        return False
    if reader.reads[0] in maps:
        behind = op.parts[op.parts.index(reader) + 1 :]
        return reader.kind in PRODUCTS or any(part.kind == "quantize" for part in behind)
    return reader.kind == "matmul" and len(weight.shape) == 2


def _is_stored(part: Part, op: Operator) -> bool:
    """Whether a part makes floats of a weight, within an operator that reads them."""
    return part.kind == DEQ != op.kind and bool(part.reads) and part.reads[0] in op.parameters
