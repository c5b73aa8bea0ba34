"""Activations: those that are a clamp of the sum, and those that are a table of 256 bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit

Values: TypeAlias = NDArray[np.float64]
Settings: TypeAlias = Mapping[str, Any]
"""A call's arguments that are no tensors, by the names that ATen gives them."""


def clamp_of(kind: str, settings: Settings) -> tuple[float, float] | None:
    """The real bounds that an activation clamps to, or None where it does anything else."""
    if kind == "relu":
        return 0.0, inf
    if kind == "relu6":
        return 0.0, 6.0
    if kind == "hardtanh":
        return float(settings.get("min_val", -1.0)), float(settings.get("max_val", 1.0))
    if kind in ("clamp", "clamp_min", "clamp_max"):
        low, high = settings.get("min"), settings.get("max")
        return -inf if low is None else float(low), inf if high is None else float(high)
    return None


def function_of(kind: str, settings: Settings) -> Callable[[Values], Values] | None:
    """The activation as a function of real values, or None where it is not known here."""
    bounds = clamp_of(kind, settings)
    if bounds is not None:
        return lambda x: np.clip(x, *bounds)
    function = _FUNCTIONS.get(kind)
    return None if function is None else lambda x: function(x, settings)


def useful(kind: str) -> tuple[float, float]:
    """Operands beyond which the activation is constant, or all but: they need no codes."""
    return _USEFUL.get(kind, (-inf, inf))


def _gelu(x: Values, settings: Settings) -> Values:
    if settings.get("approximate", "none") == "tanh":
        return np.asarray(x * expit(np.sqrt(8 / np.pi) * (x + 0.044715 * x**3)))
    return np.asarray(x * (1 + erf(x / np.sqrt(2))) / 2)


def _hardsigmoid(x: Values) -> Values:
    return np.clip(x / 6 + 0.5, 0, 1)


def _leaky_relu(x: Values, settings: Settings) -> Values:
    return np.where(x < 0, x * float(settings.get("negative_slope", 0.01)), x)


def _elu(x: Values, settings: Settings) -> Values:
    return np.where(x < 0, float(settings.get("alpha", 1.0)) * np.expm1(np.minimum(x, 0)), x)


_FUNCTIONS: dict[str, Callable[[Values, Settings], Values]] = {
    "hardswish": lambda x, _: x * _hardsigmoid(x),
    "hardsigmoid": lambda x, _: _hardsigmoid(x),
    "sigmoid": lambda x, _: np.asarray(expit(x)),
    "silu": lambda x, _: np.asarray(x * expit(x)),
    "tanh": lambda x, _: np.tanh(x),
    "gelu": _gelu,
    "mish": lambda x, _: x * np.tanh(np.logaddexp(0, x)),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
}
_USEFUL = {
    "hardswish": (-3.05, inf),
    "hardsigmoid": (-3.05, 3.05),  # The ends themselves are to have codes.
    "sigmoid": (-8.0, 8.0),
    "silu": (-8.0, inf),
    "tanh": (-4.0, 4.0),
    "gelu": (-4.0, inf),
}
