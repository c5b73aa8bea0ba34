"""What TensorFlow Lite Micro does not run: element types that it does not know, those that its
kernels do not take or put together, and operators that its reference kernels do not have.

As read in its sources (tensorflow/tflite-micro, `micro/kernels`, `python_ops_resolver.cc`) and seen
in what the interpreter of the package `tflite-micro` answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from planners.audits.readers.tflm_scratch import CELL_STATE, CUSTOM
from planners.core.errors import BadInput
from planners.importers.tflite.file import TfliteFile, TfliteOperator, TfliteTensor

RUNTIME = "TensorFlow Lite Micro"
NOT_THERE = "the reference kernels do not have"
UNKNOWN_TYPES = frozenset({"int2", "uint4", "float8_e4m3fn", "float8_e5m2"})
_PRODUCTS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"), (0, 1)),
    "TRANSPOSE_CONV": (2, 1),
    **dict.fromkeys(("BATCH_MATMUL", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"), (0, 1)),
}
"""Where the map and the weights of a product stand among its operands."""
_OF_LAYERS = {"float32": ("float32",), "int8": ("int8", "int4"), "int16": ("int8",)}
_TOGETHER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "CONV_2D": _OF_LAYERS,
    "DEPTHWISE_CONV_2D": _OF_LAYERS,
    "FULLY_CONNECTED": _OF_LAYERS,
    "TRANSPOSE_CONV": {"float32": ("float32",), "int8": ("int8",), "int16": ("int8", "int16")},
    "BATCH_MATMUL": {"float32": ("float32",), "int8": ("int8",), "int16": ("int16",)},
    "SVDF": {"float32": ("float32",), "int8": ("int8",)},
    "UNIDIRECTIONAL_SEQUENCE_LSTM": {
        "float32": ("float32",),
        "int8": ("int8",),
        "int16": ("int8",),
    },
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

_TAKEN = """
float32 | CEIL COS EXP FLOOR FLOOR_DIV FLOOR_MOD L2_POOL_2D LOG NEG ROUND SIN SQRT SQUARE
float32 int8 | ADD_N ARG_MAX ARG_MIN BATCH_TO_SPACE_ND CUMSUM DEPTH_TO_SPACE ELU EMBEDDING_LOOKUP \
GATHER GATHER_ND HARD_SWISH L2_NORMALIZATION LOG_SOFTMAX MIRROR_PAD PRELU REDUCE_MAX REDUCE_MIN \
RESIZE_BILINEAR SPACE_TO_BATCH_ND SPACE_TO_DEPTH
float32 int8 int16 | ABS AVERAGE_POOL_2D EXPAND_DIMS LEAKY_RELU LOGISTIC MAX_POOL_2D MEAN RELU \
RELU6 RESIZE_NEAREST_NEIGHBOR RSQRT SELECT_V2 SOFTMAX SUM TANH TRANSPOSE
float32 int8 int16 int32 | ADD DYNAMIC_UPDATE_SLICE MUL PAD PADV2 SPLIT SPLIT_V SQUARED_DIFFERENCE \
SUB UNPACK
float32 int8 int16 int32 int64 | GREATER MAXIMUM MINIMUM PACK
float32 int8 int16 int32 int64 bool | CONCATENATION
float32 int8 int16 int32 int64 uint8 bool | REVERSE_V2
float32 int8 int16 int32 uint8 | QUANTIZE
float32 int8 int16 int32 uint32 bool | CAST
float32 int8 int16 int32 bool | SLICE STRIDED_SLICE
float32 int8 int32 | DIV FILL
float32 int8 int32 int64 | GREATER_EQUAL LESS LESS_EQUAL ZEROS_LIKE
float32 int8 int32 int64 bool | EQUAL NOT_EQUAL
int8 int16 uint8 | DEQUANTIZE
int32 int64 | BROADCAST_ARGS
bool | LOGICAL_NOT REDUCE_ALL
"""
"""Types of what a kernel works on; all others take any."""
_WORKED_ON = {"EMBEDDING_LOOKUP": 1, "FILL": 1, "SELECT_V2": 1, "SPLIT": 1}
"""The operand that a kernel works on, where it is not the first."""
_GIVEN = """
int32 | ARG_MAX ARG_MIN SHAPE
float32 int8 int16 int32 uint32 bool | CAST
float32 | DEQUANTIZE
"""
"""Types of what a kernel gives, whatever it works on."""
_GIVEN_FOR: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "EMBEDDING_LOOKUP": {"float32": ("float32",), "int8": ("float32", "int8")},
    "QUANTIZE": {
        "float32": ("int8", "int16"),
        "int8": ("int8", "int16", "int32", "uint8"),
        "int16": ("int8", "int16", "int32"),
        "int32": ("int8", "int16"),
        "uint8": ("int8",),
    },
}
"""Types of what a kernel gives, by that of what it works on."""
_SHORT = """
1 | ARG_MAX ARG_MIN CUMSUM EXPAND_DIMS GATHER GATHER_ND MEAN PAD PADV2 REDUCE_ALL REDUCE_MAX \
REDUCE_MIN RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SUM
1 2 | BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
1 2 3 | STRIDED_SLICE
0 | EMBEDDING_LOOKUP
"""
"""Operands whose whole numbers are of 32 bits: those of 64 are refused, or read as others."""


def require_runs(file: TfliteFile) -> None:
    """Raise `BadInput` with the reason where the runtime refuses a file."""
    for graph in file.subgraphs:
        for operator in graph.operators:
            if reason := _refused(graph.tensors, operator):
                raise BadInput(f"{file.path}: {RUNTIME} does not run {operator.label}: {reason}")


def kernels_missing(file: TfliteFile) -> list[str]:
    """Kinds of operators, by name, for which a build must bring a kernel of its own, and of what
    types where it is for those alone."""
    missing = set()
    for graph in file.subgraphs:
        for operator in graph.operators:
            if operator.kind not in (CUSTOM if operator.custom else KERNELS):
                missing.add(operator.kind)
            elif not operator.custom and (types := _not_taken(graph.tensors, operator)):
                missing.add(f"{operator.kind} {types}")
    return sorted(missing)


def _not_taken(tensors: tuple[TfliteTensor, ...], operator: TfliteOperator) -> str:
    """Types that an operator's kernel does not take, in words."""
    kind = operator.kind
    reads, gives = (
        [tensors[n].dtype if n >= 0 else "" for n in numbers]
        for numbers in (operator.inputs, operator.outputs)
    )
    worked_on = "".join(reads[_WORKED_ON.get(kind, 0) :][:1])
    if worked_on and worked_on not in TAKEN.get(kind, {worked_on}):
        return f"of {worked_on}"
    cells = "".join(reads[CELL_STATE:][:1]) if kind == "UNIDIRECTIONAL_SEQUENCE_LSTM" else ""
    if cells not in ("", "float32", "int16"):
        return f"with cells of {cells}"
    for number in SHORT.get(kind, ()):
        if "".join(reads[number:][:1]) not in ("", "int32"):
            return f"by numbers of {reads[number]}"
    given = "".join(gives[:1])
    if given and given not in GIVEN.get(kind, _GIVEN_FOR.get(kind, {}).get(worked_on, {given})):
        return f"of {worked_on} to {given}"
    return ""


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


def _by_kind(table: str) -> dict[str, frozenset[str]]:
    """What stands before the bar of a row, by the kinds behind it."""
    rows = (line.split("|") for line in table.strip().splitlines())
    return {kind: frozenset(words.split()) for words, kinds in rows for kind in kinds.split()}


TAKEN, GIVEN = _by_kind(_TAKEN), _by_kind(_GIVEN)
SHORT = {kind: sorted(map(int, places)) for kind, places in _by_kind(_SHORT).items()}
