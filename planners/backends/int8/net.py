"""A network in integers: int8 tensors, int8 weights, int32 sums, and how sums become int8 again.

All arithmetic is exact, so that every kernel that computes an operator computes the same bytes:
the reference, the kernels in the pool, and the C code. A real value is `scale * (q - zero)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from planners.core.graph import Graph

Kind = Literal["conv", "linear", "max_pool", "avg_pool", "add", "mul", "cat", "table"]
Channels = NDArray[np.int64] | None
Whole = TypeVar("Whole", int, NDArray[np.int64])

LOWEST, HIGHEST = -128, 127


class QTensor(NamedTuple):
    """How the bytes of a tensor are read: a real value is `scale * (q - zero)`, q of int8."""

    scale: float
    zero: int


@dataclass(frozen=True, slots=True, eq=False)
class QOp:
    """One operator of the graph in integers; it reads `inputs` and writes `output`.

    With x the input's bytes and `scaled` as below, and `clamp` to `low`…`high`:

    * conv, linear: acc = bias[k] + Σ (x − zero_in[0]) · weight, where padding contributes nothing;
      q = clamp(scaled(acc, multiplier[k], shift) + zero_out).
      `weight` is [K, R, S, C / groups], or [K, C] with C in the order in which the input lies in
      memory (row, column, channel); a linear operator has as many rows as C goes into its input.
    * avg_pool: acc = Σ (x − zero_in[0]) over the pixels inside; q = clamp(scaled(acc,
      multiplier[count], shift) + zero_out). `count` is the number of pixels inside, or, with
      `count_include_pad`, inside or in the padding. Over a whole image (also `mean`) the kernel is
      the image's size.
    * max_pool: the largest x inside; the output's scale and zero are the input's.
    * add: q = clamp(scaled((a − zero_in[0]) · multiplier[0] + (b − zero_in[1]) · multiplier[1], 1,
      shift) + zero_out).
    * mul: q = clamp(scaled((a − zero_in[0]) · (b − zero_in[1]), multiplier[0], shift) + zero_out);
      b may be [1, C, 1, 1], the same for all pixels.
    * cat, along channels: q = clamp(scaled(x − zero_in[i], multiplier[i], shift) + zero_out).
    * table: q = x.

    `table`, where there is one, comes last: table[q + 128] (activations other than relu and relu6,
    which are the clamp). Then `zero_out` is that of the value before it.

    `channels[i]`, where there is one, says which channels of input i are read, in which order: the
    operator reads channel `channels[i][c]` wherever c is written above. It is empty where all
    inputs are read as they lie. A conv of one group and a linear operator never have one, as
    their weights are ordered to suit.
    """

    name: str
    kind: Kind
    inputs: tuple[str, ...]
    output: str
    weight: NDArray[np.int8] | None
    bias: NDArray[np.int32] | None
    multiplier: NDArray[np.int64]
    shift: int
    zero_in: tuple[int, ...]
    zero_out: int
    low: int = LOWEST
    high: int = HIGHEST
    table: NDArray[np.int8] | None = None
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    count_include_pad: bool = False
    channels: tuple[Channels, ...] = ()

    def channels_of(self, index: int) -> Channels:
        """Which channels of input `index` are read, or None where they are read as they lie."""
        return self.channels[index] if self.channels else None


@dataclass(frozen=True, slots=True, eq=False)
class QNet:
    """A graph in integers: how to read each tensor, and each operator, by name."""

    graph: Graph
    tensors: Mapping[str, QTensor]
    ops: Mapping[str, QOp]


def scaled(acc: Whole, multiplier: Whole | int, shift: int) -> Whole:
    """acc · multiplier / 2^shift, rounded to the nearest, halves up; `shift` is in 1…62.

    With |acc| < 2^31 and 0 ≤ multiplier < 2^31 nothing leaves int64. Arrays are of int64.

    >>> scaled(5, 1, 1), scaled(-5, 1, 1), scaled(100, 3, 4)
    (3, -2, 19)
    """
    return (acc * multiplier + (1 << (shift - 1))) >> shift


def finished(op: QOp, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The output's codes of what `scaled` gave: zero point, clamp, table."""
    codes = np.minimum(np.maximum(values + op.zero_out, op.low), op.high)
    return codes if op.table is None else op.table[codes + 128].astype(np.int64)


def fixed_point(factors: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Multipliers below 2^31 and one shift that stand for these factors, all ≥ 0.

    The largest factor gets 31 bits, so that a smaller one loses as many as it is smaller.
    """
    largest = float(factors.max(initial=0.0))
    exponent = np.frexp(largest)[1] if largest > 0 else 0
    shift = int(np.clip(31 - exponent, 1, 62))
    multiplier = np.rint(factors * 2.0**shift).astype(np.int64)
    return np.minimum(multiplier, 2**31 - 1), shift
