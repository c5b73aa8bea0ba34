"""Element by element: sums and products of two, and functions of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.importers.tflite.kernels import fixed_point
from planners.importers.tflite.kernels.call import KernelCall, QuantisedAs, Unsupported, rescaled
from planners.importers.tflite.kernels.fixed_point import Integers, divided, multiplier, scaled

Made = list[NDArray[Any]]
SIX = 6.0


def summed(sign: int) -> Callable[[KernelCall], Made]:
    """ADD and SUB: both operands on one finer scale first."""

    def run(call: KernelCall) -> Made:
        if not call.whole():
            a, b = call.array(0), call.array(1)
            return [a + b if sign > 0 else a - b]
        scales = call.type_of(0).scale, call.type_of(1).scale
        left = 15 if call.out.dtype == "int16" else 20
        twice = 2 * max(scales)
        fine = [
            scaled(call.centred(place) << left, *multiplier(scale / twice))
            for place, scale in enumerate(scales)
        ]
        total = fine[0] + sign * fine[1]
        return [rescaled(call, total, twice / ((1 << left) * call.out.scale))]

    return run


def product(call: KernelCall) -> Made:
    """MUL."""
    if not call.whole():
        return [call.array(0) * call.array(1)]
    real = call.type_of(0).scale * call.type_of(1).scale / call.out.scale
    return [rescaled(call, call.centred(0) * call.centred(1), real)]


def chosen(choose: Any) -> Callable[[KernelCall], Made]:
    """MAXIMUM and MINIMUM, which look at the elements as they are."""
    return lambda call: [choose(call.array(0), call.array(1))]


def slope_by_channel(call: KernelCall) -> Made:
    """PRELU: what is below zero times its own factor."""
    if not call.whole():
        x = call.array(0)
        return [np.where(x >= 0, x, x * call.array(1))]
    x, alpha = call.centred(0), call.centred(1)
    scale, out = call.type_of(0).scale, call.out.scale
    above = scaled(x, *multiplier(scale / out))
    below = scaled(x * alpha, *multiplier(scale * call.type_of(1).scale / out))
    return [call.out.clamped(np.where(x >= 0, above, below))]


def slope(call: KernelCall) -> Made:
    """LEAKY_RELU."""
    alpha = np.float32(call.get("Alpha", 0.0))
    if not call.whole():
        x = call.array(0)
        return [np.where(x > 0, x, x * alpha)]
    x, real = call.centred(0), call.type_of(0).scale / call.out.scale
    above = scaled(x, *multiplier(real))
    below = scaled(x, *multiplier(call.type_of(0).scale * float(alpha) / call.out.scale))
    return [call.out.clamped(np.where(x >= 0, above, below))]


def rectified(call: KernelCall) -> Made:
    """RELU, with another scale than its operand's."""
    if not call.whole():
        return [np.maximum(call.array(0), np.float32(0))]
    real = call.type_of(0).scale / call.out.scale
    positive = rescaled(call, call.centred(0), real)
    return [np.maximum(positive, np.array(call.out.zero, call.out.dtype))]


def rectified_to_six(call: KernelCall) -> Made:
    """RELU6, which keeps the elements of its operand."""
    bounds = bounds_of(tflite.ActivationFunctionType.RELU6, call.type_of(0))
    return [np.clip(call.array(0), *bounds).astype(call.array(0).dtype)]


def clamped(values: NDArray[Any], activation: int, as_: QuantisedAs) -> NDArray[Any]:
    """Values of this kind after a fused activation that is a clamp."""
    inside: NDArray[Any] = np.clip(values, *bounds_of(activation, as_)).astype(values.dtype)
    return inside


