"""Each ONNX operator in ATen's terms, so that both importers give the same facts.

What is not here is opaque: it needs all of its operands for any part of its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from planners.importers.onnx import layers
from planners.importers.onnx.contributed import BY_NAME, standard_form
from planners.importers.onnx.fused import fused
from planners.importers.onnx.node import OnnxNode
from planners.importers.torch.aten_calls import BEFORE, Aten, Said, element, unary


def aten(node: OnnxNode) -> Said:
    """The steps of a node; none for an identity, None for an opaque operator."""
    plain = standard_form(node.proto)
    if plain is not None:
        return _contributed(node, plain)
    standard = node.proto.domain in ("", "ai.onnx") or node.proto.op_type in BY_NAME
    say = _SAY.get(node.proto.op_type) if standard else None
    if say is None and (operator := fused(node.proto, node.known)) is not None:
        return layers.fused(node, operator)
    if say is None or (len(node.outputs) > 1 and node.proto.op_type not in _MAY_GIVE_MORE):
        return None
    return say(node)


def _contributed(node: OnnxNode, plain: Any) -> Said:
    """What the standard operator says, with the scales and such that are no single numbers."""
    calls = aten(OnnxNode(plain, node.values, node.opset))
    extra = [n for n in node.inputs if n not in plain.input and not node.is_number(n)]
    if not calls or not extra:
        return calls
    operands = {**calls[-1].operands, **{f"q{i}": name for i, name in enumerate(extra)}}
    return [*calls[:-1], replace(calls[-1], operands=operands, relation=())]


_MAY_GIVE_MORE = frozenset(
    {"Split", "LSTM", "GRU", "RNN", "TopK", "MaxPool", "DynamicQuantizeLinear"}
)


def _binary(kind: str) -> Callable[[OnnxNode], Said]:
    """Element by element; an operand of one known number is a number, not a tensor."""

    def say(node: OnnxNode) -> Said:
        tensors = [name for name in node.inputs if not node.is_number(name)]
        named = {f"self{i}": name for i, name in enumerate(tensors or node.inputs[:1])}
        numbers = tuple(node.number(name) for name in node.inputs if name not in tensors)
        return [Aten(kind, named, {"numbers": numbers}, relation=("same",))]

    return say


def _whole(kind: str) -> Callable[[OnnxNode], Said]:
    """What needs all of its operands, numbers and computed sizes aside, for any part."""

    def say(node: OnnxNode) -> Said:
        sizes = node.values.folded | {name for name in node.inputs if node.is_number(name)}
        names = [name for name in node.inputs if name not in sizes]
        return [Aten(kind, {f"self{i}": name for i, name in enumerate(names)}, relation=())]

    return say


def _clip(node: OnnxNode) -> Said:
    low = node.array(1) if node.opset >= 11 else node.get("min")
    high = node.array(2) if node.opset >= 11 else node.get("max")
    limits = tuple(None if n is None else float(np.ravel(n)[0]) for n in (low, high))
    kind = "hardtanh" if limits in ((0.0, 6.0), (-1.0, 1.0)) else "clamp"
    return [Aten(kind, {"self": node.input(0)}, {"limits": limits}, unary=True)]


def _filled(kind: str) -> Callable[[OnnxNode], Said]:
    """Numbers that depend on the operands' shapes alone."""
    return lambda node: [Aten(kind, {}, relation=())]


def _cast(node: OnnxNode) -> Said:
    if node.values.of[node.input(0)].dtype == node.values.of[node.outputs[0]].dtype:
        return []
    return [Aten("to", {"self": node.input(0)})]


def _nothing(node: OnnxNode) -> Said:
    return []


def _reshape(node: OnnxNode) -> Said:
    if prod(node.shape()) != prod(node.out):
        raise ValueError(f"{node.shape()} does not reshape to {node.out}")
    return [Aten("reshape", {"self": node.input(0)})]


