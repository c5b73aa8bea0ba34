"""Operators that compute several at once: what they give, and what they multiply.

onnxruntime's optimiser writes them, exporters of language models do, and newer operator sets have
some as standard ones. Shapes as onnxruntime's kernels give them; of what a kernel multiplies, the
products of matrices count, as in a model that has them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, TypeAlias

import onnx

from planners.core.relations import Relation
from planners.importers.onnx.contributed import BLOCKED, DOMAIN
from planners.importers.onnx.rules import Known, Shape

FLOAT, INT32 = int(onnx.TensorProto.FLOAT), int(onnx.TensorProto.INT32)
_BYTES = (int(onnx.TensorProto.UINT8), int(onnx.TensorProto.INT8))
_STANDARD = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Fused:
    """What a node is called, the shape and type of each value it gives, and what it multiplies.

    The relation is that of its first value, where nobody reads another.
    """

    kind: str
    values: Sequence[Known | None]
    macs: int = 0
    relation: Relation = ()


class FusedOperands(NamedTuple):
    """Attributes of a node, and shape and type of each operand by its place; None if left out."""

    given: Mapping[str, Any]
    known: Sequence[Known | None]

    def has(self, place: int) -> bool:
        return place < len(self.known) and self.known[place] is not None

    def shape(self, place: int) -> Shape:
        operand = self.known[place] if place < len(self.known) else None
        if operand is None:
            raise ValueError(f"operand {place} is left out")
        return operand[0]

    def code(self, place: int = 0, otherwise: int = FLOAT) -> int:
        """onnx's number of the type of an operand, or another where that is left out."""
        operand = self.known[place] if place < len(self.known) else None
        return operand[1] if operand else otherwise

    def heads(self, name: str, otherwise: int = 0) -> int:
        count = int(self.given.get(name, otherwise))
        if count < 1:
            raise ValueError(f"{name} is {count}")
        return count


Rule: TypeAlias = Callable[[FusedOperands], Fused | None]


def fused(node: Any, operands: Sequence[Known | None]) -> Fused | None:
    """What such a node gives; None for all others.

    `operands` are its operands by their places. Raises `ValueError`, `IndexError` or `TypeError`
    where they do not suit it.
    """
    domain = "" if node.domain in _STANDARD else node.domain
    rule = _RULES.get((domain, node.op_type))
    if rule is None:
        return None
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return rule(FusedOperands(given, operands))


def _like_first(kind: str) -> Rule:
    """An element for each of the first, by itself; what is added is broadcast."""
    return lambda o: Fused(kind, [(o.shape(0), o.code())], relation=("same",))


def _norm(kind: str, sums: bool) -> Rule:
    """A norm along the last axis or those from `axis` on, of a sum where the node adds first.

    It may give the mean and the deviation's inverse, and the sum.
    """

    def rule(o: FusedOperands) -> Fused:
        shape = o.shape(0)
        axis = int(o.given.get("axis", -1)) % len(shape)
        kept = (*shape[:axis], *(1 for _ in shape[axis:])), FLOAT
        whole = shape, o.code()
        along = ("along", *range(axis, len(shape)))
        values = [whole, kept, kept, whole] if sums else [whole, kept]
        return Fused(kind, values, relation=along)

    return rule


def _embedding(o: FusedOperands) -> Fused:
    """Rows of three tables, added and normalised."""
    (batch, length), code = o.shape(0), o.code(2)
    out = (batch, length, o.shape(2)[1]), FLOAT if code in _BYTES else code
    return Fused("embedding", [out, ((batch,), INT32), out])


def _product(o: FusedOperands) -> Fused:
    """A product whose factors may be transposed, their batches too."""
    left, right = o.shape(0), o.shape(1)
    if len(left) < 2 or len(right) < 2:
        raise ValueError(f"{left} times {right}")
    left = _turned(left, o.given.get("transA", 0), o.given.get("transBatchA", 0))
    right = _turned(right, o.given.get("transB", 0), o.given.get("transBatchB", 0))
    if left[-1] != right[-2]:
        raise ValueError(f"{left} times {right}")
    out = (*_broadcast(left[:-2], right[:-2]), left[-2], right[-1])
    plain = not any(o.given.get(f"trans{which}", 0) for which in ("A", "B", "BatchA", "BatchB"))
    relation: Relation = ("matmul",) if plain else ()
    return Fused("matmul", [(out, o.code())], prod(out) * left[-1], relation)


