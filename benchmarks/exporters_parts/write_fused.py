"""Files of one operator that computes several at once, and one behind it: onnxruntime's own, and
those of new operator sets, which onnx's reference runs where the runtime does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from making import Write, write_all
from onnx import helper, numpy_helper
from onnx_oracle import oracle, reference_oracle

Arrays = dict[str, np.ndarray]
Made = tuple[str, Arrays, Arrays, int, dict[str, Any]]
"""Of an operator: its operands in order, those that are inputs, those that are weights, how many
values it may give, and its attributes."""
F = np.float32
OWN, NEW = "com.microsoft", ""


def array(rng: Any, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(F)


def some(draw: Random, *names: str) -> list[str]:
    """Operands that may be left out: each of these, or an empty name."""
    return [name if draw.random() < 0.5 else "_" for name in names]


def product(draw: Random, rng: Any) -> Made:
    rank = draw.randint(2, 4)
    batch = [draw.randint(1, 3) for _ in range(rank - 2)]
    rows, depth, columns = (draw.randint(2, 5) for _ in range(3))
    given = {f"trans{w}": draw.randint(0, 1) for w in "AB"}
    if rank > 2 and draw.random() < 0.3:
        given |= {"transBatchA": 1, "transBatchB": 1}

    def laid(turned: int, a: int, b: int) -> np.ndarray:
        inner = [b, a] if turned else [a, b]
        shape = [*batch, *inner]
        if "transBatchA" in given:  # the first of the two comes before the batch
            shape = [inner[0], *batch, inner[1]]
        return array(rng, *shape)

    a, b = laid(given["transA"], rows, depth), laid(given["transB"], depth, columns)
    held = {"b": b} if draw.random() < 0.5 else {}
    inputs = {"a": a} | ({} if held else {"b": b})
    return "a b", inputs, held, 1, {**given, "alpha": 0.5}


def skip_norm(simple: bool) -> Callable[[Random, Any], Made]:
    def make(draw: Random, rng: Any) -> Made:
        batch, length, width = draw.randint(1, 2), draw.randint(2, 4), 4 * draw.randint(1, 3)
        inputs = {"x": array(rng, batch, length, width), "skip": array(rng, batch, length, width)}
        held = {"gamma": array(rng, width)}
        names = ["x", "skip", "gamma"]
        for name in ("bias",) if simple else ("beta", "bias"):
            if draw.random() < 0.5:
                held[name] = array(rng, width)
            names.append(name if name in held else "_")
        return " ".join(names), inputs, held, 4, {"epsilon": 1e-5}

    return make


def embed_norm(draw: Random, rng: Any) -> Made:
    batch, length, width = draw.randint(1, 3), draw.randint(2, 5), 4 * draw.randint(1, 3)
    ids = rng.integers(0, 7, (batch, length)).astype(np.int32)
    inputs = {"ids": ids, "seg": rng.integers(0, 2, (batch, length)).astype(np.int32)}
    held = {"word": array(rng, 7, width), "pos": array(rng, 9, width), "kind": array(rng, 2, width)}
    held |= {"gamma": array(rng, width), "beta": array(rng, width)}
    return "ids seg word pos kind gamma beta", inputs, held, 3, {}


def packed_attention(draw: Random, rng: Any) -> Made:
    heads, size = draw.randint(1, 3), 2 * draw.randint(1, 3)
    batch, length, width = draw.randint(1, 2), draw.randint(2, 4), draw.randint(3, 6)
    columns = 3 * heads * size
    inputs = {"x": array(rng, batch, length, width)}
    held = {"w": array(rng, width, columns), "b": array(rng, columns)}
    names, given = "x w b", {"num_heads": heads}
    if draw.random() < 0.4:
        inputs["past"] = array(rng, 2, batch, heads, draw.randint(1, 4), size)
        return f"{names} _ past", inputs, held, 2, {**given, "unidirectional": 1}
    if draw.random() < 0.5:
        other = heads * 2 * draw.randint(1, 3)
        held = {"w": array(rng, width, 2 * heads * size + other)}
        held["b"] = array(rng, 2 * heads * size + other)
        sizes = [heads * size, heads * size, other]
        return names, inputs, held, 1, {**given, "qkv_hidden_sizes": sizes}
    return names, inputs, held, 1, given


def quantised_attention(draw: Random, rng: Any) -> Made:
    heads, size = draw.randint(1, 3), 2 * draw.randint(1, 3)
    batch, length, width = draw.randint(1, 2), draw.randint(2, 4), draw.randint(3, 6)
    columns = 3 * heads * size
    inputs = {"x": rng.integers(0, 255, (batch, length, width)).astype(np.uint8)}
    held = {"w": rng.integers(-9, 9, (width, columns)).astype(np.int8), "b": array(rng, columns)}
    held |= {"xs": F(0.1), "ws": F(0.1), "xz": np.uint8(128), "wz": np.int8(0)}
    if draw.random() < 0.4:
        inputs["past"] = array(rng, 2, batch, heads, draw.randint(1, 4), size)
        given = {"num_heads": heads, "unidirectional": 1}
        return "x w b xs ws _ xz wz past", inputs, held, 2, given
    return "x w b xs ws _ xz wz", inputs, held, 1, {"num_heads": heads}


def multi_head(draw: Random, rng: Any) -> Made:
    heads, size, value_size = draw.randint(1, 3), 2 * draw.randint(1, 3), 2 * draw.randint(1, 3)
    batch, length, reach = draw.randint(1, 2), draw.randint(2, 4), draw.randint(2, 5)
    given = {"num_heads": heads}
    way = draw.choice(("apart", "apart", "past", "cross"))
    query = {"q": array(rng, batch, length, heads * size)}
    if way == "cross":
        more = {
            "k": array(rng, batch, heads, reach, size),
            "v": array(rng, batch, heads, reach, size),
        }
        return "q k v", query | more, {}, 1, given
    if way == "past":
        more = {n: array(rng, batch, length, heads * size) for n in "kv"}
        past = {n: array(rng, batch, heads, reach, size) for n in ("pk", "pv")}
        return "q k v _ _ _ pk pv", query | more | past, {}, 3, {**given, "unidirectional": 1}
    more = {"k": array(rng, batch, reach, heads * size)}
    more["v"] = array(rng, batch, reach, heads * value_size)
    return "q k v", query | more, {}, 1, given


def grouped(draw: Random, rng: Any) -> Made:
    kept, size = draw.randint(1, 2), 8 * draw.randint(1, 2)
    heads = kept * draw.randint(1, 3)
    batch, past = draw.randint(1, 2), draw.randint(1, 5)
    packed, first = draw.random() < 0.4, draw.random() < 0.5
    length = draw.randint(2, 4) if first else 1
    columns = {"q": heads + 2 * kept if packed else heads, "k": kept, "v": kept}
    inputs = {
        name: array(rng, batch, length, n * size)
        for name, n in columns.items()
        if name == "q" or not packed
    }
    names = "q _ _" if packed else "q k v"
    before = 0 if first else past
    if not first:
        inputs |= {n: array(rng, batch, kept, past, size) for n in ("pk", "pv")}
    total = before + length
    inputs["ends"] = np.full((batch,), total - 1, np.int32)
    held = {"total": np.int32(total)}
    names += " _ _ ends total" if first else " pk pv ends total"
    given: dict[str, Any] = {"num_heads": heads, "kv_num_heads": kept}
    if not first and draw.random() < 0.3:
        given |= {"local_window_size": draw.randint(1, past), "sliding_window_cache": 1}
    if draw.random() < 0.3:
        held |= {"cos": array(rng, 16, size // 2), "sin": array(rng, 16, size // 2)}
        names, given["do_rotary"] = f"{names} cos sin", 1
    if not first and draw.random() < 0.4:
        names, scales = packed_cache(draw, rng, names, inputs)
        held |= scales
        given |= scale_attributes(scales["sk"], inputs["pk"])
    return names, inputs, held, 3, given


def packed_cache(draw: Random, rng: Any, names: str, inputs: Arrays) -> tuple[str, Arrays]:
    """A past in whole numbers, or two of them in a byte: the operands' names, and the scales."""
    _, kept, _, size = inputs["pk"].shape
    halved, kind = draw.choice(((1, np.int8), (2, np.uint8)))
    for name in ("pk", "pv"):
        shape = (*inputs[name].shape[:3], size // halved)
        inputs[name] = rng.integers(1, 99, shape).astype(kind)
    shape = draw.choice(((1,), (1, kept, 1, size)))
    left_out = " _" * (12 - len(names.split()))
    return f"{names}{left_out} sk sv", {n: np.full(shape, 0.1, F) for n in ("sk", "sv")}


def scale_attributes(scale: np.ndarray, past: np.ndarray) -> dict[str, Any]:
    way = "PER_TENSOR" if scale.ndim == 1 else "PER_CHANNEL"
    bits = 4 if past.dtype == np.uint8 else 8
    return {"kv_cache_bit_width": bits, "k_quant_type": way, "v_quant_type": way}


def rotary(new: bool) -> Callable[[Random, Any], Made]:
    def make(draw: Random, rng: Any) -> Made:
        batch, heads, length = draw.randint(1, 2), draw.randint(1, 3), draw.randint(2, 4)
        size = 2 * draw.randint(1, 3)
        four = draw.random() < 0.5
        shape = (batch, heads, length, size) if four else (batch, length, heads * size)
        inputs = {"x": array(rng, *shape)}
        held = {"cos": array(rng, 9, size // 2), "sin": array(rng, 9, size // 2)}
        inputs["at"] = np.tile(np.arange(length, dtype=np.int64), (batch, 1))
        given = {"num_heads": heads, "interleaved": draw.randint(0, 1)}
        if not new and not four:
            given = {"interleaved": 0, "num_heads": heads, "rotary_embedding_dim": 0}
            held = {n: array(rng, 9, size // 2) for n in ("cos", "sin")}
        return "x cos sin at" if new else "x at cos sin", inputs, held, 1, given

    return make


def biased(axes: int, kind: str = "") -> Callable[[Random, Any], Made]:
    def make(draw: Random, rng: Any) -> Made:
        shape = [draw.randint(1, 4) for _ in range(axes)]
        inputs, held = {"x": array(rng, *shape)}, {}
        if kind == "softmax":
            lead = draw.randint(1, axes - 1)
            bias = [1] * lead + shape[lead:]
            held["b"] = array(rng, *bias)
            return "x b", inputs, held, 1, {"axis": lead, "is_inner_broadcast": 0}
        if kind == "must" or (kind == "may" and draw.random() < 0.5):
            held["b"] = array(rng, shape[-1])
        return "x b" if held else "x", inputs, held, 1, {}

    return make


def rms_norm(draw: Random, rng: Any) -> Made:
    shape = (draw.randint(1, 3), draw.randint(2, 4), draw.randint(3, 6))
    return "x g", {"x": array(rng, *shape)}, {"g": array(rng, shape[-1])}, 2, {"axis": -1}


def few_bits(draw: Random, rng: Any) -> Made:
    block, columns = 16, draw.randint(2, 6)
    depth = block * draw.randint(1, 3)
    held = {
        "w": rng.integers(0, 255, (columns, depth // block, block // 2)).astype(np.uint8),
        "s": array(rng, columns, depth // block),
    }
    names = "x w s"
    if draw.random() < 0.5:
        count = -(-(depth // block) // 2)
        held["o"] = np.full((columns, count), 136, np.uint8)
        names += " o"
    inputs = {"x": array(rng, draw.randint(1, 2), draw.randint(1, 4), depth)}
    given = {"K": depth, "N": columns, "bits": 4, "block_size": block}
    return names, inputs, held, 1, given


def table(draw: Random, rng: Any) -> Made:
    width = 16 * draw.randint(1, 3)
    rows = draw.randint(4, 9)
    held = {"w": rng.integers(0, 255, (rows, width // 2)).astype(np.uint8)}
    held["s"] = array(rng, rows, width // 16)
    places = rng.integers(0, rows, [draw.randint(1, 3) for _ in range(draw.randint(1, 2))])
    given = {"gather_axis": 0, "quantize_axis": 1, "block_size": 16, "bits": 4}
    return "w i s", {"i": places.astype(np.int64)}, held, 1, given


def quantise(back: bool) -> Callable[[Random, Any], Made]:
    def make(draw: Random, rng: Any) -> Made:
        kind = draw.choice((np.int8, np.uint8, np.int16, np.uint16))
        shape = [draw.randint(1, 4) for _ in range(draw.randint(2, 4))]
        channels = draw.random() < 0.5
        axis = draw.randint(0, len(shape) - 1)
        lead = (shape[axis],) if channels else ()
        held = {"s": np.full(lead, 0.1, F), "o": np.zeros(lead, kind)}
        x = rng.integers(0, 9, shape).astype(kind) if back else array(rng, *shape)
        return "x s o", {"x": x}, held, 1, {"axis": axis} if channels else {}

    return make


def attention(draw: Random, rng: Any) -> Made:
    kept, size, value_size = draw.randint(1, 2), 2 * draw.randint(1, 3), 2 * draw.randint(1, 3)
    heads, batch = kept * draw.randint(1, 2), draw.randint(1, 2)
    length, reach, past = draw.randint(1, 4), draw.randint(2, 5), draw.randint(1, 4)
    if draw.random() < 0.5:
        inputs = {"q": array(rng, batch, heads, length, size)}
        inputs |= {"k": array(rng, batch, kept, reach, size)}
        inputs |= {"v": array(rng, batch, kept, reach, value_size)}
        given = {}
    else:
        inputs = {"q": array(rng, batch, length, heads * size)}
        inputs |= {"k": array(rng, batch, reach, kept * size)}
        inputs |= {"v": array(rng, batch, reach, kept * value_size)}
        given = {"q_num_heads": heads, "kv_num_heads": kept}
    if draw.random() < 0.6:
        inputs["pk"] = array(rng, batch, kept, past, size)
        inputs["pv"] = array(rng, batch, kept, past, value_size)
        return "q k v _ pk pv", inputs, {}, 3, given
    return "q k v", inputs, {}, 1, given


def linear_attention(draw: Random, rng: Any) -> Made:
    kept, size, value_size = draw.randint(1, 2), draw.randint(2, 4), draw.randint(2, 4)
    heads, batch, length = kept * draw.randint(1, 2), draw.randint(1, 2), draw.randint(1, 4)
    inputs = {"q": array(rng, batch, length, heads * size)}
    inputs |= {"k": array(rng, batch, length, kept * size)}
    inputs |= {"v": array(rng, batch, length, kept * value_size)}
    rule = draw.choice(("linear", "gated", "delta", "gated_delta"))
    names = ["q", "k", "v", "_", "_", "_"]
    if draw.random() < 0.5:
        inputs["past"], names[3] = array(rng, batch, kept, size, value_size), "past"
    if "gated" in rule:
        wide = kept * size if draw.random() < 0.5 else kept
        inputs["decay"], names[4] = -abs(array(rng, batch, length, wide)), "decay"
    if "delta" in rule:
        inputs["beta"], names[5] = abs(array(rng, batch, length, kept)), "beta"
    given = {"q_num_heads": heads, "kv_num_heads": kept, "update_rule": rule}
    return " ".join(names), inputs, {}, 2, given


def causal(draw: Random, rng: Any) -> Made:
    batch, channels, length, k = (draw.randint(1, n) for n in (2, 4, 5, 4))
    k += 1
    inputs = {"x": array(rng, batch, channels, length)}
    held = {"w": array(rng, channels, 1, k)}
    names = "x w"
    with_bias, with_past = draw.random() < 0.5, draw.random() < 0.6
    if with_bias:
        held["b"] = array(rng, channels)
    if with_past:
        inputs["past"] = array(rng, batch, channels, k - 1)
    if with_bias or with_past:
        names += " b" if with_bias else " _"
    names += " past" if with_past else ""
    return names, inputs, held, 2, {"activation": draw.choice(("silu", "none"))}


def swiglu(draw: Random, rng: Any) -> Made:
    shape = [draw.randint(1, 4) for _ in range(draw.randint(2, 3))]
    return "a b", {"a": array(rng, *shape), "b": array(rng, *shape)}, {}, 1, {}


def scatter(draw: Random, rng: Any) -> Made:
    batch, heads, most, size = draw.randint(1, 2), draw.randint(1, 3), draw.randint(4, 7), 2
    length = draw.randint(1, 3)
    inputs = {"past": array(rng, batch, heads, most, size)}
    inputs["new"] = array(rng, batch, heads, length, size)
    inputs["at"] = rng.integers(0, most - length, (batch,)).astype(np.int64)
    return "past new at", inputs, {}, 1, {}


KINDS: Mapping[tuple[str, str], Callable[[Random, Any], Made]] = {
    (OWN, "FusedMatMul"): product,
    (OWN, "SkipLayerNormalization"): skip_norm(simple=False),
    (OWN, "SkipSimplifiedLayerNormalization"): skip_norm(simple=True),
    (OWN, "EmbedLayerNormalization"): embed_norm,
    (OWN, "Attention"): packed_attention,
    (OWN, "QAttention"): quantised_attention,
    (OWN, "MultiHeadAttention"): multi_head,
    (OWN, "GroupQueryAttention"): grouped,
    (OWN, "RotaryEmbedding"): rotary(new=False),
    (OWN, "BiasGelu"): biased(3, "must"),
    (OWN, "FastGelu"): biased(3, "may"),
    (OWN, "Gelu"): biased(3),
    (OWN, "QuickGelu"): biased(3),
    (OWN, "MatMulNBits"): few_bits,
    (OWN, "GatherBlockQuantized"): table,
    (OWN, "QuantizeLinear"): quantise(back=False),
    (OWN, "DequantizeLinear"): quantise(back=True),
    (OWN, "LinearAttention"): linear_attention,
    (OWN, "CausalConvWithState"): causal,
    (NEW, "SimplifiedLayerNormalization"): rms_norm,
    (NEW, "Attention"): attention,
    (NEW, "RotaryEmbedding"): rotary(new=True),
    (NEW, "TensorScatter"): scatter,
    (NEW, "LinearAttention"): linear_attention,
    (NEW, "CausalConvWithState"): causal,
    (NEW, "SwiGLU"): swiglu,
}
OPSETS = {
    "SwiGLU": 28,
    "LinearAttention": 27,
    "CausalConvWithState": 27,
    "SimplifiedLayerNormalization": 17,
}
BY_REFERENCE = {(NEW, name) for name in ("LinearAttention", "CausalConvWithState", "SwiGLU")}
_ALL_OF = frozenset({"LinearAttention", "CausalConvWithState"})
"""Operators none of whose values may be left out."""
EACH = 3
"""Files of each kind, by seed."""


def model_of(domain: str, kind: str, made: Made, draw: Random) -> Any:
    """The operator between two that are known, so that what it gives is read, or returned."""
    names, inputs, held, outputs, given = made
    count = outputs if kind in _ALL_OF else draw.randint(1, outputs)
    if kind.startswith("Skip"):
        gives = ["y", "_", "_", "y3"] if count > 1 else ["y"]
    else:
        gives = ["y"] + [f"y{i}" for i in range(1, outputs if outputs > 1 and count > 1 else 1)]
    given = dict(given)
    node = helper.make_node(
        kind,
        [name if name != "_" else "" for name in names.split()],
        [name if name != "_" else "" for name in gives],
        domain=domain,
        **given,
    )
    behind = helper.make_node("Identity" if "Quantize" in kind else "Neg", ["y"], ["z"])
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape)
        )
        for name, value in inputs.items()
    ]
    ends = [n for n in gives if n not in ("y", "_")] + ["z"]
    weights = [numpy_helper.from_array(np.asarray(a), n) for n, a in held.items()]
    graph = helper.make_graph(
        [node, behind], kind, infos, [onnx.ValueInfoProto(name=n) for n in ends], weights
    )
    sets = [helper.make_opsetid("", OPSETS.get(kind, 24)), helper.make_opsetid(OWN, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def _write(domain: str, kind: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        rng = np.random.default_rng(draw.randrange(2**31))
        made = KINDS[domain, kind](draw, rng)
        model = model_of(domain, kind, made, draw)
        file = path.with_suffix(".onnx")
        onnx.save(model, file)
        run = reference_oracle if (domain, kind) in BY_REFERENCE else oracle
        return run(file, list(made[1].values()))

    return write


if __name__ == "__main__":
    write_all(
        {
            f"{kind}_{'own' if domain else 'new'}_{at}": _write(domain, kind)
            for domain, kind in KINDS
            for at in range(EACH)
        }
    )
