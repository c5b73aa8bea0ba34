"""UNIDIRECTIONAL_SEQUENCE_LSTM, float32 and int8 with a cell of int16; states in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from planners.importers.tflite.kernels.call import KernelCall, QuantisedAs, Unsupported
from planners.importers.tflite.kernels.elements import Made, curve, hyperbolic, sigmoid
from planners.importers.tflite.kernels.fixed_point import Integers, multiplier, scaled

GATE_SCALE, VALUE_SCALE = 2.0**-12, 2.0**-15  # of a gate's sum and of a gate, in 16 bits
INPUT, FORGET, CELL, OUTPUT = range(4)  # gates, in the order of the operands
HIDDEN_AT, STATE_AT = 18, 19
_UNUSED = (9, 10, 11, 16, 17, 20, 21, 22, 23)


def lstm(call: KernelCall) -> Made:
    """The values of all steps, then the hidden state and the cell after the last."""
    if any(call.maybe(place) is not None for place in _UNUSED) or call.maybe(1) is None:
        raise Unsupported("peepholes, a projection, normalised layers, or coupled gates")
    if call.get("FusedActivationFunction", 4) != tflite.ActivationFunctionType.TANH:
        raise Unsupported("another activation than tanh")
    steps: Any = _Whole(call) if call.whole() else _Real(call)
    x = call.array(0)
    major = bool(call.get("TimeMajor", False))
    rows = x if major else np.moveaxis(x, 1, 0)
    hidden = call.array(HIDDEN_AT).reshape(len(rows[0]), -1)
    cell = call.array(STATE_AT).reshape(hidden.shape)
    values = []
    for row in rows:
        hidden, cell = steps.step(row, hidden, cell)
        values.append(hidden)
    all_steps = np.stack(values) if major else np.stack(values, axis=1)
    states = (
        hidden.reshape(call.type_of(HIDDEN_AT).shape),
        cell.reshape(call.type_of(STATE_AT).shape),
    )
    return [all_steps, *states]


class _Real:
    """Steps in float32, products one after the other."""

    def __init__(self, call: KernelCall) -> None:
        self.call, self.clip = call, np.float32(call.get("CellClip", 0.0))

    def step(self, x: Any, hidden: Any, cell: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        gates = [self._gate(which, x, hidden) for which in range(4)]
        into, keep, out = sigmoid(gates[INPUT]), sigmoid(gates[FORGET]), sigmoid(gates[OUTPUT])
        cell = keep * cell + into * hyperbolic(gates[CELL])
        if self.clip > 0:
            cell = np.clip(cell, -self.clip, self.clip)
        return hyperbolic(cell) * out, cell

    def _gate(self, which: int, x: Any, hidden: Any) -> NDArray[np.float32]:
        total = _products(x, self.call.array(1 + which))
        bias = self.call.maybe(12 + which)
        total = total if bias is None else total + bias
        return total + _products(hidden, self.call.array(5 + which))


def _products(x: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    total = np.zeros((len(x), len(weight)), np.float32)
    for column in range(weight.shape[1]):
        total += x[:, column, None] * weight[:, column]
    return total


class _Whole:
    """Steps in whole numbers: sums of gates in Q3.12, gates in Q0.15."""

    def __init__(self, call: KernelCall) -> None:
        self.call = call
        places = (0, HIDDEN_AT, STATE_AT)
        self.data, self.hidden, self.cell = map(call.type_of, places)
        if (self.hidden.dtype, self.cell.dtype) != ("int8", "int16"):
            raise Unsupported(f"states of {self.hidden.dtype} and {self.cell.dtype}")
        self.power = int(np.rint(np.log2(self.cell.scale)))
        clip = float(call.get("CellClip", 0.0))
        self.clip = int(min(max(clip / self.cell.scale, -32768.0), 32767.0)) if clip > 0 else 0

    def step(self, x: Any, hidden: Any, cell: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        sums = [self._gate(which, x, hidden) for which in range(4)]
        into, keep, out = (curve("logistic", sums[n], 0, 0) for n in (INPUT, FORGET, OUTPUT))
        new = curve("tanh", sums[CELL], 0, 0)
        kept = self._product(keep, cell, VALUE_SCALE * self.cell.scale / self.cell.scale)
        more = self._product(into, new, VALUE_SCALE * VALUE_SCALE / self.cell.scale)
        cell = _short(kept + more)
        if self.clip:
            cell = np.clip(cell, -self.clip, self.clip)
        left = 12 + self.power
        bent = curve("tanh", cell, 0 if left >= 0 else 3, abs(left))
        real = VALUE_SCALE * VALUE_SCALE / self.hidden.scale
        products = scaled(bent.astype(np.int64) * out, *multiplier(real))
        return self.hidden.clamped(products), cell.astype(np.int16)

    def _gate(self, which: int, x: Any, hidden: Any) -> Integers:
        total = self._sums(x, self.data, 1 + which, self.call.maybe(12 + which))
        return _short(total + self._sums(hidden, self.hidden, 5 + which, None))

    def _sums(self, x: Any, of: QuantisedAs, place: int, bias: Any) -> Integers:
        weight = self.call.array(place)
        sums = (x.astype(np.float64) - of.zero) @ weight.T.astype(np.float64)
        total = sums.astype(np.int64) + (0 if bias is None else bias.astype(np.int64))
        both = float(np.float32(of.scale) * np.float32(self.call.type_of(place).scale))
        return _short(scaled(total, *multiplier(both / GATE_SCALE)))

    @staticmethod
    def _product(a: Any, b: Any, real: float) -> Integers:
        return _short(scaled(a.astype(np.int64) * b.astype(np.int64), *multiplier(real)))


def _short(x: Integers) -> Integers:
    return np.clip(x, -(2**15), 2**15 - 1)
