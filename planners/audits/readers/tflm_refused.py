"""What TensorFlow Lite Micro does not run: element types that it does not know, those that its
kernels do not put together, and operators that its reference kernels do not have.

As read in its sources (tensorflow/tflite-micro, `micro/kernels`, `python_ops_resolver.cc`) and seen
in what the interpreter of the package `tflite-micro` answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from planners.core.errors import BadInput
from planners.importers.tflite.file import TfliteFile, TfliteOperator, TfliteTensor

RUNTIME = "TensorFlow Lite Micro"
NOT_THERE = "the reference kernels do not have"
UNKNOWN_TYPES = frozenset({"int2", "uint4", "float8_e4m3fn", "float8_e5m2"})
DEQUANTIZED = frozenset({"int8", "int16", "uint8"})
"""What its `DEQUANTIZE` reads: no weights of 16-bit floats, as converters write them."""
_PRODUCTS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"), (0, 1)),
    "TRANSPOSE_CONV": (2, 1),
    "BATCH_MATMUL": (0, 1),
}
"""Where the map and the weights of a product stand among its operands."""
_OF_LAYERS = {"float32": ("float32",), "int8": ("int8", "int4"), "int16": ("int8",)}
_TOGETHER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "CONV_2D": _OF_LAYERS,
    "DEPTHWISE_CONV_2D": _OF_LAYERS,
    "FULLY_CONNECTED": _OF_LAYERS,
    "TRANSPOSE_CONV": {"float32": ("float32",), "int8": ("int8",), "int16": ("int8",)},
    "BATCH_MATMUL": {"float32": ("float32",), "int8": ("int8",), "int16": ("int16",)},
}
"""Types of weights that go with a type of maps."""
KERNELS = frozenset(
    "ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND "
    "BROADCAST_ARGS BROADCAST_TO CALL_ONCE CAST CEIL CONCATENATION CONV_2D COS CUMSUM "
    "DEPTH_TO_SPACE DEPTHWISE_CONV_2D DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP "
    "EQUAL EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GREATER "
    "GREATER_EQUAL HARD_SWISH IF L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOG "
    "LOG_SOFTMAX LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC MAX_POOL_2D MAXIMUM MEAN MINIMUM "
    "MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2 PRELU QUANTIZE READ_VARIABLE REDUCE_ALL "
    "REDUCE_MAX REDUCE_MIN RELU RELU6 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 "
    "ROUND RSQRT SELECT_V2 SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V "
    "SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM SVDF TANH TRANSPOSE "
    "TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK VAR_HANDLE WHILE ZEROS_LIKE".split()
)


def require_runs(file: TfliteFile) -> None:
    """Raise `BadInput` with the reason where the runtime refuses a file."""
    for graph in file.subgraphs:
        for operator in graph.operators:
            if reason := _refused(graph.tensors, operator):
                raise BadInput(f"{file.path}: {RUNTIME} does not run {operator.label}: {reason}")


def kernels_missing(file: TfliteFile) -> list[str]:
    """Kinds of operators, by name, for which a build must bring a kernel of its own, and of what
    type where it is for that alone."""
    missing = set()
    for graph in file.subgraphs:
        for operator in graph.operators:
            types = {graph.tensors[n].dtype for n in operator.inputs[:1] if n >= 0}
            if not operator.custom and operator.kind not in KERNELS:
                missing.add(operator.kind)
            elif operator.kind == "DEQUANTIZE":
                missing |= {f"DEQUANTIZE of {name}" for name in types - DEQUANTIZED}
    return sorted(missing)


def _refused(tensors: tuple[TfliteTensor, ...], operator: TfliteOperator) -> str:
    named = [tensors[n] for n in (*operator.inputs, *operator.outputs) if n >= 0]
    for tensor in named:
        if tensor.dtype in UNKNOWN_TYPES:
            return f"{tensor.name!r:.80} has elements of {tensor.dtype}, which it does not know"
    if operator.kind not in _PRODUCTS:
        return ""
    data, weights = _PRODUCTS[operator.kind]
    if max(data, weights) >= len(operator.inputs):
        return ""
    one, other = (tensors[operator.inputs[n]] for n in (data, weights))
    if other.dtype in _TOGETHER[operator.kind].get(one.dtype, ()):
        return ""
    hybrid = " (a hybrid model)" if one.dtype == "float32" else ""
    return f"it multiplies no maps of {one.dtype} by weights of {other.dtype}{hybrid}"
