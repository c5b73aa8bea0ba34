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

_NAMES = {
    4: "int4 uint4 float4_e2m1fn",
    8: "bool int8 uint8 qint8 quint8 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn_x2 quint4x2 quint2x4",
    16: "int16 uint16 float16 bfloat16",
    32: "int32 uint32 float32 qint32 complex32",
    64: "int64 uint64 float64 complex64",
    128: "complex128",
    1: "int1 uint1",
    2: "int2 uint2",
    3: "int3 uint3",
    5: "int5 uint5",
    6: "int6 uint6",
    7: "int7 uint7",
}
BITS: Final = {name: bits for bits, names in _NAMES.items() for name in names.split()}
_SUMS = {
    "int32": "int8 uint8 qint8 quint8 int16 uint16 int4 uint4 int2 uint2",
    "float32": "float16 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float4_e2m1fn",
}
_ACCUMULATOR = {name: wide for wide, names in _SUMS.items() for name in names.split()}


def bits_of_type(dtype: str) -> int:
    """Bits of an element of this type. Raises `BadInput` where they are not known."""
    if dtype not in BITS:
        raise BadInput(
            f"nothing is known of the element type {dtype!r:.60}: count bytes_per_element as a "
            "number instead of 'native'"
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
    """What is counted where nobody chooses: one byte for all, or `native` where types are mixed.

    A type whose bits are not known leaves one byte for all.
    """
    kinds = set(dtypes)
    return NATIVE if len(kinds) > 1 and kinds <= BITS.keys() else 1


def width_words(width: Width, dtypes: Iterable[str]) -> str:
    """What a graph counts, in words: the width, and the types that it counts it for."""
    kinds = Counter(dtypes)
    names = ", ".join(name for name, _ in kinds.most_common())
    if width == NATIVE:
        return f"each of its type: {names}" if names else "each of its type"
    bytes_ = f"{width} byte(s) an element"
    return f"{bytes_}, whatever its type ({names})" if len(kinds) > 1 else bytes_
