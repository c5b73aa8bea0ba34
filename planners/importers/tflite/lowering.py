"""Each TensorFlow Lite operator in ATen's words, so that all importers give the same facts.

What is not here is opaque: it needs all of its operands for any part of its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, prod

import tflite

from planners.importers.tflite import layers
from planners.importers.tflite.values import TfliteNode, axis_here
from planners.importers.torch.aten_calls import BEFORE, Aten, Said, element, unary

_ACTIVATIONS: Mapping[int, Aten] = {
    tflite.ActivationFunctionType.RELU: Aten("relu", {"self": BEFORE}),
    tflite.ActivationFunctionType.RELU_N1_TO_1: Aten("hardtanh", {"self": BEFORE}),
    tflite.ActivationFunctionType.RELU6: Aten("hardtanh", {"self": BEFORE}),
    tflite.ActivationFunctionType.TANH: Aten("tanh", {"self": BEFORE}),
    tflite.ActivationFunctionType.SIGN_BIT: Aten("sign", {"self": BEFORE}, relation=("same",)),
}


def said(node: TfliteNode) -> Said:
    """The steps of an operator; none for an identity, None for an opaque one."""
    say = None if node.operator.custom else _SAY.get(node.operator.kind)
    if say is None or (len(node.outputs) > 1 and node.operator.kind not in _MAY_GIVE_MORE):
        return None
    steps = say(node)
    if not steps or node.operator.kind in _OWN_ACTIVATION:
        return steps
    activation = _ACTIVATIONS.get(node.get("FusedActivationFunction", 0))
    return [*steps, activation] if activation else steps


def fuses(what: Aten) -> bool:
    """Whether a step is the activation that an operator has in its options."""
    return any(what is activation for activation in _ACTIVATIONS.values())


def _binary(kind: str) -> Callable[[TfliteNode], Said]:
    """Element by element; an operand of one known number is a number, not a tensor."""

    def say(node: TfliteNode) -> Said:
        tensors = [name for name in node.inputs if not node.is_number(name)] or node.inputs[:1]
        numbers = tuple(node.number(name) for name in node.inputs if name not in tensors)
        named = {f"self{i}": name for i, name in enumerate(tensors)}
        relation = ("same",) if all(_broadcasts(node, name) for name in tensors) else ()
        return [Aten(kind, named, {"numbers": numbers}, relation=relation)]

    return say


def _broadcasts(node: TfliteNode, name: str) -> bool:
    """Whether an operand meets the value axis by axis once channels are second.

    A weight of fewer axes is said to have ones in front, before its channels are turned.
    """
    rank, shape = len(node.out), node.values.tensors[name].shape
    if len(shape) == rank or rank not in (4, 5):
        return True
    padded = (*[1] * (rank - len(shape)), *shape)
    node.reshaped(name, (padded[0], padded[-1], *padded[1:-1]))
    return node.is_weight(name)


def _whole(kind: str) -> Callable[[TfliteNode], Said]:
    """What needs all of its operands, whole numbers that say how aside, for any part."""

    def says_how(node: TfliteNode, name: str) -> bool:
        array = node.values.arrays.get(name)
        return array is not None and (array.size == 1 or array.dtype.kind in "iu")

    def say(node: TfliteNode) -> Said:
        names = [name for name in node.inputs if not says_how(node, name)]
        return [Aten(kind, {f"self{i}": name for i, name in enumerate(names)}, relation=())]

    return say


def _moves_channels(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether elements that lie in the file's order are in another one with channels second."""

    def mixed(shape: tuple[int, ...]) -> bool:
        return len(shape) in (4, 5) and shape[1] > 1 and prod(shape[2:]) > 1

    return before != after and (mixed(before) or mixed(after))


def _reshape(node: TfliteNode) -> Said:
    before, after = node.shape(), node.out
    if prod(before) != prod(after):
        raise ValueError(f"{before} does not reshape to {after}")
    relation = () if _moves_channels(before, after) else None
    return [Aten("reshape", {"self": node.input(0)}, relation=relation)]


