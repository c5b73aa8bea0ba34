"""Element types: how many bits each takes, and the width that a problem counts for its elements.

A graph counts one width for all elements (what the papers do), or `NATIVE`: each tensor the bits
of its own type, named as torch names it. One rule then gives bytes: those of a box of n elements
of b bits are ⌈n · b / 8⌉, box by box. A whole tensor of 7 int4 takes 4 bytes, and so does each of
two rows of 7 that are held apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from planners.core.errors import BadInput

NATIVE: Final = "native"
Width: TypeAlias = int | Literal["native"]
"""Bytes of every element, or `"native"`: each tensor has those of its own type."""

_TABLE = """
float32              32 FLOAT               0   7
float64              64 DOUBLE             10   8
float16              16 FLOAT16             1   6
bfloat16             16 BFLOAT16           18  13
bool                  8 BOOL                6  12
int8                  8 INT8                9   2
int16                16 INT16               7   3
int32                32 INT32               2   4
int64                64 INT64               4   5
uint8                 8 UINT8               3   1
uint16               16 UINT16             16  28
uint32               32 UINT32             15  34
uint64               64 UINT64             12  35
int1                  1 -                   -   -
int2                  2 INT2               19   -
int3                  3 -                   -   -
int4                  4 INT4               17   -
int5                  5 -                   -   -
int6                  6 -                   -   -
int7                  7 -                   -   -
uint1                 1 -                   -   -
uint2                 2 UINT2               -   -
uint3                 3 -                   -   -
uint4                 4 UINT4              20   -
uint5                 5 -                   -   -
uint6                 6 -                   -   -
uint7                 7 -                   -   -
float4_e2m1fn         4 FLOAT4E2M1          -   -
float6_e2m3fn         6 FLOAT6E2M3          -   -
float6_e3m2fn         6 FLOAT6E3M2          -   -
float8_e3m4           8 -                   -   -
float8_e4m3           8 -                   -   -
float8_e4m3b11fnuz    8 -                   -   -
float8_e4m3fn         8 FLOAT8E4M3FN       21  29
float8_e4m3fnuz       8 FLOAT8E4M3FNUZ      -  31
float8_e5m2           8 FLOAT8E5M2         22  30
float8_e5m2fnuz       8 FLOAT8E5M2FNUZ      -  32
float8_e8m0fnu        8 FLOAT8E8M0          -  33
complex32            32 -                   -   9
complex64            64 COMPLEX64           8  10
complex128          128 COMPLEX128         11  11
bcomplex32           32 -                   -   -
float4_e2m1fn_x2      8 -                   -   -
quint4x2              8 -                   -   -
quint2x4              8 -                   -   -
quint8                8 -                   -   -
qint8                 8 -                   -   -
qint32               32 -                   -   -
bits8                 8 -                   -   -
bits1x8               8 -                   -   -
bits2x4               8 -                   -   -
bits4x2               8 -                   -   -
bits16               16 -                   -   -
"""
"""Each type as torch and ml_dtypes name it, the bits of an element, its name in ONNX, its number in
TFLite (the schema of LiteRT 2.3) and in `.pt2` files; `-` where one has no such type."""


def _columns(key: int, value: int) -> dict[str, str]:
    rows = [row.split() for row in _TABLE.strip().splitlines()]
    return {row[key]: row[value] for row in rows if row[key] != "-"}


BITS: Final = {name: int(bits) for name, bits in _columns(0, 1).items()}
ONNX_TYPES: Final = _columns(2, 0)
"""Our names by ONNX's."""
TFLITE_TYPES: Final = {int(number): name for number, name in _columns(3, 0).items()}
"""Our names by the numbers of TFLite's schema."""
PT2_TYPES: Final = {int(number): name for number, name in _columns(4, 0).items()}
"""Our names by the numbers of `.pt2` files."""
_SUMS = {
    "int32": "int8 uint8 qint8 quint8 int16 uint16 int4 uint4 int2 uint2 int1 uint1 int3 uint3 "
    "int5 uint5 int6 uint6 int7 uint7",
    "float32": "float16 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float6_e2m3fn float6_e3m2fn float4_e2m1fn",
}
_ACCUMULATOR = {name: wide for wide, names in _SUMS.items() for name in names.split()}


def bits_of_type(dtype: str, tensor: str = "") -> int:
    """Bits of an element of this type. Raises `BadInput` where they are not known."""
    if dtype not in BITS:
        whose = f" of {tensor!r:.60}" if tensor else ""
        raise BadInput(
            f"nothing is known of the element type {dtype!r:.60}{whose}: count bytes_per_element "
            "as a number instead of 'native'"
        )
    return BITS[dtype]


def accumulator(dtype: str) -> str:
    """The type that sums of products of elements of this type have until they are complete.

    int32 for whole numbers of up to 16 bits, float32 for floats of up to 16, else its own.
    """
    return _ACCUMULATOR.get(dtype, dtype)


def checked_width(width: Any) -> Width:
    """A number of bytes above zero, or `"native"`. Raises `BadInput` for anything else."""
    if width == NATIVE:
        return NATIVE
    if not isinstance(width, int) or isinstance(width, bool) or width < 1:
        raise BadInput(
            f"bytes per element must be a whole number above zero or 'native', not {width!r:.60}"
        )
    return width


def read_width(text: str) -> Width:
    """A width as it is typed: `4` or `native`. Raises `BadInput`."""
    plain = text.strip().lower()
    return checked_width(int(plain) if plain.isdecimal() else plain)


def usual_width(dtypes: Iterable[str]) -> Width:
    """What a module in memory counts where nobody chooses: one byte for all, as the papers do.

    It is `native` where types are mixed. A file is counted as its types say, whatever they are.
    """
    return NATIVE if len(set(dtypes)) > 1 else 1


def width_of_file(chosen: Width | None) -> Width:
    """What a model file counts: as its types say, unless somebody chooses."""
    return NATIVE if chosen is None else chosen


def width_words(width: Width, dtypes: Iterable[str]) -> str:
    """What a graph counts, in words: the width, and the types that it counts it for."""
    kinds = Counter(dtypes)
    names = ", ".join(name for name, _ in kinds.most_common())
    if width == NATIVE:
        return f"each of its type: {names}" if names else "each of its type"
    bytes_ = f"{width} byte(s) an element"
    by_type = all(BITS.get(name) == 8 * width for name in kinds)
    return bytes_ if by_type else f"{bytes_}, whatever its type ({names})"