def bounds_of(activation: int, as_: QuantisedAs) -> tuple[Any, Any]:
    """The elements that an activation clamps to."""
    kinds = tflite.ActivationFunctionType
    real = {kinds.RELU: (0.0, None), kinds.RELU6: (0.0, SIX), kinds.RELU_N1_TO_1: (-1.0, 1.0)}
    if activation not in real:
        raise Unsupported(f"fused activation {activation}")
    low, high = real[activation]
    if as_.dtype == "float32":
        return np.float32(low), np.float32(np.inf if high is None else high)
    if not as_.whole:
        raise Unsupported(f"a fused activation of {as_.dtype}")
    least, most = as_.limits
    return max(least, _code(low, as_)), most if high is None else min(most, _code(high, as_))


def _code(real: float, as_: QuantisedAs) -> int:
    quotient = np.float32(real) / np.float32(as_.scale)
    return as_.zero + fixed_point.rounded(float(quotient))


def table(
    name: str, real: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> Callable[[KernelCall], Made]:
    """LOGISTIC and TANH."""

    def run(call: KernelCall) -> Made:
        if not call.whole():
            return [real(call.array(0))]
        if call.out.dtype != "int8":
            return [_table_of_16_bits(call, name)]
        x = call.centred(0)
        factor, shift = multiplier(call.type_of(0).scale * (1 << 27))
        radius = int((15 * 2**27) / 2**shift)  # 4 bits in front of the point, of 31
        inside = scaled(np.clip(x, -radius, radius), factor, shift)
        whole = fixed_point.logistic if name == "logistic" else fixed_point.tanh
        bits = 8 if name == "logistic" else 7
        codes = divided(whole(inside, 4), 31 - bits) - (128 if bits == 8 else 0)
        codes = np.where(x <= -radius, -128, np.where(x >= radius, 127, codes))
        return [np.clip(codes, -128, 127).astype(np.int8)]

    return run


def _table_of_16_bits(call: KernelCall, name: str) -> NDArray[Any]:
    """The runtime's table of 256 places, with straight lines between them."""
    scale = call.type_of(0).scale
    power = int(np.rint(np.log2(scale)))
    exact = abs(float(np.log2(scale)) - power) < 1e-3
    if exact and (power + 12 == 0 if name == "logistic" else power + 12 >= 0):
        return curve(name, call.array(0), 0, power + 12)
    real, left = scale * 4096 * 3, 0
    while real <= 32767 / 2 and left <= 30:
        real, left = real * 2, left + 1
    return curve(name, call.array(0), int(real), left)


_PLACES = np.rint(65536 / (1 + np.exp(-np.arange(257) / 24))).astype(np.int64).clip(0, 65535)
# Here the runtime's table is one more than the nearest, as its outputs for all of int16 tell.
_PLACES[
    [
        *(4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39),
        *(40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116),
        *(135, 255),
    ]
] += 1


def curve(name: str, x: NDArray[Any], factor: int, left: int) -> NDArray[np.int16]:
    """Logistic function or tanh of int16, as the runtime has them of gates too."""
    if factor == 0:
        factor, left = 3 << left, 0
    data = (x.astype(np.int64) * factor + ((1 << left) >> 1)) >> left
    bits = 9 if name == "logistic" else 8
    size = np.abs(data)
    place = np.minimum(size >> bits, 255)
    low, high = _PLACES[place], _PLACES[np.minimum(place + 1, 255)]
    value = (low << bits) + (size & ((1 << bits) - 1)) * (high - low)
    if bits == 9:
        value = np.where(place >= 255, 0x7FFF << 10, value)
        line = np.where(data >= 0, value + (1 << 9), (1 << 25) - value + (1 << 9) - 1) >> 10
    else:
        value = np.where(place >= 255, 0xFFFF << 8, value)
        line = np.where(data >= 0, value - (1 << 23) + (1 << 7), -value + (1 << 23) + (1 << 7) - 1)
        line = line >> 8
    return line.astype(np.int16)


def swish(call: KernelCall) -> Made:
    """HARD_SWISH; in whole numbers by 16 bits."""
    if not call.whole():
        x = call.array(0)
        return [x * np.clip(x + np.float32(3), np.float32(0), np.float32(6)) / np.float32(6)]
    if call.out.dtype != "int8":
        raise Unsupported(call.out.dtype)
    fine = np.float32(1 / 128) * np.float32(call.type_of(0).scale)
    factor, shift = _short(float(fine / np.float32(call.out.scale)))
    steep, exponent = _short(float(fine / np.float32(3 / 32768)))
    x = call.centred(0) << 7
    on_output = _high_short(x, factor)
    gate = x
    if exponent > 0:
        gate = _saturated(gate << (exponent - 1))
    gate = _high_short(gate, steep)
    gate = _saturated(gate << 1) if exponent > 0 else divided(gate, -exponent)
    gate = (gate + (1 << 15)) >> 1
    both = gate * on_output
    codes = divided(np.sign(both) * (np.abs(both) >> 15), -shift)
    return [call.out.clamped(codes)]


def _short(real: float) -> tuple[int, int]:
    factor, shift = multiplier(real)
    short = 0x7FFF if factor >= 0x7FFF0000 else (factor + (1 << 15)) >> 16
    return short, shift


def _saturated(x: Integers) -> Integers:
    return np.clip(x, -(2**15), 2**15 - 1)


def _high_short(x: Integers, factor: int) -> Integers:
    both = x * factor
    nudged = both + np.where(both >= 0, 1 << 14, 1 - (1 << 14))
    high: Integers = np.sign(nudged) * (np.abs(nudged) >> 15)
    return high


REQUANTISED = frozenset(
    {
        *(("int8", output) for output in ("int8", "uint8", "int16", "int32")),
        *(("int16", output) for output in ("int8", "int16", "int32")),
        *(("int32", output) for output in ("int8", "int16")),
        ("uint8", "int8"),
    }
)
"""Types between which QUANTIZE changes the scale, as TensorFlow Lite Micro has them."""


def quantised(call: KernelCall) -> Made:
    """QUANTIZE: from float32, or to another scale."""
    given = call.type_of(0)
    if given.dtype == "float32" and call.out.whole:
        x = call.array(0) / np.float32(call.out.scale)
        away = np.trunc(x + np.copysign(np.float32(0.5), x)).astype(np.float64)
        low, high = (float(n - call.out.zero) for n in call.out.limits)
        return [call.out.clamped(np.clip(away, low, high).astype(np.int64))]
    if (given.dtype, call.out.dtype) in REQUANTISED and given.scale and call.out.scale:
        return [rescaled(call, call.centred(0), given.scale / call.out.scale)]
    raise Unsupported(f"{given.dtype} to {call.out.dtype}")


def real_again(call: KernelCall) -> Made:
    """DEQUANTIZE: whole numbers times their scale, or float16."""
    if call.type_of(0).dtype == "float16":
        return [call.array(0).astype(np.float32)]
    if not call.type_of(0).whole or call.out.dtype != "float32":
        raise Unsupported(f"{call.type_of(0).dtype} to {call.out.dtype}")
    return [(call.centred(0) * call.type_of(0).scale).astype(np.float32)]


def cast(call: KernelCall) -> Made:
    """CAST: numbers as they are, to zero where they have a fraction."""
    with np.errstate(invalid="ignore"):  # Beyond its limits a type has what the machine gives.
        return [call.array(0).astype(call.out.dtype)]


def sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logistic function of float32: by the exponential, with constants at the ends."""
    one = np.float32(1)
    with np.errstate(over="ignore"):
        middle = one / (one + exponential(-x))
    low = np.where(x < np.float32(-9), exponential(np.minimum(x, 0)), middle)
    return np.where(x > np.float32(16.619047164916992), one, low).astype(np.float32)


def exponential(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rounded once, as C libraries give it."""
    with np.errstate(over="ignore", under="ignore"):
        power: NDArray[np.float32] = np.exp(x.astype(np.float64)).astype(np.float32)
    return power


def hyperbolic(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rounded once; C libraries are off by one unit in the last place here and there."""
    bent: NDArray[np.float32] = np.tanh(x.astype(np.float64)).astype(np.float32)
    return bent
