"""What TensorFlow Lite Micro's kernels ask of the arena for themselves, while they run.

A file does not say: a kernel asks as it is prepared. These are the reference kernels', read in
their sources (tensorflow/tflite-micro, `micro/kernels`) and seen in what the interpreter of the
package `tflite-micro` prints; those for Cortex-M (CMSIS-NN) and of other vendors ask for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from flatbuffers import flexbuffers

from planners.core.element_types import BITS
from planners.importers.tflite.file import BROKEN, TfliteOperator, TfliteTensor

POINTER_BYTES = 8
"""Of the interpreter on a PC; 4 on microcontrollers."""
WORD_BYTES = 4
CELL_STATE, LSTM_BUFFERS = 19, 4
DETECTION, SPECTRUM = "TFLite_Detection_PostProcess", "SignalRfft"
CUSTOM = frozenset(
    "CIRCULAR_BUFFER SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank "
    "SignalFilterBankLog SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot "
    "SignalFramer SignalIrfft SignalOverlapAdd SignalPCAN SignalStacker SignalWindow".split()
) | {DETECTION, SPECTRUM}
"""Custom operators that the runtime brings kernels for; all but the two named ask for none."""
Operands = tuple[TfliteTensor | None, ...]
Asked = Callable[[Operands, Operands], list[int]]


def scratch_sizes(tensors: Sequence[TfliteTensor], operator: TfliteOperator) -> list[int] | None:
    """Bytes of each buffer that an operator's kernel asks for, by the tensors of its subgraph; None
    where that is not known."""
    inputs = tuple(None if n < 0 else tensors[n] for n in operator.inputs)
    outputs = tuple(None if n < 0 else tensors[n] for n in operator.outputs)
    try:
        if operator.custom:
            return _of_custom(operator, inputs)
        return ASKED[operator.kind](inputs, outputs) if operator.kind in ASKED else []
    except (LookupError, ValueError):
        return None


def _of_custom(operator: TfliteOperator, inputs: Operands) -> list[int] | None:
    """What the kernels ask that the runtime brings for custom operators."""
    if operator.kind not in CUSTOM:
        return None
    if operator.kind not in (DETECTION, SPECTRUM):
        return []
    try:
        given = flexbuffers.GetRoot(bytearray(operator.custom_options)).AsMap
        names = ("max_detections", "num_classes") if operator.kind == DETECTION else ("fft_length",)
        numbers = [int(given[name].AsInt) for name in names]
    except (*BROKEN, KeyError):
        return None
    if min(numbers) < 0:
        return None
    if operator.kind == SPECTRUM:
        return [numbers[0] * BITS[_operand(inputs, 0).dtype] // 8]
    return _detections(inputs, *numbers)


def _detections(inputs: Operands, most: int, classes: int) -> list[int]:
    """Of boxes, scores and anchors: which live, corners, scores, and five lists of those kept."""
    boxes = _operand(inputs, 0).shape[1]
    scores = prod(_operand(inputs, 1).shape[1:3])
    words = [4 * boxes, scores, boxes, boxes, most * boxes, most * boxes, boxes, most * boxes]
    words += [max(classes, most) * boxes, min(boxes, most) * boxes]
    return [boxes, *(count * WORD_BYTES for count in words)]


def _operand(operands: Operands, number: int) -> TfliteTensor:
    tensor = operands[number]
    if tensor is None:
        raise ValueError("an operand is left out")
    return tensor


def _int4_weights(inputs: Operands, outputs: Operands) -> list[int]:
    """Weights of four bits, a byte each."""
    weights = _operand(inputs, 1)
    return [weights.elements] if weights.dtype == "int4" else []


def _lstm(inputs: Operands, outputs: Operands) -> list[int]:
    state = _operand(inputs, CELL_STATE)
    return LSTM_BUFFERS * [state.elements * BITS[state.dtype] // 8]


def _svdf(inputs: Operands, outputs: Operands) -> list[int]:
    output, filters = _operand(outputs, 0), _operand(inputs, 1).shape[0]
    batch = _operand(inputs, 0).shape[0]
    sums = [batch * filters * WORD_BYTES]
    return sums if output.dtype == "float32" else [*sums, output.elements * WORD_BYTES]


def _transposed_convolution(inputs: Operands, outputs: Operands) -> list[int]:
    """Sums of all of the output: of 32 bits, and of 64 for 16-bit maps, with their bias."""
    elements = _operand(outputs, 0).elements
    kind = _operand(inputs, 2).dtype
    if kind == "int8":
        return [elements * WORD_BYTES]
    if kind != "int16":
        return []
    bias = inputs[3] if len(inputs) > 3 else None
    wide = bias is not None and bias.dtype == "int16"
    return [elements * 2 * WORD_BYTES] + ([bias.elements * 2 * WORD_BYTES] if wide and bias else [])


def _reduction(inputs: Operands, outputs: Operands, *, sums: bool) -> list[int]:
    """Where it is and along which axes it goes; sums of whole numbers."""
    data, axes = _operand(inputs, 0), _operand(inputs, 1)
    words = [len(data.shape), prod(axes.shape)]
    if sums and data.dtype in ("int8", "uint8", "int16"):
        words.insert(0, _operand(outputs, 0).elements)
    return [count * WORD_BYTES for count in words]


def _counts_of_axes(inputs: Operands, outputs: Operands) -> list[int]:
    """Elements along the axes of what is read, and of what is written."""
    return 2 * [len(_operand(inputs, 0).shape) * WORD_BYTES]


def _addresses(inputs: Operands, outputs: Operands) -> list[int]:
    return [len(inputs) * POINTER_BYTES]


ASKED: Mapping[str, Asked] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"), _int4_weights),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "SVDF": _svdf,
    "TRANSPOSE_CONV": _transposed_convolution,
    **dict.fromkeys(("MEAN", "SUM"), partial(_reduction, sums=True)),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), partial(_reduction, sums=False)),
    "MIRROR_PAD": _counts_of_axes,
    "ADD_N": _addresses,
}
"""All others ask for none."""