def _transpose(node: TfliteNode) -> Said:
    axes = node.whole(1)
    if axes is None or sorted(axes) != list(range(node.rank())):
        return None
    rank = node.rank()
    order = {axis_here(to, rank): axis_here(axis, rank) for to, axis in enumerate(axes)}
    return [Aten("permute", {"self": node.input(0)}, {"dims": [order[n] for n in range(rank)]})]


def _concatenate(node: TfliteNode) -> Said:
    operands = {f"tensors{i}": name for i, name in enumerate(node.inputs)}
    return [Aten("cat", operands, {"dim": axis_here(node.get("Axis", 0), len(node.out))})]


def _split(place: int, axis_at: int) -> Callable[[TfliteNode], Said]:
    def say(node: TfliteNode) -> Said:
        axis = node.whole(axis_at)
        if not axis:
            return None
        data = node.input(place)
        dim = axis_here(axis[0], len(node.values.of[data].shape))
        return [Aten("split_with_sizes", {"self": data}, {"dim": dim}, splits=dim)]

    return say


def _cut(node: TfliteNode, spans: list[range]) -> Said:
    """A slice along each axis that is not whole, by the axes of the file."""
    shape, source, steps = list(node.shape()), node.input(0), []
    for axis, span in enumerate(spans):
        here = axis_here(axis, len(shape))
        if len(span) == shape[here] and span.step == 1:
            continue
        shape[here] = len(span)
        args = {"dim": here, "start": span.start, "step": span.step}
        steps.append(Aten("slice", {"self": source}, args, shape=tuple(shape)))
        source = BEFORE
    return steps


def _slice(node: TfliteNode) -> Said:
    begin, size = node.whole(1), node.whole(2) or node.file_out
    if begin is None:
        return None
    ends = [
        n if length < 0 else at + length for at, length, n in zip(begin, size, node.file_shape())
    ]
    return _cut(node, [range(a, b) for a, b in zip(begin, ends, strict=True)])


def _strided_slice(node: TfliteNode) -> Said:
    begin, end, steps = (node.whole(place) for place in (1, 2, 3))
    if begin is None or steps is None or min(steps) < 0:
        return None
    if node.get("EllipsisMask", 0) or node.get("NewAxisMask", 0) or node.get("Offset", False):
        return None
    shape, shrink = node.file_shape(), node.get("ShrinkAxisMask", 0)
    if len(begin) > len(shape) or (end is None and shrink):
        return None
    spans = [range(n) for n in shape]
    for axis, (a, b, step) in enumerate(zip(begin, end or begin, steps, strict=True)):
        whole = range(shape[axis])
        first = None if node.get("BeginMask", 0) >> axis & 1 else a
        last = None if end is None or node.get("EndMask", 0) >> axis & 1 else b
        if shrink >> axis & 1:
            first, last = a, (a + 1) or None
        spans[axis] = whole[first:last:step]
        if end is None:
            spans[axis] = spans[axis][: node.file_out[axis]]
    if not shrink:
        return _cut(node, spans)
    cut = _cut(node, spans) or []
    source = BEFORE if cut else node.input(0)
    before = cut[-1].shape if cut else node.shape()
    relation = () if _moves_channels(before or (), node.out) else None
    return [*cut, Aten("reshape", {"self": source}, relation=relation)]


def _pad(node: TfliteNode) -> Said:
    amounts = node.array(1)
    rank = node.rank()
    if amounts is None or amounts.shape != (rank, 2):
        return None
    by_axis = {axis_here(axis, rank): amounts[axis] for axis in range(rank)}
    pairs = [int(n) for axis in reversed(range(rank)) for n in by_axis[axis]]
    mirrors = node.operator.kind == "MIRROR_PAD"
    args = {"pad": pairs, "mode": "reflect" if mirrors else "constant"}
    beyond = None if mirrors else _padded_with(node)
    return [Aten("pad", {"self": node.input(0)}, args, beyond=beyond)]