def _transpose(node: OnnxNode) -> Said:
    axes = node.get("perm") or list(range(len(node.shape())))[::-1]
    return [Aten("permute", {"self": node.input(0)}, {"dims": axes})]


def _expand(node: OnnxNode) -> Said:
    return [Aten("expand", {"self": node.input(0)})]


def _slice(node: OnnxNode) -> Said:
    starts, ends = node.list_of("starts", 1), node.list_of("ends", 2)
    if starts is None or ends is None:
        return None
    axes = node.list_of("axes", 3) or list(range(len(starts)))
    steps = node.list_of("steps", 4) or [1] * len(starts)
    if min(steps) < 0:
        return [Aten("flip", {"self": node.input(0)})]
    shape, source, calls = list(node.shape()), node.input(0), []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis %= len(shape)
        span = range(shape[axis])[start:end:step]
        if len(span) == shape[axis]:
            continue
        shape[axis] = len(span)
        args = {"dim": axis, "start": span.start, "step": step}
        calls.append(Aten("slice", {"self": source}, args, shape=tuple(shape)))
        source = BEFORE
    return calls


def _split(node: OnnxNode) -> Said:
    axis = node.get("axis", 0) % len(node.shape())
    return [Aten("split_with_sizes", {"self": node.input(0)}, {"dim": axis}, splits=axis)]


def _gather(node: OnnxNode) -> Said:
    index, axis = node.array(1), node.get("axis", 0)
    if index is not None and index.ndim == 0:
        args = {"dim": axis, "index": int(index)}
        return [Aten("select", {"self": node.input(0)}, args)]
    table = node.input(0) in node.values.parameters and axis == 0
    operands = {"self": node.input(0), "index": node.input(1)}
    return [Aten("embedding" if table else "index_select", operands, relation=())]


def _concat(node: OnnxNode) -> Said:
    operands = {f"tensors{i}": name for i, name in enumerate(node.inputs)}
    return [Aten("cat", operands, {"dim": node.get("axis", 1)})]


def _pad(node: OnnxNode) -> Said:
    amounts, axes = node.list_of("pads", 1), node.list_of("axes", 3)
    if amounts is None:
        return None
    rank = len(node.shape())
    chosen = [axis % rank for axis in axes] if axes else list(range(rank))
    before, after = [0] * rank, [0] * rank
    for at, axis in enumerate(chosen):
        before[axis], after[axis] = amounts[at], amounts[at + len(chosen)]
    pairs = [n for axis in reversed(range(rank)) for n in (before[axis], after[axis])]
    args = {"pad": pairs, "mode": node.get("mode", "constant")}
    number = node.known_number(2) if node.opset >= 11 else float(node.get("value", 0.0))
    beyond = number if args["mode"] == "constant" else None
    return [Aten("pad", {"self": node.input(0)}, args, beyond=beyond)]


def _softmax(kind: str) -> Callable[[OnnxNode], Said]:
    """Along one axis; before opset 13 along all axes from it on."""

    def say(node: OnnxNode) -> Said:
        rank = len(node.shape())
        new = node.opset >= 13
        axis = node.get("axis", -1 if new else 1) % rank
        return [Aten(kind, {"self": node.input(0)}, {"dim": axis if new else range(axis, rank)})]

    return say


def _normalized(kind: str, axis: int) -> Callable[[OnnxNode], Said]:
    """Each element by all of some axes; before opset 13 `Hardmax` by all from one on."""

    def say(node: OnnxNode) -> Said:
        rank = len(node.shape())
        axes = node.get("axes") or [node.get("axis", axis)]
        along = {n % rank for n in axes}
        if kind == "hardmax" and node.opset < 13:
            along = set(range(node.get("axis", 1) % rank, rank))
        return [Aten(kind, {"self": node.input(0)}, relation=("along", *sorted(along)))]

    return say