def _packed_product(o: FusedOperands) -> Fused:
    """A product with a weight of few bits, packed into bytes, with scales for its blocks."""
    out = (*o.shape(0)[:-1], int(o.given["N"]))
    return Fused("matmul", [(out, o.code())], prod(out) * int(o.given["K"]))


def _experts(weights: Sequence[int], packed: bool) -> Rule:
    """Layers of which each row goes through the `k` best; packed weights lie several in a byte."""

    def rule(o: FusedOperands) -> Fused:
        out = o.shape(0)
        rows, chosen = prod(out[:-1]), o.heads("k", 1)
        bits = o.heads("expert_weight_bits", 4) if packed else 8
        weights_read = sum(prod(o.shape(place)[1:]) for place in weights if o.has(place))
        return Fused("experts", [(out, o.code())], rows * chosen * weights_read * (8 // bits))

    return rule


def _turned(shape: Shape, rows: int, batch: int) -> Shape:
    if batch:
        shape = (*shape[1:-1], shape[0], shape[-1])
    return (*shape[:-2], shape[-1], shape[-2]) if rows else shape


def _broadcast(a: Shape, b: Shape) -> Shape:
    import numpy as np

    return tuple(int(n) for n in np.broadcast_shapes(a, b))


def _packed_attention(past: int) -> Rule:
    """Attention with the products that make its queries, keys and values of one weight."""

    def rule(o: FusedOperands) -> Fused:
        (batch, length, width), (_, columns) = o.shape(0), o.shape(1)
        heads = o.heads("num_heads")
        sizes = [int(n) for n in o.given.get("qkv_hidden_sizes") or [columns // 3] * 3]
        before = o.shape(past)[3] if o.has(past) else 0
        reach = before + length
        macs = batch * length * (width * columns + reach * (sizes[0] + sizes[2]))
        code = FLOAT if o.code() in _BYTES else o.code()
        present = (2, batch, heads, reach, sizes[1] // heads), code
        return Fused("attention", [((batch, length, sizes[2]), code), present], macs)

    return rule


def _multi_head(o: FusedOperands) -> Fused:
    """Attention of queries, keys and values, or of those that lie in one operand together."""
    query, heads = o.shape(0), o.heads("num_heads")
    batch, length = query[:2]
    if len(query) == 5:
        size = value_size = query[4]
        reach = length
    else:
        size = query[2] // heads
        key = o.shape(1)
        reach = key[2] if len(key) == 4 else key[1]
        value_size = size
        if o.has(2):
            value = o.shape(2)
            value_size = value[3] if len(value) == 4 else value[2] // heads
    shared = o.has(8)
    if o.has(6):
        reach = o.shape(6)[2] if shared else reach + o.shape(6)[2]
    macs = batch * heads * length * reach * (size + value_size)
    values: list[Known | None] = [
        ((batch, length, heads * value_size), o.code()),
        ((batch, heads, reach, size), o.code()),
        ((batch, heads, reach, value_size), o.code()),
        ((batch, heads, length, reach), o.code()),
    ]
    return Fused("scaled_dot_product_attention", values, macs)


def _grouped(o: FusedOperands) -> Fused:
    """Attention whose keys and values are fewer than its queries, behind those of the past.

    How many of the past count is data: all that have a place. Keys and values given are kept in the
    past's tensor where that has the room for good, else behind it. A cache of a window alone stays
    as long as it is. Where rows of the past are packed, those of the present are.
    """
    (batch, length, width), heads, kept = o.shape(0), o.heads("num_heads"), o.heads("kv_num_heads")
    size = width // heads if o.has(1) else width // (heads + 2 * kept)
    past, past_size = o.shape(3)[2:] if o.has(3) else (0, size)
    reach = max(past, length) if o.given.get("sliding_window_cache") else past + length
    rows = past if o.given.get("sliding_window_cache") else reach
    present = (batch, kept, rows, past_size), o.code(3, o.code())
    out = (batch, length, heads * size), o.code()
    scores = (batch, heads, length, reach), o.code()
    macs = 2 * batch * heads * length * reach * size
    return Fused("scaled_dot_product_attention", [out, present, present, scores], macs)


def _attention(o: FusedOperands) -> Fused:
    """The standard operator: heads as an axis, or within the last one."""
    query, key, value = o.shape(0), o.shape(1), o.shape(2)
    columns: Shape
    if len(query) == 3:
        heads, kept = o.heads("q_num_heads"), o.heads("kv_num_heads")
        batch, length, size, value_size = *query[:2], query[2] // heads, value[2] // kept
        reach, columns = key[1], (length, heads * value_size)
    else:
        batch, heads, length, size = query
        kept, reach, value_size = key[1], key[2], value[3]
        columns = (heads, length, value_size)
    reach += o.shape(4)[2] if o.has(4) else 0
    values: list[Known | None] = [
        ((batch, *columns), o.code()),
        ((batch, kept, reach, size), o.code()),
        ((batch, kept, reach, value_size), o.code()),
        ((batch, heads, length, reach), o.code()),
    ]
    macs = batch * heads * length * reach * (size + value_size)
    return Fused("scaled_dot_product_attention", values, macs)


def _linear_attention(o: FusedOperands) -> Fused:
    """A state that each step is written into and read from; delta rules read it once more."""
    query, heads, kept = o.shape(0), o.heads("q_num_heads"), o.heads("kv_num_heads")
    batch, length = query[:2]
    size, value_size = query[2] // heads, o.shape(2)[2] // kept
    rule = o.given.get("update_rule", b"gated_delta")
    writes = 2 * kept if "delta" in (rule.decode() if isinstance(rule, bytes) else rule) else kept
    macs = batch * length * (writes + heads) * size * value_size
    state = (batch, kept, size, value_size), o.code(3, o.code())
    out = (batch, length, heads * value_size), o.code()
    return Fused("linear_attention", [out, state], macs)


_CAUSAL = frozenset({"activation", "dilation", "ndim"})
"""Attributes with which a causal convolution is known: others lay it out in another way."""


def _causal_convolution(o: FusedOperands) -> Fused | None:
    """Each channel by itself, along what was kept of the past and what comes."""
    if len(o.shape(0)) != 3 or any(o.given[name] for name in o.given.keys() - _CAUSAL):
        return None
    (batch, channels, length), kernel = o.shape(0), o.shape(1)[-1]
    state = (batch, channels, (kernel - 1) * int(o.given.get("dilation", 1))), o.code()
    macs = batch * channels * length * kernel
    return Fused("causal_conv1d", [(o.shape(0), o.code()), state], macs)


def _rotary(o: FusedOperands) -> Fused:
    """Pairs within the last axis are turned, by an angle for each place."""
    shape = o.shape(0)
    return Fused("rotary_embedding", [(shape, o.code())], relation=("along", len(shape) - 1))


def _scattered(o: FusedOperands) -> Fused:
    return Fused("index_put", [(o.shape(0), o.code())])


def _softmax(o: FusedOperands) -> Fused:
    shape = o.shape(0)
    axis = int(o.given.get("axis", 1)) % len(shape)
    return Fused("softmax", [(shape, o.code())], relation=("along", *range(axis, len(shape))))


def _of_type(kind: str, place: int, otherwise: int) -> Rule:
    """Element by element, of the type that the operand at a place has."""

    def rule(o: FusedOperands) -> Fused:
        code = o.code(place, otherwise)
        return Fused(kind, [(o.shape(0), code)])

    return rule


def _quantized_rows(o: FusedOperands) -> Fused:
    """Rows of a table of few bits, as numbers with fractions."""
    table, places = o.shape(0), o.shape(1)
    axis = int(o.given.get("gather_axis", 0)) % len(table)
    packed = 8 // int(o.given.get("bits", 4)) if o.code() == onnx.TensorProto.UINT8 else 1
    table = (*table[:-1], table[-1] * packed)
    code = o.code(2)
    return Fused("embedding", [((*table[:axis], *places, *table[axis + 1 :]), code)])


def _to_blocks(o: FusedOperands) -> Fused:
    """An image laid out in blocks of channels; how large these are the file says elsewhere."""
    last = o.given.get("channels_last", 0)
    return Fused("to_blocks", [None], relation=() if last else ("pad", *(0 for _ in o.shape(0))))


def _from_blocks(o: FusedOperands) -> Fused:
    """The same the other way: what a block is filled up with goes."""
    (batch, _, *space), channels = o.shape(0), int(o.given["channels"])
    if o.given.get("channels_last", 0):
        return Fused("from_blocks", [((batch, *space, channels), o.code())])
    return Fused(
        "from_blocks", [((batch, channels, *space), o.code())], relation=("slice", 1, 0, 1)
    )


def _resized(o: FusedOperands) -> Fused:
    """Each pixel several times, or between those around it."""
    scales = [int(n) for n in o.given.get("scales") or [1] * len(o.shape(0))]
    shape = tuple(n * by for n, by in zip(o.shape(0), scales, strict=True))
    nearest = o.given.get("mode", b"nearest") == b"nearest"
    kind = "upsample_nearest2d" if nearest else "upsample_bilinear2d"
    return Fused(kind, [(shape, o.code())], relation=("nearest",) if nearest else ())


_RULES: Mapping[tuple[str, str], Rule] = {
    ("", "Attention"): _attention,
    ("", "CausalConvWithState"): _causal_convolution,
    ("", "LinearAttention"): _linear_attention,
    ("", "RotaryEmbedding"): _rotary,
    ("", "SimplifiedLayerNormalization"): _norm("rms_norm", sums=False),
    ("", "SwiGLU"): _like_first("swiglu"),
    ("", "TensorScatter"): _scattered,
    (DOMAIN, "Attention"): _packed_attention(4),
    (DOMAIN, "BiasAdd"): _like_first("add"),
    (DOMAIN, "BiasGelu"): _like_first("gelu"),
    (DOMAIN, "BiasSoftmax"): _softmax,
    (DOMAIN, "CausalConvWithState"): _causal_convolution,
    (DOMAIN, "DequantizeLinear"): _of_type("dequantize", 1, FLOAT),
    (DOMAIN, "EmbedLayerNormalization"): _embedding,
    (DOMAIN, "FastGelu"): _like_first("gelu"),
    (DOMAIN, "FusedMatMul"): _product,
    (DOMAIN, "GatherBlockQuantized"): _quantized_rows,
    (DOMAIN, "Gelu"): _like_first("gelu"),
    (DOMAIN, "GroupQueryAttention"): _grouped,
    (DOMAIN, "LinearAttention"): _linear_attention,
    (DOMAIN, "MatMulNBits"): _packed_product,
    (DOMAIN, "MoE"): _experts((2, 4, 6), packed=False),
    (DOMAIN, "MultiHeadAttention"): _multi_head,
    (DOMAIN, "QAttention"): _packed_attention(8),
    (DOMAIN, "QEmbedLayerNormalization"): _embedding,
    (DOMAIN, "QMoE"): _experts((2, 5, 8), packed=True),
    (DOMAIN, "QuantizeLinear"): _of_type("quantize", 2, int(onnx.TensorProto.UINT8)),
    (DOMAIN, "QuickGelu"): _like_first("gelu"),
    (DOMAIN, "RotaryEmbedding"): _rotary,
    (DOMAIN, "SimplifiedLayerNormalization"): _norm("rms_norm", sums=False),
    (DOMAIN, "SkipLayerNormalization"): _norm("layer_norm", sums=True),
    (DOMAIN, "SkipSimplifiedLayerNormalization"): _norm("rms_norm", sums=True),
    (BLOCKED, "ReorderInput"): _to_blocks,
    (BLOCKED, "ReorderOutput"): _from_blocks,
    (BLOCKED, "Upsample"): _resized,
}