def _padded_with(node: TfliteNode) -> float | None:
    """What a pad writes around its operand; None where its value is quantised in another way.

    The least number of a float type is as good as none to a pool, which begins with it.
    """
    name = node.every_output[0]
    data, out = (node.values.tensors[each] for each in (node.input(0), name))
    if (data.scales, data.zeros) != (out.scales, out.zeros) or len(data.scales) > 1:
        return None
    if node.operator.kind == "PAD":
        return node.zero(name)
    if not node.is_number(node.input(2)):
        return None
    value = node.number(node.input(2))
    return -inf if out.dtype == "float32" and value <= _LEAST_FLOAT else value


_LEAST_FLOAT = -(2.0**128 - 2.0**104)


def _reduce(kind: str) -> Callable[[TfliteNode], Said]:
    def say(node: TfliteNode) -> Said:
        axes = node.whole(1)
        if axes is None:
            return None
        rank = node.rank()
        here = sorted({axis_here(axis, rank) for axis in axes})
        if kind == "mean" and rank == 4 and here == [2, 3] and node.get("KeepDims", False):
            return [Aten("adaptive_avg_pool2d", {"self": node.input(0)}, relation=("adaptive", 2))]
        left = {*range(rank)} - {*here}
        mixed = not node.get("KeepDims", False) and rank >= 4 and 1 in left and len(left - {0}) > 1
        relation = () if mixed or (rank > 4 and 1 not in left) else None
        return [Aten(kind, {"self": node.input(0)}, {"dim": here}, relation)]

    return say


def _softmax(kind: str) -> Callable[[TfliteNode], Said]:
    """Along the file's last axis."""
    return lambda node: [Aten(kind, {"self": node.input(0)}, {"dim": axis_here(-1, node.rank())})]


def _lookup(node: TfliteNode) -> Said:
    """Indices stand in front of their table here."""
    return [Aten("embedding", {"self": node.input(1), "index": node.input(0)}, relation=())]


def _gather(node: TfliteNode) -> Said:
    table = node.is_weight(node.input(0)) and node.get("Axis", 0) == 0
    operands = {"self": node.input(0), "index": node.input(1)}
    operands = {key: name for key, name in operands.items() if not node.is_number(name)}
    return [Aten("embedding" if table else "index_select", operands, relation=())]


def _unpack(node: TfliteNode) -> Said:
    return [Aten("unbind", {"self": node.input(0)}, relation=())]


def _cast(node: TfliteNode) -> Said:
    """Nothing where the type stays; what changes scales only is a function of each element."""
    return [Aten("to", {"self": node.input(0)}, relation=("same",))]


def _quantize(kind: str) -> Callable[[TfliteNode], Said]:
    return lambda node: [Aten(kind, {"self": node.input(0)}, relation=("same",), unary=True)]