def _moments(node: OnnxNode) -> Said:
    along = sorted(axis % len(node.shape()) for axis in node.get("axes") or (0, 2, 3))
    return [Aten("instance_norm", {"self": node.input(0)}, relation=("along", *along))]


def _reduce(kind: str) -> Callable[[OnnxNode], Said]:
    def say(node: OnnxNode) -> Said:
        axes = node.list_of("axes", 1)
        if not axes and node.get("noop_with_empty_axes", 0):
            return []
        rank = len(node.shape())
        along = sorted(axis % rank for axis in axes or range(rank))
        word = "along" if node.get("keepdims", 1) else "reduce"
        return [Aten(kind, {"self": node.input(0)}, relation=(word, *along))]

    return say


def _resize(node: OnnxNode) -> Said:
    """Nearest and bilinear over the third axis and after, as PyTorch has them; else all is read."""
    mode, data, out = node.get("mode", "nearest"), node.shape(), node.out
    place = node.get("coordinate_transformation_mode", "half_pixel")
    if node.proto.op_type == "Upsample":
        place = "asymmetric"
    plain = len(data) == 4 and data[:2] == out[:2] and not node.get("antialias", 0)
    whole = plain and all(n % m == 0 for m, n in zip(data[2:], out[2:]))
    relation: tuple[str | int, ...] = ()
    floor = node.proto.op_type == "Upsample" or node.get("nearest_mode", "") == "floor"
    if mode == "nearest" and place == "asymmetric" and floor and whole:
        relation = ("nearest",)
    if mode == "linear" and plain and place in ("half_pixel", "pytorch_half_pixel"):
        relation = ("bilinear",) if whole else ()
    if mode == "linear" and plain and place == "align_corners":
        relation = ("corners",)
    name = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, "nearest")
    return [Aten(f"upsample_{name}{len(data) - 2}d", {"self": node.input(0)}, relation=relation)]


def _quantize(kind: str) -> Callable[[OnnxNode], Said]:
    """Element by element where one scale serves the whole tensor, or one a channel."""

    def say(node: OnnxNode) -> Said:
        rest = [name for name in node.inputs[1:] if not node.is_number(name)]
        operands = {"self": node.input(0)} | {f"q{i}": name for i, name in enumerate(rest)}
        by_channel = node.get("axis", 1) == 1 and len(node.shape()) > 1
        flat = all(len(node.values.of[name].shape) == 1 for name in rest)
        relation = ("same",) if not rest else ("channels",) if by_channel and flat else ()
        return [Aten(kind, operands, relation=relation, unary=not rest)]

    return say


_UNARY = {
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log",
    "Sqrt": "sqrt", "Abs": "abs", "Neg": "neg", "Reciprocal": "reciprocal", "Erf": "erf",
    "Sin": "sin", "Cos": "cos", "Elu": "elu", "Selu": "selu", "Celu": "celu", "Gelu": "gelu",
    "LeakyRelu": "leaky_relu", "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish",
    "HardSigmoid": "hardsigmoid", "HardSwish": "hardswish", "Swish": "silu",
    "ThresholdedRelu": "threshold", "Floor": "floor", "Ceil": "ceil", "Round": "round",
    "Sign": "sign", "Not": "logical_not",
}  # fmt: skip
_ELEMENT = {
    "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "Cosh": "cosh", "Sinh": "sinh", "Tan": "tan", "Shrink": "hardshrink",
    "IsNaN": "isnan", "IsInf": "isinf", "BitwiseNot": "bitwise_not",
}  # fmt: skip
_BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Pow": "pow", "Max": "maximum",
    "Min": "minimum", "Sum": "add", "Mean": "add", "Mod": "remainder", "Where": "where",
    "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "Equal": "eq", "Less": "lt",
    "LessOrEqual": "le", "Greater": "gt", "GreaterOrEqual": "ge", "PRelu": "prelu",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "BitShift": "bitwise_shift",
}  # fmt: skip
_REDUCE = {
    "ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "amax", "ReduceMin": "amin",
    "ReduceProd": "prod", "ReduceL1": "linalg_vector_norm", "ReduceL2": "linalg_vector_norm",
    "ReduceLogSum": "logsumexp", "ReduceLogSumExp": "logsumexp", "ReduceSumSquare": "sum",
}  # fmt: skip
_WHOLE = {
    "ArgMax": "argmax", "ArgMin": "argmin", "CumSum": "cumsum", "DepthToSpace": "pixel_shuffle",
    "SpaceToDepth": "pixel_unshuffle", "GatherElements": "gather", "GatherND": "index",
    "OneHot": "one_hot", "ScatterElements": "scatter", "ScatterND": "index_put", "Tile": "repeat",
    "TopK": "topk", "Trilu": "tril", "DynamicQuantizeLinear": "quantize_dynamic",
}  # fmt: skip
_QUANTIZED_CONV = {"input": 0, "weight": 3, "bias": 8}
_QUANTIZED_CONV |= {f"q{place}": place for place in (1, 2, 4, 5, 6, 7)}

