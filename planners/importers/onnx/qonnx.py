"""QONNX's fake quantisers as what they stand for: numbers of few bits, and floats made of them.

A `Quant` gives floats that whole numbers of some bits stand for. Of a constant it is a constant of
such numbers, of a map it is one that can be kept as them, as `QuantizeLinear` and
`DequantizeLinear` say it. Each takes the fewest whole bytes that hold it.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSet
from typing import Any, NamedTuple

import onnx

from planners.importers.onnx.branches import fresh_name
from planners.importers.onnx.contributed import DOMAIN
from planners.importers.onnx.fold import Array

_BITS_AT = {"Quant": 3, "IntQuant": 3, "Trunc": 4, "BipolarQuant": None}
"""Where an operator has its bits; one of two values has one."""
_TYPES = {(8, True): "INT8", (8, False): "UINT8", (16, True): "INT16", (16, False): "UINT16"}
_MOST_BITS = 16


class Quantised(NamedTuple):
    """What such a node is: constants by name, with their shape and onnx's type, and nodes."""

    constants: Mapping[str, tuple[tuple[int, ...], int]]
    nodes: list[Any]


def is_fake_quantiser(node: Any) -> bool:
    """Whether a node is one of QONNX's, which brevitas and qonnx write."""
    domain = node.domain.startswith(("qonnx.custom_op", "onnx.brevitas"))
    return domain and node.op_type in _BITS_AT and len(node.input) > 1


def quantised(
    node: Any,
    constant: tuple[int, ...] | None,
    arrays: Mapping[str, Array],
    names: MutableSet[str],
) -> Quantised:
    """Such a node in standard words; `constant` is the shape of its operand where that is one.

    More than 16 bits are floats for good. `names` are those of all values so far, and grow.
    """
    data, scale, out = node.input[0], node.input[1], node.output[0]
    bits, signed = _bits_of(node, arrays), _is_signed(node)
    if bits > _MOST_BITS:
        return Quantised({}, [onnx.helper.make_node("Identity", [data], [out], name=node.name)])
    code = int(onnx.TensorProto.DataType.Value(_TYPES[8 if bits <= 8 else 16, signed]))
    zero = fresh_name(f"{out}.zero", names)
    whole = fresh_name(f"{data if constant is not None else out}.quantized", names)
    constants: dict[str, tuple[tuple[int, ...], int]] = {zero: ((), code)}
    back = onnx.helper.make_node(
        "DequantizeLinear", [whole, scale, zero], [out], name=node.name, domain=DOMAIN
    )
    if constant is not None:
        return Quantised({**constants, whole: (constant, code)}, [back])
    there = onnx.helper.make_node("QuantizeLinear", [data, scale, zero], [whole], domain=DOMAIN)
    return Quantised(constants, [there, back])


def _bits_of(node: Any, arrays: Mapping[str, Array]) -> int:
    """The largest number of bits that it says; more than can be kept where that is data."""
    place = _BITS_AT[node.op_type]
    if place is None:
        return 1
    array = arrays.get(node.input[place]) if place < len(node.input) else None
    if array is None or not array.size:
        return _MOST_BITS + 1
    return int(max(array.reshape(-1)))


def _is_signed(node: Any) -> bool:
    return node.op_type == "BipolarQuant" or any(a.name == "signed" and a.i for a in node.attribute)
