"""onnxruntime's own operators (`com.microsoft`) as the standard ones that they stand for.

Its quantiser and its optimiser write them into files. Each computes what a standard operator does,
on whole numbers or with an activation behind it, from operands at other places: scales and zero
points lie between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSet
from typing import Any, TypeAlias

import onnx

from planners.importers.onnx.branches import fresh_name
from planners.importers.onnx.rules import Shape

DOMAIN = "com.microsoft"
BLOCKED = "com.microsoft.nchwc"
"""Operators on images whose channels lie in blocks, the last of which may be filled up."""
FLOAT = int(onnx.TensorProto.FLOAT)

Places: TypeAlias = tuple[int, ...]

_LIKE_DATA: dict[str, tuple[str, Places]] = {
    "QLinearAdd": ("Add", (0, 3)),
    "QLinearMul": ("Mul", (0, 3)),
    "QLinearSigmoid": ("Sigmoid", (0,)),
    "QLinearLeakyRelu": ("LeakyRelu", (0,)),
    "QLinearSoftmax": ("Softmax", (0,)),
    "QLinearReduceMean": ("ReduceMean", (0,)),
    "QLinearAveragePool": ("AveragePool", (0,)),
    "QLinearGlobalAveragePool": ("GlobalAveragePool", (0,)),
    "QLinearWhere": ("Where", (0, 1, 4)),
    "QGemm": ("Gemm", (0, 3, 6)),
    "FusedConv": ("Conv", (0, 1, 2)),
    "FusedGemm": ("Gemm", (0, 1, 2)),
    "QLinearConv": ("QLinearConv", (0, 1, 2, 3, 4, 5, 6, 7, 8)),
}
_IN_FLOAT: dict[str, tuple[str, Places]] = {
    "DynamicQuantizeMatMul": ("MatMul", (0, 1)),
    "MatMulIntegerToFloat": ("MatMul", (0, 1)),
    "DynamicQuantizeLSTM": ("LSTM", (0, 1, 2, 3, 4, 5, 6, 7)),
}
BY_NAME = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""Operators that are the standard ones of newer operator sets, by the same name."""
_IN_BLOCKS: dict[str, tuple[str, Places]] = {
    "Conv": ("Conv", (0, 1, 2)),
    "MaxPool": ("MaxPool", (0,)),
    "AveragePool": ("AveragePool", (0,)),
    "GlobalMaxPool": ("GlobalMaxPool", (0,)),
    "GlobalAveragePool": ("GlobalAveragePool", (0,)),
}
_LAST = {"NhwcMaxPool": "MaxPool"}
_JOINED = "QLinearConcat"
_ARGUMENTS = frozenset(
    "axis axes alpha beta transA transB kernel_shape strides pads dilations group auto_pad "
    "ceil_mode count_include_pad keepdims direction hidden_size layout input_forget".split()
)
"""Attributes that the standard operators have by the same name."""
SINCE = {"LayerNormalization": 17}
"""The first operator sets with operators that onnxruntime writes among the standard ones before."""


def standard_form(node: Any) -> Any | None:
    """The standard node that computes what one of onnxruntime's does, reading its data alone.

    None for nodes of other domains, and for operators that are not known here.
    """
    if node.domain not in (DOMAIN, BLOCKED):
        return None
    attributes = {attribute.name: attribute for attribute in node.attribute}
    form = _form(node)
    if form is None:
        return None
    kind, places = form
    inputs = [node.input[place] if place < len(node.input) else "" for place in places]
    while inputs and not inputs[-1]:
        inputs.pop()
    standard = onnx.helper.make_node(kind, inputs, list(node.output), name=node.name)
    standard.attribute.extend(attributes[name] for name in attributes if name in _ARGUMENTS)
    standard.metadata_props.extend(node.metadata_props)
    return standard


def _form(node: Any) -> tuple[str, Places] | None:
    if node.domain == BLOCKED:
        return _IN_BLOCKS.get(node.op_type)
    if node.op_type == _JOINED:
        return "Concat", tuple(range(2, len(node.input), 3))
    return _LIKE_DATA.get(node.op_type) or _IN_FLOAT.get(node.op_type)


def is_channels_last(node: Any) -> bool:
    """Whether a node is an operator on an image whose channels come last."""
    last = any(a.name == "channels_last" and a.i for a in node.attribute)
    return node.domain == DOMAIN and (last or node.op_type in _LAST)


def channels_first(node: Any, axes: int, names: MutableSet[str]) -> list[Any]:
    """Such a node as one on an image of so many axes whose channels come first, between two that
    move that axis.

    `names` are those of all values so far, and grow.
    """
    if axes < 3:
        raise ValueError(f"an image of {axes} axes")
    ends = node.input[0], node.output[0]
    data, out = (fresh_name(f"{name}.first", names) for name in ends)
    operator = onnx.NodeProto()
    operator.CopyFrom(node)
    operator.op_type = _LAST.get(node.op_type, node.op_type)
    operator.domain = "" if node.op_type in _LAST else DOMAIN
    del operator.attribute[:]
    operator.attribute.extend(a for a in node.attribute if a.name != "channels_last")
    operator.input[0], operator.output[0] = data, out
    space = range(1, axes - 1)
    first, last = [0, axes - 1, *space], [0, *(axis + 1 for axis in space), 1]
    before = onnx.helper.make_node("Transpose", [ends[0]], [data], perm=first)
    after = onnx.helper.make_node("Transpose", [out], [ends[1]], perm=last)
    return [before, operator, after]


def blocked_shape(node: Any, data: Shape, nodes: Iterable[Any], types: Mapping[str, Any]) -> Shape:
    """The shape of an image that is laid out in blocks of channels.

    They are as many as the convolution reads that reads it; where there is none, the next multiple
    of 16 if all convolutions in blocks give such, of 8 otherwise (the two sizes of a block that
    onnxruntime has). `types` are onnx's of the weights.
    """
    last = any(a.name == "channels_last" and a.i for a in node.attribute)
    batch, channels, *space = (data[0], data[-1], *data[1:-1]) if last else data
    sixteen = True
    for each in nodes:
        if each.domain != BLOCKED or each.op_type != "Conv" or each.input[1] not in types:
            continue
        weight = [axis.dim_value for axis in types[each.input[1]].tensor_type.shape.dim]
        groups = next((a.i for a in each.attribute if a.name == "group"), 1)
        if each.input[0] == node.output[0]:
            return (batch, weight[1] * groups, *space)
        sixteen = sixteen and weight[0] % 16 == 0
    block = 16 if sixteen else 8
    return (batch, -(-channels // block) * block, *space)


def type_of(node: Any, first: int) -> int:
    """onnx's number of the type that such a node gives, where its first data has type `first`."""
    return FLOAT if node.op_type in _IN_FLOAT else first


def with_type(inferred: Any, code: int) -> Any:
    """A type that onnx inferred, with elements of another one."""
    copy = onnx.TypeProto()
    copy.CopyFrom(inferred)
    copy.tensor_type.elem_type = code
    return copy


def in_floats(inferred: Any, plain: Any) -> Any:
    """A type whose elements stand for real numbers as floats, as standard operators want them.

    Those of a byte do, and what a Gemm adds, which is of int32 beside products of bytes; other
    numbers of int32 are lengths.
    """
    whole = [onnx.TensorProto.UINT8, onnx.TensorProto.INT8]
    whole += [onnx.TensorProto.INT32] if plain.op_type == "Gemm" else []
    return with_type(inferred, FLOAT) if inferred.tensor_type.elem_type in whole else inferred
