"""gemmlowp's fixed point: products that are rounded twice, and functions of them, on arrays.

Whole numbers are int64 here and hold what the runtime has in int32. A number in Qn.m is `raw`
times 2^−m; n + m = 31.
"""

from __future__ import annotations

from math import frexp
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]

LOWEST, HIGHEST = -(2**31), 2**31 - 1
ONE = HIGHEST  # the nearest to one in Q0.31
# e^(-1/4), e^(-1/2) … e^-16 in Q0.31, by the exponent of two.
_POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401}
_POWERS |= {4: 242}


def rounded(value: float) -> int:
    """To the nearest, halves away from zero, as C rounds."""
    whole = int(abs(value) + 0.5)
    if whole - abs(value) > 0.5:  # the sum itself was rounded up
        whole -= 1
    return whole if value >= 0 else -whole


def multiplier(real: float) -> tuple[int, int]:
    """A positive factor as 31 bits and a shift: `real` ≈ bits · 2^(shift − 31)."""
    if real == 0:
        return 0, 0
    fraction, shift = frexp(real)
    bits = rounded(fraction * 2**31)
    if bits == 2**31:
        bits, shift = bits // 2, shift + 1
    return (0, 0) if shift < -31 else (bits, shift)


def multipliers(reals: NDArray[np.float64]) -> tuple[Integers, Integers]:
    """The same of several."""
    pairs = [multiplier(float(real)) for real in reals]
    return np.array([m for m, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def high_product(a: Integers, b: Integers | int) -> Integers:
    """The upper half of twice a product, to the nearest, halves away from zero, saturated."""
    product = a * np.int64(b) if isinstance(b, int) else a * b
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    half: Integers = np.where(nudged >= 0, nudged >> 31, -(-nudged >> 31))
    return np.where((a == LOWEST) & (b == LOWEST), HIGHEST, half)


def divided(x: Integers, exponent: Integers | int) -> Integers:
    """x / 2^exponent to the nearest, halves away from zero."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    more = (x & mask) > (mask >> 1) + (x < 0)
    part: Integers = (x >> np.asarray(exponent, np.int64)) + more
    return part


def scaled(x: Integers, factor: Integers | int, shift: Integers | int) -> Integers:
    """x times what `multiplier` gave, as the runtime multiplies 32 bits: rounded twice."""
    shift = np.asarray(shift, np.int64)
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    # The shift to the left is one of 32 bits.
    moved = ((x << left) + 2**31) % 2**32 - 2**31
    return divided(high_product(moved, factor), right)


def scaled_wide(x: Integers, factor: Integers | int, shift: Integers | int) -> Integers:
    """The same of sums of 64 bits, as the runtime has them for int16: by 15 bits, rounded once."""
    factor, shift = np.asarray(factor, np.int64), np.asarray(shift, np.int64)
    short = np.where(factor < 0x7FFF0000, (factor + (1 << 15)) >> 16, 0x7FFF)
    wide: Integers = (x * short + (np.int64(1) << (14 - shift))) >> (15 - shift)
    return wide


def by_power(x: Integers, exponent: int) -> Integers:
    """x · 2^exponent, saturated or rounded."""
    if exponent <= 0:
        return divided(x, -exponent)
    times: Integers = np.clip(x << exponent, LOWEST, HIGHEST)
    return times


def exponential(a: Integers, whole_bits: int) -> Integers:
    """e^a in Q0.31 of what is not above zero, in Q of `whole_bits`."""
    fraction_bits = 31 - whole_bits
    quarter = 1 << (fraction_bits - 2)
    part = (a & (quarter - 1)) - quarter
    result = _near_zero(by_power(part, whole_bits))
    rest = part - a
    for exponent, factor in _POWERS.items():
        if whole_bits > exponent:
            has = rest & (1 << (fraction_bits + exponent))
            result = np.where(has != 0, high_product(result, factor), result)
    return np.where(a == 0, ONE, result)


def _near_zero(a: Integers) -> Integers:
    """e^a for a from −1/4 to 0, by four terms around −1/8."""
    at, third = 1895147668, 715827883
    x = a + (1 << 28)
    square = high_product(x, x)
    cube, fourth = high_product(square, x), high_product(square, square)
    terms = divided(high_product(divided(fourth, 2) + cube, third) + square, 1)
    return at + high_product(x + terms, at)


def _newton(a: Integers) -> tuple[Integers, Integers]:
    """1 / ((1 + a) / 2) in Q2.29, for a in Q0.31 from 0 to 1, and the half itself."""
    total = a + ONE
    half = (total + 1) >> 1  # the sum is not negative
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        left = (1 << 29) - high_product(half, x)
        x = x + by_power(high_product(x, left), 2)
    return x, half


def over_one_plus(a: Integers) -> Integers:
    """1 / (1 + a) for a from 0 to 1, in Q0.31."""
    return by_power(_newton(a)[0], 1)


def logistic(a: Integers, whole_bits: int) -> Integers:
    """The logistic function in Q0.31."""
    positive = over_one_plus(exponential(-np.abs(a), whole_bits))
    value = np.where(a > 0, positive, ONE - positive)
    return np.where(a == 0, 1 << 30, value)


def tanh(a: Integers, whole_bits: int) -> Integers:
    """The hyperbolic tangent in Q0.31."""
    x, _ = _newton(exponential(-np.abs(a), whole_bits + 1))
    positive = by_power(x - (1 << 29), 2)
    return np.where(a == 0, 0, np.where(a < 0, -positive, positive))


def reciprocal(x: Integers, whole_bits: int) -> tuple[Integers, Integers]:
    """1 / x in Q0.31 of positive x, and by how many bits that is above the unit."""
    headroom = 32 - np.floor(np.log2(x.astype(np.float64))).astype(np.int64) - 1
    above_one = ((x << headroom) % 2**32) - 2**31
    return over_one_plus(above_one), whole_bits - headroom
