"""Each ONNX operator in ATen's words, so that both importers tell the same facts.

What is not here is opaque: it needs all of its operands for any part of its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TypeAlias

from planners.graph.importers.onnx_node import Aten, Node

Said: TypeAlias = "list[Aten] | None"
"""The steps of a node, each reading the one before as `"<"`; None where it is opaque."""
BEFORE = "<"


def aten(node: Node) -> Said:
    """The steps of a node; none for an identity, None for an opaque operator."""
    say = _SAY.get(node.proto.op_type) if node.proto.domain in ("", "ai.onnx") else None
    if say is None or (len(node.outputs) > 1 and node.proto.op_type not in _MAY_GIVE_MORE):
        return None
    return say(node)


_MAY_GIVE_MORE = frozenset({"Split", "LSTM", "GRU", "RNN"})


def _unary(kind: str) -> Callable[[Node], Said]:
    return lambda node: [Aten(kind, {"self": node.input(0)})]


def _binary(kind: str) -> Callable[[Node], Said]:
    """Element by element; an operand of one known number is a number, not a tensor."""

    def say(node: Node) -> Said:
        tensors = [name for name in node.inputs if not node.is_number(name)]
        named = {f"self{i}": name for i, name in enumerate(tensors or node.inputs[:1])}
        numbers = tuple(node.number(name) for name in node.inputs if name not in tensors)
        return [Aten(kind, named, {"numbers": numbers}, relation=("same",))]

    return say


def _clip(node: Node) -> Said:
    low = node.array(1) if node.opset >= 11 else node.get("min")
    high = node.array(2) if node.opset >= 11 else node.get("max")
    limits = tuple(None if n is None else float(n) for n in (low, high))
    kind = "hardtanh" if limits in ((0.0, 6.0), (-1.0, 1.0)) else "clamp"
    return [Aten(kind, {"self": node.input(0)}, {"limits": limits}, unary=True)]


def _cast(node: Node) -> Said:
    if node.values.of[node.input(0)].dtype == node.values.of[node.outputs[0]].dtype:
        return []
    return [Aten("to", {"self": node.input(0)})]


def _nothing(node: Node) -> Said:
    return []


def _reshape(node: Node) -> Said:
    if prod(node.shape()) != prod(node.out):
        raise ValueError(f"{node.shape()} does not reshape to {node.out}")
    return [Aten("reshape", {"self": node.input(0)})]


def _transpose(node: Node) -> Said:
    axes = node.get("perm") or list(range(len(node.shape())))[::-1]
    return [Aten("permute", {"self": node.input(0)}, {"dims": axes})]


def _expand(node: Node) -> Said:
    return [Aten("expand", {"self": node.input(0)})]


def _slice(node: Node) -> Said:
    starts, ends = node.list_of("starts", 1), node.list_of("ends", 2)
    if starts is None or ends is None:
        return None
    axes = node.list_of("axes", 3) or list(range(len(starts)))
    steps = node.list_of("steps", 4) or [1] * len(starts)
    if min(steps) < 0:
        return [Aten("flip", {"self": node.input(0)})]
    shape, source, said = list(node.shape()), node.input(0), []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis %= len(shape)
        span = range(shape[axis])[start:end:step]
        if len(span) == shape[axis]:
            continue
        shape[axis] = len(span)
        args = {"dim": axis, "start": span.start, "step": step}
        said.append(Aten("slice", {"self": source}, args, shape=tuple(shape)))
        source = BEFORE
    return said


def _split(node: Node) -> Said:
    axis = node.get("axis", 0) % len(node.shape())
    return [Aten("split_with_sizes", {"self": node.input(0)}, {"dim": axis}, splits=axis)]


def _gather(node: Node) -> Said:
    index, axis = node.array(1), node.get("axis", 0)
    if index is not None and index.ndim == 0:
        args = {"dim": axis, "index": int(index)}
        return [Aten("select", {"self": node.input(0)}, args)]
    table = node.input(0) in node.values.parameters and axis == 0
    operands = {"self": node.input(0), "index": node.input(1)}
    return [Aten("embedding" if table else "index_select", operands, relation=())]


def _concat(node: Node) -> Said:
    operands = {f"tensors{i}": name for i, name in enumerate(node.inputs)}
    return [Aten("cat", operands, {"dim": node.get("axis", 1)})]


def _pad(node: Node) -> Said:
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
    return [Aten("pad", {"self": node.input(0)}, args)]


def _window(node: Node, kernel: tuple[int, ...]) -> dict[str, object]:
    """What slides; where padding differs between the ends, that in front is what counts."""
    axes = len(kernel)
    strides = list(node.get("strides") or [1] * axes)
    dilations = list(node.get("dilations") or [1] * axes)
    pads = list(node.get("pads") or [0] * 2 * axes)[:axes]
    auto = node.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        sizes = zip(node.shape()[2:], node.out[2:], kernel, strides, dilations, strict=True)
        beyond = [max(0, (m - 1) * s + d * (k - 1) + 1 - n) for n, m, k, s, d in sizes]
        pads = [(n + (auto == "SAME_LOWER")) // 2 for n in beyond]
    elif auto == "VALID":
        pads = [0] * axes
    return {
        "stride": strides,
        "padding": pads,
        "dilation": dilations,
        "groups": node.get("group", 1),
    }


def _convolution(places: Mapping[str, int], kind: str = "conv") -> Callable[[Node], Said]:
    """`places` are those of input, weight, bias and of what scales them, where it is a tensor."""

    def say(node: Node) -> Said:
        data, weight = node.shape(), node.shape(places["weight"])
        kernel, groups = weight[2:], node.get("group", 1)
        reads = weight[0] if kind == "conv_transpose" else weight[1] * groups
        if data[1] != reads or weight[0] % groups:
            raise ValueError(f"a weight of {weight} for {data}")
        operands = {key: node.input(at) for key, at in places.items() if node.input(at)}
        extra = [key for key, name in operands.items() if key[0] == "q" and node.is_number(name)]
        operands = {key: name for key, name in operands.items() if key not in extra}
        return [Aten(f"{kind}{len(kernel)}d", operands, _window(node, kernel))]

    return say


def _pool(kind: str) -> Callable[[Node], Said]:
    def say(node: Node) -> Said:
        kernel = tuple(node.get("kernel_shape", ()))
        args = {**_window(node, kernel), "kernel_size": list(kernel)}
        return [Aten(f"{kind}_pool{len(kernel)}d", {"self": node.input(0)}, args)]

    return say


def _global_pool(kind: str) -> Callable[[Node], Said]:
    def say(node: Node) -> Said:
        axes = len(node.shape()) - 2
        relation = ("adaptive", axes)
        kinds = f"adaptive_{kind}_pool{axes}d"
        return [Aten(kinds, {"self": node.input(0)}, relation=relation)]

    return say


def _gemm(node: Node) -> Said:
    """A linear layer where the second operand is a weight; a product and a sum otherwise."""
    weight, bias = node.input(1), node.input(2)
    said, data = [], node.input(0)
    if node.get("transA", 0):
        shape = node.shape()[::-1]
        said.append(Aten("permute", {"self": data}, {"dims": [1, 0]}, shape=shape))
        data = BEFORE
    width = node.out[-1]
    known = node.values.of
    if node.shape()[0 if node.get("transA", 0) else 1] != node.shape(1)[node.get("transB", 0)]:
        raise ValueError(f"{node.shape()} times {node.shape(1)}")
    if weight in node.values.parameters and (not bias or known[bias].shape == (width,)):
        operands = {"input": data, "weight": weight} | ({"bias": bias} if bias else {})
        args = {"transposed": not node.get("transB", 0)}
        macs = prod(node.out) * node.shape(1)[node.get("transB", 0)]
        return [*said, Aten("linear", operands, args, macs=macs)]
    if node.get("transB", 0):
        return None
    product = Aten("matmul", {"self": data, "other": weight}, shape=node.out)
    total = Aten("add", {"self0": BEFORE, "self1": bias}, relation=("same",))
    return [*said, product, *([total] if bias and not node.is_number(bias) else [])]


def _matmul(node: Node) -> Said:
    return [Aten("matmul", {"self": node.input(0), "other": node.input(1)})]


def _quantized_matmul(first: int, second: int) -> Callable[[Node], Said]:
    def say(node: Node) -> Said:
        names = {"self": node.input(first), "other": node.input(second)}
        rest = [n for n in node.inputs if n not in names.values() and not node.is_number(n)]
        relation = None if not rest else ()
        return [Aten("matmul", names | {f"q{i}": n for i, n in enumerate(rest)}, relation=relation)]

    return say


def _einsum(node: Node) -> Said:
    operands = {f"operands{i}": name for i, name in enumerate(node.inputs)}
    return [Aten("einsum", operands, {"equation": node.get("equation", "")})]


def _batch_norm(node: Node) -> Said:
    if node.get("training_mode", 0):
        return None
    names = ("input", "weight", "bias", "running_mean", "running_var")
    return [Aten("batch_norm", dict(zip(names, node.proto.input)))]


def _layer_norm(kind: str) -> Callable[[Node], Said]:
    def say(node: Node) -> Said:
        rank = len(node.shape())
        axes = range(node.get("axis", -1) % rank, rank)
        operands = dict(zip(("input", "weight", "bias"), node.inputs))
        return [Aten(kind, operands, relation=("along", *axes))]

    return say


def _norm(kind: str) -> Callable[[Node], Said]:
    def say(node: Node) -> Said:
        return [Aten(kind, dict(zip(("input", "weight", "bias"), node.inputs)), relation=())]

    return say


def _softmax(kind: str) -> Callable[[Node], Said]:
    """Along one axis; before opset 13 along all axes from it on."""

    def say(node: Node) -> Said:
        rank = len(node.shape())
        new = node.opset >= 13
        axis = node.get("axis", -1 if new else 1) % rank
        return [Aten(kind, {"self": node.input(0)}, {"dim": axis if new else range(axis, rank)})]

    return say


def _reduce(kind: str) -> Callable[[Node], Said]:
    def say(node: Node) -> Said:
        axes = node.list_of("axes", 1)
        if not axes and node.get("noop_with_empty_axes", 0):
            return []
        rank = len(node.shape())
        along = sorted(axis % rank for axis in axes or range(rank))
        kept = node.get("keepdims", 1)
        return [Aten(kind, {"self": node.input(0)}, relation=("along", *along) if kept else ())]

    return say


def _resize(node: Node) -> Said:
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


def _quantize(kind: str) -> Callable[[Node], Said]:
    """Element by element where one scale serves the whole tensor, or one a channel."""

    def say(node: Node) -> Said:
        rest = [name for name in node.inputs[1:] if not node.is_number(name)]
        operands = {"self": node.input(0)} | {f"q{i}": name for i, name in enumerate(rest)}
        by_channel = node.get("axis", 1) == 1 and len(node.shape()) > 1
        flat = all(len(node.values.of[name].shape) == 1 for name in rest)
        relation = ("same",) if not rest else ("channels",) if by_channel and flat else ()
        return [Aten(kind, operands, relation=relation, unary=not rest)]

    return say


def _recurrent(node: Node) -> Said:
    """All of it at once; MACs of both products at every step."""
    length, batch = node.shape()[:2]
    products = sum(prod(node.shape(place)) for place in (1, 2))
    operands = {f"input{i}": name for i, name in enumerate(node.inputs)}
    kind = node.proto.op_type.lower()
    return [Aten(kind, operands, relation=(), macs=length * batch * products)]


def _attention(node: Node) -> Said:
    names = ("query", "key", "value", "attn_mask")
    operands = {key: name for key, name in zip(names, node.proto.input) if name}
    if len(node.inputs) > len(operands):
        return None
    return [Aten("scaled_dot_product_attention", operands, relation=())]


_UNARY = {
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log",
    "Sqrt": "sqrt", "Abs": "abs", "Neg": "neg", "Reciprocal": "reciprocal", "Erf": "erf",
    "Sin": "sin", "Cos": "cos", "Elu": "elu", "Selu": "selu", "Celu": "celu", "Gelu": "gelu",
    "LeakyRelu": "leaky_relu", "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish",
    "HardSigmoid": "hardsigmoid", "HardSwish": "hardswish", "Swish": "silu",
    "ThresholdedRelu": "threshold", "Floor": "floor", "Ceil": "ceil", "Round": "round",
    "Sign": "sign", "Not": "logical_not",
}  # fmt: skip
_BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Pow": "pow", "Max": "maximum",
    "Min": "minimum", "Sum": "add", "Mean": "add", "Mod": "remainder", "Where": "where",
    "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "Equal": "eq", "Less": "lt",
    "LessOrEqual": "le", "Greater": "gt", "GreaterOrEqual": "ge", "PRelu": "prelu",
}  # fmt: skip
_REDUCE = {
    "ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "amax", "ReduceMin": "amin",
    "ReduceProd": "prod", "ReduceL1": "linalg_vector_norm", "ReduceL2": "linalg_vector_norm",
    "ReduceLogSumExp": "logsumexp", "ReduceSumSquare": "sum",
}  # fmt: skip
_QUANTIZED_CONV = {"input": 0, "weight": 3, "bias": 8}
_QUANTIZED_CONV |= {f"q{place}": place for place in (1, 2, 4, 5, 6, 7)}

_SAY: Mapping[str, Callable[[Node], Said]] = {
    **{name: _unary(kind) for name, kind in _UNARY.items()},
    **{name: _binary(kind) for name, kind in _BINARY.items()},
    **{name: _reduce(kind) for name, kind in _REDUCE.items()},
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshape),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("Identity", "Dropout"), _nothing),
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
    "Conv": _convolution({"input": 0, "weight": 1, "bias": 2}),
    "ConvInteger": _convolution({"input": 0, "weight": 1, "q2": 2, "q3": 3}),
    "QLinearConv": _convolution(_QUANTIZED_CONV),
    "ConvTranspose": _convolution({"input": 0, "weight": 1, "bias": 2}, "conv_transpose"),
    "MaxPool": _pool("max"),
    "AveragePool": _pool("avg"),
    "GlobalAveragePool": _global_pool("avg"),
    "GlobalMaxPool": _global_pool("max"),
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _quantized_matmul(0, 1),
    "QLinearMatMul": _quantized_matmul(0, 3),
    "Einsum": _einsum,
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm("layer_norm"),
    "RMSNormalization": _layer_norm("rms_norm"),
    "InstanceNormalization": _norm("instance_norm"),
    "GroupNormalization": _norm("group_norm"),
    "LRN": _norm("local_response_norm"),
    "Softmax": _softmax("softmax"),
    "LogSoftmax": _softmax("log_softmax"),
    "QuantizeLinear": _quantize("quantize"),
    "DequantizeLinear": _quantize("dequantize"),
    "Attention": _attention,
}
