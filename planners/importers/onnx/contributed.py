"""onnxruntime's own operators (`com.microsoft`) as the standard ones that they stand for.

Its quantiser and its optimiser write them into files. Each computes what a standard operator does,
on whole numbers or with an activation behind it, from operands at other places: scales and zero
points lie between them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import onnx

DOMAIN = "com.microsoft"
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
    "FusedConv": ("Conv", (0, 1, 2, 3)),
    "FusedGemm": ("Gemm", (0, 1, 2)),
    "Gelu": ("Gelu", (0,)),
    "QuickGelu": ("Gelu", (0,)),
    "FastGelu": ("Gelu", (0,)),
}
_IN_FLOAT: dict[str, tuple[str, Places]] = {
    "DynamicQuantizeMatMul": ("MatMul", (0, 1)),
    "MatMulIntegerToFloat": ("MatMul", (0, 1)),
    "DynamicQuantizeLSTM": ("LSTM", (0, 1, 2, 3, 4, 5, 6, 7)),
}
_JOINED = "QLinearConcat"
_ARGUMENTS = frozenset(
    "axis axes alpha beta transA transB kernel_shape strides pads dilations group auto_pad "
    "ceil_mode count_include_pad keepdims direction hidden_size layout input_forget".split()
)
"""Attributes that the standard operators have by the same name."""
SINCE = {"Gelu": 20}
"""The first operator sets with operators that onnxruntime had before."""


def standard_form(node: Any) -> Any | None:
    """The standard node that computes what one of onnxruntime's does, reading its data alone.

    None for nodes of other domains, for operators that are not known here, and for images whose
    channels come last.
    """
    if node.domain != DOMAIN:
        return None
    held = {attribute.name: attribute for attribute in node.attribute}
    if "channels_last" in held and held["channels_last"].i:
        return None
    if "activation" in held and node.op_type not in ("FusedConv", "FusedGemm"):
        return None
    form = _form(node)
    if form is None:
        return None
    kind, places = form
    inputs = [node.input[place] if place < len(node.input) else "" for place in places]
    while inputs and not inputs[-1]:
        inputs.pop()
    made = onnx.helper.make_node(kind, inputs, list(node.output), name=node.name)
    made.attribute.extend(held[name] for name in held if name in _ARGUMENTS)
    made.metadata_props.extend(node.metadata_props)
    return made


def _form(node: Any) -> tuple[str, Places] | None:
    if node.op_type == _JOINED:
        return "Concat", tuple(range(2, len(node.input), 3))
    return _LIKE_DATA.get(node.op_type) or _IN_FLOAT.get(node.op_type)


def type_of(node: Any, first: int) -> int:
    """onnx's number of the type that such a node gives, where its first data has type `first`."""
    return FLOAT if node.op_type in _IN_FLOAT else first


def with_type(found: Any, code: int) -> Any:
    """A type that onnx inferred, with elements of another one."""
    made = onnx.TypeProto()
    made.CopyFrom(found)
    made.tensor_type.elem_type = code
    return made


def in_floats(found: Any, plain: Any) -> Any:
    """A type whose elements stand for real numbers as floats, as standard operators want them.

    Those of a byte do, and what a Gemm adds, which is of int32 beside products of bytes; other
    numbers of int32 are lengths.
    """
    whole = [onnx.TensorProto.UINT8, onnx.TensorProto.INT8]
    whole += [onnx.TensorProto.INT32] if plain.op_type == "Gemm" else []
    return with_type(found, FLOAT) if found.tensor_type.elem_type in whole else found


def packed_product(node: Any) -> tuple[int, int] | None:
    """Rows and columns of a weight of few bits, packed into bytes; None for other nodes."""
    if node.domain != DOMAIN or node.op_type != "MatMulNBits":
        return None
    sizes = {attribute.name: int(attribute.i) for attribute in node.attribute}
    return (sizes["K"], sizes["N"]) if sizes.keys() >= {"K", "N"} else None