_SAY: Mapping[str, Callable[[OnnxNode], Said]] = {
    **{name: unary(kind) for name, kind in _UNARY.items()},
    **{name: element(kind) for name, kind in _ELEMENT.items()},
    **{name: _binary(kind) for name, kind in _BINARY.items()},
    **{name: _reduce(kind) for name, kind in _REDUCE.items()},
    **{name: _whole(kind) for name, kind in _WHOLE.items()},
    **dict.fromkeys(("LSTM", "GRU", "RNN"), layers.recurrent),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshape),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("Identity", "Dropout"), _nothing),
    "ConstantOfShape": _filled("full"),
    "EyeLike": _filled("eye"),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow", "Range"), _filled("arange")),
    "RandomNormal": _filled("randn"),
    "RandomUniform": _filled("rand"),
    "RandomNormalLike": _filled("randn"),
    "RandomUniformLike": _filled("rand"),
    "Clip": _clip,
    "Cast": _cast,
    "CastLike": _cast,
    "Transpose": _transpose,
    "Expand": _expand,
    "Slice": _slice,
    "Split": _split,
    "Gather": _gather,
    "Concat": _concat,
    "Pad": _pad,
    "Conv": layers.convolution({"input": 0, "weight": 1, "bias": 2}),
    "ConvInteger": layers.convolution({"input": 0, "weight": 1, "q2": 2, "q3": 3}, zero_at=2),
    "QLinearConv": layers.convolution(_QUANTIZED_CONV, zero_at=2),
    "ConvTranspose": layers.convolution({"input": 0, "weight": 1, "bias": 2}, "conv_transpose"),
    "MaxPool": layers.pool("max"),
    "AveragePool": layers.pool("avg"),
    "LpPool": layers.pool("lp"),
    "GlobalLpPool": layers.global_pool("lp"),
    "GlobalAveragePool": layers.global_pool("avg"),
    "GlobalMaxPool": layers.global_pool("max"),
    "Gemm": layers.gemm,
    "MatMul": layers.matmul,
    "MatMulInteger": layers.quantized_matmul(0, 1),
    "QLinearMatMul": layers.quantized_matmul(0, 3),
    "Einsum": layers.einsum,
    "BatchNormalization": layers.batch_norm,
    "LayerNormalization": layers.layer_norm("layer_norm"),
    "RMSNormalization": layers.layer_norm("rms_norm"),
    "InstanceNormalization": layers.norm("instance_norm"),
    "GroupNormalization": layers.norm("group_norm"),
    "LRN": layers.norm("local_response_norm"),
    "Hardmax": _normalized("hardmax", -1),
    "LpNormalization": _normalized("normalize", -1),
    "MeanVarianceNormalization": _moments,
    "DeformConv": layers.deformed,
    "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("log_softmax"),
    "QuantizeLinear": _quantize("quantize"),
    "DequantizeLinear": _quantize("dequantize"),
}
