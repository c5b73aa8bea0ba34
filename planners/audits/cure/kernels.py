"""Kernels of TensorFlow Lite Micro whose order is known: where an output may overlap an input.

The runtime's *reference* kernels alone: those of CMSIS-NN, of Xtensa or of Ethos-U read and write
otherwise. What is not in `KERNELS` is kept apart from all that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import tflite

from planners.audits.cure.read_order import (
    Walk,
    Window,
    broadcast,
    groups,
    least_distance,
    padded,
    rows_of_sums,
    same_padding,
    windows,
)
from planners.core.element_types import BITS
from planners.importers.tflite.file import TfliteFile, TfliteOperator, TfliteTensor

RUNTIME = "reference kernels of TensorFlow Lite Micro"
MOST_ELEMENTS = 2**26
"""Of a tensor that is walked through; larger ones are kept apart."""
_TYPES = frozenset({"float32", "int8", "int16"})
_REFERENCE = "tensorflow/lite/kernels/internal/reference"
_MICRO = "tensorflow/lite/micro/kernels"


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """An operator and the operand that its output may overlap."""

    file: TfliteFile
    operator: TfliteOperator
    source: TfliteTensor
    out: TfliteTensor

    @property
    def weights(self) -> TfliteTensor | None:
        """Its second operand."""
        given = self.operator.inputs[1] if len(self.operator.inputs) > 1 else -1
        return self.file.subgraphs[0].tensors[given] if given >= 0 else None


@dataclass(frozen=True, slots=True)
class RuntimeKernel:
    """How a kernel goes through its first `operands`, and where in tflite-micro that is written.

    `walk` is None of a call whose shapes do not suit the kernel.
    """

    walk: Callable[[RuntimeCall], Walk | None]
    source: str
    operands: int = 1


def distance(file: TfliteFile, operator: TfliteOperator, tensor: int) -> int | None:
    """The least bytes by which the output may begin before a dying input; None: keep them apart."""
    kernel = None if operator.custom else KERNELS.get(operator.kind)
    if kernel is None or len(operator.outputs) != 1 or operator.outputs[0] < 0:
        return None
    if tensor in operator.inputs[kernel.operands :]:
        return None
    tensors = file.subgraphs[0].tensors
    source, out = tensors[tensor], tensors[operator.outputs[0]]
    small = max(source.elements, out.elements) <= MOST_ELEMENTS
    if not small or not out.elements or not {source.dtype, out.dtype} <= _TYPES:
        return None
    walk = kernel.walk(RuntimeCall(file, operator, source, out))
    if walk is None:
        return None
    return least_distance(walk, BITS[source.dtype] // 8, BITS[out.dtype] // 8)


def in_place(file: TfliteFile, operator: TfliteOperator) -> bool:
    """Whether its output may be its input, at one address: it copies only where they differ."""
    if operator.kind != "RESHAPE" or operator.custom or len(operator.outputs) != 1:
        return False
    tensors = file.subgraphs[0].tensors
    ends = operator.inputs[:1] + operator.outputs
    one, other = (tensors[n] for n in ends) if len(ends) == 2 and min(ends) >= 0 else (None, None)
    if one is None or other is None or one.number in operator.inputs[1:]:
        return False
    return one.dtype == other.dtype and one.elements == other.elements


def _convolution(call: RuntimeCall) -> Walk | None:
    weights, (shape, out) = call.weights, (call.source.shape, call.out.shape)
    if weights is None or not len(weights.shape) == len(shape) == 4:
        return None
    filters, high, wide, each = weights.shape
    slid = _windows(call, (high, wide))
    if (
        slid is None
        or not each
        or shape[3] % each
        or filters != out[3]
        or filters % (shape[3] // each)
    ):
        return None
    return groups(windows(shape, out, *slid), filters, shape[3] // each, each)


def _depthwise(call: RuntimeCall) -> Walk | None:
    weights, (shape, out) = call.weights, (call.source.shape, call.out.shape)
    if weights is None or not len(weights.shape) == len(shape) == 4 or not shape[3]:
        return None
    slid = _windows(call, weights.shape[1:3])
    if slid is None or out[3] % shape[3] or weights.shape[3] != out[3]:
        return None
    return windows(shape, out, *slid, own=out[3] // shape[3])


def _pool(call: RuntimeCall) -> Walk | None:
    taps = (call.operator.get("FilterHeight", 0), call.operator.get("FilterWidth", 0))
    slid = _windows(call, taps) if len(call.source.shape) == 4 else None
    if slid is None or call.source.shape[3] != call.out.shape[3]:
        return None
    return windows(call.source.shape, call.out.shape, *slid, own=1)


def _windows(call: RuntimeCall, taps: tuple[int, ...]) -> tuple[Window, Window] | None:
    """Rows and columns; None where the output has not the size that they give."""
    (shape, out), slid = (call.source.shape, call.out.shape), []
    if len(out) != 4 or shape[0] != out[0]:
        return None
    same = call.operator.get("Padding", 0) == tflite.Padding.SAME
    for axis, (name, count) in enumerate(zip("HW", taps, strict=True), 1):
        stride = call.operator.get(f"Stride{name}", 1)
        dilation = call.operator.get(f"Dilation{name}Factor", 1)
        if min(stride, dilation, count) < 1 or max(stride, dilation, count) > MOST_ELEMENTS:
            return None
        size, reach = shape[axis], (count - 1) * dilation + 1
        if out[axis] != -(-(size if same else size - reach + 1) // stride):
            return None
        before = same_padding(size, out[axis], count, stride, dilation) if same else 0
        slid.append(Window(count, stride, dilation, before))
    return slid[0], slid[1]


def _elements(call: RuntimeCall) -> Walk | None:
    shape, out = call.source.shape, call.out.shape
    tail = out[len(out) - len(shape) :]
    if len(shape) > len(out) or any(n not in (1, m) for n, m in zip(shape, tail, strict=True)):
        return None
    return broadcast(shape, out)


def _whole_elements(call: RuntimeCall) -> Walk | None:
    return _elements(call) if call.source.shape == call.out.shape else None


def _sums(call: RuntimeCall) -> Walk | None:
    weights, out = call.weights, call.out.shape
    if weights is None or len(weights.shape) < 2 or not out or weights.shape[-2] != out[-1]:
        return None
    rows, read = prod(out[:-1]), weights.shape[-1]
    if rows * read != call.source.elements:
        return None
    return rows_of_sums(rows, read, out[-1])


def _pad(call: RuntimeCall) -> Walk | None:
    around = call.file.numbers(call.weights) if call.weights else None
    shape, out = call.source.shape, call.out.shape
    if around is None or around.shape != (len(shape), 2) or len(shape) != len(out):
        return None
    ends = [(int(a), int(b)) for a, b in around]
    if any(min(end) < 0 for end in ends):
        return None
    if any(a + n + b != m for (a, b), n, m in zip(ends, shape, out, strict=True)):
        return None
    return padded(shape, out, [a for a, _ in ends])


def _each(
    walk: Callable[[RuntimeCall], Walk | None], operands: int, names: str
) -> dict[str, RuntimeKernel]:
    """Kernels that go alike, as `NAME=file` each."""
    pairs = (entry.split("=") for entry in names.split())
    return {name: RuntimeKernel(walk, source, operands) for name, source in pairs}


KERNELS: Mapping[str, RuntimeKernel] = {
    "CONV_2D": RuntimeKernel(_convolution, f"{_REFERENCE}/integer_ops/conv.h, conv.h"),
    "DEPTHWISE_CONV_2D": RuntimeKernel(
        _depthwise, f"{_REFERENCE}/integer_ops/depthwise_conv.h, depthwiseconv_float.h"
    ),
    "MAX_POOL_2D": RuntimeKernel(_pool, f"{_REFERENCE}/integer_ops/pooling.h, pooling.h"),
    "AVERAGE_POOL_2D": RuntimeKernel(_pool, f"{_REFERENCE}/integer_ops/pooling.h, pooling.h"),
    "FULLY_CONNECTED": RuntimeKernel(
        _sums, f"{_REFERENCE}/integer_ops/fully_connected.h, fully_connected.h"
    ),
    # A row's largest and its sum are read before the row's first is written.
    "SOFTMAX": RuntimeKernel(_whole_elements, f"{_REFERENCE}/softmax.h"),
    "PAD": RuntimeKernel(_pad, f"{_REFERENCE}/pad.h"),
    **_each(
        _elements,
        2,
        f"ADD={_REFERENCE}/add.h SUB={_REFERENCE}/sub.h MUL={_REFERENCE}/mul.h "
        f"MAXIMUM={_REFERENCE}/maximum_minimum.h MINIMUM={_REFERENCE}/maximum_minimum.h",
    ),
    "PRELU": RuntimeKernel(_elements, f"{_REFERENCE}/prelu.h, {_MICRO}/prelu.cc"),
    **_each(
        _whole_elements,
        1,
        f"RELU={_MICRO}/activations.cc RELU6={_MICRO}/activations.cc "
        f"LOGISTIC={_REFERENCE}/logistic.h TANH={_REFERENCE}/tanh.h "
        f"HARD_SWISH={_REFERENCE}/hard_swish.h LEAKY_RELU={_REFERENCE}/leaky_relu.h "
        f"QUANTIZE={_REFERENCE}/quantize.h DEQUANTIZE={_REFERENCE}/dequantize.h",
    ),
}
"""By the operator's name in the schema."""
