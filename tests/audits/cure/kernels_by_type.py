"""Every kernel of TensorFlow Lite Micro alone in a file, in any element type of each operand.

A row names kernels, operands, results and options. An operand is a letter and a shape: `T` is of
the type that is asked for, `U` of a second one (both are `float32` unless they are said), a small
letter of the same is a constant; `b` is a map of booleans, `s` a bias of maps of `T`. `#1,2` are
constant whole numbers of the type `N`, `int32` unless it is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite

from tests.importers.tflite_models import TfliteWriter

TYPES = tuple(
    "float32 int8 int16 int32 int64 uint8 uint32 uint64 bool float16 float64 complex64".split()
)
"""What its Python can ask for and give; not bfloat16, uint16, nor int4."""
SUMS = {"float32": "float32", "int16": "int64"}
UNSAFE = ("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND")
"""Numbers of 64 bits are not drawn for these: they divide by the upper half of one."""
_CONV = "StrideH=1 StrideW=1 DilationHFactor=1 DilationWFactor=1"
_EACH = "DepthMultiplier=1"
_POOL = "StrideH=1 StrideW=1 FilterHeight=2 FilterWidth=2 Padding=1"
_ROWS = f"""
ABS CEIL COS ELU EXP FLOOR HARD_SWISH LOG NEG RELU RELU6 ROUND SIN SQRT SQUARE TANH \
ZEROS_LIKE LOGISTIC LOG_SOFTMAX LOGICAL_NOT | T4x6 | T4x6
RSQRT | t4x6 | T4x6
SOFTMAX | T4x6 | T4x6 | SoftmaxOptions Beta=1.0
LEAKY_RELU | T4x6 | T4x6 | LeakyReluOptions Alpha=0.25
ADD | T4x6 T4x6 | T4x6 | AddOptions
SUB | T4x6 T4x6 | T4x6 | SubOptions
MUL | T4x6 T4x6 | T4x6 | MulOptions
DIV | T4x6 t4x6 | T4x6 | DivOptions
FLOOR_DIV FLOOR_MOD | T4x6 t4x6 | T4x6
MAXIMUM MINIMUM | T4x6 T4x6 | T4x6 | MaximumMinimumOptions
SQUARED_DIFFERENCE LOGICAL_AND LOGICAL_OR PRELU | T4x6 T4x6 | T4x6
EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL NOT_EQUAL | T4x6 T4x6 | b4x6
SELECT_V2 | b4x6 T4x6 T4x6 | T4x6
ADD_N | T4x6 T4x6 | T4x6 | AddNOptions
ARG_MAX | T4x6 #1 | U4 | ArgMaxOptions OutputType=2
ARG_MIN | T4x6 #1 | U4 | ArgMinOptions OutputType=2
AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D | T1x4x4x2 | T1x3x3x2 | Pool2DOptions {_POOL}
BATCH_MATMUL | T2x3 U3x4 | T2x4 | BatchMatMulOptions
FULLY_CONNECTED | T2x4 u3x4 s3 | T2x3 | FullyConnectedOptions
CONV_2D | T1x4x4x2 u3x2x2x2 s3 | T1x4x4x3 | Conv2DOptions {_CONV}
DEPTHWISE_CONV_2D | T1x4x4x2 u1x2x2x2 s2 | T1x4x4x2 | DepthwiseConv2DOptions {_EACH} {_CONV}
TRANSPOSE_CONV | #1,8,8,3 u3x2x2x2 T1x4x4x2 | T1x8x8x3 | TransposeConvOptions StrideH=2 StrideW=2
BATCH_TO_SPACE_ND | T4x2x2x3 #2,2 #0,0;0,0 | T1x4x4x3 | BatchToSpaceNDOptions
SPACE_TO_BATCH_ND | T1x4x4x3 #2,2 #0,0;0,0 | T4x2x2x3 | SpaceToBatchNDOptions
DEPTH_TO_SPACE | T1x2x2x8 | T1x4x4x2 | DepthToSpaceOptions BlockSize=2
SPACE_TO_DEPTH | T1x4x4x2 | T1x2x2x8 | SpaceToDepthOptions BlockSize=2
BROADCAST_ARGS | #1,6 #4,1 | N2
BROADCAST_TO | T1x6 #4,6 | T4x6
CAST | T4x6 | U4x6 | CastOptions
QUANTIZE | T4x6 | U4x6 | QuantizeOptions
DEQUANTIZE | T4x6 | U4x6 | DequantizeOptions
CONCATENATION | T4x6 T4x2 | T4x8 | ConcatenationOptions Axis=1
CUMSUM | T4x6 #1 | T4x6 | CumsumOptions
DYNAMIC_UPDATE_SLICE | T4x6 T2x2 #1,1 | T4x6
EMBEDDING_LOOKUP | #1,0,2 u4x6 | T3x6
EXPAND_DIMS | T4x6 #0 | T1x4x6 | ExpandDimsOptions
FILL | #4,6 T | T4x6
GATHER | T4x6 #1,0,2 | T3x6 | GatherOptions
GATHER_ND | T4x6 #1;0 | T2x6
L2_NORMALIZATION | T4x6 | T4x6 | L2NormOptions
MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_ALL | T4x6 #1 | T4 | ReducerOptions
MIRROR_PAD | T4x6 #1,1;0,2 | T6x8 | MirrorPadOptions
PAD | T4x6 #1,1;0,2 | T6x8 | PadOptions
PADV2 | T4x6 #1,1;0,2 t | T6x8 | PadV2Options
PACK | T4x6 T4x6 | T2x4x6 | PackOptions ValuesCount=2
UNPACK | T2x4x6 | T4x6 T4x6 | UnpackOptions Num=2
RESHAPE | T4x6 #6,4 | T6x4
RESIZE_BILINEAR | T1x4x4x2 #8,6 | T1x8x6x2 | ResizeBilinearOptions
RESIZE_NEAREST_NEIGHBOR | T1x4x4x2 #8,6 | T1x8x6x2 | ResizeNearestNeighborOptions
REVERSE_V2 | T4x6 #1 | T4x6
SHAPE | T4x6 | N2 | ShapeOptions OutType=2
SLICE | T4x6 #1,1 #2,3 | T2x3 | SliceOptions
SPLIT | #1 T4x6 | T4x3 T4x3 | SplitOptions NumSplits=2
SPLIT_V | T4x6 #2,4 #1 | T4x2 T4x4 | SplitVOptions NumSplits=2
SQUEEZE | T1x4x6 | T4x6 | SqueezeOptions
STRIDED_SLICE | T4x6 #0,0 #4,6 #2,1 | T2x6 | StridedSliceOptions
TRANSPOSE | T4x6 #1,0 | T6x4 | TransposeOptions
"""
_BETWEEN_0_AND_1 = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0)}
_AROUND_0 = {"int8": (1 / 128, 0), "int16": (1 / 32768, 0)}
_RESULTS: Mapping[str, Mapping[str, tuple[float, int]]] = {
    "SOFTMAX": _BETWEEN_0_AND_1,
    "LOGISTIC": _BETWEEN_0_AND_1,
    "TANH": _AROUND_0,
    "L2_NORMALIZATION": _AROUND_0,
    "LOG_SOFTMAX": {"int8": (16 / 256, 127)},
}
"""How results are quantised that have no choice."""


@dataclass(frozen=True)
class Alone:
    """A kernel, and how a file with it alone is made."""

    kind: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    options: str
    given: Mapping[str, int | float]

    @property
    def letters(self) -> str:
        """Its types that are free."""
        every = {each[0].replace("#", "N").upper() for each in (*self.operands, *self.results)}
        return "".join(letter for letter in "TUN" if letter in every)

    def ways(self) -> Iterator[dict[str, str]]:
        """Every type of each letter; pairs of the first two."""
        for one in TYPES if "T" in self.letters else ():
            if "U" in self.letters:
                held = any(each.startswith("u") for each in self.operands)
                for other in (*TYPES, *["int4"] * held):
                    yield {"T": one, "U": other}
            else:
                yield {"T": one}
        if "N" in self.letters:
            yield {"N": "int32"}
            if self.kind not in UNSAFE:
                yield {"N": "int64"}

    def file(self, **types: str) -> TfliteWriter:
        """The file, with the type of each letter."""
        writer = TfliteWriter()
        self.write(writer, **types)
        return writer

    def write(self, writer: TfliteWriter, **types: str) -> None:
        """The operator behind what a file has already, with inputs and outputs of its own."""
        types = {"T": "float32", "U": "float32", "N": "int32", "B": "bool"} | types
        types["S"] = SUMS.get(types["T"], "int32")
        reads = [_operand(writer, types, text, self.kind) for text in self.operands]
        results = [_map(writer, types, text, self.kind, made=True) for text in self.results]
        given = dict(self.given)
        for name in {"OutputType", "OutType"} & set(given):
            given[name] = getattr(
                tflite.TensorType, types["U" if name == "OutputType" else "N"].upper()
            )
        if self.kind == "CAST":
            pair = [getattr(tflite.TensorType, types[letter].upper()) for letter in "TU"]
            given = dict(zip(("InDataType", "OutDataType"), pair, strict=True))
        writer.operator(self.kind, reads, results, self.options, **given)
        writer.inputs += [n for n in reads if writer.tensors[n]["data"] is None]
        writer.outputs += results


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split("x")) if text else ()


def _quantised(dtype: str, kind: str = "") -> dict[str, float]:
    every = ("int8", "int16", "uint8", "int4", *(["int32"] * (kind == "QUANTIZE")))
    return {"scale": 0.05, "zero": 0} if dtype in every else {}


def _map(
    writer: TfliteWriter, types: Mapping[str, str], text: str, kind: str, *, made: bool = False
) -> int:
    dtype = types[text[0].upper()]
    scales = _quantised(dtype, kind)
    if made and dtype in _RESULTS.get(kind, {}):
        scales = dict(zip(("scale", "zero"), _RESULTS[kind][dtype], strict=True))
    return writer.tensor(_shape(text[1:]), dtype, **scales)


def _operand(writer: TfliteWriter, types: Mapping[str, str], text: str, kind: str) -> int:
    if text.startswith("#"):
        rows = [[int(n) for n in row.split(",")] for row in text[1:].split(";")]
        values = np.array(rows if ";" in text else rows[0])
        return writer.tensor(values.shape, types["N"], _ones(types["N"], values))
    if text[0].isupper() or text[0] == "b":
        return _map(writer, types, text, kind)
    dtype = types[text[0].upper()]
    shape = _shape(text[1:])
    scales = {"scale": 0.05**2, "zero": 0} if text[0] == "s" else _quantised(dtype)
    return writer.tensor(shape, dtype, _ones(dtype, np.ones(shape, int)), **scales)


def _ones(dtype: str, values: Any) -> Any:
    """Whole numbers as the bytes of a type."""
    if dtype == "int4":
        return np.full(-(-values.size // 2), 0x11, np.uint8)
    return values.astype(dtype)


def _alone() -> Iterator[Alone]:
    for line in _ROWS.strip().splitlines():
        kinds, operands, results, *more = (part.split() for part in line.split("|"))
        options, *given = more[0] if more else [""]
        values = {
            name: float(n) if "." in n else int(n) for name, n in (g.split("=") for g in given)
        }
        for kind in kinds:
            yield Alone(kind, tuple(operands), tuple(results), options, values)


ALONE: Mapping[str, Alone] = {each.kind: each for each in _alone()}