UNARY = {
    "LOGISTIC": "sigmoid", "TANH": "tanh", "RELU": "relu", "RELU6": "hardtanh",
    "RELU_N1_TO_1": "hardtanh", "RELU_0_TO_1": "hardtanh", "LEAKY_RELU": "leaky_relu",
    "ELU": "elu", "GELU": "gelu", "HARD_SWISH": "hardswish", "ABS": "abs", "NEG": "neg",
    "EXP": "exp", "LOG": "log", "SQRT": "sqrt", "RSQRT": "rsqrt", "SQUARE": "square", "SIN": "sin",
    "COS": "cos",
}  # fmt: skip
ELEMENT = {
    "FLOOR": "floor", "CEIL": "ceil", "ROUND": "round", "SIGN": "sign",
    "LOGICAL_NOT": "logical_not",
}  # fmt: skip
BINARY = {
    "ADD": "add", "SUB": "sub", "MUL": "mul", "DIV": "div", "POW": "pow", "MAXIMUM": "maximum",
    "MINIMUM": "minimum", "SQUARED_DIFFERENCE": "sub", "FLOOR_DIV": "div", "FLOOR_MOD": "remainder",
    "LOGICAL_AND": "logical_and", "LOGICAL_OR": "logical_or", "EQUAL": "eq", "NOT_EQUAL": "ne",
    "LESS": "lt", "LESS_EQUAL": "le", "GREATER": "gt", "GREATER_EQUAL": "ge", "SELECT_V2": "where",
    "SELECT": "where", "PRELU": "prelu", "ADD_N": "add", "ATAN2": "atan2",
}  # fmt: skip
REDUCE = {
    "MEAN": "mean", "SUM": "sum", "REDUCE_MAX": "amax", "REDUCE_MIN": "amin",
    "REDUCE_PROD": "prod", "REDUCE_ANY": "any", "REDUCE_ALL": "all",
}  # fmt: skip
_WHOLE = {
    "ARG_MAX": "argmax", "ARG_MIN": "argmin", "CUMSUM": "cumsum", "DEPTH_TO_SPACE": "pixel_shuffle",
    "SPACE_TO_DEPTH": "pixel_unshuffle", "GATHER_ND": "index", "ONE_HOT": "one_hot",
    "SCATTER_ND": "index_put", "TILE": "repeat", "TOPK_V2": "topk", "PACK": "stack",
    "BROADCAST_TO": "expand_copy", "REVERSE_V2": "flip", "L2_NORMALIZATION": "normalize",
    "LOCAL_RESPONSE_NORMALIZATION": "local_response_norm", "BATCH_TO_SPACE_ND": "batch_to_space",
    "SPACE_TO_BATCH_ND": "space_to_batch", "DENSIFY": "to_dense", "SHAPE": "shape",
    "RANGE": "arange", "FILL": "full", "ZEROS_LIKE": "zeros_like",
}  # fmt: skip
_SAY: Mapping[str, Callable[[TfliteNode], Said]] = {
    **{name: unary(kind) for name, kind in UNARY.items()},
    **{name: element(kind) for name, kind in ELEMENT.items()},
    **{name: _binary(kind) for name, kind in BINARY.items()},
    **{name: _reduce(kind) for name, kind in REDUCE.items()},
    **{name: _whole(kind) for name, kind in _WHOLE.items()},
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _pad),
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concatenate,
    "SPLIT": _split(1, 0),
    "SPLIT_V": _split(0, 2),
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "SOFTMAX": _softmax("softmax"),
    "LOG_SOFTMAX": _softmax("log_softmax"),
    "GATHER": _gather,
    "EMBEDDING_LOOKUP": _lookup,
    "UNPACK": _unpack,
    "CAST": _cast,
    "QUANTIZE": _quantize("quantize"),
    "DEQUANTIZE": _quantize("dequantize"),
    "CONV_2D": layers.convolution,
    "CONV_3D": layers.convolution,
    "DEPTHWISE_CONV_2D": layers.depthwise,
    "TRANSPOSE_CONV": layers.transposed,
    "FULLY_CONNECTED": layers.fully_connected,
    "BATCH_MATMUL": layers.product,
    "AVERAGE_POOL_2D": layers.pool("avg"),
    "MAX_POOL_2D": layers.pool("max"),
    "L2_POOL_2D": layers.pool("lp"),
    "RESIZE_BILINEAR": layers.resize("upsample_bilinear2d"),
    "RESIZE_NEAREST_NEIGHBOR": layers.resize("upsample_nearest2d"),
    **dict.fromkeys(layers.RECURRENT, layers.recurrent),
}
_OWN_ACTIVATION = frozenset(layers.RECURRENT)
_MAY_GIVE_MORE = frozenset({"SPLIT", "SPLIT_V", "UNPACK", "TOPK_V2", *layers.RECURRENT})
